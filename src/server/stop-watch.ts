/**
 * Hears of stops that are asked for elsewhere, also while a run is silent.
 *
 * A stop is told with the next append or heartbeat of its run, and a silent run beats only every few seconds. But whoever
 * asks, or takes the run over, also hints at its thread. A hint that none of the run's own commits explains is a reason
 * to beat at once: at most a few times a second, for all runs together.
 */
import type { RunKey, Store } from "../store/index.ts";

/** A commit explains the hints that come within so long of it, before or after. */
const EXPLAINED_MS = 100;

/** From a hint to the beat, and so the shortest time between two beats. */
const BEAT_MS = 150;

/** One run that is watched. */
export interface WatchedRun {
  /** Events of the run were committed. */
  committed(): void;
  /** The run is over. */
  end(): void;
}

/** Watches the runs of a process for stops. */
export class StopWatch {
  readonly #store: Store;
  readonly #beat: () => void;
  /** Of each run that was hinted at lately: whether its own commits do not explain that. */
  readonly #hinted = new Set<() => boolean>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store, beat: () => void) {
    this.#store = store;
    this.#beat = beat;
  }

  /** Watches a run. */
  watch(key: RunKey): WatchedRun {
    let committedAtMs = performance.now();
    let hintedAtMs = committedAtMs;
    const isUnexplained = (): boolean => Math.abs(hintedAtMs - committedAtMs) > EXPLAINED_MS;
    const unwatch = this.#store.watch(key, () => {
      hintedAtMs = performance.now();
      this.#hinted.add(isUnexplained);
      this.#timer ??= setTimeout(() => this.#look(), BEAT_MS).unref();
    });
    return {
      committed: () => (committedAtMs = performance.now()),
      end: () => {
        unwatch();
        this.#hinted.delete(isUnexplained);
      },
    };
  }

  #look(): void {
    this.#timer = undefined;
    const isDue = [...this.#hinted].some((isUnexplained) => isUnexplained());
    this.#hinted.clear();
    if (isDue) this.#beat();
  }

  /** Watches no more. */
  close(): void {
    clearTimeout(this.#timer);
  }
}
