/** STORE-TEN: tenants never see each other, though all their ids be the same. */
import type { Lease, RunKey, Store } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { check, checkRejected, checkSame } from "./contract-violation.ts";
import {
  LONG_LEASE_MS,
  THREAD,
  appendOne,
  begin,
  claimOf,
  commit,
  dumpOf,
  runKey,
  runWhole,
  settleRun,
  textOf,
  textsOf,
  threadOf,
  viewOf,
} from "./scenario.ts";

const OURS = THREAD;
const THEIRS = { ...THREAD, tenant: "rival" };
const STRANGE = { ...THREAD, tenant: "stranger" };

/** The same thread with the same runs for both tenants; ours says more. Returns the leases of the open runs. */
async function fillBoth(store: Store): Promise<readonly [ours: Lease, theirs: Lease]> {
  const leases: Lease[] = [];
  for (const key of [OURS, THEIRS]) {
    await runWhole(store, key, "r1", { events: [textOf(`first of ${key.tenant}`)] });
    await settleRun(store, key, "r1");
    const lease = await begin(store, key, "r2", { parentRunId: "r1", kind: "continue" });
    await commit(store, lease, 1, textsOf(`of ${key.tenant}`, 2));
    await store.updateThread(key, { title: `Title of ${key.tenant}`, metadata: { of: key.tenant } });
    leases.push(lease);
  }
  const [ours, theirs] = leases;
  check(ours !== undefined && theirs !== undefined, "two leases");
  return [ours, theirs];
}

const ids = (keys: readonly RunKey[]): readonly string[] =>
  keys.map(({ tenant, runId }) => `${tenant} ${runId}`).toSorted();

/** Cases of tenants. */
export const tenantCases = [
  contractCase(
    "STORE-TEN-1: what one tenant writes, changes, trims or deletes is nothing to the other",
    async ({ store }) => {
      const [ours, theirs] = await fillBoth(store);
      const before = await viewOf(store, THEIRS);
      check(before.thread.logId !== (await threadOf(store, OURS)).logId, "both tenants have one log");
      await commit(store, ours, 2, textsOf("more", 3));
      await store.saveSnapshot(OURS, { runId: "r2", seq: 8, events: [] });
      await store.updateThread(OURS, { title: "Changed", archived: true, metadata: {}, head: "r1" });
      await store.requestStop(runKey(OURS, "r2"));
      await begin(store, OURS, "r3");
      await store.takeOver({ run: runKey(OURS, "r2"), leaseMs: LONG_LEASE_MS });
      checkSame(await viewOf(store, THEIRS), before, "their thread after ours has changed");
      await store.deleteThread(OURS);
      checkSame(await viewOf(store, THEIRS), before, "their thread after ours is deleted");
      checkSame(await store.heartbeat([theirs]), [{ held: true, stop: false }], "their lease");
      checkSame((await commit(store, theirs, 2, textsOf("on", 1))).firstSeq, 7, "where their next batch is");
    },
  ),

  contractCase("STORE-TEN-1: a thread of another tenant is a thread that is not there", async ({ store }) => {
    await fillBoth(store);
    const key = runKey(STRANGE, "r1");
    checkSame(await store.thread(STRANGE), undefined, "the thread");
    checkSame(await store.run(key), undefined, "the run");
    checkSame([await store.runs(STRANGE), await store.branch(key)], [[], []], "runs and branch");
    checkSame(
      [await store.snapshot(key), await store.compacted(key)],
      [undefined, undefined],
      "snapshot and compacted form",
    );
    checkSame((await store.listThreads({ tenant: STRANGE.tenant })).threads, [], "the list");
    checkSame(await store.requestStop(runKey(STRANGE, "r2")), false, "a stop");
    checkSame(await store.takeOver({ run: runKey(STRANGE, "r2"), leaseMs: LONG_LEASE_MS }), [], "a take-over");
    checkSame(await store.deleteThread(STRANGE), false, "a deletion");
    await checkRejected(store.read(STRANGE), "thread-unknown", "reading");
    await checkRejected(store.updateThread(STRANGE, { title: "mine" }), "thread-unknown", "a change");
    const claim = store.claim(claimOf(STRANGE, "r9", { parentRunId: "r1", kind: "branch" }));
    await checkRejected(claim, "run-unknown", "a claim on a foreign run");
    checkSame((await store.claim(claimOf(STRANGE, "r1", { ifHead: null }))).type, "claimed", "a claim of the same ids");
  }),

  contractCase("STORE-TEN-1: lists, events and runs of both are their own", async ({ store }) => {
    await fillBoth(store);
    for (const key of [OURS, THEIRS]) {
      const { thread, events, runs } = await viewOf(store, key);
      checkSame(
        [thread.tenant, thread.title, thread.metadata],
        [key.tenant, `Title of ${key.tenant}`, { of: key.tenant }],
        "the thread",
      );
      checkSame(events[0]?.json, textOf(`first of ${key.tenant}`), "the first event");
      checkSame(
        events.slice(-2).map(({ json }) => json),
        textsOf(`of ${key.tenant}`, 2),
        "the last events",
      );
      checkSame(
        runs.map(({ run }) => run.tenant),
        [key.tenant, key.tenant],
        "whose the runs are",
      );
      for (const query of [undefined, "title", "rival"]) {
        const { threads } = await store.listThreads({ tenant: key.tenant, query });
        check(
          threads.every(({ tenant }) => tenant === key.tenant),
          `a list by "${query}" holds a foreign thread`,
        );
      }
    }
    checkSame(
      (await store.listThreads({ tenant: OURS.tenant, query: "rival" })).threads,
      [],
      "threads found by another's title",
    );
  }),

  contractCase("STORE-TEN-1: work that is found across tenants says whose it is", async ({ store, pass }) => {
    for (const key of [OURS, THEIRS]) {
      await runWhole(store, key, "r1");
      await begin(store, key, "r2", { leaseMs: 1 });
    }
    await pass(2);
    checkSame(ids(await store.unsettled()), ["acme r1", "rival r1"], "what is to be settled");
    const leases = await store.takeOver({ leaseMs: LONG_LEASE_MS });
    checkSame(ids(leases), ["acme r2", "rival r2"], "what has expired");
    for (const lease of leases) {
      checkSame(
        (await appendOne(store, lease, 1, [textOf(`closed for ${lease.tenant}`)])).type,
        "committed",
        "closing it",
      );
      const last = (await viewOf(store, lease)).events.at(-1);
      checkSame(last?.json, textOf(`closed for ${lease.tenant}`), "the last event");
    }
  }),

  contractCase("STORE-TEN-1: a thread can be imported under the same id for another tenant", async ({ store }) => {
    await runWhole(store, OURS, "r1");
    await store.importThread(THEIRS, await dumpOf(store, OURS));
    await store.deleteThread(OURS);
    checkSame((await viewOf(store, THEIRS)).events.length, 3, "the events of the copy");
    checkSame(await store.thread(OURS), undefined, "what was copied");
  }),
];
