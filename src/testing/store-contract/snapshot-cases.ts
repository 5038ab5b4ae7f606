/** STORE-SNP: openings of a branch, and what is made of a run that has ended. */
import type { Event } from "../../protocol/index.ts";
import type { Snapshot } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { check, checkRejected, checkSame, isSame } from "./contract-violation.ts";
import {
  FINISHED,
  THREAD,
  begin,
  commit,
  openingOf,
  runKey,
  runOf,
  runWhole,
  settleRun,
  settlementOf,
  textsOf,
} from "./scenario.ts";

/** An opening with many messages, all but the last as in every other. */
const conversation = (messages: number, last: string): readonly Event[] =>
  openingOf("r1", messages).map((event) =>
    event.type === "MESSAGES_SNAPSHOT"
      ? { ...event, messages: [...event.messages, { id: "last", role: "user", content: last }] }
      : event,
  );

const at = (seq: number): Snapshot => ({ runId: "r1", seq, events: openingOf(`at ${seq}`) });

/** Cases of snapshots and settling. */
export const snapshotCases = [
  contractCase(
    "STORE-SNP-1: the newest snapshot up to a seq is given, and none where there is none",
    async ({ store }) => {
      const lease = await begin(store, THREAD, "r1");
      await commit(store, lease, 1, textsOf("one", 9));
      checkSame(await store.snapshot(runKey(THREAD, "r1")), undefined, "a snapshot of a run without one");
      for (const seq of [6, 2, 4]) await store.saveSnapshot(THREAD, at(seq));
      const key = runKey(THREAD, "r1");
      checkSame(await store.snapshot(key), at(6), "the newest");
      checkSame(await store.snapshot(key, 6), at(6), "up to its own seq");
      checkSame(await store.snapshot(key, 5), at(4), "up to the seq before");
      checkSame(await store.snapshot(key, 3), at(2), "up to 3");
      checkSame(await store.snapshot(key, 1), undefined, "before the first");
      await store.saveSnapshot(THREAD, { ...at(6), events: openingOf("another") });
      checkSame(await store.snapshot(key), at(6), "one that is there already stays");
      checkSame(await store.snapshot(runKey(THREAD, "none")), undefined, "of no run");
      checkSame(await store.snapshot(runKey({ ...THREAD, threadId: "none" }, "r1")), undefined, "of no thread");
    },
  ),

  contractCase("STORE-SNP-1: a snapshot of an ancestor is given, one of another branch never", async ({ store }) => {
    await runWhole(store, THREAD, "root");
    const { snapshot: root } = await settleRun(store, THREAD, "root");
    await runWhole(store, THREAD, "left", { parentRunId: "root", kind: "continue" });
    await runWhole(store, THREAD, "right", { parentRunId: "root", kind: "branch" });
    checkSame(await store.snapshot(runKey(THREAD, "right")), root, "the right branch before anything is settled");
    const { snapshot: left } = await settleRun(store, THREAD, "left");
    checkSame(await store.snapshot(runKey(THREAD, "right")), root, "the right branch");
    checkSame(await store.snapshot(runKey(THREAD, "left")), left, "the left branch");
    checkSame(await store.snapshot(runKey(THREAD, "left"), 5), root, "the left branch before its end");
    const { snapshot: right } = await settleRun(store, THREAD, "right");
    checkSame(await store.snapshot(runKey(THREAD, "left")), left, "the left branch, after a newer one on the right");
    checkSame(await store.snapshot(runKey(THREAD, "root")), root, "the root");
    await runWhole(store, THREAD, "after", { parentRunId: "right", kind: "continue" });
    checkSame(await store.snapshot(runKey(THREAD, "after")), right, "what follows on the right");
    await runWhole(store, THREAD, "spawned", { parentRunId: "right", kind: "spawn" });
    checkSame(await store.snapshot(runKey(THREAD, "spawned")), undefined, "a spawned run has its own branch");
  }),

  contractCase("STORE-SNP-1: snapshots that share most of what they hold come back each in full", async ({ store }) => {
    const lease = await begin(store, THREAD, "r1");
    await commit(store, lease, 1, textsOf("one", 200));
    const other = { ...THREAD, threadId: "other" };
    const twin = await begin(store, other, "r1");
    await commit(store, twin, 1, textsOf("one", 200));
    for (const [index, messages] of [0, 1, 31, 32, 33, 100, 100].entries()) {
      const events = conversation(messages, `last ${index}`);
      for (const key of [THREAD, other]) await store.saveSnapshot(key, { runId: "r1", seq: index + 1, events });
    }
    await store.deleteThread(other);
    for (const [index, messages] of [0, 1, 31, 32, 33, 100, 100].entries()) {
      const snapshot = await store.snapshot(runKey(THREAD, "r1"), index + 1);
      const events = conversation(messages, `last ${index}`);
      checkSame(snapshot, { runId: "r1", seq: index + 1, events }, `the snapshot of ${messages} messages`);
    }
  }),

  contractCase(
    "STORE-SNP-1: settling keeps snapshot and compacted form once, and is work that can be found",
    async ({ store }) => {
      const found = async () =>
        (await store.unsettled(1000)).map(({ tenant, threadId, runId }) => [tenant, threadId, runId]);
      const lease = await begin(store, THREAD, "r1");
      checkSame(await found(), [], "what is to be settled while a run goes on");
      checkSame(await store.compacted(runKey(THREAD, "r1")), undefined, "the compacted form before the end");
      await commit(store, lease, 1, textsOf("end", 2), FINISHED);
      await runWhole(store, { tenant: "other", threadId: "t" }, "r2");
      checkSame((await found()).length, 2, "how many are to be settled");
      checkSame((await store.unsettled(1)).length, 1, "how many of them where one is asked for");
      const settlement = await settleRun(store, THREAD, "r1");
      checkSame(await found(), [["other", "t", "r2"]], "what is still to be settled");
      check((await runOf(store, THREAD, "r1")).settled, "the run is not settled");
      await store.settle(runKey(THREAD, "r1"), settlementOf(await runOf(store, THREAD, "r1"), "another"));
      checkSame(await store.compacted(runKey(THREAD, "r1")), settlement.compacted, "the compacted form");
      checkSame(await store.snapshot(runKey(THREAD, "r1")), settlement.snapshot, "the snapshot");
    },
  ),

  contractCase("STORE-SNP-1: what settling leaves of the snapshots of a run is whole", async ({ store }) => {
    const lease = await begin(store, THREAD, "r1");
    for (const seq of [1, 2]) {
      await store.saveSnapshot(THREAD, { runId: "r1", seq, events: conversation(40, `at ${seq}`) });
      await commit(store, lease, seq, textsOf("on", 1), ...(seq === 2 ? [FINISHED] : []));
    }
    const early = { runId: "r1", seq: 3, events: conversation(40, "early") };
    await store.saveSnapshot(THREAD, early);
    const key = runKey(THREAD, "r1");
    const settled = { runId: "r1", seq: 3, events: conversation(40, "settled") };
    await store.settle(key, { snapshot: settled, compacted: [] });
    const left = await store.snapshot(key);
    check(isSame(left, early) || isSame(left, settled), "the snapshot of the end is neither of those that were kept");
    await runWhole(store, THREAD, "r2", { parentRunId: "r1", kind: "continue" });
    checkSame(await store.snapshot(runKey(THREAD, "r2")), left, "for what follows");
    await settleRun(store, THREAD, "r2");
    checkSame(await store.snapshot(key), left, "when that is settled too");
  }),

  contractCase("STORE-SNP-1: nothing is kept of a run or a thread that is not there", async ({ store }) => {
    await runWhole(store, THREAD, "r1");
    const settlement = settlementOf(await runOf(store, THREAD, "r1"));
    await checkRejected(store.settle(runKey(THREAD, "none"), settlement), "run-unknown", "settling no run");
    const none = { ...THREAD, threadId: "none" };
    await checkRejected(store.settle(runKey(none, "r1"), settlement), "thread-unknown", "settling in no thread");
    await checkRejected(store.saveSnapshot(none, settlement.snapshot), "thread-unknown", "a snapshot of no thread");
    checkSame(await store.thread(none), undefined, "the thread");
    checkSame(await store.compacted(runKey(none, "r1")), undefined, "the compacted form in no thread");
  }),
];
