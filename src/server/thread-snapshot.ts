/**
 * A thread at one moment: messages, state, what is open, and tool calls with their times; at its head, at the newest event
 * of any run, or at any event. Content is seen as in events: see `shown-content.ts`.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Interrupt, Message } from "../protocol/index.ts";
import { foldAt, foldBranch, formatCursor, readCursor } from "../store/index.ts";
import type { FoldedBranch, Store, ThreadInfo, ThreadKey } from "../store/index.ts";
import { view } from "../stream/index.ts";
import { knownRun } from "./attach.ts";
import { branchMoments } from "./branch-moments.ts";
import { knownThread } from "./known-thread.ts";
import { sightOf } from "./show.ts";
import type { ShowOptions } from "./show.ts";
import { shownMessages, shownState } from "./shown-content.ts";
import { toolCallStates } from "./tool-call-states.ts";
import type { ToolCallState } from "./tool-call-states.ts";

/** Which moment, and how it is seen. */
export interface SnapshotOptions extends Pick<ShowOptions, "raw" | "reasoning" | "hiddenState"> {
  /** A run or a cursor. Default: the thread's head. */
  readonly at?: string | undefined;
}

/** A thread at one moment. */
export interface ThreadSnapshot {
  /** The thread. */
  readonly threadId: string;
  /** The run at whose event it is; undefined in a thread without runs. */
  readonly runId: string | undefined;
  /** That event: whoever attaches behind it misses nothing. */
  readonly cursor: string;
  /** The messages. */
  readonly messages: readonly Message[];
  /** When each message was first heard of, by its id, where the log says so. */
  readonly messageTimesMs: ReadonlyMap<string, number>;
  /** The run in which each message was first heard of, by its id. */
  readonly messageRuns: ReadonlyMap<string, string>;
  /** The shared state. */
  readonly state: unknown;
  /** Questions that are open; none in the middle of a run. */
  readonly interrupts: readonly Interrupt[];
  /** Tool calls that are left to the client; none in the middle of a run. */
  readonly pendingToolCallIds: readonly string[];
  /** Every tool call of the messages. */
  readonly toolCalls: readonly ToolCallState[];
}

/** Folds a thread. Throws `thread-unknown`, `run-unknown`, `cursor-invalid`, and `cursor-trimmed` where too much is gone. */
export async function threadSnapshot(store: Store, key: ThreadKey, options: SnapshotOptions): Promise<ThreadSnapshot> {
  const sight = sightOf(options);
  const thread = await knownThread(store, key);
  const folded = await foldedAt(store, thread, options.at);
  if (folded === undefined) return emptySnapshot(thread);
  const { run, seq, state } = folded;
  const all = view(state.reduce);
  const messages = shownMessages(all.messages, sight);
  const moments = await branchMoments(store, await store.branch(run), seq);
  const end = seq < run.lastSeq ? undefined : run.end;
  return {
    threadId: key.threadId,
    runId: run.runId,
    cursor: formatCursor(thread.logId, seq),
    messages,
    messageTimesMs: new Map(messages.flatMap(({ id }) => entryOf(id, moments.messages.get(id)))),
    messageRuns: new Map(messages.flatMap(({ id }) => entryOf(id, moments.runs.get(id)))),
    state: shownState(all.state, sight),
    interrupts: end?.interrupts ?? [],
    pendingToolCallIds: end?.pendingToolCallIds ?? [],
    toolCalls: toolCallStates(messages, moments),
  };
}

const entryOf = <V>(id: string, value: V | undefined): readonly (readonly [string, V])[] =>
  value === undefined ? [] : [[id, value]];

async function foldedAt(store: Store, thread: ThreadInfo, at = thread.head): Promise<FoldedBranch | undefined> {
  if (at === undefined) return undefined;
  const run = await store.run({ ...thread, runId: at });
  if (run !== undefined) return foldBranch(store, run);
  return foldAt(store, thread, await seqOf(store, thread, at));
}

/** The seq that a cursor means. What does not look like one was meant as a run. */
async function seqOf(store: Store, thread: ThreadInfo, at: string): Promise<number> {
  try {
    // Whether the event is still there is known to whoever folds: the end of a run outlives its events.
    return readCursor(at, { ...thread, floor: 0 });
  } catch (error) {
    const isCursor = !(
      error instanceof HeddleError &&
      "reason" in error.details &&
      error.details.reason === "malformed"
    );
    if (isCursor) throw error;
    return (await knownRun(store, thread, at)).lastSeq;
  }
}

const emptySnapshot = ({ threadId, logId, tail }: ThreadInfo): ThreadSnapshot => ({
  threadId,
  runId: undefined,
  cursor: formatCursor(logId, tail),
  messages: [],
  messageTimesMs: new Map(),
  messageRuns: new Map(),
  state: {},
  interrupts: [],
  pendingToolCallIds: [],
  toolCalls: [],
});
