/**
 * A list of threads as far down as it was asked for. Its beginning is live; what lies behind is fetched a page at a time, and
 * fetched again when the beginning ends elsewhere, after a break for instance. A thread that changes comes to the beginning, so
 * of one that is in both the live one counts.
 */
import { HeddleError } from "heddle/protocol";
import type { LiveThreads, ThreadPage, ThreadQuery, ThreadSummary, Threads } from "heddle/client";

/** A list as it is now. */
export interface ListView {
  /** The threads, what changed last first; undefined until they are here. */
  readonly threads: readonly ThreadSummary[] | undefined;
  /** Whether there are more. */
  readonly hasMore: boolean;
  /** Whether more are on their way. */
  readonly isLoading: boolean;
  /** Why there is no list. */
  readonly error: Error | undefined;
}

/** The list before anything is known of it. */
export const UNKNOWN_LIST: ListView = { threads: undefined, hasMore: false, isLoading: false, error: undefined };

const PAGE = 50;
const RETRY_MS = 1000;

/** A list of threads. */
export class ThreadList {
  readonly #all: Threads;
  readonly #query: ThreadQuery;
  readonly #onChange: (view: ListView) => void;
  readonly #live: LiveThreads;
  #older: readonly ThreadPage[] = [];
  #olderFrom: string | undefined;
  #isLoading = false;
  #isClosed = false;
  #failure: Error | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(all: Threads, query: ThreadQuery, onChange: (view: ListView) => void) {
    this.#all = all;
    this.#query = query;
    this.#onChange = onChange;
    this.#live = all.live(() => this.#changed(), { ...query, limit: PAGE });
  }

  /** Fetches the next page. Rejects where that fails; the list stays as it is. */
  more(): Promise<void> {
    return this.#load(this.#older.length + 1);
  }

  /** Leaves out a thread that is known to be gone, also where nothing is told of it. */
  forget(threadId: string): void {
    this.#older = this.#older.map((page) => ({
      ...page,
      threads: page.threads.filter((thread) => thread.threadId !== threadId),
    }));
    this.#tell();
  }

  /** Follows it no more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#live.close();
  }

  #changed(): void {
    if (this.#older.length > 0 && this.#live.next !== this.#olderFrom && !this.#isLoading) {
      this.#load(this.#older.length).then(
        // The beginning may end elsewhere by now.
        () => this.#live.next !== this.#olderFrom && this.#changed(),
        (error: Error) => this.#failed(error),
      );
    }
    this.#tell();
  }

  /** What is known stays while it is tried again. */
  #failed(error: Error): void {
    if (this.#isClosed) return;
    if (error instanceof HeddleError && error.retryable) {
      this.#timer = setTimeout(() => this.#changed(), RETRY_MS);
      return;
    }
    this.#failure = error;
    this.#tell();
  }

  /** Fetches pages behind the live ones until there are so many. */
  async #load(count: number): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    this.#tell();
    try {
      const from = this.#live.next;
      const isSame = from === this.#olderFrom;
      const pages = isSame ? [...this.#older] : [];
      let after = isSame && pages.length > 0 ? pages.at(-1)?.next : from;
      while (pages.length < count && after !== undefined) {
        const page = await this.#all.list({ ...this.#query, limit: PAGE, after });
        pages.push(page);
        after = page.next;
      }
      this.#older = pages;
      this.#olderFrom = from;
      this.#failure = undefined;
    } finally {
      this.#isLoading = false;
      this.#tell();
    }
  }

  #tell(): void {
    if (this.#isClosed) return;
    const { threads: newest, next, error } = this.#live;
    const known = new Set(newest?.map(({ threadId }) => threadId));
    const older = this.#older.flatMap(({ threads }) => threads.filter(({ threadId }) => !known.has(threadId)));
    const last = this.#older.length > 0 ? this.#older.at(-1)?.next : next;
    this.#onChange({
      threads: newest && [...newest, ...older],
      hasMore: last !== undefined,
      isLoading: this.#isLoading,
      error: error ?? this.#failure,
    });
  }
}
