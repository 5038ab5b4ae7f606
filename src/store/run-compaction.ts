/**
 * The compacted form of a run, made while the run is written: what settles it then need not read it back.
 *
 * It is an aid, and bounded: of a run that says a lot it lets go, and whoever settles that run reads it.
 */
import type { Event } from "../protocol/index.ts";
import { Compaction } from "../stream/index.ts";
import type { CompactedEvent } from "./store.ts";

/** The beginning of a run, which was committed with its claim. */
export interface Begun {
  /** Its first events. */
  readonly events: readonly Event[];
  /** The same as the log has them. */
  readonly jsons: readonly string[];
  /** Seq of the last of them. */
  readonly lastSeq: number;
  /** The state that the run found on its branch; undefined where there was none. */
  readonly stateBefore: unknown;
}

/** Longer runs, in characters of JSON, are read back. */
const MAX_CHARS = 4 * 1024 * 1024;

/** Compacts one run. */
export class RunCompaction {
  #compaction: Compaction | undefined;
  #chars = 0;
  readonly #seqs: number[] = [];
  /** What the beginning says may be the whole history: it is not written a second time where it stays as it is. */
  readonly #jsons: ReadonlyMap<Event, string | undefined>;

  constructor({ events, jsons, lastSeq, stateBefore }: Begun) {
    this.#jsons = new Map(events.map((event, index) => [event, jsons[index]]));
    this.#compaction = new Compaction(stateBefore);
    for (const event of events) this.#compaction.add(event);
    this.committed(events.length, lastSeq);
  }

  /** Takes an event in, and how long it is as JSON. */
  add(event: Event, chars: number): void {
    this.#chars += chars;
    if (this.#chars > MAX_CHARS) this.#compaction = undefined;
    this.#compaction?.add(event);
  }

  /** So many more events are in the log, up to this seq. */
  committed(count: number, lastSeq: number): void {
    if (this.#compaction === undefined) this.#seqs.length = 0;
    else for (let before = count - 1; before >= 0; before--) this.#seqs.push(lastSeq - before);
  }

  /** The compacted run, once all of it is committed; undefined where it was too long, or is not all there is. Asked once. */
  end(): readonly CompactedEvent[] | undefined {
    const span = (this.#seqs.at(-1) ?? 0) - (this.#seqs[0] ?? 0) + 1;
    // Somebody else has written in between: it may have been a note on this run.
    if (span > this.#seqs.length) return undefined;
    const compacted = this.#compaction?.end();
    this.#compaction = undefined;
    return compacted?.events.map((event, index) => {
      const [first, last] = compacted.ranges[index] ?? [0, 0];
      return {
        firstSeq: this.#seqs[first] ?? 0,
        lastSeq: this.#seqs[last] ?? 0,
        json: this.#jsons.get(event) ?? JSON.stringify(event),
      };
    });
  }
}
