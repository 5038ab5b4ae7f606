/**
 * Writes the fast checks: one small function per definition that says whether a value is exactly right, with
 * nothing unknown in it. They check in place and allocate nothing. Whatever fails them goes to the enforcing walk,
 * which knows what to strip and how to explain; so a check that is too strict costs time, never correctness.
 *
 * An object is exact when its required fields are right and every further key is a right optional field:
 * the optional fields that are present are counted (a wrong one counts as NaN, which equals nothing).
 */
import { definitions } from "../../src/protocol/definition/index.ts";
import type { Field, ObjectDefinition, Shape } from "../../src/protocol/definition/index.ts";
import { HEADER, events, objects, resolve, tagOf, unions } from "./outline.ts";

const BASE = ["timestamp", "rawEvent", "metadata"];

export function writeChecks(): string {
  const used = reachable(["Event", "RunAgentInput"]);
  const enums = Object.entries(definitions).flatMap(([name, definition]) =>
    definition.kind === "enum" && used.has(name)
      ? [`const is${name}: Check = (v) => ${definition.values.map((value) => `v === "${value}"`).join(" || ")};`]
      : [],
  );
  const eventNames = new Set(events.map(({ name }) => name));
  const objectLines = objects
    .filter(([name]) => used.has(name))
    .map(([name, definition]) =>
      eventNames.has(name)
        ? `const is${name} = (v: Fields): boolean => ${exact(definition)};`
        : `const is${name}: Check = (v) => isObject(v) && ${exact(definition)};`,
    );
  const unionLines = unions
    .filter(([name]) => name !== "Event" && used.has(name))
    .map(([name, { by, members }]) => {
      const cases = members.map((member) => `v.${by} === "${tagOf(member, by)}" ? is${member}(v) : `).join("");
      return `const is${name}: Check = (v) => isObject(v) && (${cases}false);`;
    });
  const eventCases = events.map(({ name, type }) => `    case "${type}":\n      return is${name}(v);`);
  return `${HEADER}
type Check = (v: unknown) => boolean;
type Fields = Readonly<Record<string, unknown>>;

const isString: Check = (v) => typeof v === "string";
const isBoolean: Check = (v) => typeof v === "boolean";
const isInt: Check = (v) => Number.isSafeInteger(v);
const isUint: Check = (v) => Number.isSafeInteger(v) && (v as number) >= 0;
const isPointer: Check = (v) => typeof v === "string" && (v === "" || (v.charCodeAt(0) === 47 && !/~(?![01])/.test(v)));
const isJson: Check = (v) => v !== undefined;
const isValue: Check = (v) => v !== undefined && v !== null;
const isObject = (v: unknown): v is Fields =>
  typeof v === "object" && v !== null && !Array.isArray(v);

function isList(v: unknown, check: Check): boolean {
  if (!Array.isArray(v)) return false;
  for (let index = 0; index < v.length; index++) if (!check(v[index])) return false;
  return true;
}

/** How many keys an object has. */
function size(v: object): number {
  let count = 0;
  for (const _ in v) count++;
  return count;
}

/** 0 where absent, 1 where right, NaN where wrong. */
const one = (v: unknown, check: Check): number => (v === undefined ? 0 : check(v) ? 1 : NaN);

/** How many of the fields that all events share are there. */
const base = (v: Fields): number =>
  one(v.timestamp, isInt) + one(v.rawEvent, isValue) + one(v.metadata, isObject);
const attributable = (v: Fields): number => base(v) + one(v.subagentRunId, isString);

${enums.join("\n")}
${objectLines.join("\n")}
${unionLines.join("\n")}

/** Whether a value is an event, right in every field and with nothing unknown in it. */
export function isExactEvent(v: unknown): boolean {
  if (!isObject(v)) return false;
  switch (v.type) {
${eventCases.join("\n")}
    default:
      return false;
  }
}

export { isRunAgentInput as isExactRunInput };
`;
}

/** Names of all definitions that values of the given ones can hold. */
function reachable(roots: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const visit = (name: string): void => {
    const definition = definitions[name];
    if (definition === undefined || seen.has(name)) return;
    seen.add(name);
    if (definition.kind === "union") definition.members.forEach(visit);
    if (definition.kind === "alias") visitShape(definition.shape);
    if (definition.kind === "object") Object.values(definition.fields).forEach(({ shape }) => visitShape(shape));
  };
  const visitShape = (shape: Shape): void => {
    if (shape.kind === "ref") visit(shape.to);
    if (shape.kind === "list") visitShape(shape.of);
    if (shape.kind === "text-or") visitShape(shape.list);
  };
  roots.forEach(visit);
  return seen;
}

function exact(definition: ObjectDefinition): string {
  const entries = Object.entries(definition.fields);
  const required = entries.filter(([, field]) => field.required);
  // The discriminator of an event was read by the switch that chose the function.
  const checks = required
    .filter(([name, field]) => !(name === "type" && field.shape.kind === "const" && /^[A-Z]/.test(field.shape.value)))
    .map(([name, field]) => check(`v.${name}`, field.shape));
  if (definition.open) return checks.join(" && ");
  return [
    ...checks,
    rest(
      required.length,
      entries.filter(([, field]) => !field.required),
    ),
  ].join(" && ");
}

function rest(required: number, optional: readonly (readonly [string, Field])[]): string {
  if (optional.length === 0) return `size(v) === ${required}`;
  const names = optional.map(([name]) => name);
  const hasBase = BASE.every((name) => names.includes(name));
  const hasOwner = hasBase && names.includes("subagentRunId");
  const own = optional
    .filter(([name]) => !(hasBase && BASE.includes(name)) && !(hasOwner && name === "subagentRunId"))
    .map(([name, field]) => `one(v.${name}, ${predicate(field.shape)})`);
  const common = hasOwner ? ["attributable(v)"] : hasBase ? ["base(v)"] : [];
  const count = [...common, ...own].join(" + ");
  return `(size(v) === ${required} || size(v) === ${required} + ${count})`;
}

/** An expression that checks a value. */
function check(expression: string, unresolved: Shape): string {
  const shape = resolve(unresolved);
  switch (shape.kind) {
    case "string":
      return `typeof ${expression} === "string"`;
    case "const":
      return `${expression} === "${shape.value}"`;
    case "list":
      return `isList(${expression}, ${predicate(shape.of)})${shape.atLeast === undefined ? "" : ` && (${expression} as unknown[]).length >= ${shape.atLeast}`}`;
    case "text-or":
      return `(typeof ${expression} === "string" || ${check(expression, shape.list)})`;
    default:
      return `${predicate(shape)}(${expression})`;
  }
}

/** A function that checks a value. */
function predicate(unresolved: Shape): string {
  const shape = resolve(unresolved);
  switch (shape.kind) {
    case "string":
      return "isString";
    case "boolean":
      return "isBoolean";
    case "int":
      return "isInt";
    case "uint":
      return "isUint";
    case "pointer":
      return "isPointer";
    case "json":
      return "isJson";
    case "value":
      return "isValue";
    case "open":
      return "isObject";
    case "ref":
      return `is${shape.to}`;
    default:
      return `(x) => ${check("x", shape)}`;
  }
}
