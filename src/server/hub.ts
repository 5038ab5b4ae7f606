/**
 * The hub of a thread: its newest events, and who waits for more. One for each thread that somebody follows or writes.
 *
 * It is fed by the runs of this process as they are committed, and by reading the store when a hint says that there may
 * be more. Hints may be lost, doubled or out of order: a hint is only a reason to look. The ring never holds what is not
 * committed, and holds no gap; whatever is older is in the store. So where the feed skips something, the ring simply
 * begins anew behind it, and whoever has not seen it reads it there.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Store, StoredEvent, ThreadInfo, ThreadKey } from "../store/index.ts";
import { Chunk, MAX_CHUNK_BYTES, pieces, rememberBytes } from "./chunk.ts";
import type { Selection } from "./view.ts";

/** Most events in the ring. */
export const RING_EVENTS = 256;
/** Most bytes in the ring, unless one chunk alone has more. */
export const RING_BYTES = 256 * 1024;

/** While a run of this process writes, its own commits explain the hints: only a pause is a reason to look. */
const QUIET_MS = 50;

/** Most events of a read. */
const MAX_PAGE_EVENTS = 512;

/** Somebody who waits for more. */
export interface Waiter {
  /** Called once: there is more, or there will be none. */
  wake(): void;
}

/** The newest events of one thread. */
export class Hub {
  /** The thread. */
  readonly key: ThreadKey;
  /** Id of its log. */
  readonly logId: string;
  readonly #store: Store;
  readonly #onTrouble: (error: unknown) => void;
  readonly #unwatch: () => void;
  readonly #waiters = new Set<Waiter>();
  readonly #reads = new Map<string, Promise<Chunk>>();
  #chunks: Chunk[] = [];
  #sizes: number[] = [];
  #ringBytes = 0;
  #ringEvents = 0;
  /** The ring holds what comes after this seq. */
  #base: number;
  /** The newest seq that was heard of: it is committed. */
  #tail: number;
  /** Whether there may be more than that. */
  #stale = true;
  #looking = false;
  #writers = 0;
  #quiet: NodeJS.Timeout | undefined;
  #fresh = false;
  #over: { readonly error?: unknown } | undefined;
  /** How large events are here, so that a read brings about one chunk. */
  #eventBytes = FIRST_GUESS_BYTES;

  constructor(store: Store, { tenant, threadId, logId, tail }: ThreadInfo, onTrouble: (error: unknown) => void) {
    this.#store = store;
    this.#onTrouble = onTrouble;
    this.key = { tenant, threadId };
    this.logId = logId;
    this.#base = this.#tail = tail;
    this.#unwatch = store.watch(this.key, () => this.hint());
  }

  /** Seq of the newest event that is known of. */
  get tail(): number {
    return this.#tail;
  }

  /** Whether nothing more will come. Throws what the hub failed with, if it did. */
  isOver(): boolean {
    if (this.failed) throw this.#over?.error;
    return this.#over !== undefined;
  }

  /** Whether it failed, and is good for nobody any more. */
  get failed(): boolean {
    return this.#over !== undefined && "error" in this.#over;
  }

  /** What comes after a seq, where it is at hand. */
  take(afterSeq: number): Chunk | undefined {
    if (afterSeq < this.#base) return undefined;
    const chunk = this.#chunks.findLast(
      (each, index) => this.#firstOf(index) <= afterSeq + 1 && afterSeq < each.throughSeq,
    );
    return chunk?.after(afterSeq);
  }

  #firstOf(index: number): number {
    return (this.#chunks[index - 1]?.throughSeq ?? this.#base) + 1;
  }

  /** Reads what comes after a seq, up to another. Those who ask for the same at the same time share one read. */
  page(afterSeq: number, selection: Selection, throughSeq = Infinity): Promise<Chunk> {
    const name = `${afterSeq} ${throughSeq} ${selection.key}`;
    const underWay = this.#reads.get(name);
    if (underWay !== undefined) return underWay;
    const read = this.#read(afterSeq, selection, throughSeq).finally(() => this.#reads.delete(name));
    this.#reads.set(name, read);
    return read;
  }

  async #read(afterSeq: number, { runIds }: Selection, throughSeq: number): Promise<Chunk> {
    const limit = this.#worth(MAX_CHUNK_BYTES, MAX_PAGE_EVENTS);
    const known = this.#tail;
    const page = await this.#store.read(this.key, {
      afterSeq,
      limit,
      ...(throughSeq < Infinity && { throughSeq }),
      ...(runIds && { runIds: [...runIds] }),
    });
    if (page.tail < known) throw replaced(this.key);
    this.heard(page.tail);
    const [first] = pieces(page.events, MAX_PAGE_EVENTS);
    if (first === undefined) return new Chunk(this.logId, page.through, []);
    const { events } = first;
    this.#eventBytes = first.bytes / events.length;
    const all = events.length === page.events.length;
    return new Chunk(this.logId, all ? page.through : (events.at(-1)?.seq ?? page.through), events);
  }

  /** About how many events make so many bytes: at least one. */
  #worth(bytes: number, maxEvents: number): number {
    return Math.max(1, Math.min(maxEvents, Math.floor(bytes / this.#eventBytes)));
  }

  /** Events of a run of this process, which are committed now; with what `longBytes` has made of them, if it has. */
  push(
    firstSeq: number,
    runId: string,
    jsons: readonly string[],
    bytes: readonly (Uint8Array | undefined)[] = [],
  ): void {
    this.#append(jsons.map((json, index) => rememberBytes({ seq: firstSeq + index, runId, json }, bytes[index])));
    this.#quiet?.refresh();
  }

  #append(events: readonly StoredEvent[]): void {
    const first = events[0]?.seq ?? 0;
    const last = events.at(-1)?.seq ?? 0;
    const end = this.#chunks.at(-1)?.throughSeq ?? this.#base;
    if (last <= end) return;
    if (first > end + 1) this.#restart(first - 1);
    const news = first > end ? events : events.filter(({ seq }) => seq > end);
    for (const piece of pieces(news, RING_EVENTS)) this.#add(piece.events, piece.bytes);
    this.#fresh = true;
    this.#tail = Math.max(this.#tail, last);
    this.#wakeAll();
  }

  #add(events: readonly StoredEvent[], bytes: number): void {
    this.#chunks.push(new Chunk(this.logId, events.at(-1)?.seq ?? this.#base, events));
    this.#sizes.push(bytes);
    this.#ringBytes += bytes;
    this.#ringEvents += events.length;
    this.#eventBytes = bytes / events.length;
    while (this.#chunks.length > 1 && (this.#ringBytes > RING_BYTES || this.#ringEvents > RING_EVENTS)) {
      const oldest = this.#chunks.shift();
      this.#ringBytes -= this.#sizes.shift() ?? 0;
      this.#ringEvents -= oldest?.events.length ?? 0;
      this.#base = oldest?.throughSeq ?? this.#base;
    }
  }

  #restart(base: number): void {
    this.#chunks = [];
    this.#sizes = [];
    this.#ringBytes = this.#ringEvents = 0;
    this.#base = base;
  }

  /** The store says how far the log reaches. */
  heard(tail: number): void {
    if (tail <= this.#tail) return;
    this.#tail = tail;
    this.#wakeAll();
  }

  /** There may be more. */
  hint(): void {
    this.#stale = true;
    if (this.#waiters.size > 0) this.#lookSoon();
  }

  #lookSoon(): void {
    if (this.#writers === 0) void this.#look();
    else this.#quiet ??= setTimeout(() => void this.#look(), QUIET_MS).unref();
  }

  /** Reads what is new, until there is nothing new. One at a time. */
  async #look(): Promise<void> {
    clearTimeout(this.#quiet);
    this.#quiet = undefined;
    if (this.#looking || this.#over !== undefined) return;
    this.#looking = true;
    try {
      while (this.#stale && this.#over === undefined) {
        this.#stale = false;
        const afterSeq = this.#tail;
        const page = await this.#store.read(this.key, { afterSeq, limit: this.#worth(RING_BYTES, RING_EVENTS) });
        if (page.tail < afterSeq) throw replaced(this.key);
        this.#append(page.events);
        this.#stale ||= page.through < page.tail;
      }
    } catch (error) {
      this.#stale = true;
      if (error instanceof HeddleError && error.retryable) this.#onTrouble(error);
      else this.end({ error });
    } finally {
      this.#looking = false;
    }
  }

  /** The backstop: looks where somebody waits, and lets go of a ring that nothing was added to since the last time. */
  poll(): void {
    if (!this.#fresh) this.#restart(this.#chunks.at(-1)?.throughSeq ?? this.#base);
    this.#fresh = false;
    this.hint();
  }

  /** Wakes this one when there is more, or there will be none. */
  wait(waiter: Waiter): void {
    this.#waiters.add(waiter);
    if (this.#stale) this.#lookSoon();
  }

  /** Forgets one who waits. */
  forget(waiter: Waiter): void {
    this.#waiters.delete(waiter);
  }

  #wakeAll(): void {
    if (this.#waiters.size === 0) return;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter.wake();
  }

  /** A run of this process begins to write. */
  addWriter(): void {
    this.#writers += 1;
  }

  /** A run of this process is done. */
  removeWriter(): void {
    this.#writers -= 1;
  }

  /** Nothing more comes from here: who waits is told, with what went wrong if something did. */
  end(over: { readonly error?: unknown } = {}): void {
    this.#over ??= over;
    this.#unwatch();
    clearTimeout(this.#quiet);
    this.#quiet = undefined;
    this.#wakeAll();
  }
}

/** What an event weighs as long as none is known. */
const FIRST_GUESS_BYTES = 256;

function replaced({ threadId }: ThreadKey): HeddleError {
  const message = "The thread was deleted, and its name is used anew: attach without a cursor, from the beginning.";
  return new HeddleError("thread-unknown", message, { threadId });
}
