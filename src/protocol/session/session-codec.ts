/**
 * The session dialect as JSON text.
 *
 * Both ways go through the same check: what is written has the form of its type and nothing else, what is read is
 * refused where it has not. Members without a value are left out; a null inside opaque data (a tool's arguments, a
 * result) is data and stays. Members that the dialect does not know are dropped, event types that it does not know
 * are refused. Text that is too long or nested too deep is refused before anything looks at it.
 */
import { HeddleError } from "../errors.ts";
import { decodeJson, limitExceeded } from "../json.ts";
import type { JsonLimits } from "../json.ts";
import type { SessionEvent, SessionRunInput } from "./model.ts";
import { checkSession } from "./session-check.ts";

/** Twice what an AG-UI event may have, so that whatever fits into one still fits after the envelope is around it. */
const MAX_DEPTH = 1024;

/** Writes one event. Throws `session-invalid`, or `limit-exceeded` where it is nested too deep to be written. */
export function encodeSessionEvent(event: SessionEvent): string {
  return stringify(checkSession("SessionEvent", event));
}

/** Reads one event. Throws `json-invalid`, `limit-exceeded` or `session-invalid`. */
export function decodeSessionEvent(text: string, limits?: JsonLimits): SessionEvent {
  return checkSession("SessionEvent", decodeSessionJson(text, limits));
}

/** The JSON of an event, not yet judged. Throws `json-invalid` or `limit-exceeded`. */
export function decodeSessionJson(text: string, limits?: JsonLimits): unknown {
  return decodeJson(text, { maxDepth: MAX_DEPTH, ...limits });
}

/** Writes a `run-agent` request. Throws `session-invalid` or `limit-exceeded`. */
export function encodeSessionRunInput(input: SessionRunInput): string {
  return stringify(checkSession("SessionRunInput", input));
}

/** Reads a `run-agent` request. Throws `json-invalid`, `limit-exceeded` or `session-invalid`. */
export function decodeSessionRunInput(text: string, limits?: JsonLimits): SessionRunInput {
  return checkSession("SessionRunInput", decodeJson(text, limits));
}

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    // JSON.stringify recurses; the stack it runs out of is the only limit that it has.
    if (cause instanceof RangeError) throw limitExceeded("depth of the JSON value", MAX_DEPTH, MAX_DEPTH + 1);
    const reason = cause instanceof Error ? cause.message : String(cause);
    const problem = { path: "/data", expected: "JSON values", received: reason };
    throw new HeddleError("session-invalid", `Expected JSON values at /data: ${reason}.`, problem, { cause });
  }
}
