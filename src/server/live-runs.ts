/** The runs that are executed here, by their ids, and who watches those that stop when nobody does any more. */
import type { RunKey } from "../store/index.ts";

/** What is told of a run that is executed here now. */
export interface RunningRun {
  /** Its thread. */
  readonly threadId: string;
  /** The run. */
  readonly runId: string;
  /** Who runs. */
  readonly agent: string;
  /** When it was claimed, as a date of ISO 8601. */
  readonly startedAt: string;
  /** How many events of it are in the log. */
  readonly events: number;
}

/** One run that is executed here. */
export interface LiveRun {
  /** Who runs. */
  readonly agent: string;
  /** When it was claimed. */
  readonly startedAtMs: number;
  /** What is noted of it: how many events are in the log. */
  readonly record: { readonly events: number };
  /** Stops it. */
  readonly stop: AbortController;
  /** Resolves when it has ended in the log. */
  readonly done: Promise<void>;
  /** Whether it is stopped when the last one who watched it is gone. */
  readonly cancelOnLeave: boolean;
}

/** All runs that are executed here. */
export class LiveRuns {
  readonly #runs = new Map<string, LiveRun & { readonly key: RunKey }>();
  readonly #watchers = new Map<string, number>();
  readonly #abandoned: (key: RunKey) => void;

  /** `abandoned` is told of a run that nobody watches any more, and that should stop then. */
  constructor(abandoned: (key: RunKey) => void) {
    this.#abandoned = abandoned;
  }

  /** How many there are. */
  get size(): number {
    return this.#runs.size;
  }

  /** Takes one in, until it is done. */
  add(key: RunKey, run: LiveRun): void {
    const name = nameOf(key);
    this.#runs.set(name, { ...run, key });
    void run.done.finally(() => {
      this.#runs.delete(name);
      this.#watchers.delete(name);
    });
  }

  /** One of them, if it is here. */
  get(key: RunKey): LiveRun | undefined {
    return this.#runs.get(nameOf(key));
  }

  /** Those of a tenant, in the order in which they began. */
  of(tenant: string): readonly (LiveRun & { readonly key: RunKey })[] {
    return [...this.#runs.values()].filter(({ key }) => key.tenant === tenant);
  }

  /** Somebody watches until the signal aborts. */
  watch(key: RunKey, signal: AbortSignal): void {
    const name = nameOf(key);
    const run = this.#runs.get(name);
    if (run?.cancelOnLeave !== true) return;
    this.#watchers.set(name, (this.#watchers.get(name) ?? 0) + 1);
    const leave = (): void => {
      const left = (this.#watchers.get(name) ?? 0) - 1;
      this.#watchers.set(name, left);
      if (left === 0 && this.#runs.get(name) === run) this.#abandoned(key);
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  }

  /** Stops all of them. */
  abortAll(reason: unknown): void {
    for (const { stop } of this.#runs.values()) stop.abort(reason);
  }

  /** Resolves when all of them have ended. */
  async ended(): Promise<void> {
    await Promise.all([...this.#runs.values()].map(({ done }) => done));
  }
}

/** Unambiguous whatever the ids hold. */
const nameOf = ({ tenant, threadId, runId }: RunKey): string =>
  `${tenant.length} ${threadId.length} ${tenant} ${threadId} ${runId}`;
