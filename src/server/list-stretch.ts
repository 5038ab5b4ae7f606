/**
 * The upper stretch of a list of threads, kept up to date for all who watch it.
 *
 * A store does not say what was changed or deleted. But whatever changes moves to the top; so everything that a reader was
 * told of lies between the top and the end of its page, and that stretch is read again and compared with what the reader
 * has. A reader has no queue: it is told the difference when it comes for more.
 */
import { HeddleError } from "../protocol/index.ts";
import type { ListRequest, Store } from "../store/index.ts";
import { listThreads } from "./thread-summary.ts";
import type { KnownSummaries, ThreadListPage, ThreadSummary } from "./thread-summary.ts";

/** What somebody who watches a list is told. The page comes first, and once. */
export type ThreadListChange =
  | ({
      /** The list as it was at the beginning. */
      readonly type: "page";
    } & ThreadListPage)
  | {
      /** A thread is new to the list, or another than before. */
      readonly type: "changed";
      /** The thread. */
      readonly thread: ThreadSummary;
    }
  | {
      /** A thread that was told of is not in the list any more: deleted, or no longer what is asked for. */
      readonly type: "gone";
      /** The thread. */
      readonly threadId: string;
    };

/** Threads of one read. */
const PAGE = 200;
/** A stretch has no more threads: who watches for long forgets those that rested for longest. */
export const MAX_WATCHED = 1000;

/** A thread as a reader has it. */
interface Told {
  readonly json: string;
  readonly updatedAtMs: number;
}

/** Somebody who watches. */
interface Reader {
  readonly told: Map<string, Told>;
  /** Threads that changed before this are none of its business. */
  sinceMs: number;
  /** The first reading that it may look at: one that began before it had its page would tell it old news. */
  readonly from: number;
  /** Goes on, where it waits. */
  wake: () => void;
}

/** The upper stretch of a list. */
export class ListStretch {
  readonly #store: Store;
  readonly #request: Omit<ListRequest, "after" | "limit">;
  readonly #onTrouble: (error: unknown) => void;
  readonly #readers = new Set<Reader>();
  /** What was read last, by log. */
  #threads: KnownSummaries = new Map();
  /** Threads that changed before this are not among them. */
  #sinceMs = 0;
  /** How many readings were begun, and which of them brought the threads. */
  #begun = 0;
  #read = 0;
  #reading = false;
  #stale = false;
  #over: { readonly error?: unknown } | undefined;

  constructor(store: Store, request: Omit<ListRequest, "after" | "limit">, onTrouble: (error: unknown) => void) {
    this.#store = store;
    this.#request = request;
    this.#onTrouble = onTrouble;
  }

  /** Whether it failed, and is good for nobody any more. */
  get failed(): boolean {
    return this.#over !== undefined;
  }

  /** Watches it until the signal aborts: a page of so many threads, and then what becomes of them and comes above. */
  async *watch(limit: number | undefined, signal?: AbortSignal): AsyncGenerator<ThreadListChange, void, undefined> {
    const page = await listThreads(this.#store, { ...this.#request, ...(limit !== undefined && { limit }) });
    const reader: Reader = {
      told: new Map(page.threads.map((thread) => [thread.threadId, toldOf(thread)])),
      sinceMs: page.next === undefined ? 0 : (page.threads.at(-1)?.updatedAtMs ?? 0),
      from: this.#begun + 1,
      wake: () => undefined,
    };
    const leave = (): void => reader.wake();
    const isOver = (): boolean => this.#over !== undefined || signal?.aborted === true;
    this.#readers.add(reader);
    signal?.addEventListener("abort", leave);
    try {
      yield { type: "page", ...page };
      while (!isOver()) {
        const changes = this.#changesFor(reader);
        // Nothing may come between seeing that there is no more and waiting for it.
        if (changes.length === 0) await new Promise<void>((resolve) => (reader.wake = resolve));
        else yield* changes;
      }
      if (this.#over !== undefined && "error" in this.#over) throw this.#over.error;
    } finally {
      signal?.removeEventListener("abort", leave);
      this.#readers.delete(reader);
    }
  }

  /** Reads it again, until nothing is said to have happened meanwhile. One at a time. Never rejects. */
  async look(): Promise<void> {
    this.#stale = true;
    if (this.#reading) return;
    this.#reading = true;
    try {
      while (this.#stale && this.#over === undefined && this.#readers.size > 0) {
        this.#stale = false;
        await this.#readAgain();
      }
    } catch (error) {
      if (error instanceof HeddleError && error.retryable) this.#onTrouble(error);
      else this.end({ error });
    } finally {
      this.#reading = false;
    }
  }

  async #readAgain(): Promise<void> {
    const reading = (this.#begun += 1);
    const sinceMs = Math.min(...Array.from(this.#readers, (reader) => reader.sinceMs));
    const threads = new Map<string, ThreadSummary>();
    let after: string | undefined;
    do {
      const page = await listThreads(this.#store, { ...this.#request, limit: PAGE, after }, this.#threads);
      for (const thread of page.threads) threads.set(thread.logId, thread);
      const last = page.threads.at(-1);
      after = last !== undefined && last.updatedAtMs >= sinceMs ? page.next : undefined;
      if (after === undefined || last === undefined) this.#sinceMs = sinceMs;
      // Of those that changed at the same time as the last one some may be missing: all of them are left out.
      else if (threads.size >= MAX_WATCHED) [this.#sinceMs, after] = [last.updatedAtMs + 1, undefined];
    } while (after !== undefined);
    this.#threads = threads;
    this.#read = reading;
    for (const reader of this.#readers) reader.wake();
  }

  /** What the reader has not been told, the oldest first. From now on it has. */
  #changesFor(reader: Reader): readonly ThreadListChange[] {
    if (this.#read < reader.from) return [];
    const { told } = reader;
    reader.sinceMs = Math.max(reader.sinceMs, this.#sinceMs);
    for (const [threadId, { updatedAtMs }] of told) if (updatedAtMs < reader.sinceMs) told.delete(threadId);
    const gone = new Set(told.keys());
    const changes: ThreadListChange[] = [];
    for (const thread of [...this.#threads.values()].toReversed()) {
      const { threadId, updatedAtMs } = thread;
      if (updatedAtMs < reader.sinceMs) continue;
      gone.delete(threadId);
      const now = toldOf(thread);
      if (told.get(threadId)?.json === now.json) continue;
      told.set(threadId, now);
      changes.push({ type: "changed", thread });
    }
    for (const threadId of gone) told.delete(threadId);
    return [...changes, ...Array.from(gone, (threadId): ThreadListChange => ({ type: "gone", threadId }))];
  }

  /** Nothing more is told: who watches gets to the end, or is told what went wrong. */
  end(over: { readonly error?: unknown } = {}): void {
    this.#over ??= over;
    for (const reader of this.#readers) reader.wake();
  }
}

/** What a reader would notice: a log that only grows is the same thread. */
function toldOf({ tail: _tail, floor: _floor, ...thread }: ThreadSummary): Told {
  return { json: JSON.stringify(thread), updatedAtMs: thread.updatedAtMs };
}
