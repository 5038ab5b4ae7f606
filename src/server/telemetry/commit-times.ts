/** How long the newest commits took: two numbers for each, in rings that are made once. */

/** So many commits are remembered. */
const KEPT = 1000;

/** So many of them are told one by one. */
const RECENT = 120;

/** How commits went. */
export interface CommitSummary {
  /** How many there were since the start. */
  readonly count: number;
  /** Half of the newest 1,000 took no longer; 0 where there was none. */
  readonly p50Ms: number;
  /** The same of 95 in a hundred. */
  readonly p95Ms: number;
  /** The same of 99 in a hundred. */
  readonly p99Ms: number;
  /** The newest 120, the oldest first. */
  readonly recent: readonly {
    /** When it was done, as a date of ISO 8601. */
    readonly at: string;
    /** How long it took. */
    readonly ms: number;
  }[];
}

/** Remembers the newest commits. */
export class CommitTimes {
  readonly #durationsMs = new Float64Array(KEPT);
  readonly #timesMs = new Float64Array(KEPT);
  #count = 0;

  /** A commit is done. */
  add(durationMs: number): void {
    const place = this.#count++ % KEPT;
    this.#durationsMs[place] = durationMs;
    this.#timesMs[place] = Date.now();
  }

  /** What there is to tell. */
  summary(): CommitSummary {
    const kept = Math.min(KEPT, this.#count);
    const sorted = this.#durationsMs.slice(0, kept).toSorted();
    const atMost = (share: number): number => rounded(sorted[Math.ceil(kept * share) - 1] ?? 0);
    const told = Math.min(RECENT, kept);
    const recent = Array.from({ length: told }, (_, index) => {
      const place = (this.#count - told + index) % KEPT;
      return { at: new Date(this.#timesMs[place] ?? 0).toISOString(), ms: rounded(this.#durationsMs[place] ?? 0) };
    });
    return { count: this.#count, p50Ms: atMost(0.5), p95Ms: atMost(0.95), p99Ms: atMost(0.99), recent };
  }
}

/** In whole microseconds: a clock knows no more. */
const rounded = (ms: number): number => Math.round(ms * 1000) / 1000;
