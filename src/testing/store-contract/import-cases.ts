/** STORE-EXP: a thread that was dumped and imported reads the same. */
import type { Store, ThreadKey } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { check, checkRejected, checkSame } from "./contract-violation.ts";
import { HARD_EVENTS } from "./hard-texts.ts";
import type { ThreadView } from "./scenario.ts";
import {
  FINISHED,
  TENANT,
  THREAD,
  appendOne,
  begin,
  claimOf,
  commit,
  dumpOf,
  runKey,
  runWhole,
  settleRun,
  textsOf,
  threadOf,
  viewOf,
} from "./scenario.ts";

const COPY: ThreadKey = { tenant: TENANT, threadId: "copy" };

/** A thread with branches, every kind of end, hard texts, and a batch that spans segments. */
async function fill(store: Store): Promise<void> {
  const question = { id: "q", reason: "approval", responseSchema: { type: "object" } };
  await runWhole(store, THREAD, "r1", { principal: "ada", owner: "ada", agent: "writer", events: HARD_EVENTS });
  await runWhole(store, THREAD, "r2", {
    parentRunId: "r1",
    kind: "continue",
    end: { status: "interrupted", interrupts: [question], pendingToolCallIds: [] },
  });
  await runWhole(store, THREAD, "r3", {
    parentRunId: "r1",
    kind: "branch",
    events: textsOf("many", 200),
    end: {
      status: "failed",
      interrupts: [],
      pendingToolCallIds: [],
      error: { message: "It broke.", code: "agent-failed" },
    },
  });
  await runWhole(store, THREAD, "r4", { parentRunId: "r3", kind: "spawn" });
  await store.updateThread(THREAD, { title: "A title", archived: true, metadata: { a: [{ b: null }] }, head: "r2" });
}

/** A view without what an import does not take over: names, log id, owner, and what can be made again. */
const comparable = ({ thread, events, runs }: ThreadView): unknown => ({
  thread: { ...thread, tenant: "", threadId: "", logId: "", owner: "" },
  events,
  runs: runs.map(({ run, branch }) => ({ run: { ...run, tenant: "", threadId: "", settled: false }, branch })),
});

/** Cases of `importThread`. */
export const importCases = [
  contractCase(
    "STORE-EXP-1: a thread that was dumped and imported reads the same, but for its log id",
    async ({ store }) => {
      await fill(store);
      await settleRun(store, THREAD, "r1");
      const before = await viewOf(store, THREAD);
      await store.importThread(COPY, await dumpOf(store, THREAD));
      const copy = await viewOf(store, COPY);
      checkSame(comparable(copy), comparable(before), "the copy");
      checkSame(await viewOf(store, THREAD), before, "what was copied");
      check(copy.thread.logId !== before.thread.logId, "the copy has the id of the other log");
      checkSame([copy.thread.tenant, copy.thread.threadId], [COPY.tenant, COPY.threadId], "what the copy is called");
      checkSame(comparable(await viewOf(store, COPY)), comparable(copy), "the copy, read again");
    },
  ),

  contractCase(
    "STORE-EXP-1: a thread that has lost raw events keeps its floor and what was made of them",
    async ({ store }) => {
      await fill(store);
      const settled = await settleRun(store, THREAD, "r1");
      await store.trim((await store.nowMs()) + 1000);
      const before = await viewOf(store, THREAD);
      check(before.thread.floor > 0, "nothing was dropped");
      await store.importThread(COPY, await dumpOf(store, THREAD));
      checkSame(comparable(await viewOf(store, COPY)), comparable(before), "the copy");
      await checkRejected(store.read(COPY), "cursor-trimmed", "reading the copy from its beginning");
      checkSame(await store.compacted(runKey(COPY, "r1")), settled.compacted, "the compacted form");
      checkSame(await store.snapshot(runKey(COPY, "r2")), settled.snapshot, "the snapshot of the branch");
      checkSame((await store.run(runKey(COPY, "r1")))?.settled, true, "whether the run is settled");
      await store.deleteThread(THREAD);
      await store.importThread(THREAD, await dumpOf(store, COPY));
      checkSame(comparable(await viewOf(store, THREAD)), comparable(before), "the copy of the copy");
    },
  ),

  contractCase("STORE-EXP-1: an imported thread goes on where it was", async ({ store }) => {
    const old = await runWhole(store, THREAD, "r1");
    await store.importThread(COPY, await dumpOf(store, THREAD));
    checkSame((await store.claim(claimOf(COPY, "r1"))).type, "exists", "a claim of a run that was imported");
    checkSame((await store.claim(claimOf(COPY, "r2", { ifHead: "none" }))).type, "moved", "a claim on another head");
    const lease = await begin(store, COPY, "r2", { parentRunId: "r1", kind: "continue", ifHead: "r1" });
    checkSame((await commit(store, lease, 1, textsOf("on", 2), FINISHED)).firstSeq, 5, "where the next batch is");
    checkSame((await threadOf(store, THREAD)).tail, 3, "the tail of what was copied");
    checkSame(
      await appendOne(store, old, 2, textsOf("late", 1)),
      { type: "fenced" },
      "a batch of the run that was copied",
    );
    checkSame((await store.listThreads({ tenant: TENANT })).threads.length, 2, "the list");
    await settleRun(store, COPY, "r1");
    await settleRun(store, COPY, "r2");
    checkSame(await store.trim((await store.nowMs()) + 1000), { threads: 1, events: 6 }, "what can be dropped");
  }),

  contractCase("STORE-EXP-1: an import over a thread that is there changes nothing", async ({ store }) => {
    await runWhole(store, THREAD, "r1");
    await begin(store, COPY, "mine");
    const before = await viewOf(store, COPY);
    await checkRejected(
      store.importThread(COPY, await dumpOf(store, THREAD)),
      "thread-exists",
      "an import over a thread",
    );
    checkSame(await viewOf(store, COPY), before, "the thread that was there");
  }),
];
