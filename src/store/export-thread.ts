/**
 * Export: a thread as lines, lossless. Works on a thread that is being written to: it holds what was committed when the
 * export began, and runs that went on then are told as running.
 */
import { HeddleError } from "../protocol/index.ts";
import { readAll } from "./fold-branch.ts";
import { unknownThread } from "./memory-thread.ts";
import type { CompactedEvent, RunInfo, Store, ThreadKey } from "./store.ts";
import { compactedLine, endLine, eventLine, headerLine, runLine } from "./thread-lines.ts";

/**
 * Writes a thread as lines of JSON, each with its line end: see `thread-lines.ts` for the form. Throws `thread-unknown`;
 * `cursor-trimmed` where retention drops events while they are read, and what was written then lacks its end.
 */
export async function* exportThread(store: Store, key: ThreadKey): AsyncGenerator<string, void, undefined> {
  const thread = await store.thread(key);
  if (thread === undefined) throw unknownThread(key);
  // What was in the log a moment ago, and what the runs have said by now: all of it belongs to these runs.
  const runs = await store.runs(key);
  const { floor, logId } = thread;
  const tail = runs.reduce((newest, { lastSeq }) => Math.max(newest, lastSeq), thread.tail);
  yield headerLine({ ...thread, tail });
  for (const run of runs) yield runLine(run);
  let compacted = 0;
  for (const run of runs.filter(({ firstSeq }) => firstSeq <= floor)) {
    for (const [number, event] of (await compactedOf(store, run)).entries()) {
      yield compactedLine(run.runId, number, event);
      compacted += 1;
    }
  }
  try {
    const range = { afterSeq: floor, throughSeq: tail };
    if (tail > floor) for await (const event of readAll(store, key, range)) yield eventLine(event);
  } catch (error) {
    throw error instanceof HeddleError && error.code === "cursor-trimmed" ? overtaken(key, error) : error;
  }
  // One that was deleted and made anew meanwhile would be two halves.
  if ((await store.thread(key))?.logId !== logId) throw unknownThread(key);
  yield endLine({ runs: runs.length, events: tail - floor, compacted });
}

async function compactedOf(store: Store, run: RunInfo): Promise<readonly CompactedEvent[]> {
  const compacted = await store.compacted(run);
  if (compacted !== undefined) return compacted;
  const { threadId, runId } = run;
  const message = `The run ${runId} has lost raw events and was never settled: it cannot be exported.`;
  throw new HeddleError("store-corrupt", message, { threadId, runId });
}

function overtaken({ threadId }: ThreadKey, cause: HeddleError): HeddleError<"cursor-trimmed"> {
  const message = "Retention dropped events of the thread while it was exported: export it again.";
  return new HeddleError("cursor-trimmed", message, { threadId }, { cause });
}
