/**
 * Hears of stops that are asked for elsewhere, also while a run is silent.
 *
 * A stop is told with the next append or heartbeat of its run, and a silent run beats only every few seconds. But whoever
 * asks, or takes the run over, also hints at its thread. So do the run's own commits, and a hint does not say whose it is;
 * but as long as a run commits it is told anyway. Once one that was hinted at falls silent, all runs beat together: at most
 * a few times a second, and once for each silence.
 */
import type { RunKey, Store } from "../store/index.ts";

/** A run that commits nothing for so long is silent; also the shortest time between two beats. */
const SILENT_MS = 150;

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
  /** The runs that were hinted at since the last beat. */
  readonly #hinted = new Set<{ committedAtMs: number }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store, beat: () => void) {
    this.#store = store;
    this.#beat = beat;
  }

  /** Watches a run. */
  watch(key: RunKey): WatchedRun {
    const run = { committedAtMs: performance.now() };
    const unwatch = this.#store.watch(key, () => {
      this.#hinted.add(run);
      this.#lookLater();
    });
    return {
      committed: () => (run.committedAtMs = performance.now()),
      end: () => {
        unwatch();
        this.#hinted.delete(run);
      },
    };
  }

  #lookLater(): void {
    this.#timer ??= setTimeout(() => this.#look(), SILENT_MS).unref();
  }

  #look(): void {
    this.#timer = undefined;
    const silentMs = performance.now() - SILENT_MS;
    if ([...this.#hinted].some(({ committedAtMs }) => committedAtMs <= silentMs)) {
      this.#hinted.clear();
      this.#beat();
    } else if (this.#hinted.size > 0) this.#lookLater();
  }

  /** Watches no more. */
  close(): void {
    clearTimeout(this.#timer);
  }
}
