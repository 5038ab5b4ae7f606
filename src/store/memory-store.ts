/**
 * The log of threads in memory. It forgets at exit.
 *
 * Every thread owns one append-only log with positions 1, 2, 3 …, without gaps. Clients see a position as a cursor,
 * which also names the log: a cursor of another log, or of another life of this process, is recognised and refused
 * instead of being read as a position here.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { formatCursor, mintLogId, readCursor } from "./cursor.ts";

/** An event and its place in its thread's log. */
export interface LoggedEvent {
  /** Position in the log, from 1. */
  readonly seq: number;
  /** The position as clients see it. */
  readonly cursor: string;
  /** The run that the event belongs to. */
  readonly runId: string;
  /** The event. */
  readonly event: Event;
}

/** Which part of a log to read. */
export interface ReadOptions {
  /** Cursor of the last event that is known; absent, from the beginning. */
  readonly after?: string | undefined;
  /** Most events to return. Default 256. */
  readonly limit?: number;
}

/** The log of all threads. Methods are asynchronous, as those of a durable store have to be. */
export interface Store {
  /** Adds events of one run at the end of a thread's log, which begins with its first event. Returns its new tail. */
  append(threadId: string, runId: string, events: readonly [Event, ...Event[]]): Promise<string>;
  /** The cursor of the newest event, or undefined where the thread does not exist. */
  tail(threadId: string): Promise<string | undefined>;
  /** Reads one page. Throws `thread-unknown` or `cursor-invalid`. */
  read(threadId: string, options?: ReadOptions): Promise<readonly LoggedEvent[]>;
  /** Resolves as soon as there is something after the cursor, or the signal aborts. Throws like `read`. */
  wait(threadId: string, after: string | undefined, signal: AbortSignal): Promise<void>;
}

interface ThreadLog {
  readonly logId: string;
  readonly events: LoggedEvent[];
  readonly waiting: Set<() => void>;
}

/** Makes an empty store. */
export function memoryStore(): Store {
  const threads = new Map<string, ThreadLog>();

  function logOf(threadId: string): ThreadLog {
    const log = threads.get(threadId);
    if (log === undefined) {
      throw new HeddleError("thread-unknown", "There is no such thread: it begins with its first run.", { threadId });
    }
    return log;
  }

  /** The number of events up to the cursor. */
  function seqOf(log: ThreadLog, after: string | undefined): number {
    return after === undefined ? 0 : readCursor(after, log.logId, log.events.length);
  }

  return {
    async append(threadId, runId, events) {
      const log = threads.get(threadId) ?? { logId: mintLogId(), events: [], waiting: new Set() };
      threads.set(threadId, log);
      for (const event of events) {
        const seq = log.events.length + 1;
        log.events.push({ seq, cursor: formatCursor(log.logId, seq), runId, event });
      }
      const waiting = [...log.waiting];
      log.waiting.clear();
      for (const wake of waiting) wake();
      return formatCursor(log.logId, log.events.length);
    },

    async tail(threadId) {
      return threads.get(threadId)?.events.at(-1)?.cursor;
    },

    async read(threadId, { after, limit = 256 } = {}) {
      const log = logOf(threadId);
      const start = seqOf(log, after);
      return log.events.slice(start, start + limit);
    },

    async wait(threadId, after, signal) {
      const log = logOf(threadId);
      if (seqOf(log, after) < log.events.length || signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = (): void => resolve();
      log.waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
      await promise;
      log.waiting.delete(wake);
      signal.removeEventListener("abort", wake);
    },
  };
}
