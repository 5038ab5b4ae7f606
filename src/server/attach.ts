/**
 * Attaching: following a thread or one of its runs from a cursor.
 *
 * What is asked for is checked once, at the beginning; from then on a viewer follows. What it has not taken stays in the
 * log, so a slow one costs no more than the chunk that it has, and never holds up the run.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { formatCursor, readCursor } from "../store/index.ts";
import type { RunInfo, Store, ThreadInfo, ThreadKey } from "../store/index.ts";
import type { Hubs } from "./hubs.ts";
import { WHOLE_THREAD, onlyRun } from "./view.ts";
import type { Encoding } from "./view.ts";
import { Viewer } from "./viewer.ts";
import type { Path } from "./viewer.ts";

/** What to follow, and from where. */
export interface AttachOptions {
  /** Cursor of the last event that the viewer has; absent, from the beginning. */
  readonly after?: string | undefined;
  /** Only this run, ending after its terminal event. */
  readonly runId?: string | undefined;
  /** False ends at the newest event instead of waiting for more. Default true. */
  readonly follow?: boolean;
  /** Aborts when the viewer is gone. */
  readonly signal?: AbortSignal;
}

/** One event of a log, as a viewer gets it. */
export interface LoggedEvent {
  /** Position in the log, from 1. */
  readonly seq: number;
  /** The position as clients see it. */
  readonly cursor: string;
  /** The run that it belongs to. */
  readonly runId: string;
  /** The event. */
  readonly event: Event;
}

/** What a viewer gets: events or frames, whichever is asked for, once. Every one of them is in the log already. */
export interface Attachment {
  /** True where the run has ended and nothing of it lies after the cursor. */
  readonly finished: boolean;
  /** The events, each with its cursor. */
  readonly events: AsyncIterable<LoggedEvent>;
  /** The same in a form for the wire, several events at a time. The bytes are shared with other viewers. */
  frames(encoding: Encoding): AsyncIterableIterator<Uint8Array>;
}

/**
 * Checks thread, cursor and run, and opens the loop. Throws `thread-unknown`, `run-unknown`, `cursor-invalid`, and
 * `cursor-trimmed` where what is asked for is not all there any more.
 */
export async function attach(store: Store, hubs: Hubs, key: ThreadKey, options: AttachOptions): Promise<Attachment> {
  const { after, runId } = options;
  const thread = await store.thread(key);
  if (thread === undefined) throw unknownThread(key);
  const afterSeq = after === undefined ? 0 : readCursor(after, thread);
  const run = runId === undefined ? undefined : await knownRun(store, key, runId);
  const path = pathOf(thread, run, afterSeq, options);
  const view = (): Viewer => new Viewer(hubs, thread, path);
  return {
    finished: run?.end !== undefined && path.afterSeq >= path.untilSeq,
    get events() {
      return eventsOf(view());
    },
    frames: (encoding) => framesOf(view(), encoding),
  };
}

function pathOf(thread: ThreadInfo, run: RunInfo | undefined, afterSeq: number, options: AttachOptions): Path {
  const { follow: live = true, signal } = options;
  // Nothing of a run lies before its beginning.
  const from = run === undefined ? afterSeq : Math.max(afterSeq, run.firstSeq - 1);
  // The beginning of a log may have been dropped too.
  readCursor(formatCursor(thread.logId, from), { ...thread, tail: Infinity });
  const ended = run?.end === undefined ? Infinity : run.lastSeq;
  return {
    afterSeq: from,
    untilSeq: live ? ended : Math.min(ended, thread.tail),
    selection: run === undefined ? WHOLE_THREAD : onlyRun(run.runId),
    runId: run?.runId,
    signal,
  };
}

async function* eventsOf(viewer: Viewer): AsyncGenerator<LoggedEvent, void, undefined> {
  for await (const { logId, events } of viewer) {
    for (const { seq, runId, json } of events) {
      const event: Event = JSON.parse(json);
      yield { seq, cursor: formatCursor(logId, seq), runId, event };
    }
  }
}

/** By hand as the viewer is: one that waits keeps hold of nothing. */
function framesOf(viewer: Viewer, encoding: Encoding): AsyncIterableIterator<Uint8Array, undefined> {
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      for (;;) {
        const { done, value } = await viewer.next();
        if (done === true) return { done, value };
        const bytes = value.encode(encoding);
        // A form may have nothing to say about an event.
        if (bytes.length > 0) return { done: false, value: bytes };
      }
    },
    async return() {
      await viewer.return();
      return { done: true, value: undefined };
    },
  };
}

async function knownRun(store: Store, key: ThreadKey, runId: string): Promise<RunInfo> {
  const run = await store.run({ ...key, runId });
  if (run !== undefined) return run;
  throw new HeddleError("run-unknown", "The thread has no such run.", { threadId: key.threadId, runId });
}

function unknownThread({ threadId }: ThreadKey): HeddleError {
  return new HeddleError("thread-unknown", "There is no such thread: it begins with its first run.", { threadId });
}
