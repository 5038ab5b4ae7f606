/** STORE-QUE: runs that wait for their turn are kept in order and whole, and each gets into the log once or not at all. */
import type { EnqueueRequest, EnqueueResult, RunKey, Store, ThreadKey } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { checkRejected, checkSame } from "./contract-violation.ts";
import { HARD_EVENTS } from "./hard-texts.ts";
import {
  FINISHED,
  TENANT,
  THREAD,
  begin,
  claimOf,
  commit,
  dumpOf,
  readAll,
  runKey,
  runWhole,
  seenByWatcher,
  textsOf,
  viewOf,
} from "./scenario.ts";

/** What `enqueue` is asked for a run; its body names it. */
export const enqueueOf = (key: ThreadKey, runId: string, rest: Partial<EnqueueRequest> = {}): EnqueueRequest => ({
  ...runKey(key, runId),
  agent: "agent",
  body: JSON.stringify({ input: runId }),
  limit: 16,
  ...rest,
});

const enqueue = (store: Store, runId: string, rest: Partial<EnqueueRequest> = {}): Promise<EnqueueResult> =>
  store.enqueue(enqueueOf(THREAD, runId, rest));

const queued = (position: number): EnqueueResult => ({ type: "queued", position });

/** Ids of the runs that wait in a thread, the next one first. */
export const idsIn = async (store: Store, key: ThreadKey = THREAD): Promise<readonly string[]> =>
  (await store.queue(key)).map(({ runId }) => runId);

const follow = (parentRunId: string) => ({ parentRunId, kind: "continue" }) as const;

const namesOf = (keys: readonly RunKey[]): readonly string[] =>
  keys.map(({ tenant, threadId, runId }) => `${tenant} ${threadId} ${runId}`);

/** Does something, and waits for the call of a watcher. */
export async function called(
  { watching, soon }: { watching: Store; soon: <T>(promise: Promise<T>, what: string) => Promise<T> },
  work: () => Promise<unknown>,
  what: string,
): Promise<void> {
  const call = Promise.withResolvers<void>();
  const unwatch = watching.watch(THREAD, call.resolve);
  await work();
  await soon(call.promise, what);
  unwatch();
}

/** Cases of `enqueue`, `queue`, `unqueue` and `waiting`. */
export const queueCases = [
  contractCase(
    "STORE-QUE-1: runs wait in the order in which they came, with all that they came with",
    async ({ store }) => {
      await begin(store, THREAD, "r1");
      const before = await store.nowMs();
      const body = `[${HARD_EVENTS.join(",")}]`;
      checkSame(
        await enqueue(store, "b", { body, principal: "ada", parentRunId: "r1", agent: "writer" }),
        queued(1),
        "b",
      );
      checkSame(await enqueue(store, "a", { body: "{}" }), queued(2), "a");
      checkSame(await enqueue(store, "C'%_", { parentRunId: "b" }), queued(3), "c");
      const after = await store.nowMs();
      const waiting = await store.queue(THREAD);
      checkSame(
        waiting.map(({ queuedAtMs: _queuedAtMs, ...rest }) => rest),
        [
          { runId: "b", agent: "writer", body, principal: "ada", parentRunId: "r1" },
          { runId: "a", agent: "agent", body: "{}", principal: undefined, parentRunId: undefined },
          { runId: "C'%_", agent: "agent", body: `{"input":"C'%_"}`, principal: undefined, parentRunId: "b" },
        ],
        "what waits",
      );
      checkSame(
        waiting.filter(({ queuedAtMs }) => queuedAtMs < before || queuedAtMs > after),
        [],
        "what waits since another time",
      );
      checkSame(await store.unqueue(runKey(THREAD, "b")), true, "whether the first was taken out");
      checkSame(await enqueue(store, "b"), queued(3), "the first, come again");
      checkSame(await idsIn(store), ["a", "C'%_", "b"], "what waits then");
    },
  ),

  contractCase("STORE-QUE-1: what waits is told by the queue and by nothing else", async ({ store }) => {
    await runWhole(store, THREAD, "r1");
    const { queue: _empty, ...before } = await viewOf(store, THREAD);
    const dump = await dumpOf(store, THREAD);
    await enqueue(store, "r2", { parentRunId: "r1" });
    const { queue: _queue, ...after } = await viewOf(store, THREAD);
    checkSame(after, before, "everything but the queue");
    checkSame(await store.run(runKey(THREAD, "r2")), undefined, "the run");
    checkSame(await store.branch(runKey(THREAD, "r2")), [], "its branch");
    checkSame(await dumpOf(store, THREAD), dump, "the dump");
    await store.importThread({ tenant: TENANT, threadId: "copy" }, await dumpOf(store, THREAD));
    checkSame(await idsIn(store, { tenant: TENANT, threadId: "copy" }), [], "what waits in a copy");
    await checkRejected(store.updateThread(THREAD, { head: "r2" }), "run-unknown", "a head that waits");
  }),

  contractCase(
    "STORE-QUE-1: what waits is there when the store is opened again",
    async ({ store, reopen }) => {
      await begin(store, THREAD, "r1");
      for (const id of ["c", "b", "a"])
        await enqueue(store, id, { body: JSON.stringify({ long: id.repeat(100_000) }) });
      await store.unqueue(runKey(THREAD, "b"));
      const before = await store.queue(THREAD);
      const again = await reopen();
      checkSame(await again.queue(THREAD), before, "what waits");
      checkSame(await again.enqueue(enqueueOf(THREAD, "d")), queued(3), "the next one");
      checkSame(await idsIn(again), ["c", "a", "d"], "the order");
    },
    "durable",
  ),

  contractCase("STORE-QUE-2: a run that waits already, or is in the log, does not wait anew", async ({ store }) => {
    await runWhole(store, THREAD, "r1");
    await enqueue(store, "a");
    await enqueue(store, "b");
    const before = await store.queue(THREAD);
    checkSame(await enqueue(store, "a", { body: `"another"`, agent: "other" }), queued(1), "the first, again");
    checkSame(await enqueue(store, "b", { limit: 1 }), queued(2), "the second, again, though there is no room");
    checkSame(await store.queue(THREAD), before, "what waits");
    const run = await store.run(runKey(THREAD, "r1"));
    checkSame(await enqueue(store, "r1", { limit: 0 }), { type: "exists", run }, "a run of the log");
    checkSame((await enqueue(store, "R1")).type, "queued", "an id in other case");
    await checkRejected(store.enqueue(enqueueOf({ ...THREAD, threadId: "none" }, "a")), "thread-unknown", "no thread");
    checkSame(await store.thread({ ...THREAD, threadId: "none" }), undefined, "a thread that was not there");
  }),

  contractCase(
    "STORE-QUE-2: a claim takes a run out of the queue, and one that is refused leaves it there",
    async ({ store }) => {
      const lease = await begin(store, THREAD, "r1");
      for (const id of ["a", "b", "c"]) await enqueue(store, id);
      const busy = await store.claim(claimOf(THREAD, "b", { ...follow("r1"), ifQueued: true }));
      checkSame(busy.type, "busy", "a claim on a run that goes on");
      checkSame((await store.claim(claimOf(THREAD, "b", { ifHead: "x" }))).type, "moved", "a claim on another head");
      await checkRejected(store.claim(claimOf(THREAD, "b", follow("x"))), "run-unknown", "a claim on no run");
      checkSame(await idsIn(store), ["a", "b", "c"], "what waits after claims that were refused");
      await commit(store, lease, 1, textsOf("r1", 1), FINISHED);
      await begin(store, THREAD, "b", { ...follow("r1"), ifQueued: true });
      checkSame(await idsIn(store), ["a", "c"], "what waits after a claim");
      checkSame((await store.claim(claimOf(THREAD, "b", { ifQueued: true }))).type, "exists", "the same claim again");
      checkSame((await enqueue(store, "b")).type, "exists", "queueing it again");
      await begin(store, THREAD, "a");
      checkSame(await idsIn(store), ["c"], "what waits after a claim of a run that nobody says to wait");
      checkSame((await readAll(store, THREAD)).length, 4, "how many events there are");
    },
  ),

  contractCase("STORE-QUE-2: what was taken out of the queue is not claimed from it", async ({ store }) => {
    const lease = await begin(store, THREAD, "r1");
    await enqueue(store, "a");
    checkSame(await store.unqueue(runKey(THREAD, "a")), true, "whether it was taken out");
    checkSame(await store.unqueue(runKey(THREAD, "a")), false, "whether it was the second time");
    checkSame(await store.unqueue(runKey(THREAD, "r1")), false, "whether a run of the log was");
    checkSame(await store.unqueue(runKey({ ...THREAD, threadId: "none" }, "a")), false, "whether one of no thread was");
    await commit(store, lease, 1, textsOf("r1", 1), FINISHED);
    for (const [key, id] of [
      [THREAD, "a"],
      [{ ...THREAD, threadId: "none" }, "a"],
    ] as const) {
      await checkRejected(store.claim(claimOf(key, id, { ifQueued: true })), "run-unknown", "a claim from the queue");
    }
    checkSame(await store.thread({ ...THREAD, threadId: "none" }), undefined, "a thread that was not there");
    await begin(store, THREAD, "a", follow("r1"));
  }),

  contractCase("STORE-QUE-3: no more than the limit wait, and one too many changes nothing", async ({ store }) => {
    await begin(store, THREAD, "r1");
    checkSame(await enqueue(store, "a", { limit: 0 }), { type: "full", limit: 0 }, "where nothing may wait");
    checkSame(await enqueue(store, "a", { limit: 2 }), queued(1), "the first");
    checkSame(await enqueue(store, "b", { limit: 2 }), queued(2), "the second");
    checkSame(await enqueue(store, "c", { limit: 2 }), { type: "full", limit: 2 }, "the third");
    checkSame(await idsIn(store), ["a", "b"], "what waits");
    await begin(store, { ...THREAD, threadId: "other" }, "r1");
    checkSame(
      (await store.enqueue(enqueueOf({ ...THREAD, threadId: "other" }, "a", { limit: 1 }))).type,
      "queued",
      "elsewhere",
    );
    await store.unqueue(runKey(THREAD, "a"));
    checkSame(await enqueue(store, "c", { limit: 2 }), queued(2), "the third, when there is room");
    checkSame(await enqueue(store, "d", { limit: 3 }), queued(3), "one more, where more may wait");
  }),

  contractCase(
    "STORE-QUE-4: the next run of each thread that is idle is told, the longest waiting first",
    async ({ store }) => {
      const keys = ["x", "y", "z"].map((threadId) => ({ ...THREAD, threadId }));
      const theirs = { ...THREAD, tenant: "rival", threadId: "x" };
      for (const key of [...keys, theirs]) await runWhole(store, key, "r1");
      for (const key of [...keys.toReversed(), theirs])
        for (const id of ["b", "a"]) await store.enqueue(enqueueOf(key, id));
      const all = ["acme z b", "acme y b", "acme x b", "rival x b"];
      checkSame(namesOf(await store.waiting()), all, "what waits");
      checkSame(namesOf(await store.waiting(2)), all.slice(0, 2), "what waits, of which two are asked for");
      const [first] = await store.waiting(1);
      const [next] = await store.queue({ ...THREAD, threadId: "z" });
      checkSame(first, { ...next, tenant: TENANT, threadId: "z" }, "what is told of it");

      const y = { ...THREAD, threadId: "y" };
      const lease = await begin(store, y, "b", { ...follow("r1"), ifQueued: true });
      checkSame(namesOf(await store.waiting()), ["acme z b", "acme x b", "rival x b"], "what waits while one runs");
      await begin(store, { ...THREAD, threadId: "z" }, "spawned", { parentRunId: "r1", kind: "spawn" });
      checkSame(namesOf(await store.waiting()), ["acme x b", "rival x b"], "what waits while any run runs");
      await commit(store, lease, 1, textsOf("on", 1), FINISHED);
      checkSame(namesOf(await store.waiting()), ["acme y a", "acme x b", "rival x b"], "what waits after its end");
      await store.unqueue(runKey(y, "a"));
      await store.deleteThread({ ...THREAD, threadId: "x" });
      checkSame(namesOf(await store.waiting()), ["rival x b"], "what waits in the end");
    },
  ),

  contractCase(
    "STORE-QUE-5: watchers are called when a run is queued, and when one is taken out",
    async ({ store, soon }) => {
      await begin(store, THREAD, "r1");
      const context = { watching: store, soon };
      await called(context, () => enqueue(store, "a"), "the call after a run was queued");
      await called(context, () => store.unqueue(runKey(THREAD, "a")), "the call after it was taken out");
    },
  ),

  contractCase(
    "STORE-QUE-5: watchers on another handle are called soon",
    async ({ store, second, soon }) => {
      await begin(store, THREAD, "r1");
      const other = await second();
      await other.open();
      const both = seenByWatcher(other, THREAD, async () => (await idsIn(other)).join() === "a,b");
      for (const id of ["a", "b"]) await enqueue(store, id);
      await soon(both, "the call after runs were queued");
      const one = seenByWatcher(other, THREAD, async () => (await idsIn(other)).join() === "b");
      await store.unqueue(runKey(THREAD, "a"));
      await soon(one, "the call after one was taken out");
    },
    "reader",
  ),

  contractCase("STORE-THR-2: a thread that is deleted takes its queue along", async ({ store }) => {
    await begin(store, THREAD, "r1");
    await enqueue(store, "a");
    await store.deleteThread(THREAD);
    checkSame([await idsIn(store), await store.waiting()], [[], []], "what waits");
    await runWhole(store, THREAD, "r1");
    checkSame([await idsIn(store), await store.waiting()], [[], []], "what waits in the new thread");
    await checkRejected(store.claim(claimOf(THREAD, "a", { ifQueued: true })), "run-unknown", "a claim of what waited");
  }),

  contractCase("STORE-TEN-1: tenants queue for themselves", async ({ store }) => {
    const theirs = { ...THREAD, tenant: "rival" };
    for (const key of [THREAD, theirs]) await begin(store, key, "r1");
    await enqueue(store, "a");
    await store.enqueue(enqueueOf(theirs, "a", { body: `"theirs"` }));
    checkSame(await store.unqueue(runKey({ ...THREAD, tenant: "stranger" }, "a")), false, "taking out a foreign one");
    checkSame(await store.unqueue(runKey(THREAD, "a")), true, "taking out ours");
    checkSame(
      (await store.queue(theirs)).map(({ body }) => body),
      [`"theirs"`],
      "what waits of theirs",
    );
    await checkRejected(
      store.enqueue(enqueueOf({ ...THREAD, tenant: "stranger" }, "a")),
      "thread-unknown",
      "a foreign thread",
    );
  }),
];
