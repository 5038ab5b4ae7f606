/** STORE-ANN: annotations are in the log as events of their run, and the run does not notice. */
import type { Store, StoredEvent, ThreadKey } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { checkPresent, checkRejected, checkSame } from "./contract-violation.ts";
import { HARD_EVENTS } from "./hard-texts.ts";
import type { Texts } from "./scenario.ts";
import {
  FINISHED,
  LONG_LEASE_MS,
  TENANT,
  THREAD,
  appendOne,
  begin,
  claimOf,
  commit,
  dumpOf,
  readAll,
  runKey,
  runOf,
  runWhole,
  seenByWatcher,
  settleRun,
  textOf,
  textsOf,
  threadOf,
  viewOf,
} from "./scenario.ts";

const noteOf = (name: string): string => JSON.stringify({ type: "META", metaType: "note", payload: { name } });

const annotate = (store: Store, runId: string, ...notes: Texts) =>
  store.annotate({ ...runKey(THREAD, runId), events: notes });

const placesOf = (events: readonly StoredEvent[]): readonly string[] =>
  events.map(({ seq, runId }) => `${seq}${runId}`);

const follow = (parentRunId: string) => ({ parentRunId, kind: "continue" }) as const;

/** Everything of a thread but how far its log reaches, and its events. */
async function aboutOf(store: Store, key: ThreadKey): Promise<unknown> {
  const { thread, runs, queue } = await viewOf(store, key);
  return { thread: { ...thread, tail: 0 }, runs, queue, unsettled: await store.unsettled() };
}

/** Drops whatever may be dropped. */
const trimAll = async (store: Store) => store.trim((await store.nowMs()) + 1000);

/** Cases of `annotate`. */
export const annotationCases = [
  contractCase(
    "STORE-ANN-1: annotations get the next seqs and are read as their run's, whenever they come",
    async ({ store }) => {
      const a = await begin(store, THREAD, "a");
      checkSame(await annotate(store, "a", noteOf("1"), noteOf("2")), { firstSeq: 2, lastSeq: 3 }, "while it runs");
      checkSame((await commit(store, a, 1, textsOf("a", 2), FINISHED)).firstSeq, 4, "where its next batch is");
      checkSame(
        await annotate(store, "a", ...HARD_EVENTS),
        { firstSeq: 6, lastSeq: 5 + HARD_EVENTS.length },
        "after its end",
      );
      const at = 5 + HARD_EVENTS.length;
      const b = await begin(store, THREAD, "b", follow("a"));
      await annotate(store, "a", noteOf("3"));
      await commit(store, b, 1, textsOf("b", 1), FINISHED);
      await annotate(store, "b", noteOf("4"));
      await annotate(store, "a", noteOf("5"));
      const events = await readAll(store, THREAD);
      checkSame(
        placesOf(events.slice(at)),
        [`${at + 1}b`, `${at + 2}a`, `${at + 3}b`, `${at + 4}b`, `${at + 5}a`],
        "whose the events are",
      );
      checkSame(
        events.map(({ seq }) => seq),
        Array.from({ length: at + 5 }, (_, index) => index + 1),
        "the seqs",
      );
      checkSame(
        events.slice(5, at).map(({ json }) => json),
        HARD_EVENTS,
        "the texts",
      );
      const ofA = await readAll(store, THREAD, { runIds: ["a"] });
      checkSame(
        ofA,
        events.filter(({ runId }) => runId === "a"),
        "what is read of the run",
      );
      checkSame((await threadOf(store, THREAD)).tail, at + 5, "the tail");
      const { firstSeq } = await annotate(store, "b", ...textsOf("many", 600));
      const many = await readAll(store, THREAD, { afterSeq: firstSeq - 1, limit: 64 });
      checkSame(
        many.map(({ json }) => json),
        textsOf("many", 600),
        "many at once",
      );
    },
  ),

  contractCase("STORE-ANN-1: a run that is not there is not annotated", async ({ store }) => {
    await runWhole(store, THREAD, "r1");
    await store.enqueue({ ...runKey(THREAD, "waits"), agent: "agent", body: "{}", limit: 1 });
    const before = await viewOf(store, THREAD);
    for (const runId of ["r2", "R1", "waits"])
      await checkRejected(annotate(store, runId, noteOf("no")), "run-unknown", runId);
    for (const key of [
      { ...THREAD, threadId: "none" },
      { ...THREAD, tenant: "rival" },
    ]) {
      const refused = store.annotate({ ...runKey(key, "r1"), events: [noteOf("no")] });
      await checkRejected(refused, "thread-unknown", "a thread that is not there");
      checkSame(await store.thread(key), undefined, "a thread that was not there");
    }
    checkSame(await viewOf(store, THREAD), before, "the thread");
  }),

  contractCase("STORE-ANN-1: watchers are called", async ({ store, soon }) => {
    await runWhole(store, THREAD, "r1");
    const called = Promise.withResolvers<void>();
    store.watch(THREAD, called.resolve);
    await annotate(store, "r1", noteOf("1"));
    await soon(called.promise, "the call of the watcher");
  }),

  contractCase(
    "STORE-ANN-1: watchers on another handle are called soon",
    async ({ store, second, soon }) => {
      await runWhole(store, THREAD, "r1");
      const other = await second();
      await other.open();
      const seen = seenByWatcher(other, THREAD, async () => (await readAll(other, THREAD)).length === 4);
      await annotate(store, "r1", noteOf("1"));
      await soon(seen, "the annotation on another handle");
    },
    "reader",
  ),

  contractCase(
    "STORE-ANN-2: nothing else changes, of a run that has ended or of the thread",
    async ({ store, pass }) => {
      await runWhole(store, THREAD, "r1");
      await settleRun(store, THREAD, "r1");
      await runWhole(store, THREAD, "r2", follow("r1"));
      const before = await aboutOf(store, THREAD);
      await pass(2);
      for (const runId of ["r1", "r2"]) await annotate(store, runId, noteOf(runId));
      checkSame(await aboutOf(store, THREAD), before, "what is told of thread and runs");
      checkSame(
        (await store.claim(claimOf(THREAD, "r3", { ...follow("r2"), ifHead: "r2" }))).type,
        "claimed",
        "a claim on it",
      );
    },
  ),

  contractCase(
    "STORE-ANN-2: whoever holds a run that is annotated goes on as if nothing had happened",
    async ({ store }) => {
      const lease = await begin(store, THREAD, "r1");
      await commit(store, lease, 1, textsOf("one", 2));
      const before = await runOf(store, THREAD, "r1");
      await annotate(store, "r1", noteOf("1"));
      checkSame(await runOf(store, THREAD, "r1"), before, "the run");
      const repeated = { type: "repeated", lastSeq: 3, stop: false };
      checkSame(await appendOne(store, lease, 1, textsOf("one", 2)), repeated, "a batch that was there");
      checkSame(
        await appendOne(store, lease, 3, textsOf("three", 1)),
        { type: "gap", expected: 2 },
        "a batch too early",
      );
      checkSame(
        await appendOne(store, lease, 2, textsOf("two", 2)),
        { type: "committed", firstSeq: 5, lastSeq: 6, stop: false },
        "the next batch",
      );
      await annotate(store, "r1", noteOf("2"));
      checkSame(await store.heartbeat([lease]), [{ held: true, stop: false }], "the lease");
      const [taken] = await store.takeOver({ run: lease, leaseMs: LONG_LEASE_MS });
      const next = checkPresent(taken, "the lease that was taken over");
      checkSame(next.nextBatch, 3, "the batch that comes next");
      await commit(store, next, 3, textsOf("end", 1), FINISHED);
      const { firstSeq, lastSeq } = await runOf(store, THREAD, "r1");
      checkSame([firstSeq, lastSeq], [1, 8], "where the run is");
    },
  ),

  contractCase("STORE-ANN-2: an annotation renews no lease", async ({ store, pass }) => {
    await begin(store, THREAD, "r1", { leaseMs: 1 });
    await pass(3);
    await annotate(store, "r1", noteOf("1"));
    checkSame((await store.takeOver({ leaseMs: LONG_LEASE_MS })).length, 1, "leases that have expired");
  }),

  contractCase(
    "STORE-ANN-3: annotations stay where they are through many batches, merging and settling",
    async ({ store, reopen }) => {
      const lease = await begin(store, THREAD, "r1");
      const texts: string[] = [textOf("r1 starts")];
      for (let number = 1; number <= 150; number++) {
        await commit(store, lease, number, [textOf(`${number}`)], number === 150 ? FINISHED : undefined);
        texts.push(textOf(`${number}`));
        if (number % 7 !== 0 && number < 148) continue;
        await annotate(store, "r1", noteOf(`${number}`));
        texts.push(noteOf(`${number}`));
      }
      const before = await readAll(store, THREAD);
      checkSame(
        before.map(({ json }) => json),
        texts,
        "the log",
      );
      checkSame((await runOf(store, THREAD, "r1")).lastSeq, texts.length - 1, "where the run ends");
      await settleRun(store, THREAD, "r1");
      await annotate(store, "r1", noteOf("late"));
      checkSame((await readAll(store, THREAD)).slice(0, -1), before, "the log, settled");
      const again = await reopen();
      checkSame((await readAll(again, THREAD)).slice(0, -1), before, "the log, opened again");
    },
    "durable",
  ),

  contractCase("STORE-ANN-3: a dump holds them, and an import keeps them where they were", async ({ store }) => {
    await runWhole(store, THREAD, "r1");
    await annotate(store, "r1", noteOf("1"));
    const lease = await begin(store, THREAD, "r2", follow("r1"));
    await annotate(store, "r1", noteOf("2"), noteOf("3"));
    await annotate(store, "r2", noteOf("4"));
    await commit(store, lease, 1, textsOf("r2", 1), FINISHED);
    await annotate(store, "r2", noteOf("5"));
    await annotate(store, "r1", noteOf("6"));
    const copy = { tenant: TENANT, threadId: "copy" };
    await store.importThread(copy, await dumpOf(store, THREAD));
    const [{ thread, events, runs }, imported] = [await viewOf(store, THREAD), await viewOf(store, copy)];
    checkSame(imported.events, events, "the events");
    checkSame(imported.thread.tail, thread.tail, "the tail");
    const seqs = ({ run: { runId, firstSeq, lastSeq } }: (typeof runs)[number]) => [runId, firstSeq, lastSeq];
    checkSame(imported.runs.map(seqs), runs.map(seqs), "where the runs are");
    const answer = await store.annotate({ ...runKey(copy, "r1"), events: [noteOf("7")] });
    checkSame(answer.firstSeq, thread.tail + 1, "where the next annotation is");
  }),

  contractCase(
    "STORE-ANN-3: retention drops those before the last event that it drops, and keeps those behind",
    async ({ store }) => {
      await runWhole(store, THREAD, "r1");
      await annotate(store, "r1", noteOf("4"));
      await runWhole(store, THREAD, "r2", follow("r1"));
      await annotate(store, "r1", noteOf("8"));
      const settled = await settleRun(store, THREAD, "r1");
      checkSame(await trimAll(store), { threads: 1, events: 3 }, "what is dropped with the first run");
      checkSame(
        placesOf(await readAll(store, THREAD, { afterSeq: 3 })),
        ["4r1", "5r2", "6r2", "7r2", "8r1"],
        "what is left",
      );
      await settleRun(store, THREAD, "r2");
      checkSame(await trimAll(store), { threads: 1, events: 4 }, "what is dropped with the second");
      checkSame(placesOf(await readAll(store, THREAD, { afterSeq: 7 })), ["8r1"], "what is left then");
      await annotate(store, "r1", noteOf("9"));
      checkSame(
        await trimAll(store),
        { threads: 0, events: 0 },
        "what is dropped where nothing but annotations is left",
      );
      const copy = { tenant: TENANT, threadId: "copy" };
      await store.importThread(copy, await dumpOf(store, THREAD));
      checkSame(placesOf(await readAll(store, copy, { afterSeq: 7 })), ["8r1", "9r1"], "what is left in a copy");
      checkSame(await store.compacted(runKey(copy, "r1")), settled.compacted, "the compacted form");
      await runWhole(store, copy, "r3", follow("r2"));
      await settleRun(store, copy, "r3");
      checkSame(await trimAll(store), { threads: 1, events: 5 }, "what is dropped with the third run");
      checkSame((await threadOf(store, copy)).floor, 12, "the floor");
      await checkRejected(store.read(copy, { afterSeq: 8 }), "cursor-trimmed", "reading what was dropped");
    },
  ),
];
