/** A random source that gives the same numbers for the same seed, so that a failure can be seen again. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed ^ 0x9e37_79b9, 0x85eb_ca6b) >>> 0;
  }

  /** A whole number from 0 up to, but without, the limit. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  /** True in so many of 100 cases. */
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  /** One of a list; undefined where it is empty. */
  maybeOne<T>(list: readonly T[]): T | undefined {
    return list.length === 0 ? undefined : list[this.below(list.length)];
  }

  /** One of a list that has at least one. */
  one<T>(list: readonly [T, ...T[]]): T {
    const at = this.below(list.length);
    // One that is null or undefined is as good as any other.
    for (const [index, item] of list.entries()) if (index === at) return item;
    return list[0];
  }
}
