/**
 * JSON text in and out, for text that nobody vouches for.
 *
 * Bad text, too much of it, or nesting that would overflow a stack later on is refused with a typed error before
 * anything else looks at it. What comes out is judged like every other value.
 */
import { parseEvent, parseRunInput, shorten } from "./enforce.ts";
import type { Enforced, Warning } from "./enforce.ts";
import { HeddleError } from "./errors.ts";
import type { Problem } from "./errors.ts";
import type { Event, RunAgentInput } from "./generated/model.ts";

/** Limits on JSON text. */
export interface JsonLimits {
  /** Longest text, in bytes or characters. Default 16 MiB. */
  readonly maxBytes?: number;
  /** Deepest nesting of lists and objects. Default 512. */
  readonly maxDepth?: number;
}

const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
const DEFAULT_MAX_DEPTH = 512;

/** Reads one JSON value. Throws `json-invalid` or `limit-exceeded`. */
export function decodeJson(text: string | Uint8Array, limits: JsonLimits = {}): unknown {
  const { maxBytes = DEFAULT_MAX_BYTES, maxDepth = DEFAULT_MAX_DEPTH } = limits;
  if (text.length > maxBytes) throw limitExceeded("size of the JSON text", maxBytes, text.length);
  const source = typeof text === "string" ? text : decodeUtf8(text);
  const value = parseJson(source);
  // Every level takes two characters, so short text cannot be too deep.
  if (text.length > 2 * maxDepth || HUGE_NUMBER.test(source)) checkValue(value, maxDepth, maxDepth);
  return value;
}

/** What a text has to hold for a number to become Infinity: a large exponent, or more than 300 digits. */
const HUGE_NUMBER = /\d[eE]\+?\d{3}|\d{300}/;

/** Refuses what is too deep, and numbers that no double can hold: they read as Infinity, and would be written as null. */
function checkValue(value: unknown, levels: number, maxDepth: number): void {
  if (typeof value === "number") {
    if (Number.isFinite(value)) return;
    throw new HeddleError("json-invalid", "A number in the JSON text is larger than a double can hold.", {});
  }
  if (typeof value !== "object" || value === null) return;
  if (levels === 0) throw limitExceeded("depth of the JSON value", maxDepth, maxDepth + 1);
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const member of members) {
    if (typeof member === "object" || typeof member === "number") checkValue(member, levels - 1, maxDepth);
  }
}

/** Reads and judges one event. Throws `json-invalid`, `limit-exceeded` or `event-invalid`. */
export function decodeEvent(text: string | Uint8Array, limits?: JsonLimits): Enforced<Event | undefined> {
  return parseEvent(decodeJson(text, limits));
}

/** Reads and judges a run input. Throws `json-invalid`, `limit-exceeded` or `input-invalid`. */
export function decodeRunInput(text: string | Uint8Array, limits?: JsonLimits): Enforced<RunAgentInput> {
  return parseRunInput(decodeJson(text, limits));
}

/** Writes a history as one JSON array. */
export function encodeEvents(events: readonly Event[]): string {
  return JSON.stringify(events);
}

/**
 * Reads a history that was written as one JSON array. Unknown events are left out; paths of warnings begin with the
 * event's index. Throws `json-invalid`, `limit-exceeded` or `event-invalid`.
 */
export function decodeEvents(text: string | Uint8Array, limits?: JsonLimits): Enforced<readonly Event[]> {
  const values = decodeJson(text, limits);
  if (!Array.isArray(values)) {
    throw new HeddleError("json-invalid", "Expected a JSON array of events.", { reason: "not an array" });
  }
  const warnings: Warning[] = [];
  const value = values.flatMap((item: unknown, index) => {
    const judged = judgeAt(index, item);
    for (const warning of judged.warnings) warnings.push({ ...warning, path: `/${index}${warning.path}` });
    return judged.value === undefined ? [] : [judged.value];
  });
  return { value, warnings };
}

/** Judges one event of a list; a refusal names its place in the list. */
function judgeAt(index: number, item: unknown): Enforced<Event | undefined> {
  try {
    return parseEvent(item);
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "event-invalid") throw error;
    const details: Problem = {
      expected: "",
      received: "",
      ...error.details,
      path: `/${index}${pathOf(error.details)}`,
    };
    throw new HeddleError("event-invalid", `Event ${index}: ${error.message}`, details, { cause: error });
  }
}

const pathOf = (details: object): string => ("path" in details && typeof details.path === "string" ? details.path : "");

/** JSON.parse with our error. A byte order mark is ignored. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (cause) {
    const details = { preview: shorten(text, 60) };
    throw new HeddleError("json-invalid", `This is not JSON: ${shorten(reasonOf(cause), 200)}.`, details, { cause });
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new HeddleError("json-invalid", "This is not JSON: the bytes are not UTF-8.", {}, { cause });
  }
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** The error of a limit that was passed. */
export function limitExceeded(limit: string, allowed: number, actual: number): HeddleError<"limit-exceeded"> {
  return new HeddleError("limit-exceeded", `The ${limit} is ${actual}; ${allowed} is the limit.`, {
    limit,
    allowed,
    actual,
  });
}
