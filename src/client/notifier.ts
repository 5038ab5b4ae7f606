/**
 * Tells listeners that something is new, once for all that came since they were told: before the next frame is drawn where
 * there is a page that is seen, and as soon as the work at hand is done where there is none.
 */

/** How often a page that nobody sees is told. */
const HIDDEN_MS = 100;

/** Whoever listens. */
export class Notifier {
  readonly #listeners = new Set<() => void>();
  #isDue = false;

  /** Adds a listener; the function that it gets takes it away. */
  subscribe(listener: () => void): () => void {
    // The same function twice is two listeners.
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /** Something is new. */
  changed(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    later(() => {
      this.#isDue = false;
      for (const listener of this.#listeners) listener();
    });
  }
}

function later(task: () => void): void {
  if (typeof requestAnimationFrame !== "function") queueMicrotask(task);
  else if (document.visibilityState === "hidden") setTimeout(task, HIDDEN_MS);
  else requestAnimationFrame(task);
}
