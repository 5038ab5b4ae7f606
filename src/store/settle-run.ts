/** What is made of a run once it has ended: a snapshot of its branch, and its compacted form. */
import type { Event } from "../protocol/index.ts";
import { compactWithRanges, prelude } from "../stream/index.ts";
import { foldBranch, readAll } from "./fold-branch.ts";
import { unknownRun } from "./memory-thread.ts";
import type { WrittenRun } from "./run-writer.ts";
import type { CompactedEvent, RunInfo, RunKey, Snapshot, Store, StoredEvent } from "./store.ts";

/**
 * Settles a run that has ended. What its writer has made of it is taken; the rest is made of the log. Doing it twice, or in
 * two processes at once, changes nothing; neither does it where the thread is deleted meanwhile.
 */
export async function settleRun(store: Store, key: RunKey, written?: WrittenRun): Promise<void> {
  try {
    await settle(store, key, written);
  } catch (error) {
    // What is gone needs no settling; anything else is a failure.
    if ((await store.run(key)) !== undefined) throw error;
  }
}

async function settle(store: Store, key: RunKey, written: WrittenRun | undefined): Promise<void> {
  const run = await store.run(key);
  if (run === undefined) throw unknownRun(key);
  if (run.settled || run.end === undefined) return;
  // What was written may have been in a log that is gone, and this one has its name.
  const known = written?.snapshot.seq === run.lastSeq ? written : undefined;
  const snapshot = known?.snapshot ?? (await snapshotOf(store, run));
  await store.settle(key, { snapshot, compacted: known?.compacted ?? (await compactedOf(store, run)) });
}

async function snapshotOf(store: Store, run: RunInfo): Promise<Snapshot> {
  const { state } = await foldBranch(store, run);
  return { runId: run.runId, seq: run.lastSeq, events: prelude(state) };
}

/** Settles what a crash left unsettled. Returns how many runs. */
export async function settleLeftovers(store: Store): Promise<number> {
  let settled = 0;
  for (;;) {
    const keys = await store.unsettled();
    for (const key of keys) await settleRun(store, key);
    settled += keys.length;
    if (keys.length === 0) return settled;
  }
}

/** The state that the run found on its branch; undefined where it is the first, whose input says it. */
async function stateBefore(store: Store, run: RunInfo): Promise<unknown> {
  if (run.parentRunId === undefined || run.kind === "spawn") return undefined;
  const { state } = await foldBranch(store, { ...run, runId: run.parentRunId });
  return state.reduce.document;
}

async function compactedOf(store: Store, run: RunInfo): Promise<readonly CompactedEvent[]> {
  const stored: StoredEvent[] = [];
  const range = { afterSeq: run.firstSeq - 1, throughSeq: run.lastSeq, runIds: [run.runId] };
  for await (const event of readAll(store, run, range)) stored.push(event);
  const state = await stateBefore(store, run);
  const events = stored.map(({ json }): Event => JSON.parse(json));
  const compacted = compactWithRanges(events, { mode: "events", state });
  return compacted.events.map((event, index) => {
    const [first, last] = compacted.ranges[index] ?? [0, 0];
    return { firstSeq: stored[first]?.seq ?? 0, lastSeq: stored[last]?.seq ?? 0, json: JSON.stringify(event) };
  });
}
