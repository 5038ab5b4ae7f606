/**
 * Names as values of a label. Those that are declared count as they are; of others only so many, and short ones, since each
 * value is a series that is kept for ever, and a sloppy agent can call a tool by any name.
 */

/** Stands for every name that has no series of its own. */
export const OTHER = "other";

/** Most names that nobody declared. */
const MAX_UNDECLARED = 50;

/** Longest name that nobody declared. */
const MAX_CHARS = 64;

/** Names that may be labels. */
export class BoundedNames {
  readonly #declared: ReadonlySet<string>;
  readonly #met = new Set<string>();

  constructor(declared: Iterable<string>) {
    this.#declared = new Set(declared);
  }

  /** The value to count a name under. */
  of(name: string): string {
    if (this.#declared.has(name) || this.#met.has(name)) return name;
    if (name.length > MAX_CHARS || this.#met.size === MAX_UNDECLARED) return OTHER;
    this.#met.add(name);
    return name;
  }
}
