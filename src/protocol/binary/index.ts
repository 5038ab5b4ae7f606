/** `heddle/protocol/binary`: AG-UI's protobuf frames, byte for byte those of `@ag-ui/proto`. Every line here is public. */
export { createBinaryDecoder, decodeBinary, decodeBinaryMessage } from "./decode-binary.ts";
export type { BinaryDecodeOptions } from "./decode-binary.ts";
export { BINARY_MEDIA_TYPE, binaryCodec, encodeBinary, encodeBinaryMessage } from "./encode-binary.ts";
export type { FrameFault } from "./failures.ts";
export type { OnWarning } from "./wire-reader.ts";
export { LOSSES } from "./losses.ts";
export type { Loss } from "./losses.ts";
