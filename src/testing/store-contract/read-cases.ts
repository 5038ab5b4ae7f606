/** STORE-RED: what is read is what was committed, all of it, and the same for ever. */
import { contractCase } from "./contract-case.ts";
import { check, checkRejected, checkSame } from "./contract-violation.ts";
import { FINISHED, THREAD, begin, commit, readAll, runWhole, settleRun, textsOf, threadOf } from "./scenario.ts";

/** Cases of `read`. */
export const readCases = [
  contractCase("STORE-RED-1: pages of any size, from anywhere to anywhere, add up to the log", async ({ store }) => {
    const [a, b] = [await begin(store, THREAD, "a"), await begin(store, THREAD, "b")];
    for (let number = 1; number <= 10; number++) {
      await store.append([
        { lease: a, number, events: textsOf(`a${number}`, 3) },
        { lease: b, number, events: textsOf(`b${number}`, 1 + (number % 3)) },
      ]);
    }
    const log = await readAll(store, THREAD);
    const { tail } = await threadOf(store, THREAD);
    checkSame(
      log.map(({ seq }) => seq),
      Array.from({ length: tail }, (_, index) => index + 1),
      "the seqs",
    );
    for (const limit of [1, 2, 7, 64, 10_000]) {
      checkSame(await readAll(store, THREAD, { limit }), log, `the log in pages of ${limit}`);
    }
    for (let afterSeq = 0; afterSeq <= tail; afterSeq += 5) {
      const rest = log.filter(({ seq }) => seq > afterSeq);
      checkSame(await readAll(store, THREAD, { afterSeq, limit: 9 }), rest, `the log after ${afterSeq}`);
      const throughSeq = afterSeq + 11;
      const part = rest.filter(({ seq }) => seq <= throughSeq);
      checkSame(
        await readAll(store, THREAD, { afterSeq, throughSeq, limit: 4 }),
        part,
        `the log in ${afterSeq} to ${throughSeq}`,
      );
    }
  }),

  contractCase("STORE-RED-1: a page of some runs holds theirs, and says how far it looked", async ({ store }) => {
    const [a, b] = [await begin(store, THREAD, "a"), await begin(store, THREAD, "b")];
    await commit(store, a, 1, textsOf("a1", 5));
    await commit(store, b, 1, textsOf("b1", 300));
    await commit(store, a, 2, textsOf("a2", 5));
    const log = await readAll(store, THREAD);
    for (const runIds of [["a"], ["b"], ["a", "b"], ["b", "none", "b"], ["none"], []]) {
      const wanted = log.filter(({ runId }) => runIds.includes(runId));
      for (const limit of [1, 3, 512]) {
        checkSame(
          await readAll(store, THREAD, { runIds, limit }),
          wanted,
          `events of ${runIds.join(", ")} in pages of ${limit}`,
        );
      }
      const late = wanted.filter(({ seq }) => seq > 100);
      checkSame(
        await readAll(store, THREAD, { runIds, afterSeq: 100 }),
        late,
        `events of ${runIds.join(", ")} after 100`,
      );
    }
  }),

  contractCase("STORE-RED-1: a page can be of thousands of runs", async ({ store }) => {
    await begin(store, THREAD, "a", { events: textsOf("a", 3) });
    await begin(store, THREAD, "b", { events: textsOf("b", 3) });
    const runIds = [...Array.from({ length: 5000 }, (_, index) => `none ${index}`), "b"];
    checkSame(
      (await readAll(store, THREAD, { runIds })).map(({ seq }) => seq),
      [4, 5, 6],
      "what is found of them",
    );
  }),

  contractCase("STORE-RED-1: small pages hold one event at least, and together all of them", async ({ store }) => {
    await begin(store, THREAD, "r1", { events: textsOf("long", 40) });
    const seqs: number[] = [];
    for (let afterSeq = 0; ;) {
      const { events, through, tail } = await store.read(THREAD, { afterSeq, maxChars: 1 });
      seqs.push(...events.map(({ seq }) => seq));
      check(events.length === 1, `a page of at most 1 character has ${events.length} events`);
      if (through === tail) break;
      afterSeq = through;
    }
    checkSame(
      seqs,
      Array.from({ length: 40 }, (_, index) => index + 1),
      "the seqs of all pages",
    );
  }),

  contractCase("STORE-RED-1: beyond the tail there is nothing, and no page claims to know it", async ({ store }) => {
    const lease = await begin(store, THREAD, "r1");
    const page = await store.read(THREAD, { afterSeq: 1 });
    const { logId, ...rest } = page;
    checkSame(rest, { events: [], through: 1, tail: 1 }, "the page at the tail");
    checkSame((await store.thread(THREAD))?.logId, logId, "the log that the page names");
    const ahead = await store.read(THREAD, { afterSeq: 0, throughSeq: 100 });
    check(ahead.through <= 1, `a page of one event goes through ${ahead.through}`);
    checkSame((await store.read(THREAD, { afterSeq: 50 })).events, [], "events after a seq that is not there yet");
    await commit(store, lease, 1, textsOf("one", 1));
    checkSame((await store.read(THREAD, { afterSeq: ahead.through })).events.length, 1, "events after that page");
  }),

  contractCase("STORE-RED-1: a thread that is not there cannot be read", async ({ store }) => {
    await checkRejected(store.read(THREAD), "thread-unknown", "reading no thread");
    checkSame(await store.thread(THREAD), undefined, "a thread after it was read");
    checkSame(await store.runs(THREAD), [], "runs of no thread");
  }),

  contractCase(
    "STORE-RED-2: what was read stays the same while the log grows, runs end, settle and are merged",
    async ({ store }) => {
      const lease = await begin(store, THREAD, "r1");
      const known = [...(await readAll(store, THREAD))];
      for (let number = 1; number <= 150; number++) {
        await commit(store, lease, number, textsOf(`r1 ${number}`, 1 + (number % 2)));
        known.push(...(await readAll(store, THREAD, { afterSeq: known.length })));
      }
      await commit(store, lease, 151, textsOf("end", 1), FINISHED);
      known.push(...(await readAll(store, THREAD, { afterSeq: known.length })));
      checkSame(await readAll(store, THREAD), known, "the log when the run has ended");
      await settleRun(store, THREAD, "r1");
      checkSame(await readAll(store, THREAD), known, "the log when the run is settled");
      await runWhole(store, THREAD, "r2", { parentRunId: "r1", kind: "continue" });
      await settleRun(store, THREAD, "r2");
      checkSame(await readAll(store, THREAD, { throughSeq: known.length }), known, "the log after another run");
      for (const afterSeq of [0, 1, 63, 64, 65, 128, 200]) {
        const rest = known.slice(afterSeq);
        checkSame(
          await readAll(store, THREAD, { afterSeq, throughSeq: known.length, limit: 50 }),
          rest,
          `the log after ${afterSeq}`,
        );
      }
    },
  ),

  contractCase("STORE-RED-3: where events were dropped, a read that would need them fails", async ({ store }) => {
    await runWhole(store, THREAD, "r1");
    const lease = await begin(store, THREAD, "r2", { parentRunId: "r1", kind: "continue" });
    await settleRun(store, THREAD, "r1");
    await store.trim((await store.nowMs()) + 1000);
    const { floor, tail } = await threadOf(store, THREAD);
    checkSame([floor, tail], [3, 4], "floor and tail");
    for (const request of [
      {},
      { afterSeq: 0 },
      { afterSeq: 2 },
      { afterSeq: 1, throughSeq: 2 },
      { runIds: ["r1"] },
      { afterSeq: 2, limit: 1 },
    ]) {
      await checkRejected(
        store.read(THREAD, request),
        "cursor-trimmed",
        `reading ${JSON.stringify(request)} above a floor of 3`,
      );
    }
    checkSame(
      (await readAll(store, THREAD, { afterSeq: 3 })).map(({ seq }) => seq),
      [4],
      "what is left",
    );
    await commit(store, lease, 1, textsOf("on", 1));
    checkSame(
      (await readAll(store, THREAD, { afterSeq: 3 })).map(({ seq }) => seq),
      [4, 5],
      "the log goes on",
    );
  }),
];
