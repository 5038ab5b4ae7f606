/**
 * The run that was started with the same answers: a question is answered once, and whoever answers it again in the same way
 * gets what came of it, from whichever device, and under whatever run id.
 */
import { HeddleError } from "../protocol/index.ts";
import type { ResumeEntry, RunAgentInput } from "../protocol/index.ts";
import type { RunInfo, Store, ThreadInfo } from "../store/index.ts";
import { startedInput } from "./run-start.ts";
import { sameAnswers } from "./same-run.ts";

/**
 * The run that has these answers already; undefined where they are new, or answer nothing that was asked. Throws
 * `run-conflict` where the questions were answered otherwise.
 */
export async function answeredRun(
  store: Store,
  thread: ThreadInfo,
  posted: RunAgentInput,
): Promise<RunInfo | undefined> {
  const { resume = [] } = posted;
  if (resume.length === 0) return undefined;
  const ids = new Set(resume.map(({ interruptId }) => interruptId));
  const asks = (run: RunInfo | undefined): boolean => run?.end?.interrupts.some(({ id }) => ids.has(id)) === true;
  const runs = await store.runs(thread);
  const byId = new Map(runs.map((run) => [run.runId, run]));
  const answering = runs.filter(({ parentRunId }) => parentRunId !== undefined && asks(byId.get(parentRunId)));
  const { parentRunId: parent = thread.head } = posted;
  // Where the run that this one would hang on asks, only answers to it count: another branch may have asked the same.
  const isAsking = asks(byId.get(parent ?? ""));
  const candidates = isAsking ? answering.filter(({ parentRunId }) => parentRunId === parent) : answering;
  const newest = await lastWithAnswers(store, candidates, ids);
  if (newest === undefined) return undefined;
  if (sameAnswers(newest.answers, resume)) return newest.run;
  // Where nothing came of the first answers the question is over, and whoever takes it back may go on.
  if (newest.run.status === "failed" && resume.every(({ status }) => status === "cancelled")) return undefined;
  const { threadId, runId } = newest.run;
  const message = `The questions were answered otherwise already, by the run ${runId}: attach to it.`;
  throw new HeddleError("run-conflict", message, { threadId, runId, interruptIds: [...ids] });
}

/** The newest of some runs that was started with answers to these questions. A fork may hang there too, which answers nothing. */
async function lastWithAnswers(
  store: Store,
  runs: readonly RunInfo[],
  ids: ReadonlySet<string>,
): Promise<{ readonly run: RunInfo; readonly answers: readonly ResumeEntry[] } | undefined> {
  for (const run of runs.toReversed()) {
    const answers = (await startedInput(store, run))?.resume ?? [];
    if (answers.some(({ interruptId }) => ids.has(interruptId))) return { run, answers };
  }
  return undefined;
}
