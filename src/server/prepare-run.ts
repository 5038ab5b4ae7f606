/**
 * What becomes of a posted input: where the run hangs, what its agent gets, and what the log gets (DESIGN 9).
 *
 * The log owns the history. What a client posts is judged against the branch that it hangs on: it goes on, is a fork, or asks
 * for what is there. The log's RUN_STARTED holds what the branch did not hold yet, without forwarded properties, and what
 * of the post does not count. A branch that waits for answers goes on with all of them only.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event, RunAgentInput, Warning } from "../protocol/index.ts";
import type { FoldedBranch, Store, ThreadInfo } from "../store/index.ts";
import { createPreludeState, view } from "../stream/index.ts";
import type { PreludeState } from "../stream/index.ts";
import { normaliseInput, reconcile } from "../stream/lineage/index.ts";
import type { LineageKind, ReconcileOptions, Reconciled } from "../stream/lineage/index.ts";
import { checkAnswers } from "./check-answers.ts";
import { HiddenPaths } from "./hidden-paths.ts";
import { judgePost } from "./known-branch.ts";
import type { Judged } from "./known-branch.ts";
import type { PostRules } from "./post-rules.ts";
import { shortenHistory } from "./shorten-history.ts";

/** A run as it is about to begin. */
export interface RunPlan {
  /** The run that it hangs on; undefined for a root. */
  readonly parentRunId: string | undefined;
  /** How it hangs there. */
  readonly kind: LineageKind | undefined;
  /** The head that the thread has to have for this to hold; null: none. Absent: whichever. */
  readonly ifHead?: string | null;
  /** The branch that it hangs on, folded. */
  readonly state: PreludeState;
  /** What the agent gets. */
  readonly input: RunAgentInput;
  /** What RUN_STARTED says of it. */
  readonly logged: RunAgentInput;
  /** What follows RUN_STARTED before the agent says anything. */
  readonly opening: readonly Event[];
  /** Whether whoever posted holds something else than the branch does, and has to be told. */
  readonly differs: boolean;
  /** What of the input does not count. */
  readonly warnings: readonly Warning[];
}

/** A post that asks for what is there, at this run, and starts nothing. */
export interface Restore {
  /** The run. */
  readonly restore: string;
}

/** Where a run is asked to hang: a run, the root of a new tree, or, where undefined, the head. */
export type Place = string | typeof ROOT | undefined;

/** In place of a parent: none. */
export const ROOT: unique symbol = Symbol("root");

/**
 * Plans a run. `fold` folds the branch of a run for it alone. Throws `thread-busy` where the run that it would hang on has not ended, `run-unknown`, `answers-missing` and
 * `resume-invalid`.
 */
export async function prepareRun(
  store: Store,
  thread: ThreadInfo | undefined,
  posted: RunAgentInput,
  place: Place,
  rules: PostRules,
  fold: (thread: ThreadInfo, runId: string) => Promise<FoldedBranch>,
  isToStop = false,
): Promise<RunPlan | Restore> {
  const options = reconciling(rules);
  if (thread === undefined) {
    const judged = { reconciled: reconcile(posted, undefined, options), base: undefined };
    return planned(store, posted, judged, { parentRunId: undefined, kind: undefined, ifHead: null }, rules);
  }
  const parent = place ?? thread.head;
  if (parent === undefined || parent === ROOT) {
    const nothing = { runs: [], messages: [] };
    const judged = { reconciled: reconcile(posted, nothing, options), base: undefined };
    return planned(store, posted, judged, { parentRunId: undefined, kind: undefined }, rules);
  }
  const folded = await fold(thread, parent);
  // One that is running may say more before the claim, and the fold would not know.
  if (folded.run.end === undefined && !isToStop) throw busy(thread.threadId, folded.run.runId);
  const judged = await judgePost(store, folded, posted, options);
  if (judged.reconciled.verdict === "restore") return { restore: parent };
  return planned(store, posted, judged, placeOf(thread, judged, parent), rules);
}

const reconciling = ({ hiddenState = [], ...rules }: PostRules): ReconcileOptions =>
  hiddenState.length === 0 ? rules : { ...rules, sight: new HiddenPaths(hiddenState) };

/** The error for who has to wait. */
export function busy(threadId: string, runId: string | undefined): HeddleError {
  const message = `The thread's run ${runId} has not ended yet: wait for it, or use another thread.`;
  return new HeddleError("thread-busy", message, { threadId, runId });
}

function placeOf(
  { head }: ThreadInfo,
  { reconciled }: Judged,
  parent: string,
): Pick<RunPlan, "parentRunId" | "kind" | "ifHead"> {
  if ("forkAt" in reconciled) {
    const { forkAt } = reconciled;
    return { parentRunId: forkAt, kind: forkAt === undefined ? undefined : "branch" };
  }
  return parent === head
    ? { parentRunId: parent, kind: "continue", ifHead: parent }
    : { parentRunId: parent, kind: "branch" };
}

async function planned(
  store: Store,
  posted: RunAgentInput,
  { reconciled, base }: Judged,
  place: Pick<RunPlan, "parentRunId" | "kind" | "ifHead">,
  rules: PostRules,
): Promise<RunPlan> {
  const answers = await checkAnswers(store, posted, reconciled, base, rules);
  const state = base?.state ?? createPreludeState();
  const held = view(state.reduce).messages;
  const { added } = reconciled;
  // An answer stands before whatever comes after the call.
  const before = reconciled.messages.slice(0, reconciled.messages.length - added.length);
  const messages = [...before, ...answers.declined, ...added].filter(({ role }) => role !== "activity");
  const { state: decision } = reconciled;
  const { state: postedState, ...rest } = posted;
  const { resume: _resume, ...without } = rest;
  // A state that nobody ever spoke of is left out, as it was posted.
  const isSpoken = postedState !== undefined || decision.log || state.reduce.document !== undefined;
  const input = {
    ...without,
    ...(answers.resume.length > 0 && { resume: answers.resume }),
    messages: shortenHistory(messages, rules.history),
    ...(isSpoken && { state: decision.state }),
  };
  const { forwardedProps: _forwardedProps, ...kept } = normaliseInput({ ...rest, messages }, held);
  const isLogged = decision.log || decision.kind === "change";
  // The fold takes the state of an input only where there was none before; and a prelude tells none where there was none.
  const tells = state.reduce.document === undefined ? decision.snapshot : isLogged;
  return {
    ...place,
    state,
    input,
    logged: isLogged ? { ...kept, state: decision.state } : kept,
    opening: tells ? [{ type: "STATE_SNAPSHOT", snapshot: decision.state, timestamp: Date.now() }] : [],
    differs: reconciled.differs || decision.snapshot || answers.declined.length > 0,
    warnings: [...warningsOf(reconciled), ...answers.warnings],
  };
}

const warningsOf = ({ dropped }: Reconciled): readonly Warning[] =>
  dropped
    // Activities are never part of an input: sending them is no mistake.
    .filter(({ code }) => code !== "activity")
    .map(({ path, message, messageId }) => ({
      code: "not-applied",
      path,
      message: `Dropped the message ${messageId}: ${message}`,
    }));
