/**
 * What becomes of a posted input: where the run hangs, what its agent gets, and what the log gets.
 *
 * The log owns the history. Messages are matched by id, and the log's version of a known one counts; new are messages of
 * the user and answers to calls that wait for one. A thread that does not exist takes its history as it comes. The log's
 * RUN_STARTED holds what the branch did not hold yet, without forwarded properties. Edits, regeneration and forks by
 * what is posted belong here too, and are not here yet: a list that leaves something off continues the branch.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event, Message, RunAgentInput, Warning } from "../protocol/index.ts";
import { foldBranch } from "../store/index.ts";
import type { RunInfo, Store, ThreadInfo } from "../store/index.ts";
import { createPreludeState, view } from "../stream/index.ts";
import type { PreludeState } from "../stream/index.ts";
import { normaliseInput, reconcileState } from "../stream/lineage/index.ts";
import type { KnownRun, LineageKind, StateDecision } from "../stream/lineage/index.ts";

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
  /** What of the input does not count. */
  readonly warnings: readonly Warning[];
}

/** Earlier states that a posted one is compared with: of so many runs. */
const REMEMBERED_RUNS = 16;

/** Plans a run. Throws `thread-busy` where the run that it would hang on has not ended, and `run-unknown`. */
export async function prepareRun(
  store: Store,
  thread: ThreadInfo | undefined,
  posted: RunAgentInput,
): Promise<RunPlan> {
  const parent = thread === undefined ? undefined : (posted.parentRunId ?? thread.head);
  if (thread === undefined || parent === undefined) {
    const place = { parentRunId: undefined, kind: undefined, ifHead: null } as const;
    return { ...place, ...planned(createPreludeState(), posted, true, reconcileState(posted.state, [], undefined)) };
  }
  const { run, state } = await foldBranch(store, { ...thread, runId: parent });
  // One that is running may say more before the claim, and the fold would not know.
  if (run.end === undefined) throw busy(thread.threadId, run.runId);
  const kind = parent === thread.head ? "continue" : "branch";
  const place = { parentRunId: parent, kind, ...(kind === "continue" && { ifHead: parent }) } as const;
  return { ...place, ...planned(state, posted, false, await stateOf(store, run, state, posted.state)) };
}

/** The error for who has to wait. */
export function busy(threadId: string, runId: string | undefined): HeddleError {
  const message = `The thread's run ${runId} has not ended yet: wait for it, or use another thread.`;
  return new HeddleError("thread-busy", message, { threadId, runId });
}

function planned(
  state: PreludeState,
  posted: RunAgentInput,
  isNew: boolean,
  decision: StateDecision,
): Pick<RunPlan, "state" | "input" | "logged" | "opening" | "warnings"> {
  const held = view(state.reduce).messages;
  const { added, warnings } = sorted(posted.messages, held, isNew);
  const history = held.filter(({ role }) => role !== "activity");
  const { state: postedState, ...rest } = posted;
  // A state that nobody ever spoke of is left out, as it was posted.
  const isSpoken = postedState !== undefined || state.reduce.document !== undefined;
  const input = { ...rest, messages: [...history, ...added], ...(isSpoken && { state: decision.state }) };
  const { forwardedProps: _forwardedProps, ...kept } = normaliseInput({ ...rest, messages: input.messages }, held);
  const isChange = decision.kind === "change";
  // The fold takes the state of an input only where there was none before.
  const tells = decision.snapshot || (decision.log && state.reduce.document !== undefined);
  return {
    state,
    input,
    logged: isChange ? { ...kept, state: decision.state } : kept,
    opening: tells ? [{ type: "STATE_SNAPSHOT", snapshot: decision.state, timestamp: Date.now() }] : [],
    warnings,
  };
}

/** Which posted messages are new, and what does not count. */
function sorted(
  posted: readonly Message[],
  held: readonly Message[],
  isNew: boolean,
): { readonly added: readonly Message[]; readonly warnings: readonly Warning[] } {
  const ids = new Set(held.map(({ id }) => id));
  const waiting = waitingCalls(held);
  const added: Message[] = [];
  const warnings: Warning[] = [];
  for (const [index, message] of posted.entries()) {
    // Activities are never part of an input, and the log's version of a known message counts.
    if (message.role === "activity" || ids.has(message.id)) continue;
    if (isNew || message.role === "user" || (message.role === "tool" && waiting.delete(message.toolCallId))) {
      ids.add(message.id);
      added.push(message);
    } else warnings.push({ code: "not-applied", path: `/messages/${index}`, message: dropped(message) });
  }
  return { added, warnings };
}

const dropped = ({ id, role }: Message): string =>
  role === "system" || role === "developer"
    ? `Dropped the message ${id}: instructions are only taken when a thread begins.`
    : `Dropped the message ${id}: the log does not hold it, and it answers no call that waits.`;

/** The calls of a conversation that nobody has answered. */
function waitingCalls(messages: readonly Message[]): Set<string> {
  const waiting = new Set<string>();
  for (const message of messages) {
    if (message.role === "assistant") for (const { id } of message.toolCalls ?? []) waiting.add(id);
  }
  for (const message of messages) if (message.role === "tool") waiting.delete(message.toolCallId);
  return waiting;
}

/** Whether a posted state counts. Earlier states are only looked up for one that seems to be a change. */
async function stateOf(store: Store, run: RunInfo, state: PreludeState, posted: unknown): Promise<StateDecision> {
  const now = state.reduce.document;
  const decision = reconcileState(posted, [], now);
  if (decision.kind !== "change") return decision;
  const branch = await store.branch(run);
  const runs = await Promise.all(branch.slice(-REMEMBERED_RUNS).map((each) => known(store, each)));
  return reconcileState(posted, runs, now);
}

async function known(store: Store, run: RunInfo): Promise<KnownRun> {
  const snapshot = await store.snapshot(run, run.lastSeq);
  const said =
    snapshot?.seq === run.lastSeq ? snapshot.events.findLast(({ type }) => type === "STATE_SNAPSHOT") : undefined;
  const state = said?.type === "STATE_SNAPSHOT" ? { state: said.snapshot } : {};
  return { runId: run.runId, ended: run.end !== undefined, ...state };
}
