/**
 * Ids of AG-UI messages for what the session dialect calls by one name.
 *
 * A server built to the seed gives one `messageId` to all that a generation says: its thought, its text, its calls and
 * their results. In AG-UI each of these is a message with an id of its own. The first one to come keeps the name, every
 * other gets a new id, and the same thing gets the same id again.
 */

/** The ids of one run. */
export class MessageIds {
  readonly #newId: () => string;
  readonly #taken: Set<string>;
  readonly #ids = new Map<string, string>();

  /** `taken` are ids that messages before the run have. */
  constructor(newId: () => string, taken: Iterable<string> = []) {
    this.#newId = newId;
    this.#taken = new Set(taken);
  }

  /** The id of what `kind` tells from everything else under this name. */
  of(kind: string, messageId: string): string {
    const key = JSON.stringify([kind, messageId]);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#taken.has(messageId) ? this.mint() : messageId;
    this.reserve(id);
    this.#ids.set(key, id);
    return id;
  }

  /** An id for what has no name. */
  mint(): string {
    const id = this.#newId();
    this.reserve(id);
    return id;
  }

  /** Keeps an id from being given to a message. */
  reserve(id: string): void {
    this.#taken.add(id);
  }
}
