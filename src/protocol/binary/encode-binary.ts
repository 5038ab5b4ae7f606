/**
 * Events to bytes.
 *
 * One writer is kept between calls, so that a delta costs one allocation: its result. The writer is taken while it is
 * in use, so an error in the middle, or an event whose `toJSON` encodes another one, only costs a new writer.
 */
import { WireWriter } from "./wire-writer.ts";
import type { Event } from "../generated/model.ts";
import { writeEvent } from "./message-writer.ts";

/** The media type of this wire; a response has exactly this `Content-Type`, without parameters. */
export const BINARY_MEDIA_TYPE = "application/vnd.ag-ui.event+proto";

/** A writer that has grown beyond this is let go. */
const KEPT_BYTES = 64 * 1024;

const LENGTH_BYTES = 4;

let spare: WireWriter | undefined;

/** Encodes one event as one frame: four bytes of length, big-endian, then the message. */
export function encodeBinary(event: Event): Uint8Array {
  const frame = encode(event, true);
  const length = frame.length - LENGTH_BYTES;
  frame[0] = length >>> 24;
  frame[1] = length >>> 16;
  frame[2] = length >>> 8;
  frame[3] = length;
  return frame;
}

/** Encodes one event as a bare message, without a length. */
export function encodeBinaryMessage(event: Event): Uint8Array {
  return encode(event, false);
}

function encode(event: Event, framed: boolean): Uint8Array {
  const writer = spare ?? new WireWriter();
  spare = undefined;
  if (framed) writer.gap(LENGTH_BYTES);
  writeEvent(writer, event);
  const bytes = writer.finish();
  if (writer.capacity <= KEPT_BYTES) spare = writer;
  return bytes;
}

/** This wire, for an encoder that chooses among several. */
export const binaryCodec = { mediaType: BINARY_MEDIA_TYPE, encode: encodeBinary } as const;
