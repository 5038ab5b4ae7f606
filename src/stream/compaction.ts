/**
 * Compaction while a stream is made: mode `events` of `compact`, one event at a time.
 *
 * Comes to the same as `compactWithRanges` on all of them, and holds no more than what that gives: text that is joined, and
 * the other events. So whoever writes a stream need not read it again to compact it.
 */
import type { Event } from "../protocol/index.ts";
import { Joiner } from "./compact-events.ts";
import type { Compacted } from "./compact-events.ts";
import { createExpandState, expand } from "./expand.ts";

/** Takes events in, and joins what belongs together. */
export class Compaction {
  readonly #joiner: Joiner;
  readonly #chunks = createExpandState();
  #next = 0;

  /** `state` is the one in front of the first event; without it, the first input's. */
  constructor(state?: unknown) {
    this.#joiner = new Joiner({ state });
  }

  /** Takes the next event in. It must not be changed afterwards. */
  add(event: Event): void {
    const index = this.#next++;
    for (const each of expand(this.#chunks, event)) this.#joiner.take(each, index);
  }

  /** The events that stand for all that were added. Nothing more may be added. */
  end(): Compacted {
    return this.#joiner.end();
  }
}
