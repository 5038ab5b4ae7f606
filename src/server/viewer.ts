/**
 * A viewer: a place in a log, and nothing else. It has no queue of its own.
 *
 * One loop: newer than the hub's ring, wait; inside it, take from it; older, read a page of the store. It is an iterator
 * by hand because a generator that waits keeps hold of what it gave last, and most viewers wait most of the time.
 */
import type { ThreadInfo } from "../store/index.ts";
import type { Chunk } from "./chunk.ts";
import type { Hub, Waiter } from "./hub.ts";
import type { Follower, Hubs } from "./hubs.ts";
import type { Guard } from "./live-access.ts";
import { WHOLE_THREAD, grown } from "./view.ts";
import type { Selection } from "./view.ts";

/** Where a viewer begins, what it sees, and where it ends. */
export interface Path {
  /** Seq of the last event that it has. */
  readonly afterSeq: number;
  /** Seq of the last event to see, where that is known. */
  readonly untilSeq: number;
  /** What it sees, to begin with. */
  readonly selection: Selection;
  /** The selection counts up to this seq; what starts behind it may make it grow. Infinite for one that does not. */
  readonly knownSeq: number;
  /** Ends with this run. */
  readonly runId: string | undefined;
  /** Aborts when nobody is there any more. */
  readonly signal: AbortSignal | undefined;
  /** What may end it before. */
  readonly guard: Guard | undefined;
}

/** Follows a thread, chunk by chunk. For one reader, who asks for one chunk at a time. */
export class Viewer implements AsyncIterableIterator<Chunk, undefined>, Waiter, Follower {
  readonly #hubs: Hubs;
  readonly #thread: ThreadInfo;
  readonly #path: Path;
  readonly #leave = (): void => this.wake();
  #onCaughtUp: (() => void) | undefined;
  #selection: Selection;
  #afterSeq: number;
  #untilSeq: number;
  #hub: Hub | undefined;
  #wake: (() => void) | undefined;
  #exit: (() => void) | undefined;
  #over = false;

  constructor(hubs: Hubs, thread: ThreadInfo, path: Path, onCaughtUp?: () => void) {
    this.#onCaughtUp = onCaughtUp;
    this.#hubs = hubs;
    this.#thread = thread;
    this.#path = path;
    this.#selection = path.selection;
    this.#afterSeq = path.afterSeq;
    this.#untilSeq = path.untilSeq;
  }

  /** How many events of the log it has not been given yet. */
  get behind(): number {
    const { tail = 0 } = this.#hub ?? {};
    return Math.max(0, Math.min(tail, this.#untilSeq) - this.#afterSeq);
  }

  /** Iterates over itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** What comes next, as soon as it is there. */
  async next(): Promise<IteratorResult<Chunk, undefined>> {
    try {
      while (!this.#isAtEnd()) {
        const hub = this.#join();
        const ready = hub.take(this.#afterSeq);
        // Nothing may come between seeing that there is no more and waiting for it.
        if (ready === undefined && this.#afterSeq >= hub.tail) {
          if (hub.isOver()) break;
          this.#caughtUp();
          await this.#more(hub);
          continue;
        }
        const seen = this.#see(hub, ready ?? (await this.#page(hub)));
        if (seen.events.length > 0) return { done: false, value: seen };
      }
    } catch (error) {
      this.#close();
      throw error;
    }
    this.#close();
    return { done: true, value: undefined };
  }

  /** Leaves. */
  async return(): Promise<IteratorResult<Chunk, undefined>> {
    this.#close();
    this.wake();
    return { done: true, value: undefined };
  }

  /** There is more, or there will be none, or nobody is there any more. */
  wake(): void {
    this.#hub?.forget(this);
    this.#wake?.();
    this.#wake = undefined;
  }

  #isAtEnd(): boolean {
    return this.#over || this.#afterSeq >= this.#untilSeq || this.#path.signal?.aborted === true;
  }

  /** Takes a place at the hub, with the first chunk that is asked for. */
  #join(): Hub {
    if (this.#hub === undefined) {
      this.#hub = this.#hubs.follow(this.#thread, this);
      this.#path.signal?.addEventListener("abort", this.#leave);
      this.#exit = this.#path.guard?.enter(() => void this.return());
    }
    return this.#hub;
  }

  /** What is known to be seen is asked for alone; behind that anything may start, and has to be looked at. */
  #page(hub: Hub): Promise<Chunk> {
    const { knownSeq } = this.#path;
    return this.#afterSeq < knownSeq
      ? hub.page(this.#afterSeq, this.#selection, knownSeq)
      : hub.page(this.#afterSeq, WHOLE_THREAD);
  }

  /** Moves on behind a chunk, and gives what is to be seen of it. */
  #see(hub: Hub, chunk: Chunk): Chunk {
    const { knownSeq, runId } = this.#path;
    this.#afterSeq = chunk.throughSeq;
    if (chunk.throughSeq > knownSeq) {
      for (const start of chunk.starts) if (start.seq > knownSeq) this.#selection = grown(this.#selection, start);
    }
    const seen = chunk.select(this.#selection);
    // Whatever the run says after its terminal event was committed together with it.
    if (runId !== undefined && seen.ends.has(runId)) {
      this.#untilSeq = Math.min(this.#untilSeq, Math.max(this.#afterSeq, hub.tail));
    }
    return seen;
  }

  /** Everything that there is was given, for the first time. */
  #caughtUp(): void {
    this.#onCaughtUp?.();
    this.#onCaughtUp = undefined;
  }

  #more(hub: Hub): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    hub.wait(this);
    return promise;
  }

  #close(): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#hub === undefined) return;
    this.#path.signal?.removeEventListener("abort", this.#leave);
    this.#exit?.();
    this.#hub.forget(this);
    this.#hubs.unfollow(this.#hub, this);
  }
}
