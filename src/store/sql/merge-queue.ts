/**
 * Merging beside the appends, where both use the same database: one run at a time, in a pause between appends, unless so
 * much has gathered that it cannot wait. What fails is done with the run's next merge.
 */
import type { RunRef } from "./sql-rows.ts";
import { MERGE_EVERY } from "./sql-settle.ts";

/** Merging waits for a pause of so long, so that it holds up nobody. */
export const PAUSE_MS = 5;

/** A run with so many loose rows is not left to a pause. */
export const MERGE_AT_LAST = 16 * MERGE_EVERY;

/** Runs whose loose rows are to be merged. */
export class MergeQueue {
  readonly #merge: (ref: RunRef) => Promise<void>;
  readonly #waiting = new Map<string, RunRef>();
  #pause: NodeJS.Timeout | undefined;
  #appending = 0;
  #merging: Promise<void> | undefined;
  #closed = false;

  constructor(merge: (ref: RunRef) => Promise<void>) {
    this.#merge = merge;
  }

  /** Runs an append. Merging waits for a while after it. */
  async during<T>(append: () => Promise<T>): Promise<T> {
    clearTimeout(this.#pause);
    this.#appending += 1;
    try {
      return await append();
    } finally {
      this.#appending -= 1;
      this.#rest();
    }
  }

  /** Tells how many loose rows a run has now. */
  tell(ref: RunRef, loose: number): void {
    if (loose < MERGE_EVERY) return;
    this.#waiting.set(`${ref.tenant}.${ref.thread}.${ref.run}`, ref);
    if (loose >= MERGE_AT_LAST) this.#next();
    else this.#rest();
  }

  /** Ends it, when what is under way is done. What waits is merged when its run goes on or is settled. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#pause);
    await this.#merging;
  }

  #rest(): void {
    if (this.#closed || this.#appending > 0 || this.#waiting.size === 0) return;
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => this.#next(), PAUSE_MS).unref();
  }

  #next(): void {
    const [next] = this.#waiting;
    if (this.#closed || this.#merging !== undefined || next === undefined) return;
    const [name, ref] = next;
    this.#waiting.delete(name);
    this.#merging = this.#merge(ref)
      .catch(() => undefined)
      .finally(() => {
        this.#merging = undefined;
        // A pause goes on until the next append.
        if (this.#appending === 0) this.#next();
      });
  }
}
