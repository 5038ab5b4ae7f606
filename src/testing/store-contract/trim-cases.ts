/** STORE-TRM: retention drops a prefix of raw events, and what was made of them stays. */
import { contractCase } from "./contract-case.ts";
import { checkSame } from "./contract-violation.ts";
import {
  FINISHED,
  THREAD,
  begin,
  commit,
  readAll,
  runKey,
  runOf,
  runWhole,
  settleRun,
  textsOf,
  threadOf,
} from "./scenario.ts";
import type { Store } from "../../store/index.ts";

const follow = (parentRunId: string) => ({ parentRunId, kind: "continue" }) as const;

/** Drops whatever may be dropped. */
const trimAll = async (store: Store) => store.trim((await store.nowMs()) + 1000);

const seqsAfter = async (store: Store, afterSeq: number) =>
  (await readAll(store, THREAD, { afterSeq })).map(({ seq }) => seq);

/** Cases of `trim`. */
export const trimCases = [
  contractCase(
    "STORE-TRM-1: settled runs lose their raw events up to the first run that is not settled",
    async ({ store }) => {
      await runWhole(store, THREAD, "r1");
      await runWhole(store, THREAD, "r2", follow("r1"));
      await runWhole(store, THREAD, "r3", follow("r2"));
      const settled = await settleRun(store, THREAD, "r1");
      await settleRun(store, THREAD, "r3");
      checkSame(await trimAll(store), { threads: 1, events: 3 }, "what was dropped");
      checkSame((await threadOf(store, THREAD)).floor, 3, "the floor");
      checkSame(await seqsAfter(store, 3), [4, 5, 6, 7, 8, 9], "what is left");
      checkSame(await store.compacted(runKey(THREAD, "r1")), settled.compacted, "the compacted form");
      checkSame(await store.snapshot(runKey(THREAD, "r1")), settled.snapshot, "the snapshot");
      const { firstSeq, lastSeq, status, end } = await runOf(store, THREAD, "r1");
      checkSame([firstSeq, lastSeq, status, end], [1, 3, "finished", FINISHED], "the run");
      checkSame(
        (await store.branch(runKey(THREAD, "r3"))).map(({ runId }) => runId),
        ["r1", "r2", "r3"],
        "the branch",
      );
      checkSame(await trimAll(store), { threads: 0, events: 0 }, "what is dropped the second time");
    },
  ),

  contractCase("STORE-TRM-1: a log can lose all its raw events, and goes on", async ({ store }) => {
    await runWhole(store, THREAD, "r1");
    const first = await settleRun(store, THREAD, "r1");
    checkSame(await trimAll(store), { threads: 1, events: 3 }, "what was dropped");
    const { tail, floor, head } = await threadOf(store, THREAD);
    checkSame([tail, floor, head], [3, 3, "r1"], "the thread");
    const page = await store.read(THREAD, { afterSeq: 3 });
    checkSame({ ...page, logId: "" }, { logId: "", events: [], through: 3, tail: 3 }, "the page at the tail");
    await runWhole(store, THREAD, "r2", follow("r1"));
    checkSame(await seqsAfter(store, 3), [4, 5, 6], "what came after");
    checkSame(await store.snapshot(runKey(THREAD, "r2")), first.snapshot, "the snapshot of the branch");
    await settleRun(store, THREAD, "r2");
    checkSame(await trimAll(store), { threads: 1, events: 3 }, "what was dropped later");
    checkSame((await threadOf(store, THREAD)).floor, 6, "the floor");
  }),

  contractCase("STORE-TRM-1: only runs that ended before the time lose anything", async ({ store, pass }) => {
    await runWhole(store, THREAD, "r1");
    await settleRun(store, THREAD, "r1");
    await pass(2);
    const between = await store.nowMs();
    await pass(2);
    await runWhole(store, THREAD, "r2", follow("r1"));
    await settleRun(store, THREAD, "r2");
    checkSame(await store.trim(0), { threads: 0, events: 0 }, "what ended before the beginning of time");
    checkSame(
      await store.trim((await runOf(store, THREAD, "r1")).startedAtMs - 1),
      { threads: 0, events: 0 },
      "before the first run",
    );
    checkSame(await store.trim(between), { threads: 1, events: 3 }, "what ended before the second run");
    checkSame(await seqsAfter(store, 3), [4, 5, 6], "what is left");
  }),

  contractCase(
    "STORE-TRM-1: what is dropped is a prefix, also where runs took turns or one still goes on",
    async ({ store }) => {
      const open = await begin(store, THREAD, "first");
      const a = await begin(store, THREAD, "a");
      checkSame(await trimAll(store), { threads: 0, events: 0 }, "what is dropped while all runs go on");
      await commit(store, a, 1, textsOf("a", 2), FINISHED);
      await settleRun(store, THREAD, "a");
      checkSame(await trimAll(store), { threads: 0, events: 0 }, "what is dropped behind a run that goes on");
      await commit(store, open, 1, textsOf("first", 1), FINISHED);
      await settleRun(store, THREAD, "first");
      const c = await begin(store, THREAD, "c");
      const d = await begin(store, THREAD, "d");
      await commit(store, c, 1, textsOf("c", 2), FINISHED);
      await commit(store, d, 1, textsOf("d", 2));
      await settleRun(store, THREAD, "c");
      checkSame(await trimAll(store), { threads: 1, events: 6 }, "what is dropped before a run that goes on");
      checkSame((await threadOf(store, THREAD)).floor, 6, "the floor");
      checkSame(
        (await readAll(store, THREAD, { afterSeq: 6 })).map(({ seq, runId }) => `${seq}${runId}`),
        ["7d", "8c", "9c", "10d", "11d"],
        "what is left",
      );
    },
  ),

  contractCase(
    "STORE-TRM-1: each thread is trimmed for itself, and within batches of many events",
    async ({ store }) => {
      for (const threadId of ["a", "b", "c"]) {
        const key = { ...THREAD, threadId };
        await runWhole(store, key, "r1", { events: textsOf("many", 100) });
        await runWhole(store, key, "r2", { events: textsOf("many", 100), ...follow("r1") });
        if (threadId !== "b") await settleRun(store, key, "r1");
      }
      checkSame(await trimAll(store), { threads: 2, events: 204 }, "what was dropped");
      const whole = await readAll(store, { ...THREAD, threadId: "b" });
      const rest = await readAll(store, { ...THREAD, threadId: "a" }, { afterSeq: 102 });
      checkSame(rest, whole.slice(102), "what is left of a thread that was trimmed");
    },
  ),
];
