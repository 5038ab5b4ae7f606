/**
 * Attaching: following a thread or one of its runs from a cursor.
 *
 * One loop: read a page after the cursor, hand it on, and wait when there is nothing. What a viewer has not taken
 * stays in the log, so a slow viewer costs a page and never holds up the run. The loop for thousands of viewers
 * (hub, ring, encode once) replaces this one.
 */
import { HeddleError } from "../protocol/index.ts";
import type { LoggedEvent, Store } from "../store/index.ts";
import type { Run, Runs } from "./runs.ts";

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

/** What a viewer gets. */
export interface Attachment {
  /** True where the run has ended and nothing of it lies after the cursor. */
  readonly finished: boolean;
  /** The events, each with its cursor. Every one of them is in the log already. */
  readonly events: AsyncIterable<LoggedEvent>;
}

/** Checks thread, cursor and run, and opens the loop. Throws `thread-unknown`, `cursor-invalid` or `run-unknown`. */
export async function attach(
  store: Store,
  runs: Runs,
  threadId: string,
  options: AttachOptions,
  closing: AbortSignal,
): Promise<Attachment> {
  const { after, runId } = options;
  await store.read(threadId, { after, limit: 1 });
  if (runId === undefined)
    return { finished: false, events: follow(store, threadId, after, undefined, options, closing) };

  const run = runs.get(threadId, runId);
  if (run === undefined) throw new HeddleError("run-unknown", "The thread has no such run.", { threadId, runId });
  // Cursors of one log sort by position: nothing of the run lies before its own beginning.
  const from = after === undefined || (run.after !== undefined && run.after > after) ? run.after : after;
  const finished = run.over.aborted && from !== undefined && run.newest !== undefined && from >= run.newest;
  return { finished, events: follow(store, threadId, from, run, options, closing) };
}

async function* follow(
  store: Store,
  threadId: string,
  after: string | undefined,
  run: Run | undefined,
  options: AttachOptions,
  closing: AbortSignal,
): AsyncGenerator<LoggedEvent, void, undefined> {
  const gone = options.signal;
  const wakers = [closing, gone, run?.over].filter((signal) => signal !== undefined);
  const wake = AbortSignal.any(wakers);
  let cursor = after;
  for (;;) {
    // Asked before the page is read: a run that ends in between still has its last page read.
    const complete = run?.over.aborted === true || closing.aborted || options.follow === false;
    const page = await store.read(threadId, { after: cursor });
    for (const logged of page) {
      cursor = logged.cursor;
      if (run !== undefined && logged.runId !== run.input.runId) continue;
      yield logged;
      if (run !== undefined && isTerminal(logged)) return;
    }
    if (gone?.aborted === true) return;
    if (page.length > 0) continue;
    if (complete) return;
    await store.wait(threadId, cursor, wake);
  }
}

const isTerminal = ({ event }: LoggedEvent): boolean => event.type === "RUN_FINISHED" || event.type === "RUN_ERROR";
