/**
 * How much the store holds, asked for now and then: whoever looks often gets the same answer for a while, and whoever looks while
 * the store is away gets the newest that there was.
 */
import type { Store, StoreUsage } from "../store/index.ts";
import { within } from "./within.ts";

/** What is told before the store has ever answered. */
const UNKNOWN: StoreUsage = {
  threads: 0,
  runs: 0,
  queued: 0,
  events: 0,
  rawBytes: 0,
  compactedBytes: 0,
  snapshotBytes: 0,
  totalBytes: 0,
};

/** How long whoever looks waits for a new answer. */
const ANSWER_MS = 2000;

/** Options of `KeptUsage`. */
export interface KeptUsageOptions {
  /** The store is asked at most so often. */
  readonly everyMs: number;
  /** Told where it does not answer. */
  readonly onTrouble: (error: unknown) => void;
}

/** Keeps the answer of a store. */
export class KeptUsage {
  readonly #store: Store;
  readonly #options: KeptUsageOptions;
  #newest = UNKNOWN;
  #askedAtMs = -Infinity;
  #asking: Promise<void> | undefined;

  constructor(store: Store, options: KeptUsageOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** The newest answer. Never rejects. */
  async look(): Promise<StoreUsage> {
    if (performance.now() - this.#askedAtMs >= this.#options.everyMs) {
      this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    }
    if (this.#asking !== undefined) await within(ANSWER_MS, this.#asking);
    return this.#newest;
  }

  async #ask(): Promise<void> {
    this.#askedAtMs = performance.now();
    try {
      this.#newest = await this.#store.usage();
    } catch (error) {
      this.#options.onTrouble(error);
    }
  }
}
