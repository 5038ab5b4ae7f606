/**
 * The ways in which bytes or events are turned down, each made in one place.
 *
 * Everything that cannot be read or written is `frame-invalid`, with a `reason` for programs; what is only too large
 * or too deep is `limit-exceeded`. Nothing else leaves this folder, whatever the bytes hold.
 */
import { HeddleError } from "../errors.ts";

/** Why a frame was turned down: the `reason` in the details of `frame-invalid`. */
export type FrameFault =
  | "malformed"
  | "truncated"
  | "no-event"
  | "conflicting-arms"
  | "conflicting-content"
  | "type-mismatch"
  | "not-json"
  | "unsafe-integer"
  | "unknown-event"
  | "wrong-field"
  | "not-bytes";

/** A `frame-invalid` error with its reason. */
export function invalid(
  reason: FrameFault,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): HeddleError<"frame-invalid"> {
  return new HeddleError("frame-invalid", message, { reason, ...details }, cause === undefined ? undefined : { cause });
}

/** The refusal to encode a field that is missing or of another type than its slot. */
export function wrongField(owner: string, field: string, expected: string): HeddleError<"frame-invalid"> {
  return invalid("wrong-field", `Cannot encode ${owner}: \`${field}\` must be ${expected}.`, {
    owner,
    field,
    expected,
  });
}

/** The refusal of something larger or deeper than its limit. */
export function tooLarge(limit: string, allowed: number, actual: number): HeddleError<"limit-exceeded"> {
  const message = `The ${limit} is ${actual}; ${allowed} is the limit.`;
  return new HeddleError("limit-exceeded", message, { limit, allowed, actual });
}

/** Anything that was thrown while bytes were read, as a `HeddleError`. */
export function asFrameFailure(error: unknown): HeddleError {
  if (error instanceof HeddleError) return error;
  return invalid("malformed", "The bytes are not one AG-UI event in protobuf.", {}, error);
}
