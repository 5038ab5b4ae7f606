/** STORE-THR: lists of threads, what is kept with a thread, and what a deleted one leaves: nothing. */
import type { ListRequest, Store, ThreadInfo } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { check, checkRejected, checkSame } from "./contract-violation.ts";
import { HARD_IDS, HARD_METADATA } from "./hard-texts.ts";
import {
  LONG_LEASE_MS,
  TENANT,
  THREAD,
  appendOne,
  begin,
  commit,
  dumpOf,
  readAll,
  runKey,
  runWhole,
  settleRun,
  textsOf,
  threadOf,
} from "./scenario.ts";

const threadKey = (threadId: string) => ({ tenant: TENANT, threadId });

/** All pages of a list. */
export async function listAll(
  store: Store,
  request: Omit<ListRequest, "tenant" | "after"> = {},
): Promise<readonly ThreadInfo[]> {
  const threads: ThreadInfo[] = [];
  let after: string | undefined;
  do {
    const page = await store.listThreads({ tenant: TENANT, ...request, after });
    check(page.threads.length <= (request.limit ?? 50), `a page holds ${page.threads.length} threads`);
    check(page.next === undefined || page.threads.length > 0, "a page is empty and not the last");
    check(threads.length < 10_000, "the pages do not end");
    threads.push(...page.threads);
    after = page.next;
  } while (after !== undefined);
  return threads;
}

/** Their ids. */
export const idsOf = (threads: readonly ThreadInfo[]): readonly string[] => threads.map(({ threadId }) => threadId);

/** Cases of threads. */
export const threadCases = [
  contractCase(
    "STORE-THR-1: pages of any size hold every thread once, also those that changed at the same moment",
    async ({ store }) => {
      await runWhole(store, threadKey("model"), "r1");
      const dump = await dumpOf(store, threadKey("model"));
      await store.deleteThread(threadKey("model"));
      for (const [index, threadId] of HARD_IDS.entries()) {
        const thread = { ...dump.thread, threadId, updatedAtMs: dump.thread.createdAtMs + Math.floor(index / 13) };
        await store.importThread(threadKey(threadId), { ...dump, thread });
      }
      for (const limit of [1, 2, 7, 13, HARD_IDS.length, 1000]) {
        const threads = await listAll(store, { limit });
        checkSame(idsOf(threads).toSorted(), HARD_IDS.toSorted(), `the threads in pages of ${limit}`);
        const times = threads.map(({ updatedAtMs }) => updatedAtMs);
        checkSame(
          times,
          times.toSorted((a, b) => b - a),
          "they come in order of change",
        );
      }
      checkSame(
        (await store.listThreads({ tenant: TENANT, limit: 2 })).threads.length,
        2,
        "how many a page of two holds",
      );
      checkSame(await listAll(store, { query: "no such thread" }), [], "the threads that nothing fits");
    },
  ),

  contractCase(
    "STORE-THR-1: the most recently changed comes first; events alone change nothing",
    async ({ store, pass }) => {
      const leases = [];
      for (const threadId of ["a", "b", "c"]) {
        leases.push(await begin(store, threadKey(threadId), "r1"));
        await pass(2);
      }
      const [a, b] = leases;
      check(a !== undefined && b !== undefined, "two leases");
      checkSame(idsOf(await listAll(store)), ["c", "b", "a"], "the order of their beginning");
      await commit(store, b, 1, textsOf("on", 1));
      checkSame(idsOf(await listAll(store)), ["c", "b", "a"], "the order after an event");
      await commit(store, a, 1, textsOf("end", 1), { status: "finished", interrupts: [], pendingToolCallIds: [] });
      await pass(2);
      checkSame(idsOf(await listAll(store)), ["a", "c", "b"], "the order after a run has ended");
      await store.updateThread(threadKey("b"), { title: "B" });
      await pass(2);
      checkSame(idsOf(await listAll(store)), ["b", "a", "c"], "the order after a change");
      await begin(store, threadKey("c"), "r2");
      checkSame(idsOf(await listAll(store, { limit: 2 })), ["c", "b", "a"], "the order after a run has started");
    },
  ),

  contractCase(
    "STORE-THR-1: threads that do not change are in the pages once, though others do",
    async ({ store, pass }) => {
      for (let index = 0; index < 9; index++) await begin(store, threadKey(`t${index}`), "r1");
      await pass(2);
      const still = ["t0", "t2", "t4", "t6", "t8"];
      const moving = new Set(["t1", "t3", "t5", "t7"]);
      const seen: string[] = [];
      let after: string | undefined;
      for (let turn = 0; turn < 20; turn++) {
        const page = await store.listThreads({ tenant: TENANT, limit: 2, after });
        seen.push(...idsOf(page.threads));
        after = page.next;
        if (after === undefined) break;
        for (const threadId of moving) await store.updateThread(threadKey(threadId), { title: `turn ${turn}` });
        await begin(store, threadKey(`new ${turn}`), "r1");
        if (turn !== 1) continue;
        const last = page.threads.at(-1)?.threadId ?? "";
        await store.deleteThread(threadKey(last));
        moving.delete(last);
      }
      checkSame(after, undefined, "where the last page ends");
      const counts = still.map((threadId) => seen.filter((id) => id === threadId).length);
      check(
        counts.every((count) => count === 1),
        `they are in the pages ${counts.join(", ")} times`,
      );
    },
  ),

  contractCase("STORE-THR-1: a query is found in id or title as plain text, in any case", async ({ store }) => {
    const titles = {
      plain: "Invoice",
      percent: "100% sure",
      under: "snake_case",
      back: "back\\slash",
      umlaut: "\u00c4rger",
      "ID-7": "",
    };
    for (const [threadId, title] of Object.entries(titles)) {
      await begin(store, threadKey(threadId), "r1");
      if (title !== "") await store.updateThread(threadKey(threadId), { title });
    }
    const found = async (query: string) => idsOf(await listAll(store, { query, limit: 2 })).toSorted();
    const expected: Readonly<Record<string, readonly string[]>> = {
      INVO: ["plain"],
      "%": ["percent"],
      _: ["under"],
      e_c: ["under"],
      "\\": ["back"],
      "id-": ["ID-7"],
      "\u00e4RG": ["umlaut"],
      "0% S": ["percent"],
      "'": [],
      "*": [],
      plaininvoice: [],
    };
    for (const [query, ids] of Object.entries(expected)) checkSame(await found(query), ids, `threads with ${query}`);
    checkSame((await found("")).length, 6, "threads with nothing in particular");
  }),

  contractCase(
    "STORE-THR-1: a list is of all threads, or of those that are put away, or of those that are not",
    async ({ store }) => {
      for (const threadId of ["a", "b", "c"]) await begin(store, threadKey(threadId), "r1");
      await store.updateThread(threadKey("b"), { archived: true });
      checkSame(idsOf(await listAll(store, { limit: 1 })).toSorted(), ["a", "b", "c"], "all");
      checkSame(idsOf(await listAll(store, { archived: true })), ["b"], "those that are put away");
      checkSame(
        idsOf(await listAll(store, { archived: false, limit: 1 })).toSorted(),
        ["a", "c"],
        "those that are not",
      );
      checkSame(idsOf(await listAll(store, { archived: false, query: "B" })), [], "those that are not, by a query");
      await store.updateThread(threadKey("b"), { archived: false });
      checkSame(await listAll(store, { archived: true }), [], "those that are put away, after all");
    },
  ),

  contractCase("STORE-THR-1: an `after` that no page ended with is refused", async ({ store }) => {
    await begin(store, THREAD, "r1");
    for (const after of ["", "nonsense", "_", "1e3_thread", "-1_thread"]) {
      await checkRejected(store.listThreads({ tenant: TENANT, after }), "query-invalid", `a list after "${after}"`);
    }
  }),

  contractCase(
    "STORE-THR-3: a change is kept, touches what it names only, and is answered with the thread",
    async ({ store }) => {
      await runWhole(store, THREAD, "r1");
      await begin(store, THREAD, "r2", { parentRunId: "r1", kind: "continue" });
      const before = await threadOf(store, THREAD);
      const changed = await store.updateThread(THREAD, {
        title: "A \u{1f9f5}\n'title'",
        metadata: { a: 1, b: [null] },
      });
      checkSame(
        { ...changed, updatedAtMs: 0 },
        { ...before, title: "A \u{1f9f5}\n'title'", metadata: { a: 1, b: [null] }, updatedAtMs: 0 },
        "the change",
      );
      check(changed.updatedAtMs >= before.updatedAtMs, "a change is later than what was before");
      checkSame(await threadOf(store, THREAD), changed, "what is read");
      const head = await store.updateThread(THREAD, { head: "r1", archived: true });
      checkSame(
        { ...head, updatedAtMs: 0 },
        { ...changed, head: "r1", archived: true, updatedAtMs: 0 },
        "another change",
      );
      checkSame((await store.updateThread(THREAD, { title: null })).title, undefined, "a title that is taken away");
      checkSame(
        (await store.updateThread(THREAD, {})).metadata,
        { a: 1, b: [null] },
        "metadata after a change of nothing",
      );
      checkSame((await store.updateThread(THREAD, { title: "" })).title, "", "an empty title");
      await checkRejected(
        store.updateThread(THREAD, { head: "none", title: "lost" }),
        "run-unknown",
        "a head that is not there",
      );
      checkSame((await threadOf(store, THREAD)).title, "", "the title after a refused change");
      await checkRejected(
        store.updateThread(threadKey("none"), { title: "x" }),
        "thread-unknown",
        "a change of no thread",
      );
      checkSame(await store.thread(threadKey("none")), undefined, "the thread that was not there");
    },
  ),

  contractCase("STORE-THR-3: metadata of any depth comes back as it is, replaced as a whole", async ({ store }) => {
    await begin(store, THREAD, "r1");
    for (const metadata of [...HARD_METADATA, {}]) {
      checkSame((await store.updateThread(THREAD, { metadata })).metadata, metadata, "the answer");
      checkSame((await threadOf(store, THREAD)).metadata, metadata, "what is read");
      checkSame((await listAll(store))[0]?.metadata, metadata, "what is listed");
    }
  }),

  contractCase(
    "STORE-THR-2: nothing is left of a deleted thread, and its leases are worthless",
    async ({ store, pass }) => {
      await runWhole(store, THREAD, "r1");
      await settleRun(store, THREAD, "r1");
      await runWhole(store, THREAD, "r2", { parentRunId: "r1", kind: "continue" });
      const lease = await begin(store, THREAD, "r3", { parentRunId: "r2", kind: "continue", leaseMs: 1 });
      checkSame(await store.deleteThread(THREAD), true, "the first deletion");
      checkSame(await store.deleteThread(THREAD), false, "the second");
      await pass(2);
      checkSame(await store.thread(THREAD), undefined, "the thread");
      checkSame(await store.runs(THREAD), [], "its runs");
      for (const runId of ["r1", "r2", "r3"]) {
        const key = runKey(THREAD, runId);
        const left = [
          await store.run(key),
          await store.snapshot(key),
          await store.compacted(key),
          ...(await store.branch(key)),
        ];
        checkSame(left, [undefined, undefined, undefined], `what is left of ${runId}`);
        checkSame(await store.requestStop(key), false, "a stop");
        checkSame(await store.takeOver({ run: key, leaseMs: LONG_LEASE_MS }), [], "a named take-over");
      }
      await checkRejected(store.read(THREAD), "thread-unknown", "reading it");
      checkSame(await listAll(store), [], "the list");
      checkSame(await store.unsettled(), [], "what is to be settled");
      checkSame(await store.takeOver({ leaseMs: LONG_LEASE_MS }), [], "what has expired");
      checkSame(await appendOne(store, lease, 1, textsOf("late", 1)), { type: "fenced" }, "a batch of its run");
      checkSame(await store.heartbeat([lease]), [{ held: false, stop: false }], "a heartbeat of its run");
    },
  ),

  contractCase(
    "STORE-THR-2: a new log of the same name is another log, and the old one's leases do not fit it",
    async ({ store }) => {
      const old = await begin(store, THREAD, "r1", { events: textsOf("old", 5) });
      await store.updateThread(THREAD, { title: "Old", metadata: { old: true }, archived: true });
      const { logId } = await threadOf(store, THREAD);
      await store.deleteThread(THREAD);
      const lease = await begin(store, THREAD, "r1", { events: textsOf("new", 2) });
      const thread = await threadOf(store, THREAD);
      check(thread.logId !== logId, "the new log has the old id");
      checkSame(
        [thread.tail, thread.title, thread.metadata, thread.archived],
        [2, undefined, {}, false],
        "the new thread",
      );
      checkSame(await appendOne(store, old, 1, textsOf("zombie", 1)), { type: "fenced" }, "a batch of the old run");
      checkSame(await appendOne(store, old, 0, textsOf("zombie", 1)), { type: "fenced" }, "a repeat of the old run");
      checkSame((await store.heartbeat([old]))[0]?.held, false, "a heartbeat of the old run");
      await commit(store, lease, 1, textsOf("on", 1));
      checkSame(
        (await readAll(store, THREAD)).map(({ json }) => json),
        [...textsOf("new", 2), ...textsOf("on", 1)],
        "the new log",
      );
    },
  ),
];
