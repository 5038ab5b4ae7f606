/**
 * A branch as `reconcile` asks for it, read no further than what was posted makes necessary.
 *
 * Most posts go on where the branch ends: then nothing but its fold is needed. Only a post that forks asks which run brought
 * a message, and then for one message only: it is found by halving, since a message that came with a run is there at the
 * end of every later one. Only a state that looks like a change is compared with the states of earlier runs.
 */
import type { Interrupt, Message, RunAgentInput } from "../protocol/index.ts";
import { foldBranch } from "../store/index.ts";
import type { FoldedBranch, RunInfo, Store } from "../store/index.ts";
import { view } from "../stream/index.ts";
import { reconcile } from "../stream/lineage/index.ts";
import type { KnownBranch, KnownRun, Reconciled, ReconcileOptions } from "../stream/lineage/index.ts";
import { startedInput } from "./run-start.ts";

/** What a post means on a branch. */
export interface Judged {
  /** The verdict, and what follows from it. */
  readonly reconciled: Reconciled;
  /** The branch that the run hangs on, folded; undefined for a root. */
  readonly base: FoldedBranch | undefined;
}

/** Earlier states that a posted one is compared with: of so many runs. */
const REMEMBERED_RUNS = 16;

/** Judges a post against the branch of a run that has ended. */
export async function judgePost(
  store: Store,
  folded: FoldedBranch,
  posted: RunAgentInput,
  options: ReconcileOptions,
): Promise<Judged> {
  const branch = { ...openBranch(folded), interrupts: await openQuestions(store, folded.run) };
  const first = reconcile(posted, branch, options);
  const isFork = "forkAt" in first;
  if (!isFork && first.state.kind !== "change") return { reconciled: first, base: folded };
  const runs = await store.branch(folded.run);
  if (!isFork) {
    const known = await Promise.all(runs.slice(-REMEMBERED_RUNS).map((run) => withState(store, run)));
    return {
      reconciled: reconcile(posted, { ...branch, ...attributed(branch, known, known.length - 1) }, options),
      base: folded,
    };
  }
  const lost = new Set(branch.messages.slice(first.keep).map(({ message }) => message.id));
  const fork = await firstRunWith(store, runs, lost);
  const parent = runs[fork - 1];
  const base = parent === undefined ? undefined : await foldBranch(store, parent);
  const isChange = first.state.kind === "change";
  const known: KnownRun[] = await Promise.all(
    runs.map((run) => (isChange ? withState(store, run) : { runId: run.runId, ended: true })),
  );
  if (base !== undefined) known[fork - 1] = { ...known[fork - 1], ...stated(base), ended: true };
  const left = { runId: runs[fork]?.runId ?? "", ended: true };
  known[fork] = { ...known[fork], ...left, ...(await startStateOf(store, runs[fork])) };
  const kept = base === undefined ? undefined : idsOf(base);
  return { reconciled: reconcile(posted, { ...branch, ...attributed(branch, known, fork, kept) }, options), base };
}

/** The questions of a run that no other run has answered. */
async function openQuestions(store: Store, run: RunInfo): Promise<readonly Interrupt[]> {
  const asked = run.end?.interrupts ?? [];
  if (asked.length === 0) return asked;
  const behind = (await store.runs(run)).filter(({ parentRunId }) => parentRunId === run.runId);
  const answers = await Promise.all(behind.map(async (each) => (await startedInput(store, each))?.resume ?? []));
  const answered = new Set(answers.flat().map(({ interruptId }) => interruptId));
  return asked.filter(({ id }) => !answered.has(id));
}

/** A branch whose messages all belong to its newest run: enough for who goes on there. */
function openBranch({ run, state }: FoldedBranch): KnownBranch {
  const { messages } = view(state.reduce);
  const { document } = state.reduce;
  const { runId, end } = run;
  return {
    runs: [{ runId, ended: true }],
    messages: messages.map((message) => ({ message, runId })),
    pendingToolCallIds: unansweredCalls(messages),
    interrupts: end?.interrupts ?? [],
    ...(document === undefined ? {} : { state: document }),
  };
}

/** The same messages, those that were there before a run apart from those that came with it or later. */
function attributed(
  { messages }: KnownBranch,
  runs: readonly KnownRun[],
  index: number,
  before: ReadonlySet<string> = new Set(),
): Pick<KnownBranch, "runs" | "messages"> {
  const [here, earlier] = [runs[index]?.runId ?? "", runs[index - 1]?.runId ?? ""];
  return {
    runs,
    messages: messages.map(({ message }) => ({ message, runId: before.has(message.id) ? earlier : here })),
  };
}

/** The calls of a conversation that nobody has answered. */
export function unansweredCalls(messages: readonly Message[]): readonly string[] {
  const waiting = new Set<string>();
  for (const message of messages) {
    if (message.role === "assistant") for (const { id } of message.toolCalls ?? []) waiting.add(id);
  }
  for (const message of messages) if (message.role === "tool") waiting.delete(message.toolCallId);
  return [...waiting];
}

/** The first run of a branch at whose end one of these messages is there. One of them is at the end of the last. */
async function firstRunWith(store: Store, runs: readonly RunInfo[], ids: ReadonlySet<string>): Promise<number> {
  let [low, high] = [0, runs.length - 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const run = runs[middle];
    const held = run === undefined ? new Set<string>() : idsOf(await foldBranch(store, run));
    if ([...ids].some((id) => held.has(id))) high = middle;
    else low = middle + 1;
  }
  return low;
}

const idsOf = ({ state }: FoldedBranch): ReadonlySet<string> =>
  new Set(view(state.reduce).messages.map(({ id }) => id));

const stated = ({ run: { runId }, state: { reduce } }: FoldedBranch): Pick<KnownRun, "runId" | "state"> =>
  reduce.document === undefined ? { runId } : { runId, state: reduce.document };

/** The state around a run. A snapshot at its end tells it without the messages being read. */
async function withState(store: Store, run: RunInfo): Promise<KnownRun> {
  const { runId } = run;
  const snapshot = await store.snapshot(run, run.lastSeq);
  const started = await startStateOf(store, run);
  if (snapshot?.seq !== run.lastSeq) return { ...stated(await foldBranch(store, run)), ended: true, ...started };
  const said = snapshot.events.findLast((event) => event.type === "STATE_SNAPSHOT");
  return { runId, ended: true, ...started, ...(said === undefined ? {} : { state: said.snapshot }) };
}

async function startStateOf(store: Store, run: RunInfo | undefined): Promise<Pick<KnownRun, "startState">> {
  const input = run === undefined ? undefined : await startedInput(store, run);
  return input?.state === undefined ? {} : { startState: input.state };
}
