/**
 * The run that was started with the same answers: a question is answered once, and whoever answers it again in the same way
 * gets what came of it, from whichever device, and under whatever run id.
 */
import { HeddleError } from "../protocol/index.ts";
import type { RunAgentInput } from "../protocol/index.ts";
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
  // What the run that this one would hang on has asked is open, also where an earlier one has asked it before.
  const isOpen = asks(byId.get(parent ?? "")) && !answering.some(({ parentRunId }) => parentRunId === parent);
  const newest = answering.at(-1);
  if (isOpen || newest === undefined) return undefined;
  if (sameAnswers((await startedInput(store, newest))?.resume, resume)) return newest;
  // Where nothing came of the first answers the question is over, and whoever takes it back may go on.
  if (newest.status === "failed") return undefined;
  const { threadId, runId } = newest;
  const message = `The questions were answered otherwise already, by the run ${runId}: attach to it.`;
  throw new HeddleError("run-conflict", message, { threadId, runId, interruptIds: [...ids] });
}
