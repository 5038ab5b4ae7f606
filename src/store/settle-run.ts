/** What is made of a run once it has ended: a snapshot of its branch, and its compacted form. */
import { HeddleError } from "../protocol/index.ts";
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

/** How many runs are looked for at a time. */
const AT_A_TIME = 64;

/**
 * Settles what a crash left unsettled. Returns how many runs. One that cannot be settled holds up no other: it stays as it
 * is, and when everything else is done `store-corrupt` names it.
 */
export async function settleLeftovers(store: Store): Promise<number> {
  const failed = new Map<string, { readonly key: RunKey; readonly error: unknown }>();
  for (let settled = 0; ;) {
    const keys = (await store.unsettled(AT_A_TIME + failed.size)).filter((key) => !failed.has(nameOf(key)));
    if (keys.length === 0) {
      if (failed.size > 0) throw unsettleable([...failed.values()]);
      return settled;
    }
    for (const key of keys) {
      try {
        await settleRun(store, key);
        settled += 1;
      } catch (error) {
        if (isOfStore(error)) throw error;
        failed.set(nameOf(key), { key, error });
      }
    }
  }
}

/** Whether it is the store that fails, and not what one run holds. */
const isOfStore = (error: unknown): boolean =>
  error instanceof HeddleError && error.code.startsWith("store-") && error.code !== "store-corrupt";

const nameOf = ({ tenant, threadId, runId }: RunKey): string => JSON.stringify([tenant, threadId, runId]);

function unsettleable(
  failed: readonly { readonly key: RunKey; readonly error: unknown }[],
): HeddleError<"store-corrupt"> {
  const runs = failed.map(({ key: { tenant, threadId, runId }, error }) => ({
    tenant,
    threadId,
    runId,
    reason: error instanceof Error ? error.message : String(error),
  }));
  const message = `Runs that ended cannot be restored and were left as they are (${runs.length}): look at their events.`;
  return new HeddleError("store-corrupt", message, { runs }, { cause: failed[0]?.error });
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
