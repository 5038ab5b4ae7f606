/**
 * Restore: what a branch is, at its head or at any event of it. From the nearest snapshot on the branch, and what was
 * logged after it; so the cost is that of the messages, and not of everything that was ever said.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { createPreludeState, stepPrelude } from "../stream/index.ts";
import type { PreludeState } from "../stream/index.ts";
import { trimmed } from "./cursor.ts";
import { unknownRun, unknownThread } from "./memory-thread.ts";
import type { RunInfo, RunKey, Snapshot, Store, StoredEvent, ThreadKey } from "./store.ts";

/** A branch, folded up to one of its events. */
export interface FoldedBranch {
  /** The run at which the branch was cut. */
  readonly run: RunInfo;
  /** Seq of the last event that was folded. */
  readonly seq: number;
  /** The fold: read it with `view(state.reduce)`, open a stream with `prelude(state)`, go on with `stepPrelude`. */
  readonly state: PreludeState;
}

/**
 * Folds the branch of a run, up to its newest event or up to a seq. Throws `run-unknown`; `cursor-trimmed` where the seq
 * lies inside of what retention has dropped.
 */
export async function foldBranch(store: Store, key: RunKey, throughSeq = Infinity): Promise<FoldedBranch> {
  const run = await store.run(key);
  if (run === undefined) throw unknownRun(key);
  const seq = Math.min(throughSeq, run.lastSeq);
  if (seq < run.firstSeq) {
    if (run.parentRunId === undefined || run.kind === "spawn") throw before(key, seq);
    return foldBranch(store, { ...key, runId: run.parentRunId }, seq);
  }
  const thread = await store.thread(key);
  if (thread === undefined) throw unknownThread(key);
  const base = await store.snapshot(key, seq);
  // A compacted run folds to the same at its end, and only there.
  if (seq <= thread.floor && base?.seq !== seq) throw trimmed(seq, thread.floor);
  const state = createPreludeState();
  for (const event of base?.events ?? []) stepPrelude(state, event);
  const runs = (await runsSince(store, run, base)).filter(({ lastSeq }) => lastSeq > (base?.seq ?? 0));
  const [first] = runs;
  if (first === undefined || base?.seq === seq) return { run, seq, state };
  // What lies before the first of them is not asked for: it may have been dropped.
  const afterSeq = Math.max(base?.seq ?? 0, first.firstSeq - 1);
  const range = { afterSeq, throughSeq: seq, runIds: runs.map(({ runId }) => runId) };
  for await (const { json } of readAll(store, key, range)) {
    const event: Event = JSON.parse(json);
    stepPrelude(state, event);
  }
  return { run, seq, state };
}

/** Folds whatever branch an event of the log lies on, up to that event; an annotation behind a run's end lies at the end. */
export async function foldAt(store: Store, key: ThreadKey, seq: number): Promise<FoldedBranch> {
  const runs = await store.runs(key);
  if (runs.length === 0) throw unknownThread(key);
  // The end of a run is told by its snapshot, though its raw events be dropped.
  const ending = runs.find(({ lastSeq }) => lastSeq === seq);
  if (ending !== undefined) return foldBranch(store, ending, seq);
  const [event] = seq < 1 ? [] : (await store.read(key, { afterSeq: seq - 1, throughSeq: seq })).events;
  if (event === undefined) throw unknownRun({ ...key, runId: `at ${seq}` });
  return foldBranch(store, { ...key, runId: event.runId }, seq);
}

/** Reads page after page. */
export async function* readAll(
  store: Store,
  key: ThreadKey,
  { afterSeq = 0, throughSeq, runIds }: { afterSeq?: number; throughSeq?: number; runIds?: readonly string[] } = {},
): AsyncGenerator<StoredEvent, void, undefined> {
  const wanted = { ...(throughSeq !== undefined && { throughSeq }), ...(runIds !== undefined && { runIds }) };
  for (let after = afterSeq; ;) {
    const page = await store.read(key, { ...wanted, afterSeq: after });
    yield* page.events;
    if (page.through <= after || page.through >= (throughSeq ?? page.tail)) return;
    after = page.through;
  }
}

/** The runs from the snapshot's to this one: mostly itself, or its parent and itself, which needs no walk. */
async function runsSince(store: Store, run: RunInfo, base: Snapshot | undefined): Promise<readonly RunInfo[]> {
  const parent = run.kind === "spawn" ? undefined : run.parentRunId;
  if (base?.runId === run.runId || (base === undefined && parent === undefined)) return [run];
  if (base !== undefined && base.runId === parent) {
    const known = await store.run({ ...run, runId: parent });
    return known === undefined ? [run] : [known, run];
  }
  const branch = await store.branch(run);
  return branch.slice(
    Math.max(
      0,
      branch.findIndex(({ runId }) => runId === base?.runId),
    ),
  );
}

function before({ threadId, runId }: RunKey, seq: number): HeddleError<"run-unknown"> {
  return new HeddleError("run-unknown", `The branch of this run begins after ${seq}.`, { threadId, runId });
}
