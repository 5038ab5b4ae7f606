/**
 * Batches on their way to the writer's thread: all numbers in one list, which is given over and not copied. Of objects
 * every name is written and read again, which for 200 small batches takes longer than appending some of them.
 */
import type { RunEnd } from "../index.ts";
import type { PackedBatch, PackedBatches, PackedSegment } from "../sql/packed-batches.ts";

/** Batches as numbers and bytes. */
export interface FlatBatches {
  /** The numbers of each batch, then those of each of its segments. */
  readonly numbers: Float64Array<ArrayBuffer>;
  /** How runs end, by the place of their batches. */
  readonly ends: readonly (readonly [place: number, end: RunEnd])[];
  /** As `PackedBatches`. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Numbers of a batch, without those of its segments. */
const PER_BATCH = 8;
/** Numbers of a segment. */
const PER_SEGMENT = 4;

/** Makes numbers of batches. */
export function flatten({ batches, bytes }: PackedBatches): FlatBatches {
  const segments = batches.reduce((sum, batch) => sum + batch.segments.length, 0);
  const numbers = new Float64Array(PER_BATCH * batches.length + PER_SEGMENT * segments);
  const ends: [number, RunEnd][] = [];
  let at = 0;
  for (const [place, { ref, fence, leaseMs, number, count, end, segments: own }] of batches.entries()) {
    numbers.set([ref.tenant, ref.thread, ref.run, fence, leaseMs, number, count, own.length], at);
    at += PER_BATCH;
    for (const segment of own) {
      numbers.set([segment.count, segment.loose ? 1 : 0, segment.start, segment.end], at);
      at += PER_SEGMENT;
    }
    if (end !== undefined) ends.push([place, end]);
  }
  return { numbers, ends, bytes };
}

/** Makes batches of numbers again. */
export function unflatten({ numbers, ends, bytes }: FlatBatches): PackedBatches {
  const endOf = new Map(ends);
  const batches: PackedBatch[] = [];
  let at = 0;
  const next = (): number => numbers[at++] ?? Number.NaN;
  while (at < numbers.length) {
    const ref = { tenant: next(), thread: next(), run: next() };
    const [fence, leaseMs, number, count] = [next(), next(), next(), next()];
    const segments = Array.from({ length: next() }, (): PackedSegment => {
      return { count: next(), loose: next() === 1, start: next(), end: next() };
    });
    batches.push({ ref, fence, leaseMs, number, count, end: endOf.get(batches.length), segments });
  }
  return { batches, bytes };
}
