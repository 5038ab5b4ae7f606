/** What is done on the side: nobody waits for it, but it is not forgotten, and neither are its failures. */

/** Work on the side. */
export class Errands {
  readonly #underWay = new Set<Promise<void>>();
  readonly #onTrouble: (error: unknown) => void;

  constructor(onTrouble: (error: unknown) => void) {
    this.#onTrouble = onTrouble;
  }

  /** Does something. What goes wrong is reported. */
  run(errand: () => Promise<unknown>): void {
    const done = this.#do(errand).finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
  }

  async #do(errand: () => Promise<unknown>): Promise<void> {
    try {
      await errand();
    } catch (error) {
      this.#onTrouble(error);
    }
  }

  /** Resolves when everything is done, also what was begun meanwhile. */
  async done(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }
}
