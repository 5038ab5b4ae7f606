/**
 * Everything about a thread but what was said in it: its runs as a tree, the ends of its branches, and what the branch of
 * its head waits for. A run leaves questions and calls open with its end; whatever continues it has answered them.
 */
import type { Interrupt } from "../protocol/index.ts";
import type { Member, QueuedRun, RunInfo, Store, ThreadKey } from "../store/index.ts";
import { knownThread } from "./known-thread.ts";
import type { ThreadSummary } from "./thread-summary.ts";

/** One thread in full. */
export interface ThreadDetails extends ThreadSummary {
  /** Its runs, in order of their first event; each names its parent. */
  readonly runs: readonly RunInfo[];
  /** Ids of the runs that nothing continues, in the same order: each is the end of a branch. Spawned ones are not among them. */
  readonly heads: readonly string[];
  /** Runs that wait for their turn, the next one first. */
  readonly queue: readonly QueuedRun[];
  /** Questions that the head left open. */
  readonly interrupts: readonly Interrupt[];
  /** Tool calls that the head left to the client. */
  readonly pendingToolCallIds: readonly string[];
  /** Who else may watch it, or write to it. */
  readonly members: readonly Member[];
}

/** Looks a thread up. Throws `thread-unknown`. */
export async function threadDetails(store: Store, key: ThreadKey): Promise<ThreadDetails> {
  const thread = await knownThread(store, key);
  const runs = await store.runs(key);
  const head = runs.find(({ runId }) => runId === thread.head);
  const { interrupts = [], pendingToolCallIds = [] } = head?.end ?? {};
  const queue = await store.queue(key);
  const open = { queue, interrupts, pendingToolCallIds };
  return { ...thread, status: head?.status, runs, heads: headsOf(runs), ...open, members: await store.members(key) };
}

function headsOf(runs: readonly RunInfo[]): readonly string[] {
  const followed = new Set(runs.flatMap(({ parentRunId, kind }) => (kind === "spawn" ? [] : [parentRunId])));
  return runs.filter(({ runId, kind }) => kind !== "spawn" && !followed.has(runId)).map(({ runId }) => runId);
}
