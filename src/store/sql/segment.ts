/**
 * Events packed into rows: lines of JSON, compressed where that pays.
 *
 * Texts come out as they went in, so merging rows or compressing them again changes nothing that anybody reads. The codec
 * stands in the row; a codec keeps its number and its meaning for ever. In front of the bytes stands their CRC-32: neither
 * engine notices by itself when a disk gives back something else than was written.
 */
import { constants, crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import type { ZlibOptions } from "node:zlib";
import { HeddleError } from "../../protocol/index.ts";

/** How the bytes of a row are made of its text. */
export const CODECS = { plain: 0, deflate: 1 } as const;

/** Bytes, and how they were made. */
export interface Packed {
  /** One of `CODECS`. */
  readonly codec: number;
  /** The bytes. */
  readonly data: Uint8Array;
}

/** A row of events. */
export interface Segment extends Packed {
  /** How many events. */
  readonly count: number;
  /** Whether it is so small that it should be merged with its neighbours. */
  readonly loose: boolean;
}

/** Most events in a row. */
const MAX_EVENTS = 256;
/** Most characters in a row, unless a single event is longer. */
const MAX_CHARS = 1 << 16;
/** A row of fewer characters is merged with its neighbours later, and compressed then. */
const LOOSE_CHARS = 1 << 14;
/** Shorter texts are not worth compressing. */
const COMPRESS_FROM_BYTES = 1 << 10;

/** Length of the checksum in front. */
export const CHECKSUM_BYTES = 4;

/** Packing in passing: events repeat themselves at once, so a small window finds it all, and costs half the time. */
const QUICKLY = { level: constants.Z_BEST_SPEED, windowBits: 12, memLevel: 4 } as const;

/** Packs a text. */
export const pack = (text: string): Packed => packBytes(Buffer.from(text), {});

/**
 * Packs the bytes of a row on the hot path: quickly, and not at all where the row is merged later anyway. They come with
 * room for the checksum in front, so that a row which stays as it is need not be copied.
 */
export function packRow(room: Uint8Array, loose: boolean): Packed {
  const bytes = room.subarray(CHECKSUM_BYTES);
  if (!loose && bytes.length >= COMPRESS_FROM_BYTES) return sealed(CODECS.deflate, deflateRawSync(bytes, QUICKLY));
  const data = Buffer.from(room.buffer, room.byteOffset, room.byteLength);
  data.writeUInt32LE(crc32(bytes));
  return { codec: CODECS.plain, data };
}

function packBytes(bytes: Uint8Array, options: ZlibOptions): Packed {
  if (bytes.length < COMPRESS_FROM_BYTES) return sealed(CODECS.plain, bytes);
  return sealed(CODECS.deflate, deflateRawSync(bytes, options));
}

function sealed(codec: number, bytes: Uint8Array): Packed {
  const data = Buffer.allocUnsafe(CHECKSUM_BYTES + bytes.length);
  data.writeUInt32LE(crc32(bytes));
  data.set(bytes, CHECKSUM_BYTES);
  return { codec, data };
}

/** Unpacks a text. Throws `store-corrupt`. */
export const unpack = (packed: Packed): string => unpackBytes(packed).toString();

/** Unpacks a text as its bytes, which may be shared: do not change them. Throws `store-corrupt`. */
export function unpackBytes({ codec, data }: Packed): Buffer {
  const whole = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const bytes = whole.subarray(CHECKSUM_BYTES);
  if (whole.length < CHECKSUM_BYTES || whole.readUInt32LE() !== crc32(bytes)) {
    throw new HeddleError("store-corrupt", "A row of the database is not as it was written: restore a backup.", {});
  }
  if (codec === CODECS.plain) return bytes;
  if (codec !== CODECS.deflate) {
    throw new HeddleError("store-corrupt", `A row is packed in a way (${codec}) that this version does not know.`, {});
  }
  try {
    return inflateRawSync(bytes);
  } catch (cause) {
    throw new HeddleError(
      "store-corrupt",
      "A row of the database cannot be unpacked: restore a backup.",
      {},
      { cause },
    );
  }
}

/** The text of a row to be. */
export interface Cut {
  /** Its events, a line each. */
  readonly text: string;
  /** How many events. */
  readonly count: number;
  /** Whether it is so small that it should be merged with its neighbours. */
  readonly loose: boolean;
}

/** Cuts events into as few rows as fit. */
export function cutEvents(events: readonly string[]): readonly Cut[] {
  const cuts: Cut[] = [];
  let lines: string[] = [];
  let chars = 0;
  const flush = (): void => {
    if (lines.length === 0) return;
    cuts.push({ text: lines.join("\n"), count: lines.length, loose: chars < LOOSE_CHARS });
    lines = [];
    chars = 0;
  };
  for (const json of events) {
    if (lines.length === MAX_EVENTS || chars + json.length > MAX_CHARS) flush();
    lines.push(json);
    chars += json.length;
  }
  flush();
  return cuts;
}

/** Rows of events that stay as they are, while somebody waits for them. */
export const packAtOnce = (events: readonly string[]): readonly Segment[] =>
  cutEvents(events).map(({ text, count }) => ({ ...packBytes(Buffer.from(text), QUICKLY), count, loose: false }));

/** Rows of events that stay as they are, however small: taken time over. */
export const packEvents = (events: readonly string[]): readonly Segment[] =>
  cutEvents(events).map(({ text, count }) => ({ ...pack(text), count, loose: false }));

/** The events of a row. */
export const unpackEvents = (packed: Packed): readonly string[] => unpack(packed).split("\n");
