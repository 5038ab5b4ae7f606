/** STORE-WAT: nobody who waits for more misses it. */
import type { Store, StoredEvent, ThreadKey } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { checkSame } from "./contract-violation.ts";
import { THREAD, begin, commit, textsOf } from "./scenario.ts";

/** A viewer as the server has them: reads when it is called, and only then. Resolves when it has seen that many events. */
function view(store: Store, key: ThreadKey, count: number): Promise<readonly StoredEvent[]> {
  const seen: StoredEvent[] = [];
  const done = Promise.withResolvers<readonly StoredEvent[]>();
  const look = async (): Promise<void> => {
    if ((await store.thread(key)) === undefined) return;
    seen.push(...(await store.read(key, { afterSeq: seen.length })).events);
    if (seen.length >= count) done.resolve(seen);
  };
  let looking = Promise.resolve();
  store.watch(key, () => {
    looking = looking.then(look).catch(done.reject);
  });
  // A viewer that nobody waits for any more, because its case has failed already, fails with it.
  done.promise.catch(() => undefined);
  return done.promise;
}

const seqsOf = (events: readonly StoredEvent[]): readonly number[] => events.map(({ seq }) => seq);

/** Cases of `watch`. */
export const watchCases = [
  contractCase(
    "STORE-WAT-1: a watcher that reads when it is called misses nothing, from the claim on",
    async ({ store, soon }) => {
      const viewed = view(store, THREAD, 8);
      const lease = await begin(store, THREAD, "r1", { events: textsOf("start", 2) });
      for (let number = 1; number <= 3; number++) await commit(store, lease, number, textsOf(`${number}`, 2));
      checkSame(seqsOf(await soon(viewed, "the call of the watcher")), [1, 2, 3, 4, 5, 6, 7, 8], "what it saw");
    },
  ),

  contractCase("STORE-WAT-1: after each commit a watcher that was caught up is called", async ({ store, soon }) => {
    const lease = await begin(store, THREAD, "r1");
    for (let number = 1; number <= 5; number++) {
      const called = Promise.withResolvers<void>();
      const unwatch = store.watch(THREAD, called.resolve);
      await commit(store, lease, number, textsOf("on", 1));
      await soon(called.promise, `the call after batch ${number}`);
      unwatch();
    }
  }),

  contractCase(
    "STORE-WAT-1: every watcher of a thread is called, one function that watches twice too",
    async ({ store, soon }) => {
      const lease = await begin(store, THREAD, "r1");
      const called = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      for (const each of called) store.watch(THREAD, each.resolve);
      const twice = Promise.withResolvers<void>();
      const unwatch = store.watch(THREAD, twice.resolve);
      store.watch(THREAD, twice.resolve);
      unwatch();
      unwatch();
      await commit(store, lease, 1, textsOf("on", 1));
      for (const each of [...called, twice]) await soon(each.promise, "the call of each watcher");
    },
  ),

  contractCase("STORE-WAT-1: a watcher that was taken away is not called", async ({ store, soon }) => {
    const lease = await begin(store, THREAD, "r1");
    let calls = 0;
    const unwatch = store.watch(THREAD, () => calls++);
    unwatch();
    const before = calls;
    const called = Promise.withResolvers<void>();
    store.watch(THREAD, called.resolve);
    await commit(store, lease, 1, textsOf("on", 1));
    await soon(called.promise, "the call of the other watcher");
    checkSame(calls, before, "how often it was called");
  }),

  contractCase(
    "STORE-WAT-1: a watcher on another handle sees soon what is committed here",
    async ({ store, second, soon }) => {
      const lease = await begin(store, THREAD, "r1");
      const other = await second();
      await other.open();
      const viewed = view(other, THREAD, 5);
      for (let number = 1; number <= 4; number++) await commit(store, lease, number, textsOf(`${number}`, 1));
      checkSame(seqsOf(await soon(viewed, "the call of the watcher")), [1, 2, 3, 4, 5], "what it saw");
    },
    "reader",
  ),
];
