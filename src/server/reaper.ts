/** Looks, again and again, for runs whose worker is gone, and ends them. Servers on one store do not all look at once. */
import { reap } from "../store/index.ts";
import type { RunKey, Store } from "../store/index.ts";
import type { Errands } from "./errands.ts";

/** Options of `Reaper`. */
export interface ReaperOptions {
  /** How often it looks, about. */
  readonly everyMs: number;
  /** How long its own leases hold. */
  readonly leaseMs: number;
  /** Renews the leases of this process: after an outage they may have expired, and their runs are not lost. */
  readonly renew: () => Promise<void>;
  /** Told which ones were ended. */
  readonly onReaped: (runs: readonly RunKey[]) => void;
  /** What may be possible now that threads are free. */
  readonly afterwards: () => Promise<void>;
}

/** Ends runs that were left behind. */
export class Reaper {
  readonly #store: Store;
  readonly #errands: Errands;
  readonly #options: ReaperOptions;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(store: Store, errands: Errands, options: ReaperOptions) {
    this.#store = store;
    this.#errands = errands;
    this.#options = options;
  }

  /** Looks once, and from then on by itself. */
  async start(): Promise<void> {
    try {
      await this.#options.renew();
      this.#options.onReaped(await reap(this.#store, this.#options));
      await this.#options.afterwards();
    } finally {
      if (!this.#stopped) this.#later();
    }
  }

  #later(): void {
    const { everyMs } = this.#options;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#errands.run(() => this.start()),
      everyMs * (0.8 + Math.random() * 0.4),
    ).unref();
  }

  /** Looks no more. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
