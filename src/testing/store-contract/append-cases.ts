/** STORE-APP: a batch is in the log once, whole, and only under the run's own fence. */
import type { RunEnd } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { check, checkPresent, checkSame } from "./contract-violation.ts";
import {
  FINISHED,
  LONG_LEASE_MS,
  THREAD,
  appendOne,
  begin,
  claimOf,
  commit,
  readAll,
  runKey,
  runOf,
  runWhole,
  textOf,
  textsOf,
  threadOf,
  viewOf,
} from "./scenario.ts";

const ENDS: readonly RunEnd[] = [
  FINISHED,
  { status: "finished", interrupts: [], pendingToolCallIds: ["call 1", "call 2"] },
  {
    status: "interrupted",
    interrupts: [
      { id: "q1", reason: "approval", message: "Really?", responseSchema: { type: "object", properties: {} } },
    ],
    pendingToolCallIds: [],
  },
  { status: "cancelled", interrupts: [], pendingToolCallIds: [] },
  { status: "failed", interrupts: [], pendingToolCallIds: [], error: { message: "It broke.", code: "agent-failed" } },
  { status: "failed", interrupts: [], pendingToolCallIds: [], error: { message: "It broke \u0000 \u{1f9f5}" } },
];

/** Cases of `append`. */
export const appendCases = [
  contractCase(
    "STORE-APP-1: a batch of 1,000 events is in the log whole, in one piece and in order",
    async ({ store }) => {
      const lease = await begin(store, THREAD, "r1");
      const events = textsOf("many", 1000);
      const { firstSeq, lastSeq } = await commit(store, lease, 1, events);
      checkSame([firstSeq, lastSeq], [2, 1001], "where it is");
      const read = await readAll(store, THREAD, { afterSeq: 1 });
      checkSame(
        read,
        events.map((json, index) => ({ seq: index + 2, runId: "r1", json })),
        "the batch",
      );
    },
  ),

  contractCase(
    "STORE-APP-1: batches of one call are in the log in their order, each in one piece",
    async ({ store }) => {
      const [a, b] = [await begin(store, THREAD, "a"), await begin(store, THREAD, "b")];
      const answers = await store.append([
        { lease: a, number: 1, events: textsOf("a1", 2) },
        { lease: b, number: 1, events: textsOf("b1", 3) },
        { lease: a, number: 2, events: textsOf("a2", 1) },
      ]);
      checkSame(
        answers,
        [
          { type: "committed", firstSeq: 3, lastSeq: 4, stop: false },
          { type: "committed", firstSeq: 5, lastSeq: 7, stop: false },
          { type: "committed", firstSeq: 8, lastSeq: 8, stop: false },
        ],
        "the answers",
      );
      const texts = (await readAll(store, THREAD, { afterSeq: 2 })).map(({ json }) => json);
      checkSame(texts, [...textsOf("a1", 2), ...textsOf("b1", 3), ...textsOf("a2", 1)], "the log");
      checkSame(await store.append([]), [], "the answer to no batch at all");
    },
  ),

  contractCase(
    "STORE-APP-1: batches of 100 runs in 10 threads go in one call, and so do their heartbeats",
    async ({ store }) => {
      const leases = await Promise.all(
        Array.from({ length: 100 }, (_, index) => begin(store, { ...THREAD, threadId: `t${index % 10}` }, `r${index}`)),
      );
      const batches = leases.map((lease) => ({ lease, number: 1, events: textsOf(lease.runId, 12) }));
      const answers = await store.append(batches);
      for (const [index, { lease, events }] of batches.entries()) {
        const answer = checkPresent(answers[index], "the answer");
        check(answer.type === "committed", `the batch of "${lease.runId}" is answered ${answer.type}`);
        const { firstSeq, lastSeq } = answer;
        const read = await readAll(store, lease, { afterSeq: firstSeq - 1, throughSeq: lastSeq });
        checkSame(
          read,
          events.map((json, place) => ({ seq: firstSeq + place, runId: lease.runId, json })),
          "the batch",
        );
      }
      const beats = await store.heartbeat(leases);
      checkSame(
        beats,
        leases.map(() => ({ held: true, stop: false })),
        "the heartbeats",
      );
    },
  ),

  contractCase(
    "STORE-APP-2: a batch that comes again is answered `repeated` and changes nothing",
    async ({ store }) => {
      const lease = await begin(store, THREAD, "r1");
      await commit(store, lease, 1, textsOf("one", 2));
      await commit(store, lease, 2, textsOf("two", 1));
      const before = await viewOf(store, THREAD);
      for (const number of [0, 1, 2]) {
        const again = await appendOne(store, lease, number, textsOf("other text", 3), FINISHED);
        checkSame(again, { type: "repeated", lastSeq: 4, stop: false }, `batch ${number}, again`);
      }
      checkSame(await viewOf(store, THREAD), before, "the thread after repeats");
      await commit(store, lease, 3, textsOf("three", 1));
    },
  ),

  contractCase("STORE-APP-2: a batch that is twice in one call is committed once", async ({ store }) => {
    const lease = await begin(store, THREAD, "r1");
    const batch = { lease, number: 1, events: textsOf("one", 2) };
    const answers = await store.append([batch, batch]);
    checkSame(
      answers,
      [
        { type: "committed", firstSeq: 2, lastSeq: 3, stop: false },
        { type: "repeated", lastSeq: 3, stop: false },
      ],
      "the answers",
    );
    checkSame((await threadOf(store, THREAD)).tail, 3, "the tail");
  }),

  contractCase("STORE-APP-2: the last batch of a run can come again too: its answer got lost", async ({ store }) => {
    const lease = await runWhole(store, THREAD, "r1");
    const before = await viewOf(store, THREAD);
    const again = await appendOne(store, lease, 1, textsOf("r1 goes on", 2), FINISHED);
    checkSame(again, { type: "repeated", lastSeq: 3, stop: false }, "the last batch, again");
    checkSame(await viewOf(store, THREAD), before, "the thread after it");
  }),

  contractCase(
    "STORE-APP-3: under a fence that was raised nothing is written, nor answered `repeated`",
    async ({ store }) => {
      const old = await begin(store, THREAD, "r1");
      await commit(store, old, 1, textsOf("one", 1));
      const [fresh] = await store.takeOver({ run: runKey(THREAD, "r1"), leaseMs: LONG_LEASE_MS });
      const lease = checkPresent(fresh, "the lease that was taken over");
      const before = await viewOf(store, THREAD);
      for (const number of [1, 2, 3]) {
        checkSame(
          await appendOne(store, old, number, textsOf("zombie", 2), FINISHED),
          { type: "fenced" },
          `batch ${number}`,
        );
      }
      checkSame(await viewOf(store, THREAD), before, "the thread after a zombie");
      checkSame(lease.nextBatch, 2, "the batch that comes next");
      await commit(store, lease, 2, textsOf("two", 1));
      checkSame((await appendOne(store, lease, 1, textsOf("one", 1))).type, "repeated", "what the zombie had written");
    },
  ),

  contractCase("STORE-APP-3: after the run's end nothing is written", async ({ store }) => {
    const lease = await runWhole(store, THREAD, "r1");
    const before = await viewOf(store, THREAD);
    for (const number of [2, 3]) {
      checkSame(await appendOne(store, lease, number, textsOf("late", 1)), { type: "fenced" }, `batch ${number}`);
    }
    checkSame(await viewOf(store, THREAD), before, "the thread after late batches");
  }),

  contractCase("STORE-APP-4: a batch that is not the next writes nothing, and is told which is", async ({ store }) => {
    const lease = await begin(store, THREAD, "r1");
    const before = await viewOf(store, THREAD);
    for (const number of [2, 3, 100]) {
      const answer = await appendOne(store, lease, number, textsOf("too early", 1), FINISHED);
      checkSame(answer, { type: "gap", expected: 1 }, `batch ${number}`);
    }
    checkSame(await viewOf(store, THREAD), before, "the thread after gaps");
    await commit(store, lease, 1, textsOf("one", 1));
    checkSame(await appendOne(store, lease, 3, textsOf("too early", 1)), { type: "gap", expected: 2 }, "batch 3");
  }),

  contractCase("STORE-APP-5: a batch that is refused does not touch the others", async ({ store }) => {
    const [a, b] = [await begin(store, THREAD, "a"), await begin(store, THREAD, "b")];
    const ended = await runWhole(store, { ...THREAD, threadId: "other" }, "r1");
    const gone = await begin(store, { ...THREAD, threadId: "gone" }, "r1");
    await store.deleteThread(gone);
    const answers = await store.append([
      { lease: ended, number: 2, events: textsOf("late", 1) },
      { lease: a, number: 1, events: textsOf("a1", 2) },
      { lease: a, number: 3, events: textsOf("a3", 1) },
      { lease: gone, number: 1, events: textsOf("gone", 1) },
      { lease: b, number: 1, events: textsOf("b1", 1) },
      { lease: a, number: 1, events: textsOf("a1", 2) },
      { lease: a, number: 2, events: textsOf("a2", 1), end: FINISHED },
      { lease: a, number: 3, events: textsOf("a3", 1) },
      { lease: b, number: 2, events: textsOf("b2", 1) },
    ]);
    checkSame(
      answers,
      [
        { type: "fenced" },
        { type: "committed", firstSeq: 3, lastSeq: 4, stop: false },
        { type: "gap", expected: 2 },
        { type: "fenced" },
        { type: "committed", firstSeq: 5, lastSeq: 5, stop: false },
        { type: "repeated", lastSeq: 4, stop: false },
        { type: "committed", firstSeq: 6, lastSeq: 6, stop: false },
        { type: "fenced" },
        { type: "committed", firstSeq: 7, lastSeq: 7, stop: false },
      ],
      "the answers",
    );
    const texts = (await readAll(store, THREAD, { afterSeq: 2 })).map(({ json }) => json);
    checkSame(texts, [...textsOf("a1", 2), textOf("b1 1"), textOf("a2 1"), textOf("b2 1")], "the log");
  }),

  contractCase("STORE-APP-6: a batch with an end ends the run, in whichever way", async ({ store }) => {
    for (const [index, end] of ENDS.entries()) {
      const runId = `r${index}`;
      const lease = await begin(store, THREAD, runId);
      const running = await runOf(store, THREAD, runId);
      checkSame([running.status, running.end, running.endedAtMs], ["running", undefined, undefined], "before the end");
      const { lastSeq } = await commit(store, lease, 1, textsOf("end", 2), end);
      const run = await runOf(store, THREAD, runId);
      checkSame([run.status, run.end, run.lastSeq], [end.status, end, lastSeq], "how it ended");
      check((run.endedAtMs ?? 0) >= run.startedAtMs, "it ends after it started");
      checkSame(await store.takeOver({ run, leaseMs: LONG_LEASE_MS }), [], "a take-over of a run that has ended");
      checkSame(await store.requestStop(run), false, "a stop of a run that has ended");
      checkSame((await store.heartbeat([lease]))[0]?.held, false, "a heartbeat after the end");
    }
    const next = await store.claim(claimOf(THREAD, "next", { parentRunId: "r0", kind: "branch" }));
    checkSame(next.type, "claimed", "a run that hangs on one that has ended");
  }),
];
