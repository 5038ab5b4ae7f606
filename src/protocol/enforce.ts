/**
 * The judgement of AG-UI's data: what is unknown is taken out with a warning, what is malformed is refused.
 *
 * Exact values, nearly all there are, pass the checks of shape.ts and come back untouched. The rest is walked here
 * against the table of shapes: unknown properties and union members are stripped (R-PROC-08), cascading outward
 * through required positions (R-PROC-10); open objects keep what they hold (R-PROC-09); a known field with a wrong
 * value is a problem, the first of which is reported (R-PROC-02). A value that is stripped whole takes the problems
 * inside it along. Nothing is mutated: what changes is copied.
 */
import { HeddleError } from "./errors.ts";
import type { Problem } from "./errors.ts";
import type { Event, RunAgentInput } from "./generated/model.ts";
import { LEAVES, checkOf, enumValues, isObject, objectShape, unionShape } from "./shape.ts";
import type { FieldShape, ObjectShape } from "./shape.ts";

/** Something that was taken out or changed, and where. */
export interface Warning {
  /** What kind of thing it was. */
  readonly code: WarningCode;
  /** JSON Pointer to it, in the value as it came. */
  readonly path: string;
  /** What happened, in one sentence. */
  readonly message: string;
}

/** What a warning can be about. */
export type WarningCode =
  | "unknown-event"
  | "unknown-property"
  | "unknown-member"
  | "retired-form"
  | "lossy-projection"
  | "unknown-variant"
  | "not-applied";

/** A judged value, and what had to be taken out of it. */
export interface Enforced<T> {
  /** The value, exactly as AG-UI defines it. */
  readonly value: T;
  /** What was taken out; empty for nearly every value. */
  readonly warnings: readonly Warning[];
}

const NO_WARNINGS: readonly Warning[] = Object.freeze([]);

/**
 * Judges one event. `value` is undefined where the whole event is unknown and has to be dropped.
 * Throws `event-invalid` where a known field is malformed.
 */
export function parseEvent(input: unknown): Enforced<Event | undefined> {
  if (isExactEvent(input)) return { value: input as Event, warnings: NO_WARNINGS };
  return enforce("%Event", input, "event-invalid") as Enforced<Event | undefined>;
}

/** Judges a run input. Throws `input-invalid` where a known field is malformed. */
export function parseRunInput(input: unknown): Enforced<RunAgentInput> {
  if (checkOf("@RunAgentInput")(input)) return { value: input as RunAgentInput, warnings: NO_WARNINGS };
  return enforce("@RunAgentInput", input, "input-invalid") as Enforced<RunAgentInput>;
}

/** Judges what an author built: empty optional fields go without a word, anything unknown is refused. */
export function enforceOwn(input: unknown): unknown {
  if (isExactEvent(input)) return input;
  const { value, warnings } = enforce("%Event", input, "event-invalid", true);
  const unknown = warnings[0];
  if (unknown === undefined) return value;
  return refuse("event-invalid", { path: unknown.path, expected: "nothing", received: "an unknown field or member" });
}

/** Whether a value is an event, right in every field and with nothing unknown in it. */
export function isExactEvent(input: unknown): boolean {
  if (isObject(input)) {
    // Deltas are most of what there is: this is the same judgement, without the table.
    switch (input.type) {
      case "TEXT_MESSAGE_CONTENT":
      case "REASONING_MESSAGE_CONTENT":
        if (isString(input.delta) && isString(input.messageId) && size(input) === 3) return true;
        break;
      case "TOOL_CALL_ARGS":
        if (isString(input.delta) && isString(input.toolCallId) && size(input) === 3) return true;
    }
  }
  return checkOf("%Event")(input);
}

const isString = (value: unknown): boolean => typeof value === "string";

function size(value: object): number {
  let count = 0;
  for (const _ in value) count++;
  return count;
}

/** Judges a value as a shape. */
export function enforce(
  code: string,
  input: unknown,
  errorCode: "event-invalid" | "input-invalid",
  own = false,
): Enforced<unknown> {
  const walk: Walk = { own, warnings: [], more: 0, problem: undefined, unknown: undefined };
  const value = judge(walk, code, input, "");
  if (walk.more > 0) walk.warnings.push(moreWarning(walk.more));
  if (value === DROPPED) {
    // The outermost value has no container to be taken out of: all of it goes.
    const at = walk.unknown?.path ?? "";
    if (own)
      refuse(errorCode, { path: at, expected: "something that AG-UI knows", received: describe(walk.unknown?.what) });
    const isType = code === "%Event" && at === "";
    return { value: undefined, warnings: [unknownWarning(isType ? "unknown-event" : "unknown-member", "", walk)] };
  }
  if (walk.problem !== undefined) refuse(errorCode, walk.problem);
  return { value, warnings: walk.warnings.length === 0 ? NO_WARNINGS : walk.warnings };
}

function refuse(code: "event-invalid" | "input-invalid", problem: Problem): never {
  const { path, expected, received } = problem;
  throw new HeddleError(
    code,
    `Expected ${expected} at ${path === "" ? "the top" : path}, received ${received}.`,
    problem,
  );
}

interface Walk {
  /** Whether empty optional fields are taken out silently: for values that our own caller built. */
  readonly own: boolean;
  readonly warnings: Warning[];
  /** Warnings beyond those that are kept. */
  more: number;
  problem: Problem | undefined;
  /** What is unknown in the value that is just being dropped. */
  unknown: { readonly path: string; readonly what: unknown } | undefined;
}

/** So many warnings say enough: a hostile value must not cost more than it is long. */
const MAX_WARNINGS = 1000;

/** Says that a value is unknown as a whole, and that its container has to do without it. */
const DROPPED = Symbol("dropped");

const has = (object: object, key: string): boolean => Object.hasOwn(object, key);

function judge(walk: Walk, code: string, value: unknown, path: string): unknown {
  const rest = code.slice(1);
  switch (code[0]) {
    case "=":
      return value === rest ? value : report(walk, path, `"${rest}"`, value);
    case "#": {
      const values = enumValues(rest);
      if (typeof value !== "string") return report(walk, path, `one of ${values.join(", ")}`, value);
      return values.includes(value) ? value : dropUnknown(walk, path, value);
    }
    case "@":
      return judgeObject(walk, objectShape(rest), value, path);
    case "%":
      return judgeUnion(walk, rest, value, path);
    case "[":
    case "+":
      return judgeList(walk, rest, value, path, code[0] === "+" ? 1 : 0);
    case "~":
      if (typeof value === "string") return value;
      return Array.isArray(value)
        ? judgeList(walk, rest, value, path, 0)
        : report(walk, path, "a string or a list of content parts", value);
    default: {
      const [expected, check] = LEAVES[code] ?? ["", () => false];
      return check(value) ? value : report(walk, path, expected, value);
    }
  }
}

function judgeUnion(walk: Walk, name: string, value: unknown, path: string): unknown {
  const { by, members } = unionShape(name);
  if (!isObject(value)) return report(walk, path, "an object", value);
  const tag = has(value, by) ? value[by] : undefined;
  if (typeof tag !== "string") return report(walk, `${path}/${by}`, "a string", tag);
  const member = members.get(tag);
  return member === undefined ? dropUnknown(walk, path, tag) : judgeObject(walk, member, value, path);
}

function dropUnknown(walk: Walk, path: string, what: unknown): typeof DROPPED {
  walk.unknown = { path, what };
  return DROPPED;
}

function judgeObject(walk: Walk, { open, fields }: ObjectShape, value: unknown, path: string): unknown {
  if (!isObject(value)) return report(walk, path, "an object", value);
  const marked = mark(walk);
  const keys = Object.keys(value);
  let copy: Record<string, unknown> | undefined;
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] ?? "";
    const held = value[key];
    const kept = judgeMember(walk, fields.get(key), open, key, held, path);
    if (kept === TAKES_ALL) return drop(walk, marked);
    if (kept !== held) copy ??= copyOf(value, keys, index);
    if (copy !== undefined && kept !== DROPPED) put(copy, key, kept);
  }
  for (const [key, { required, code }] of fields) {
    if (required && (!has(value, key) || value[key] === undefined)) {
      report(walk, `${path}/${key}`, expectation(code), undefined);
    }
  }
  return copy ?? value;
}

/** Says that a required member is unknown, so that its object goes as a whole. */
const TAKES_ALL = Symbol("takes all");

function judgeMember(
  walk: Walk,
  field: FieldShape | undefined,
  open: boolean,
  key: string,
  held: unknown,
  path: string,
): unknown {
  if (field === undefined) {
    if (open) return held;
    if (walk.warnings.length >= MAX_WARNINGS) walk.more++;
    else warnUnknown(walk, "unknown-property", `${path}/${escape(key)}`, key);
    return DROPPED;
  }
  if (held === undefined || (held === null && !field.required && walk.own)) return DROPPED;
  const kept = judge(walk, field.code, held, `${path}/${key}`);
  if (kept !== DROPPED) return kept;
  if (field.required) return TAKES_ALL;
  warnUnknown(walk, "unknown-member", `${path}/${key}`);
  return DROPPED;
}

function copyOf(
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  count: number,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (let index = 0; index < count; index++) {
    const key = keys[index];
    if (key !== undefined) put(copy, key, value[key]);
  }
  return copy;
}

/** Assigning to `__proto__` would set a prototype; as JSON it is a member like any other. */
function put(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

function judgeList(walk: Walk, code: string, value: unknown, path: string, atLeast: number): unknown {
  if (!Array.isArray(value)) return report(walk, path, "a list", value);
  let copy: unknown[] | undefined;
  for (let index = 0; index < value.length; index++) {
    const marked = mark(walk);
    const kept = judge(walk, code, value[index], `${path}/${index}`);
    if (kept !== value[index]) copy ??= value.slice(0, index);
    if (kept === DROPPED) {
      drop(walk, marked);
      warnUnknown(walk, "unknown-member", `${path}/${index}`);
    } else copy?.push(kept);
  }
  const list = copy ?? value;
  if (list.length < atLeast) walk.problem ??= { path, expected: "a list of at least one", received: "an empty list" };
  return list;
}

/** Where warnings and problems stood, so that a value that is dropped whole takes its own along. */
const mark = (walk: Walk): readonly [number, Problem | undefined] => [walk.warnings.length, walk.problem];

function drop(walk: Walk, [length, problem]: readonly [number, Problem | undefined]): typeof DROPPED {
  walk.warnings.length = length;
  walk.problem = problem;
  return DROPPED;
}

/** Notes the first problem; the walk goes on, since an enclosing value may yet turn out to be unknown. */
function report(walk: Walk, path: string, expected: string, received: unknown): unknown {
  walk.problem ??= { path, expected, received: describe(received) };
  return received;
}

function expectation(code: string): string {
  const leaf = LEAVES[code];
  if (leaf !== undefined) return leaf[0];
  switch (code[0]) {
    case "=":
      return `"${code.slice(1)}"`;
    case "#":
      return `one of ${enumValues(code.slice(1)).join(", ")}`;
    case "~":
      return "a string or a list of content parts";
    case "[":
    case "+":
      return "a list";
    default:
      return "an object";
  }
}

/** A value in a few words. */
export function describe(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (isObject(value)) return "an object";
  return shorten(typeof value === "string" ? JSON.stringify(shorten(value, 200)) : String(value), 60);
}

/** The beginning of a text, never with half a character at its end. */
export const shorten = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text;

/** A key as a JSON Pointer writes it; of a monstrous one only the beginning. */
const escape = (key: string): string => shorten(key, 200).replaceAll("~", "~0").replaceAll("/", "~1");

function warnUnknown(walk: Walk, code: WarningCode, path: string, what?: string): void {
  if (walk.warnings.length >= MAX_WARNINGS) walk.more++;
  else walk.warnings.push(unknownWarning(code, path, walk, what));
}

function unknownWarning(code: WarningCode, path: string, { unknown }: Walk, what: unknown = unknown?.what): Warning {
  const at = code === "unknown-property" || unknown === undefined ? path : unknown.path;
  const where = at === "" ? "" : ` at ${at}`;
  const kind = { "unknown-event": "event of type", "unknown-property": "property" }[code as string] ?? "member";
  return { code, path, message: `Removed the ${kind} ${describe(what)}${where}: AG-UI does not describe it.` };
}

const moreWarning = (count: number): Warning => ({
  code: "unknown-property",
  path: "",
  message: `Removed ${count} more things that AG-UI does not describe.`,
});
