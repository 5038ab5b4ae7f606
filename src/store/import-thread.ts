/**
 * Import: an exported thread becomes one of this store. All of it is read and judged before anything is written, and it
 * is written at once; so a broken file changes nothing. Events are written anew from what was judged, so
 * that a text has one form only; under another id those that name the thread name it anew, or no run could follow.
 */
import { HeddleError } from "../protocol/index.ts";
import { settleRun } from "./settle-run.ts";
import { MAX_LINE_BYTES } from "./split-lines.ts";
import type { Store } from "./store.ts";
import { ThreadJudge, isThreadId } from "./thread-judge.ts";

/** Where a thread is imported to. */
export interface ImportPlace {
  /** Whose it becomes. */
  readonly tenant: string;
  /** What it is called there. Default: its own id. */
  readonly threadId?: string | undefined;
  /** The user who owns it there. Default: nobody. */
  readonly owner?: string | undefined;
}

/** Options of `importThread`. */
export interface ImportOptions {
  /** Longest line that is read. Default 16 MiB. */
  readonly maxLineBytes?: number;
  /** Told how many runs of how many are settled, once everything is written. */
  readonly onSettled?: (done: number, runs: number) => void;
}

/** What was imported. */
export interface ImportedThread {
  /** The thread's id. */
  readonly threadId: string;
  /** How many runs it has. */
  readonly runs: number;
  /** How many raw events it has, those that closed runs among them. */
  readonly events: number;
  /** The runs that had not ended, and were closed as lost. */
  readonly closedRunIds: readonly string[];
}

/**
 * Imports a thread from the lines that `exportThread` wrote. Throws `import-invalid` with the line and the problem, and
 * `thread-exists`; nothing is changed then. What fails after the write leaves a thread that is whole.
 */
export async function importThread(
  store: Store,
  { tenant, threadId, owner }: ImportPlace,
  lines: AsyncIterable<string> | Iterable<string>,
  { maxLineBytes = MAX_LINE_BYTES, onSettled }: ImportOptions = {},
): Promise<ImportedThread> {
  if (threadId !== undefined && !isThreadId(threadId)) throw wrongId(threadId);
  const judge = new ThreadJudge({ threadId, maxLineBytes });
  for await (const line of lines) judge.take(line);
  const close = judge.end();
  // Only now the store is touched, and perhaps made.
  const { dump, closed } = close(await store.nowMs());
  const key = { tenant, threadId: dump.thread.threadId };
  await store.importThread(key, dump, { owner });
  // Parents come before their children, so each starts from a snapshot.
  for (const [index, { runId }] of dump.runs.entries()) {
    await settleRun(store, { ...key, runId });
    onSettled?.(index + 1, dump.runs.length);
  }
  return { threadId: key.threadId, runs: dump.runs.length, events: dump.events.length, closedRunIds: closed };
}

function wrongId(threadId: string): HeddleError<"input-invalid"> {
  const expected = '1 to 256 characters of well-formed text, and not "." or ".."';
  const received = threadId.length > 60 ? `${threadId.length} characters` : JSON.stringify(threadId);
  const message = `The thread's id is ${received}: expected ${expected}.`;
  return new HeddleError("input-invalid", message, { path: "/threadId", expected, received });
}
