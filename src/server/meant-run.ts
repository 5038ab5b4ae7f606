/**
 * Which run a post means: one that is in the log already, or one that is to begin.
 *
 * The ids of a run that is there mean that run. Nothing new at all on a thread that exists (no messages, no answers, no
 * forwarded properties) asks for what is there, and starts nothing. Answers to the questions of a run may come under that
 * run's own id, as CopilotKit sends them: they mean a new run, which hangs on it and has an id of ours, always the same
 * one for the same answers. The same answers under another id mean the run that had them first.
 */
import type { Agent } from "../agent/index.ts";
import { HeddleError } from "../protocol/index.ts";
import type { RunAgentInput } from "../protocol/index.ts";
import type { RunInfo, Store, ThreadInfo, ThreadKey } from "../store/index.ts";
import { answeredRun } from "./answered-run.ts";
import { checkSameRun } from "./same-run.ts";

/** What a post means. */
export type MeantRun =
  | { readonly type: "join"; readonly runId: string }
  | { readonly type: "start"; readonly input: RunAgentInput };

/** Finds the run; one that begins a tree of its own (`isRoot`) is always new. Throws `run-conflict` where its id is taken by another. */
export async function meantRun(
  store: Store,
  key: ThreadKey,
  thread: ThreadInfo | undefined,
  agent: Agent,
  posted: RunAgentInput,
  isRoot = false,
): Promise<MeantRun> {
  if (thread === undefined) return { type: "start", input: posted };
  let input = posted;
  let conflict: HeddleError | undefined;
  for (let round = 1; ; round++) {
    const run = await store.run({ ...key, runId: input.runId });
    if (run === undefined) break;
    try {
      await checkSameRun(store, run, agent, posted);
      return { type: "join", runId: run.runId };
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code !== "run-conflict") throw error;
      // The newest of the runs that have this id in turn decides: it may have asked what is answered here.
      conflict = answers(posted, run) ? undefined : error;
    }
    input = { ...posted, runId: `${posted.runId}~${round}`, parentRunId: run.runId };
  }
  if (conflict !== undefined) throw conflict;
  if (isRoot) return { type: "start", input };
  const answered = await answeredRun(store, thread, input);
  if (answered !== undefined) return { type: "join", runId: answered.runId };
  const tip = input.parentRunId ?? thread.head;
  return tip !== undefined && asksForNothing(input) ? { type: "join", runId: tip } : { type: "start", input };
}

/** Whether a post answers a question that a run ended with. */
function answers({ resume = [] }: RunAgentInput, { end }: RunInfo): boolean {
  return end !== undefined && resume.some(({ interruptId }) => end.interrupts.some(({ id }) => id === interruptId));
}

function asksForNothing({ messages, resume = [], forwardedProps }: RunAgentInput): boolean {
  return messages.length === 0 && resume.length === 0 && isEmpty(forwardedProps);
}

const isEmpty = (props: unknown): boolean =>
  props === undefined || props === null || (typeof props === "object" && Object.keys(props).length === 0);
