/**
 * What must hold of a log, whatever happened to those who wrote it: seqs without a gap, every run a beginning of its
 * script and closed where it was cut, what was acknowledged in its place, and all that is kept beside the raw events
 * telling the same as they do. Throws where something does not.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Event } from "../../src/protocol/index.ts";
import { closingEvents, foldBranch, readAll } from "../../src/store/index.ts";
import type { RunInfo, Store, StoredEvent, ThreadKey } from "../../src/store/index.ts";
import {
  createPreludeState,
  createVerifyState,
  reduceAll,
  stepPrelude,
  verify,
  verifyEnd,
  view,
} from "../../src/stream/index.ts";
import { TENANT, scriptOf } from "./run-script.ts";
import type { Ack } from "./write-run.ts";

/** What a log turned out to hold. */
export interface Checked {
  readonly events: readonly StoredEvent[];
  /** Runs that say all of their script. */
  readonly whole: number;
  /** Runs that were cut and closed. */
  readonly cut: number;
}

/** Checks a thread. All of its runs have ended and are settled. `folded` says of which runs the restored branch is compared. */
export async function checkThread(
  store: Store,
  threadId: string,
  acks: readonly Ack[],
  folded: (run: RunInfo) => boolean = () => true,
): Promise<Checked> {
  const key = { tenant: TENANT, threadId };
  const events: StoredEvent[] = [];
  for await (const event of readAll(store, key)) events.push(event);
  const thread = await store.thread(key);
  deepStrictEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
    `${threadId} has a gap or a double`,
  );
  strictEqual(thread?.tail ?? 0, events.length, `${threadId}: tail`);
  for (const { runId, firstSeq, events: texts } of acks.filter((ack) => ack.threadId === threadId)) {
    const there = events.slice(firstSeq - 1, firstSeq - 1 + texts.length);
    const acknowledged = texts.map((json, index) => ({ seq: firstSeq + index, runId, json }));
    deepStrictEqual(there, acknowledged, `${threadId} ${runId}: acknowledged and lost, moved or changed`);
  }
  const byRun = Map.groupBy(events, ({ runId }) => runId);
  const runs = await store.runs(key);
  deepStrictEqual(new Set(runs.map(({ runId }) => runId)), new Set(byRun.keys()));
  let cut = 0;
  for (const run of runs) {
    const own = byRun.get(run.runId) ?? [];
    if (checkRun(run, own)) cut++;
    if (folded(run)) await checkKept(store, run, byRun);
  }
  return { events, whole: runs.length - cut, cut };
}

/** Checks the raw events of a run. True where it was cut. */
function checkRun(run: RunInfo, own: readonly StoredEvent[]): boolean {
  const name = `${run.threadId} ${run.runId}`;
  deepStrictEqual([run.firstSeq, run.lastSeq], [own.at(0)?.seq, own.at(-1)?.seq], `${name}: place`);
  const script = scriptOf(run).map((event) => JSON.stringify(event));
  const differs = own.findIndex(({ json }, index) => json !== script[index]);
  const said = differs === -1 ? own.length : differs;
  const logged = own.map(({ json }): Event => JSON.parse(json));
  const verifying = createVerifyState();
  for (const event of logged) verify(verifying, event);
  verifyEnd(verifying);
  if (said === script.length) {
    strictEqual(own.length, script.length, `${name}: more than its script`);
    strictEqual(run.status === "running", false, `${name} has not ended`);
    return false;
  }
  const closers = closingEvents(logged.slice(0, said), "worker-lost", 0);
  const added = logged.slice(said).map((event) => ({ ...event, timestamp: 0 }));
  deepStrictEqual(added, closers, `${name}: what closes it`);
  strictEqual(run.end?.error?.code, "worker-lost", name);
  return true;
}

/** Checks what is kept beside the raw events: the restored branch and the compacted run tell the same as they do. */
async function checkKept(
  store: Store,
  run: RunInfo,
  byRun: ReadonlyMap<string, readonly StoredEvent[]>,
): Promise<void> {
  const name = `${run.threadId} ${run.runId}`;
  ok(run.settled, `${name} is not settled`);
  const rawOf = (runId: string): readonly Event[] => (byRun.get(runId) ?? []).map(({ json }) => JSON.parse(json));
  const whole = createPreludeState();
  for (const { runId } of await store.branch(run)) for (const event of rawOf(runId)) stepPrelude(whole, event);
  const restored = await foldBranch(store, run);
  deepStrictEqual(told(view(restored.state.reduce)), told(view(whole.reduce)), `${name}: restored branch`);
  const compacted = ((await store.compacted(run)) ?? []).map(({ json }): Event => JSON.parse(json));
  deepStrictEqual(told(reduceAll(compacted)), told(reduceAll(rawOf(run.runId))), `${name}: compacted run`);
}

const told = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** All threads of the tenant. */
export async function threadIdsOf(store: Store): Promise<readonly string[]> {
  const found: string[] = [];
  for (let after: string | undefined; ;) {
    const { threads, next } = await store.listThreads({ tenant: TENANT, after });
    found.push(...threads.map(({ threadId }: ThreadKey) => threadId));
    if (next === undefined) return found;
    after = next;
  }
}
