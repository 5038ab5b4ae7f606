/**
 * `heddle/protocol`: what travels. Types, enforcement, factories, wire formats, dialects and errors of AG-UI.
 * Every line here is public.
 */
export { ERRORS, HeddleError } from "./errors.ts";
export type { DetailsOf, ErrorBody, ErrorCode, ErrorDetails, ErrorEntry, Problem } from "./errors.ts";
export { parseEvent, parseRunInput } from "./enforce.ts";
export type { Enforced, Warning, WarningCode } from "./enforce.ts";
export { EventEncoder } from "./event-encoder.ts";
export type { BinaryCodec, EventEncoderOptions } from "./event-encoder.ts";
export type { ByteSource, DecodeLimits, Frame, FrameDecoder } from "./frames.ts";
export { EventType } from "./generated/model.ts";
export type * from "./generated/model.ts";
export * from "./generated/factories.ts";
export { PROTOCOL_VERSION } from "./version.ts";
export { decodeEvent, decodeEvents, decodeJson, decodeRunInput, encodeEvents } from "./json.ts";
export type { JsonLimits } from "./json.ts";
export { NDJSON_MEDIA_TYPE, createNdjsonDecoder, decodeNdjson, encodeNdjson } from "./ndjson.ts";
export {
  SSE_MEDIA_TYPE,
  createSseDecoder,
  createSseEncoder,
  decodeSse,
  encodeSse,
  encodeSseBytes,
  encodeSseComment,
  encodeSseCursor,
} from "./sse.ts";
export { METADATA_KEY } from "./metadata-key.ts";
