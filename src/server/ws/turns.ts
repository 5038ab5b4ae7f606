/** What belongs to one name is done in the order in which it was asked for, each when the one before is done. */

/** Turns by name. Nothing is kept of a name at which nobody waits. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Does something in its turn. Fails as it does, which holds nobody up. */
  async take<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const { promise: done, resolve } = Promise.withResolvers<void>();
    this.#last.set(name, done);
    await before;
    try {
      return await work();
    } finally {
      if (this.#last.get(name) === done) this.#last.delete(name);
      resolve();
    }
  }
}
