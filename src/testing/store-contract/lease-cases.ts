/** STORE-LSE: who may write, for how long, and who takes over. */
import type { Lease, Store } from "../../store/index.ts";
import { contractCase, untilPast } from "./contract-case.ts";
import { check, checkPresent, checkSame } from "./contract-violation.ts";
import { LONG_LEASE_MS, THREAD, appendOne, begin, commit, runKey, runOf, runWhole, textsOf } from "./scenario.ts";

/** Takes over what has expired. */
const reap = (store: Store, limit = 1000): Promise<readonly Lease[]> =>
  store.takeOver({ leaseMs: LONG_LEASE_MS, limit });

const idsOf = (leases: readonly Lease[]): readonly string[] => leases.map(({ runId }) => runId).toSorted();

/**
 * Proves that a lease outlives its first term when it is renewed in time. A machine may be too slow for a short term: then
 * nothing was shown, and a longer one is tried.
 */
async function proveRenewal(store: Store, renew: (lease: Lease, number: number) => Promise<void>): Promise<void> {
  for (let leaseMs = 12, turn = 1; ; leaseMs *= 2, turn++) {
    const lease = await begin(store, THREAD, `r${turn}`, { leaseMs });
    const claimedAt = await store.nowMs();
    await untilPast(store, claimedAt + leaseMs / 2);
    const renewedAt = await store.nowMs();
    await renew(lease, 1);
    await untilPast(store, claimedAt + leaseMs);
    const taken = await reap(store);
    if ((await store.nowMs()) < renewedAt + leaseMs) {
      // Runs of the turns before may have expired meanwhile: they show nothing.
      const mine = (leases: readonly Lease[]): readonly string[] => idsOf(leases).filter((id) => id === lease.runId);
      checkSame(mine(taken), [], `leases of ${leaseMs} ms that were taken though they were renewed after half of it`);
      await untilPast(store, (await store.nowMs()) + leaseMs);
      checkSame(mine(await reap(store)), [lease.runId], "leases that were taken once the renewed term was over");
      return;
    }
  }
}

/** Cases of leases. */
export const leaseCases = [
  contractCase(
    "STORE-LSE-1: a lease holds its term by the store's clock, and can be taken after it",
    async ({ store, pass }) => {
      const short = await begin(store, THREAD, "short", { leaseMs: 2 });
      await begin(store, THREAD, "long");
      await pass(3);
      const taken = await reap(store);
      checkSame(idsOf(taken), ["short"], "what was taken");
      const lease = checkPresent(taken[0], "the lease");
      check(lease.fence > short.fence, `the fence was raised from ${short.fence}, to ${lease.fence}`);
      checkSame([lease.leaseMs, lease.nextBatch], [LONG_LEASE_MS, 1], "the new lease");
      checkSame(idsOf(await reap(store)), [], "what is taken again while the new lease holds");
    },
  ),

  contractCase("STORE-LSE-1: a heartbeat renews a lease from when it came", async ({ store }) => {
    await proveRenewal(store, async (lease) => {
      checkSame(await store.heartbeat([lease]), [{ held: true, stop: false }], "the heartbeat");
    });
  }),

  contractCase("STORE-LSE-1: an append renews a lease from when it came", async ({ store }) => {
    await proveRenewal(store, async (lease, number) => {
      await commit(store, lease, number, textsOf("on", 1));
    });
  }),

  contractCase(
    "STORE-LSE-1: heartbeats are answered in order, and only for leases that are the run's own",
    async ({ store }) => {
      const mine = await begin(store, THREAD, "mine");
      const lost = await begin(store, THREAD, "lost");
      const [taken] = await store.takeOver({ run: runKey(THREAD, "lost"), leaseMs: LONG_LEASE_MS });
      const ended = await runWhole(store, THREAD, "ended");
      const gone = await begin(store, { ...THREAD, threadId: "gone" }, "gone");
      await store.deleteThread(gone);
      const beats = await store.heartbeat([lost, mine, ended, checkPresent(taken, "the lease"), gone, mine]);
      checkSame(
        beats.map(({ held }) => held),
        [false, true, false, true, false, true],
        "which are held",
      );
      checkSame(await store.heartbeat([]), [], "the answer to no lease at all");
    },
  ),

  contractCase(
    "STORE-LSE-2: without a named run only expired leases are taken, at most as many as asked for",
    async ({ store, pass }) => {
      await begin(store, THREAD, "live");
      await runWhole(store, THREAD, "ended", { leaseMs: 1 });
      for (const runId of ["e1", "e2", "e3"]) await begin(store, THREAD, runId, { leaseMs: 1 });
      await begin(store, { tenant: "other", threadId: "thread" }, "e4", { leaseMs: 1 });
      await pass(2);
      const first = await reap(store, 3);
      checkSame(first.length, 3, "how many are taken of four");
      checkSame(idsOf([...first, ...(await reap(store))]), ["e1", "e2", "e3", "e4"], "what was taken");
      checkSame(idsOf(await reap(store)), [], "what is left");
    },
  ),

  contractCase(
    "STORE-LSE-2: a lease that has expired is the holder's until somebody takes it",
    async ({ store, pass }) => {
      const lease = await begin(store, THREAD, "r1", { leaseMs: 1 });
      await pass(2);
      await commit(store, lease, 1, textsOf("late", 1));
      await pass(2);
      checkSame(await store.heartbeat([lease]), [{ held: true, stop: false }], "a late heartbeat");
      await pass(2);
      checkSame(idsOf(await reap(store)), ["r1"], "what was taken");
      checkSame(await store.heartbeat([lease]), [{ held: false, stop: false }], "a heartbeat after that");
    },
  ),

  contractCase("STORE-LSE-2: a named run is taken at once, if it is running", async ({ store }) => {
    const old = await begin(store, THREAD, "r1");
    await begin(store, THREAD, "r2");
    await runWhole(store, THREAD, "ended");
    for (let times = 1; times <= 3; times++) {
      checkSame(
        idsOf(await store.takeOver({ run: old, leaseMs: LONG_LEASE_MS })),
        ["r1"],
        `the run, taken ${times} times`,
      );
    }
    checkSame(
      await store.takeOver({ run: runKey(THREAD, "ended"), leaseMs: LONG_LEASE_MS }),
      [],
      "a run that has ended",
    );
    checkSame(
      await store.takeOver({ run: runKey(THREAD, "none"), leaseMs: LONG_LEASE_MS }),
      [],
      "a run that is not there",
    );
    const elsewhere = { ...THREAD, threadId: "none" };
    checkSame(
      await store.takeOver({ run: runKey(elsewhere, "r1"), leaseMs: LONG_LEASE_MS }),
      [],
      "a thread that is not there",
    );
  }),

  contractCase(
    "STORE-LSE-3: who held a run before can write nothing more; who took it goes on where the run is",
    async ({ store }) => {
      const first = await begin(store, THREAD, "r1");
      await commit(store, first, 1, textsOf("one", 2));
      await commit(store, first, 2, textsOf("two", 1));
      const held = [first];
      for (let number = 3; number <= 5; number++) {
        const [taken] = await store.takeOver({ run: first, leaseMs: LONG_LEASE_MS });
        const lease = checkPresent(taken, "the lease");
        checkSame([lease.nextBatch, lease.leaseMs], [number, LONG_LEASE_MS], "the lease");
        for (const old of held) {
          checkSame(
            await appendOne(store, old, number, textsOf("zombie", 1)),
            { type: "fenced" },
            "an old holder's batch",
          );
          checkSame((await store.heartbeat([old]))[0]?.held, false, "an old holder's heartbeat");
        }
        await commit(store, lease, number, textsOf("on", 1));
        held.push(lease);
      }
      const { status, lastSeq } = await runOf(store, THREAD, "r1");
      checkSame([status, lastSeq], ["running", 7], "the run");
    },
  ),

  contractCase(
    "STORE-LSE-4: a stop is told with the next append and every heartbeat, to whoever holds the run",
    async ({ store }) => {
      const lease = await begin(store, THREAD, "r1");
      const other = await begin(store, THREAD, "r2");
      checkSame(await store.requestStop(runKey(THREAD, "none")), false, "a stop of a run that is not there");
      checkSame(await store.requestStop(runKey({ ...THREAD, threadId: "none" }, "r1")), false, "a stop in no thread");
      checkSame(await store.requestStop(runKey(THREAD, "r1")), true, "the stop");
      checkSame(
        await store.heartbeat([lease, other]),
        [
          { held: true, stop: true },
          { held: true, stop: false },
        ],
        "the heartbeats",
      );
      checkSame((await commit(store, lease, 1, textsOf("one", 1))).stop, true, "what the append is told");
      checkSame((await commit(store, other, 1, textsOf("one", 1))).stop, false, "what another run's append is told");
      checkSame(
        await appendOne(store, lease, 1, textsOf("one", 1)),
        { type: "repeated", lastSeq: 3, stop: true },
        "a repeat",
      );
      checkSame(await store.requestStop(runKey(THREAD, "r1")), true, "a second stop");
      const [taken] = await store.takeOver({ run: lease, leaseMs: LONG_LEASE_MS });
      checkSame(
        await store.heartbeat([checkPresent(taken, "the lease")]),
        [{ held: true, stop: true }],
        "the new holder's",
      );
      checkSame((await runOf(store, THREAD, "r1")).status, "running", "a run that was asked to stop");
    },
  ),
];
