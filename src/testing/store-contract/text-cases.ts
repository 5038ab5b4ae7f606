/** STORE-RED and STORE-THR once more, with the texts that break stores. */
import { contractCase } from "./contract-case.ts";
import { check, checkSame } from "./contract-violation.ts";
import { HARD_EVENTS, HARD_IDS, HARD_METADATA, noise } from "./hard-texts.ts";
import {
  FINISHED,
  TENANT,
  THREAD,
  begin,
  commit,
  readAll,
  runKey,
  runOf,
  runWhole,
  settleRun,
  textOf,
  threadOf,
} from "./scenario.ts";

const textsIn = (events: readonly { readonly json: string }[]): readonly string[] => events.map(({ json }) => json);

/** Cases of hard texts. */
export const textCases = [
  contractCase(
    "STORE-RED-2: an event is the same text for ever, down to its escapes, spaces and numbers",
    async ({ store }) => {
      const lease = await begin(store, THREAD, "r1", { events: HARD_EVENTS });
      for (const [index, json] of HARD_EVENTS.entries()) await commit(store, lease, index + 1, [json]);
      const expected = [...HARD_EVENTS, ...HARD_EVENTS];
      checkSame(textsIn(await readAll(store, THREAD)), expected, "the texts");
      await commit(store, lease, HARD_EVENTS.length + 1, HARD_EVENTS, FINISHED);
      await settleRun(store, THREAD, "r1");
      checkSame(textsIn(await readAll(store, THREAD)), [...expected, ...HARD_EVENTS], "the texts of a settled run");
      checkSame(
        textsIn(await readAll(store, THREAD, { limit: 1 })),
        [...expected, ...HARD_EVENTS],
        "the texts, one by one",
      );
    },
  ),

  contractCase("STORE-RED-2: an event of 1 MiB comes back whole, whether or not it compresses", async ({ store }) => {
    const mebibyte = 1024 * 1024;
    const large = ["x".repeat(mebibyte), noise(mebibyte), "\u{1f9f5}".repeat(mebibyte / 16)].map(textOf);
    const lease = await begin(store, THREAD, "r1");
    for (const [index, json] of large.entries()) await commit(store, lease, index + 1, [textOf("small"), json]);
    const read = textsIn(await readAll(store, THREAD, { afterSeq: 1 }));
    check(
      large.every((json, index) => read[index * 2 + 1] === json),
      "a large event is not what was written",
    );
    checkSame(read.length, 6, "how many there are");
  }),

  contractCase("STORE-RED-2: compacted forms and snapshots come back as they are", async ({ store }) => {
    await runWhole(store, THREAD, "r1");
    const run = await runOf(store, THREAD, "r1");
    const compacted = HARD_EVENTS.map((json) => ({ firstSeq: 1, lastSeq: 3, json }));
    const events = HARD_METADATA.map(
      (value, index) => ({ type: "CUSTOM", name: HARD_IDS[index] ?? "", value }) as const,
    );
    const snapshot = { runId: "r1", seq: 3, events };
    await store.settle(run, { snapshot, compacted });
    checkSame(await store.compacted(run), compacted, "the compacted form");
    checkSame(await store.snapshot(run), snapshot, "the snapshot");
  }),

  contractCase(
    "STORE-THR-1: ids of threads that look alike are different threads, in the list and alone",
    async ({ store }) => {
      for (const [index, threadId] of HARD_IDS.entries()) {
        await begin(store, { tenant: TENANT, threadId }, "r1", {
          principal: threadId,
          events: [textOf(`thread ${index}`)],
        });
      }
      for (const [index, threadId] of HARD_IDS.entries()) {
        const key = { tenant: TENANT, threadId };
        checkSame((await threadOf(store, key)).threadId, threadId, "the id");
        checkSame(
          textsIn(await readAll(store, key)),
          [textOf(`thread ${index}`)],
          `the events of ${JSON.stringify(threadId)}`,
        );
        checkSame((await runOf(store, key, "r1")).principal, threadId, "the principal");
      }
      const { threads } = await store.listThreads({ tenant: TENANT, limit: 1000 });
      checkSame(threads.map(({ threadId }) => threadId).toSorted(), HARD_IDS.toSorted(), "the list");
    },
  ),

  contractCase("STORE-CLM-2: ids of runs that look alike are different runs", async ({ store }) => {
    let parentRunId: string | undefined;
    for (const runId of HARD_IDS) {
      await runWhole(store, THREAD, runId, {
        agent: runId,
        ...(parentRunId === undefined ? {} : { parentRunId, kind: "continue" }),
      });
      parentRunId = runId;
    }
    const branch = await store.branch(runKey(THREAD, parentRunId ?? ""));
    checkSame(
      branch.map(({ runId, agent }) => [runId, agent]),
      HARD_IDS.map((id) => [id, id]),
      "the branch",
    );
    for (const runId of HARD_IDS) {
      const { firstSeq } = await runOf(store, THREAD, runId);
      const read = await readAll(store, THREAD, { runIds: [runId] });
      checkSame(
        read.map(({ seq, runId }) => [seq, runId]),
        [firstSeq, firstSeq + 1, firstSeq + 2].map((seq) => [seq, runId]),
        "its events",
      );
    }
  }),

  contractCase("STORE-TEN-1: tenants that look alike are different tenants", async ({ store }) => {
    for (const [index, tenant] of HARD_IDS.entries())
      await begin(store, { tenant, threadId: "t" }, "r", { events: [textOf(`${index}`)] });
    for (const [index, tenant] of HARD_IDS.entries()) {
      checkSame(
        textsIn(await readAll(store, { tenant, threadId: "t" })),
        [textOf(`${index}`)],
        `the events of ${JSON.stringify(tenant)}`,
      );
      checkSame((await store.listThreads({ tenant })).threads.length, 1, `the threads of ${JSON.stringify(tenant)}`);
    }
  }),
];
