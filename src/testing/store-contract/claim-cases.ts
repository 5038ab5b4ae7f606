/** STORE-CLM: who gets a run, and what a claim leaves behind when it does not. */
import { contractCase } from "./contract-case.ts";
import { check, checkRejected, checkSame } from "./contract-violation.ts";
import {
  THREAD,
  begin,
  claimOf,
  commit,
  readAll,
  runKey,
  runOf,
  runWhole,
  textsOf,
  threadOf,
  viewOf,
} from "./scenario.ts";

/** Cases of `claim`. */
export const claimCases = [
  contractCase(
    "STORE-CLM-1: a claim makes thread, run and first events, and answers with what it made",
    async ({ store }) => {
      const events = textsOf("first", 3);
      const before = await store.nowMs();
      const result = await store.claim(claimOf(THREAD, "r1", { agent: "writer", principal: "ada", events }));
      const after = await store.nowMs();
      check(result.type === "claimed", `it is answered ${result.type}`);
      const thread = await threadOf(store, THREAD);
      checkSame(result.thread, thread, "the thread that the claim answers");
      const { tail, floor, head, title, archived, metadata } = thread;
      const expected = { tail: 3, floor: 0, head: "r1", title: undefined, archived: false, metadata: {} };
      checkSame({ tail, floor, head, title, archived, metadata }, expected, "a new thread");
      check(thread.createdAtMs >= before && thread.createdAtMs <= after, "a thread begins when it is claimed");
      check(thread.updatedAtMs === thread.createdAtMs, "a new thread has not changed since it began");
      const { startedAtMs, ...run } = await runOf(store, THREAD, "r1");
      check(startedAtMs >= before && startedAtMs <= after, "a run starts when it is claimed");
      checkSame(
        run,
        {
          ...runKey(THREAD, "r1"),
          agent: "writer",
          principal: "ada",
          status: "running",
          firstSeq: 1,
          lastSeq: 3,
          settled: false,
        },
        "a new run",
      );
      const { tenant, threadId, runId, nextBatch, leaseMs } = result.lease;
      const lease = { ...runKey(THREAD, "r1"), nextBatch: 1, leaseMs: claimOf(THREAD, "r1").leaseMs };
      checkSame({ tenant, threadId, runId, nextBatch, leaseMs }, lease, "the lease");
      const read = await readAll(store, THREAD);
      checkSame(
        read,
        events.map((json, index) => ({ seq: index + 1, runId: "r1", json })),
        "the first events",
      );
    },
  ),

  contractCase("STORE-CLM-1: a claim that is refused leaves nothing, not even a thread", async ({ store }) => {
    await checkRejected(
      store.claim(claimOf(THREAD, "r1", { parentRunId: "none", kind: "continue" })),
      "run-unknown",
      "a parent in no thread",
    );
    checkSame(await store.thread(THREAD), undefined, "the thread of a refused claim");
    checkSame((await store.claim(claimOf(THREAD, "r1", { ifHead: "none" }))).type, "moved", "a head in no thread");
    checkSame(await store.thread(THREAD), undefined, "the thread of a claim that came too late");
    checkSame((await store.listThreads({ tenant: THREAD.tenant })).threads, [], "the list of threads");
    await begin(store, THREAD, "r1");
    const before = await viewOf(store, THREAD);
    await checkRejected(
      store.claim(claimOf(THREAD, "r2", { parentRunId: "none", kind: "branch" })),
      "run-unknown",
      "an unknown parent",
    );
    checkSame(
      (await store.claim(claimOf(THREAD, "r2", { parentRunId: "r1", kind: "continue" }))).type,
      "busy",
      "a running parent",
    );
    checkSame((await store.claim(claimOf(THREAD, "r2", { ifHead: null }))).type, "moved", "another head");
    checkSame(await viewOf(store, THREAD), before, "the thread after refused claims");
    checkSame(await store.run(runKey(THREAD, "r2")), undefined, "the run of a refused claim");
  }),

  contractCase(
    "STORE-CLM-2: a run id is claimed once; later claims get the run as it is, whatever else they ask",
    async ({ store }) => {
      const lease = await begin(store, THREAD, "r1", { agent: "writer" });
      const again = await store.claim(claimOf(THREAD, "r1", { agent: "other", events: textsOf("other", 5) }));
      checkSame(again, { type: "exists", run: await runOf(store, THREAD, "r1") }, "the second claim");
      await commit(store, lease, 1, textsOf("end", 1), { status: "finished", interrupts: [], pendingToolCallIds: [] });
      const late = await store.claim(claimOf(THREAD, "r1", { parentRunId: "none", kind: "continue", ifHead: "none" }));
      checkSame(late, { type: "exists", run: await runOf(store, THREAD, "r1") }, "a claim after the end");
      checkSame((await threadOf(store, THREAD)).tail, 2, "the tail");
      await begin(store, { ...THREAD, threadId: "other" }, "r1");
    },
  ),

  contractCase("STORE-CLM-3: only a spawned run hangs on a run that has not ended", async ({ store }) => {
    const lease = await begin(store, THREAD, "r1");
    for (const kind of ["continue", "branch"] as const) {
      const result = await store.claim(claimOf(THREAD, "r2", { parentRunId: "r1", kind }));
      checkSame(result, { type: "busy", run: await runOf(store, THREAD, "r1") }, `a run that wants to ${kind}`);
    }
    await begin(store, THREAD, "spawned", { parentRunId: "r1", kind: "spawn" });
    checkSame((await threadOf(store, THREAD)).head, "r1", "the head after a spawned run");
    await commit(store, lease, 1, textsOf("end", 1), { status: "finished", interrupts: [], pendingToolCallIds: [] });
    await begin(store, THREAD, "r2", { parentRunId: "r1", kind: "continue" });
    const { parentRunId, kind } = await runOf(store, THREAD, "r2");
    checkSame({ parentRunId, kind }, { parentRunId: "r1", kind: "continue" }, "where the second run hangs");
    checkSame((await threadOf(store, THREAD)).head, "r2", "the head after the second run");
  }),

  contractCase("STORE-CLM-4: a claim goes through only where the head is the one that it names", async ({ store }) => {
    checkSame(await store.claim(claimOf(THREAD, "r0", { ifHead: "r1" })), { type: "moved" }, "a head in no thread");
    await runWhole(store, THREAD, "r1", { ifHead: null });
    const moved = { type: "moved", head: "r1" };
    checkSame(await store.claim(claimOf(THREAD, "r2", { ifHead: null })), moved, "no head");
    checkSame(await store.claim(claimOf(THREAD, "r2", { ifHead: "r0" })), moved, "another head");
    await runWhole(store, THREAD, "r2", { ifHead: "r1", parentRunId: "r1", kind: "continue" });
    const late = await store.claim(claimOf(THREAD, "r3", { ifHead: "r1", parentRunId: "r1", kind: "continue" }));
    checkSame(late, { type: "moved", head: "r2" }, "a second claim on the same head");
    await runWhole(store, THREAD, "r3", { parentRunId: "r1", kind: "branch" });
    checkSame((await threadOf(store, THREAD)).head, "r3", "the head after a branch");
    await store.updateThread(THREAD, { head: "r2" });
    await begin(store, THREAD, "r4", { ifHead: "r2", parentRunId: "r2", kind: "continue" });
  }),
];
