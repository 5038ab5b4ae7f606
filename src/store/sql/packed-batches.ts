/**
 * Batches as they travel to whoever writes them: who and how much in a list, all texts in one piece of bytes. So thousands
 * of small strings cross to a thread or a socket as one value.
 */
import type { Batch, RunEnd } from "../index.ts";
import { CHECKSUM_BYTES, cutEvents } from "./segment.ts";
import { readRef } from "./sql-rows.ts";
import type { RunRef } from "./sql-rows.ts";

/** A row to be, as a part of the bytes. */
export interface PackedSegment {
  /** How many events. */
  readonly count: number;
  /** Whether it should be merged with its neighbours later. */
  readonly loose: boolean;
  /** Where its bytes begin, with room for their checksum. */
  readonly start: number;
  /** Where they end. */
  readonly end: number;
}

/** A batch without its texts. */
export interface PackedBatch {
  /** The run's rows. */
  readonly ref: RunRef;
  /** The fence of its lease. */
  readonly fence: number;
  /** How long the lease holds. */
  readonly leaseMs: number;
  /** Its number. */
  readonly number: number;
  /** How many events it has. */
  readonly count: number;
  /** How the run ends with it. */
  readonly end: RunEnd | undefined;
  /** Its rows to be. */
  readonly segments: readonly PackedSegment[];
}

/** Batches, and the texts of all of them. */
export interface PackedBatches {
  /** The batches, in order. */
  readonly batches: readonly PackedBatch[];
  /** UTF-8 text of all segments, one behind the other, with room for a checksum in front of each. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Packs batches. */
export function packBatches(batches: readonly Batch[]): PackedBatches {
  const texts: string[] = [];
  const starts: number[] = [];
  let length = 0;
  const packed = batches.map(({ lease, number, events, end }): PackedBatch => {
    const segments = cutEvents(events).map(({ text, count, loose }): PackedSegment => {
      const start = length;
      length += CHECKSUM_BYTES + Buffer.byteLength(text);
      texts.push(text);
      starts.push(start);
      return { count, loose, start, end: length };
    });
    const { fence, leaseMs } = lease;
    return { ref: readRef(lease.ref), fence, leaseMs, number, count: events.length, end, segments };
  });
  // Not from the pool: these bytes are given away.
  const buffer = Buffer.from(new ArrayBuffer(length));
  texts.forEach((text, index) => buffer.write(text, (starts[index] ?? 0) + CHECKSUM_BYTES));
  return { batches: packed, bytes: buffer };
}
