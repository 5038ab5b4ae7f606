/**
 * Every event of a thread, whatever its branch, live from the log. It is read once from the beginning and then followed; a lost
 * connection is taken up again behind the newest event. While nobody looks at the page nothing is held open.
 *
 * Entries are only ever added, so what was read stays where it is. Listeners are called at most once in a frame.
 */
import type { HeddleClient } from "heddle/client";
import { HeddleError, METADATA_KEY } from "heddle/protocol";
import type { Event } from "heddle/protocol";
import { GLANCE_MS, attention, onAttention } from "../attention.ts";
import type { Attention } from "../attention.ts";

/** One event of a log. */
export interface LogEntry {
  /** Its place in the log: 1, 2, 3 … */
  readonly seq: number;
  /** Its cursor. */
  readonly id: string;
  /** The run that it belongs to. */
  readonly runId: string;
  /** The event, as it is in the log. */
  readonly event: Event;
  /** When it was, where that is known. */
  readonly atMs: number | undefined;
}

/** A log as far as it is known. */
export interface LogView {
  /** The events: the same list, which grows. */
  readonly entries: readonly LogEntry[];
  /** How many they are now. */
  readonly count: number;
  /** How many events the log had when it was opened. */
  readonly total: number;
  /** How many events at its beginning were dropped by retention: they are not among the entries. */
  readonly dropped: number;
  /** `loading` until all that was there at first is here; `missing` while there is no such thread. */
  readonly status: "loading" | "live" | "reconnecting" | "missing" | "failed";
  /** Why it is followed no more. */
  readonly error: HeddleError | undefined;
}

const RETRY_MS = 1000;
const SEQ_DIGITS = 16;
/** While a long log is read the page has to stay usable. */
const LOADING_MS = 120;
/** So long events are taken in before anything else has its turn: what has arrived comes without a pause otherwise. */
const SLICE_MS = 12;

/** The log of one thread. */
export class ThreadLog {
  readonly #client: HeddleClient;
  readonly #threadId: string;
  readonly #listeners = new Set<() => void>();
  #view: LogView = { entries: [], count: 0, total: 0, dropped: 0, status: "loading", error: undefined };
  #entries: LogEntry[] = [];
  #status: LogView["status"] = "loading";
  #error: HeddleError | undefined;
  /** The newest event when it was opened; undefined until that is known. */
  #newest: string | undefined;
  #dropped = 0;
  #stop: AbortController | undefined;
  #given: Attention = "none";
  #leave: (() => void) | undefined;
  #scheduled = false;

  constructor(client: HeddleClient, threadId: string) {
    this.#client = client;
    this.#threadId = threadId;
  }

  /** What is known: the same object until there is more. */
  readonly view = (): LogView => this.#view;

  /** Follows the log while somebody listens. */
  readonly subscribe = (listener: () => void): (() => void) => {
    const own = (): void => listener();
    this.#listeners.add(own);
    if (this.#listeners.size === 1) {
      this.#leave = onAttention(this.#turn);
      this.#turn();
    }
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#leave?.();
      this.#turn();
    };
  };

  /** Tries again after a failure. */
  readonly retry = (): void => {
    this.#stop?.abort();
    this.#stop = undefined;
    this.#turn();
  };

  readonly #turn = (): void => {
    const wanted = this.#listeners.size > 0 ? attention() : "none";
    if (this.#stop !== undefined && wanted === this.#given) return;
    this.#given = wanted;
    this.#stop?.abort();
    this.#stop = undefined;
    if (wanted === "none") return;
    this.#stop = new AbortController();
    void this.#follow(this.#stop.signal, wanted === "full");
  };

  /** Follows until the signal says so, by a stream that is held open or by asking again and again. Never rejects. */
  async #follow(signal: AbortSignal, isHeld: boolean): Promise<void> {
    let isCaughtUp = false;
    while (!signal.aborted) {
      try {
        // What is there is read to its end first: only that says that there is no more, also where the newest may not be seen.
        await this.#read(signal, isHeld && isCaughtUp);
        if (signal.aborted) return;
        const isFirst = !isCaughtUp;
        isCaughtUp = true;
        this.#says("live");
        if (isHeld && isFirst) continue;
      } catch (error) {
        if (signal.aborted) return;
        isCaughtUp = false;
        if (this.#skips(error)) continue;
        if (!this.#outlives(error)) return;
      }
      if (!signal.aborted) await pause(isHeld ? RETRY_MS : GLANCE_MS, signal);
    }
  }

  /** Reads on from what is here. */
  async #read(signal: AbortSignal, isHeld: boolean): Promise<void> {
    const thread = this.#client.thread(this.#threadId);
    if (this.#newest === undefined) {
      const { lastEventId } = await thread.details();
      if (signal.aborted) return;
      this.#newest = lastEventId;
      this.#says("loading");
    }
    const start = this.#dropped === 0 ? undefined : cursorAt(this.#newest, this.#dropped);
    const after = this.#entries.at(-1)?.id ?? start;
    const log = thread.history({
      ...(after !== undefined && { after }),
      all: true,
      meta: true,
      follow: isHeld,
      signal,
    });
    let since = performance.now();
    for await (const { id, event } of log) {
      if (signal.aborted) return;
      this.#take(id, event);
      if (performance.now() - since < SLICE_MS) continue;
      await nextTask();
      since = performance.now();
    }
    // What has events and gives none has lost them all.
    if (this.#entries.length === 0 && this.#newest !== undefined) this.#dropped = seqOf(this.#newest);
  }

  #take(id: string, event: Event): void {
    this.#entries.push({ seq: seqOf(id), id, runId: runOf(event), event, atMs: event.timestamp ?? undefined });
    this.#changed();
  }

  /** Whether it is worth trying again, after this. */
  #outlives(error: unknown): boolean {
    const failure = error instanceof HeddleError ? error : undefined;
    if (failure?.code === "thread-unknown") {
      this.#forget();
      this.#says("missing");
      return true;
    }
    // The thread was deleted, and another of its name was made.
    if (failure?.code === "cursor-invalid" || failure?.code === "cursor-trimmed") {
      this.#forget();
      return true;
    }
    if (failure !== undefined && !failure.retryable) {
      this.#says("failed", failure);
      return false;
    }
    this.#says("reconnecting");
    return true;
  }

  /** Whether the beginning was dropped by retention, and it is read from behind that now. */
  #skips(error: unknown): boolean {
    const isTrimmed = error instanceof HeddleError && error.code === "cursor-trimmed";
    const floor: unknown = isTrimmed ? Object(error.details).floor : undefined;
    if (typeof floor !== "number" || floor <= this.#dropped) return false;
    const newest = this.#newest;
    this.#forget();
    this.#newest = newest;
    this.#dropped = floor;
    return true;
  }

  #forget(): void {
    this.#entries = [];
    this.#newest = undefined;
    this.#dropped = 0;
  }

  #says(status: LogView["status"], error?: HeddleError): void {
    if (status === this.#status && error === this.#error) return;
    this.#status = status;
    this.#error = error;
    this.#changed();
  }

  #changed(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    const tell = (): void => {
      this.#scheduled = false;
      const [entries, dropped] = [this.#entries, this.#dropped];
      const total = this.#newest === undefined ? 0 : Math.max(seqOf(this.#newest) - dropped, 0);
      this.#view = { entries, count: entries.length, total, dropped, status: this.#status, error: this.#error };
      for (const listener of this.#listeners) listener();
    };
    if (this.#status === "loading") setTimeout(tell, LOADING_MS);
    else requestAnimationFrame(tell);
  }
}

/** What is said where retention left nothing to look at. */
export const NOTHING_LEFT = {
  title: "What happened here was dropped by retention",
  text: "What was said is still there. What happens from now on is shown here as it comes.",
} as const;

/** What is missing at the beginning of a log, for whoever looks at it. */
export const droppedWords = ({ dropped }: Pick<LogView, "dropped">): string =>
  dropped === 1
    ? "The first event of this conversation was dropped by retention. What is shown begins after it."
    : `The first ${dropped} events of this conversation were dropped by retention. What is shown begins after them.`;

/** The place in the log that a cursor names. */
export const seqOf = (cursor: string): number => Number(cursor.slice(-SEQ_DIGITS));

/** The cursor of another place in the log of a cursor. */
const cursorAt = (cursor: string, seq: number): string =>
  cursor.slice(0, -SEQ_DIGITS) + String(seq).padStart(SEQ_DIGITS, "0");

function runOf(event: Event): string {
  const ours: unknown = event.metadata?.[METADATA_KEY];
  const named: unknown = Object(ours).runId;
  return typeof named === "string" ? named : "";
}

/** The event without the name of its run, which is told only to who reads all branches. */
export function bareEvent({ event }: LogEntry): Event {
  const { [METADATA_KEY]: ours, ...others } = event.metadata ?? {};
  const { runId: _, ...kept } = Object(ours);
  const metadata = { ...others, ...(Object.keys(kept).length > 0 && { [METADATA_KEY]: kept }) };
  const bare: Event = { ...event };
  Reflect.deleteProperty(bare, "metadata");
  return Object.keys(metadata).length > 0 ? { ...bare, metadata } : bare;
}

/** Lets whatever waits have its turn: a frame, a key, a click. */
const nextTask = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener("message", () => (port1.close(), resolve()), { once: true });
    port1.start();
    port2.postMessage(undefined);
  });

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
