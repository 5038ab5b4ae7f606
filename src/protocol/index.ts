/**
 * `heddle/protocol`: what travels. Types, enforcement, factories, wire formats, dialects and errors of AG-UI.
 * Every line here is public.
 */
export { ERRORS, HeddleError } from "./errors.ts";
export type { DetailsOf, ErrorBody, ErrorCode, ErrorDetails, ErrorEntry, Problem } from "./errors.ts";
export { parseAs, parseEvent, parseRunInput } from "./enforce.ts";
export type { Enforced, Warning, WarningCode } from "./enforce.ts";
export type { ByteSource, DecodeLimits, Frame, FrameDecoder } from "./frames.ts";
export { EventType } from "./generated/model.ts";
export type * from "./generated/model.ts";
export * from "./generated/factories.ts";
