/**
 * What an event is once it is JSON: a value of its own, which nobody else can change, and which has a size.
 *
 * Agents hand over live objects. One may be changed after it was sent, turn out as something else in JSON, or not be JSON
 * at all; so what is judged, folded and logged is what its text says. Deltas, nearly all there is, hold nothing but
 * texts and numbers, and are copied without the detour.
 */
import { HeddleError, decodeJson } from "../protocol/index.ts";

/** Most bytes that JSON needs for one UTF-16 unit: `\u0000`. */
const MAX_BYTES_PER_CHAR = 6;

/** About what quotes, colons and commas of a flat event take, at most. */
const FRAME_BYTES = 512;

/** The JSON value of an event. Throws `event-invalid` where it has none, `limit-exceeded` where it is large or deep. */
export function detachEvent(event: unknown, maxBytes: number): unknown {
  const flat = flatCopy(event);
  if (flat === undefined) return decodeJson(textOf(event, maxBytes), { maxBytes });
  if (flat.chars * MAX_BYTES_PER_CHAR + FRAME_BYTES > maxBytes) textOf(flat.value, maxBytes);
  return flat.value;
}

/** A copy of an object that holds texts, numbers and truth values only, and how long it is; undefined for any other. */
function flatCopy(event: unknown): { readonly value: object; readonly chars: number } | undefined {
  if (typeof event !== "object" || event === null || Array.isArray(event) || "toJSON" in event) return undefined;
  const value = { ...event };
  let chars = 0;
  for (const [name, field] of Object.entries(value)) {
    if (typeof field === "string") chars += name.length + field.length;
    else if (typeof field === "boolean" || Number.isFinite(field)) chars += name.length + 24;
    else return undefined;
  }
  return { value, chars };
}

function textOf(event: unknown, maxBytes: number): string {
  const text = stringified(event);
  const actual = Buffer.byteLength(text);
  if (actual <= maxBytes) return text;
  const message = `The agent sent an event of ${actual} bytes, and ${maxBytes} are allowed: send less at a time.`;
  throw new HeddleError("limit-exceeded", message, { limit: "size of an event", allowed: maxBytes, actual });
}

function stringified(event: unknown): string {
  let cause: unknown;
  try {
    const text: string | undefined = JSON.stringify(event);
    if (text !== undefined) return text;
  } catch (error) {
    cause = error;
  }
  const details = { path: "", expected: "a JSON value", received: typeof event };
  throw new HeddleError("event-invalid", "The agent sent an event that is not JSON.", details, { cause });
}
