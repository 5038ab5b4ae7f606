/**
 * Bytes to events: one message, or a stream of frames cut anywhere.
 *
 * Work is linear in the bytes: a frame that lies within one chunk is read in place, one that is cut is gathered once,
 * in a buffer that grows with what arrived and never with what a length claims. Frames that were complete before a
 * broken one are still handed over; the failure then meets the next call, and every one after it.
 */
import { DEFAULT_MAX_FRAME_BYTES, readFrames } from "../frames.ts";
import type { ByteSource, DecodeLimits, Frame, FrameDecoder } from "../frames.ts";
import { readEvent } from "./envelope.ts";
import { asFrameFailure, invalid, tooLarge } from "./failures.ts";
import { WireReader } from "./wire-reader.ts";
import type { OnWarning } from "./wire-reader.ts";

/** Options of everything that decodes this wire. */
export interface BinaryDecodeOptions extends DecodeLimits {
  /** Takes a warning for each event, and each content part, of a later version that is left out. */
  readonly onWarning?: OnWarning;
}

/** Decodes one bare message to its JSON value; undefined for an event of a later version, with a warning. */
export function decodeBinaryMessage(bytes: Uint8Array, options: Pick<BinaryDecodeOptions, "onWarning"> = {}): unknown {
  return readMessage(new WireReader(bytes, options.onWarning), 0, bytes.length);
}

/** Decodes a byte source to its end. Stopping early cancels the source. */
export function decodeBinary(
  source: ByteSource,
  options: BinaryDecodeOptions = {},
): AsyncGenerator<Frame, void, undefined> {
  return readFrames(source, createBinaryDecoder(options));
}

/** A decoder for chunks of frames. */
export function createBinaryDecoder(options: BinaryDecodeOptions = {}): FrameDecoder {
  return new BinaryDecoder(options);
}

const LENGTH_BYTES = 4;

/** A gathering buffer that has grown beyond this is let go after its frame. */
const KEPT_BYTES = 64 * 1024;

class BinaryDecoder implements FrameDecoder {
  readonly #limit: number;
  readonly #warn: OnWarning | undefined;
  /** The beginning of a frame that is cut: `#held` bytes of it. */
  #buffer = new Uint8Array(256);
  #held = 0;
  #failure: Error | undefined;

  constructor({ maxFrameBytes = DEFAULT_MAX_FRAME_BYTES, onWarning }: BinaryDecodeOptions) {
    this.#limit = maxFrameBytes;
    this.#warn = onWarning;
  }

  push(chunk: Uint8Array | string): readonly Frame[] {
    const frames: Frame[] = [];
    if (this.#failure !== undefined) throw this.#failure;
    try {
      if (typeof chunk === "string") throw invalid("not-bytes", "Protobuf frames are bytes; this source yields text.");
      const rest = this.#finishHeld(chunk, frames);
      if (this.#held === 0) this.#readChunk(chunk, rest, frames);
    } catch (error) {
      this.#failure = asFrameFailure(error);
      if (frames.length === 0) throw this.#failure;
    }
    return frames;
  }

  end(): readonly Frame[] {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#held > 0) {
      throw (this.#failure = invalid("truncated", "The stream ended in the middle of a frame.", { held: this.#held }));
    }
    return [];
  }

  /** Completes the frame that is held, as far as the chunk goes; returns where the chunk goes on. */
  #finishHeld(chunk: Uint8Array, frames: Frame[]): number {
    let pos = 0;
    while (this.#held > 0 && pos < chunk.length) {
      const wanted = this.#held < LENGTH_BYTES ? LENGTH_BYTES : this.#frameBytes(this.#buffer, 0);
      const taken = Math.min(wanted - this.#held, chunk.length - pos);
      this.#hold(chunk.subarray(pos, pos + taken));
      pos += taken;
      if (this.#held < LENGTH_BYTES || this.#held < this.#frameBytes(this.#buffer, 0)) continue;
      this.#readFrame(new WireReader(this.#buffer, this.#warn), 0, this.#held, frames);
      this.#held = 0;
      if (this.#buffer.length > KEPT_BYTES) this.#buffer = new Uint8Array(256);
    }
    return pos;
  }

  /** Reads all frames that lie whole in the chunk, and holds the beginning of the next. */
  #readChunk(chunk: Uint8Array, from: number, frames: Frame[]): void {
    let pos = from;
    let wire: WireReader | undefined;
    while (chunk.length - pos >= LENGTH_BYTES) {
      const end = pos + this.#frameBytes(chunk, pos);
      if (end > chunk.length) break;
      wire ??= new WireReader(chunk, this.#warn);
      this.#readFrame(wire, pos, end, frames);
      pos = end;
    }
    if (pos < chunk.length) this.#hold(chunk.subarray(pos));
  }

  #readFrame(wire: WireReader, start: number, end: number, frames: Frame[]): void {
    const value = readMessage(wire, start + LENGTH_BYTES, end);
    if (value !== undefined) frames.push({ value });
  }

  /** Length of the frame at `pos`, its four length bytes included. */
  #frameBytes(bytes: Uint8Array, pos: number): number {
    let length = 0;
    for (let index = 0; index < LENGTH_BYTES; index++) length = length * 0x100 + (bytes[pos + index] ?? 0);
    length += LENGTH_BYTES;
    if (length > this.#limit) throw tooLarge("size of a frame", this.#limit, length);
    return length;
  }

  #hold(bytes: Uint8Array): void {
    const needed = this.#held + bytes.length;
    if (needed > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(needed, this.#buffer.length * 2));
      grown.set(this.#buffer.subarray(0, this.#held));
      this.#buffer = grown;
    }
    this.#buffer.set(bytes, this.#held);
    this.#held = needed;
  }
}

function readMessage(wire: WireReader, start: number, end: number): unknown {
  wire.values.pos = start;
  try {
    return readEvent(wire, end);
  } catch (error) {
    throw asFrameFailure(error);
  }
}
