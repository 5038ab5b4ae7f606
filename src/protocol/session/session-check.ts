/**
 * Whether a value has the form that the tables of definition.ts give it, and the value as those tables know it.
 *
 * What comes back holds known members only, in the order of the table, without undefined, and without null where a
 * member may be absent. Opaque values (`json`, `open`) are passed on as they are and never walked, so their depth
 * costs nothing. The first wrong place is refused with `session-invalid`.
 */
import { describe } from "../enforce.ts";
import { HeddleError } from "../errors.ts";
import { ENUMS, OBJECTS, SESSION_EVENT_TYPES, TIME_PATTERN, UNIONS, eventFields } from "./definition.ts";
import type { Fields, SessionDefinition, Shape, Shaped } from "./definition.ts";

/** The value as the named definition knows it, or `session-invalid`. */
export function checkSession<N extends SessionDefinition>(name: N, value: unknown): Shaped<N> {
  // What the rule lets pass is what the type says: both are read from the same table.
  return ruleOf(name).check(value, "") as Shaped<N>;
}

interface Rule {
  /** What is allowed, in words. */
  readonly expected: string;
  /** The value as the rule knows it; throws where it is wrong. */
  readonly check: (value: unknown, path: string) => unknown;
}

const time = new RegExp(TIME_PATTERN, "u");
const isText = (value: unknown): value is string => typeof value === "string";
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The words that stand for a simple test. */
const BUILT_IN: Readonly<Record<string, Rule>> = {
  string: leaf("a string", isText),
  boolean: leaf("true or false", (value) => typeof value === "boolean"),
  count: leaf("an integer from 0", (value) => Number.isSafeInteger(value) && Number(value) >= 0),
  time: leaf("an ISO 8601 time", (value) => isText(value) && time.test(value)),
  json: leaf("a JSON value", (value) => value !== undefined),
  open: leaf("an object", isObject),
  true: leaf("true", (value) => value === true),
};

const rules = new Map<string, Rule>(Object.entries(BUILT_IN));

function ruleOf(shape: Shape): Rule {
  if (!isText(shape)) return objectRule(shape);
  let rule = rules.get(shape);
  if (rule === undefined) rules.set(shape, (rule = readRule(shape)));
  return rule;
}

function readRule(word: string): Rule {
  if (word.endsWith("[]")) return listRule(ruleOf(word.slice(0, -2)));
  if (word.startsWith("=")) return leaf(`"${word.slice(1)}"`, (value) => value === word.slice(1));
  if (word === "content") return contentRule(listRule(ruleOf("ContentPart")));
  if (word === "SessionEvent") {
    return unionRule(
      "type",
      SESSION_EVENT_TYPES.map((type) => [type, objectRule(eventFields(type))]),
    );
  }
  if (isKeyOf(ENUMS, word)) return enumRule(ENUMS[word]);
  if (isKeyOf(OBJECTS, word)) return objectRule(OBJECTS[word]);
  if (isKeyOf(UNIONS, word)) {
    const { by, members } = UNIONS[word];
    return unionRule(
      by,
      Object.entries<string>(members).map(([tag, name]) => [tag, ruleOf(name)]),
    );
  }
  throw new TypeError(`The session dialect does not define ${word}.`);
}

function leaf(expected: string, test: (value: unknown) => boolean): Rule {
  return { expected, check: (value, path) => (test(value) ? value : refuse(path, expected, value)) };
}

function enumRule(values: readonly string[]): Rule {
  return leaf(`one of ${values.join(", ")}`, (value) => isText(value) && values.includes(value));
}

function listRule(item: Rule): Rule {
  const expected = "a list";
  return {
    expected,
    check: (value, path) =>
      Array.isArray(value)
        ? value.map((held: unknown, index) => item.check(held, `${path}/${index}`))
        : refuse(path, expected, value),
  };
}

function contentRule(parts: Rule): Rule {
  const expected = "a string or a list of content parts";
  return {
    expected,
    check: (value, path) => {
      if (isText(value)) return value;
      return Array.isArray(value) ? parts.check(value, path) : refuse(path, expected, value);
    },
  };
}

function unionRule(by: string, members: readonly (readonly [tag: string, rule: Rule])[]): Rule {
  const byTag = new Map(members);
  const tags = `one of ${[...byTag.keys()].join(", ")}`;
  return {
    expected: "an object",
    check: (value, path) => {
      if (!isObject(value)) return refuse(path, "an object", value);
      const tag = Object.hasOwn(value, by) ? value[by] : undefined;
      const member = isText(tag) ? byTag.get(tag) : undefined;
      return member === undefined ? refuse(`${path}/${by}`, tags, tag) : member.check(value, path);
    },
  };
}

function objectRule(fields: Fields): Rule {
  const expected = "an object";
  const members = Object.entries(fields).map(([key, shape]) => {
    const optional = key.endsWith("?");
    return { name: optional ? key.slice(0, -1) : key, optional, rule: ruleOf(shape) };
  });
  return {
    expected,
    check: (value, path) => {
      if (!isObject(value)) return refuse(path, expected, value);
      const known: Record<string, unknown> = {};
      for (const { name, optional, rule } of members) {
        const held = Object.hasOwn(value, name) ? value[name] : undefined;
        if (optional && (held === undefined || held === null)) continue;
        if (held === undefined) return refuse(`${path}/${name}`, rule.expected, held);
        known[name] = rule.check(held, `${path}/${name}`);
      }
      return known;
    },
  };
}

function refuse(path: string, expected: string, received: unknown): never {
  const found = describe(received);
  const where = path === "" ? "the top" : path;
  throw new HeddleError("session-invalid", `Expected ${expected} at ${where}, received ${found}.`, {
    path,
    expected,
    received: found,
  });
}

function isKeyOf<T extends object>(table: T, key: PropertyKey): key is keyof T {
  return Object.hasOwn(table, key);
}
