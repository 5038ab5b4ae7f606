import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HeddleError } from "../protocol/index.ts";
import { formatCursor, memoryStore } from "../store/index.ts";
import type { Lease, Store, ThreadKey } from "../store/index.ts";
import { attach } from "./attach.ts";
import type { LoggedEvent } from "./attach.ts";
import { Hub, RING_BYTES, RING_EVENTS } from "./hub.ts";
import { Hubs } from "./hubs.ts";
import { SSE } from "./encoding.ts";
import { WHOLE_THREAD, onlyRun } from "./view.ts";

const KEY: ThreadKey = { tenant: "acme", threadId: "t1" };
const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

const eventOf = (text: string): string => JSON.stringify({ type: "CUSTOM", name: "n", value: text });

const fail = (error: unknown): never => {
  throw error;
};

/** A run in a log that a test writes to by hand. */
async function begin(store: Store, runId = "r1", key = KEY): Promise<Lease> {
  const claim = await store.claim({ ...key, runId, agent: "test", leaseMs: 60_000, events: [eventOf(`${runId} 0`)] });
  if (claim.type !== "claimed") throw new Error(claim.type);
  return claim.lease;
}

/** Appends to the log, and says where it went. */
async function append(store: Store, lease: Lease, number: number, texts: readonly string[]): Promise<number> {
  const [first = "", ...rest] = texts.map(eventOf);
  const [appended] = await store.append([{ lease, number, events: [first, ...rest] }]);
  if (appended?.type !== "committed") throw new Error(appended?.type);
  return appended.firstSeq;
}

async function threadOf(store: Store) {
  const thread = await store.thread(KEY);
  if (thread === undefined) throw new Error("no thread");
  return thread;
}

const seqsOf = (events: readonly { readonly seq: number }[] = []): readonly number[] => events.map(({ seq }) => seq);

const texts = (count: number, size = 1): readonly string[] => Array.from({ length: count }, () => "x".repeat(size));

/** A hub at seq 1, with an empty ring. */
const ringed = async (): Promise<Hub> => {
  const store = memoryStore();
  await begin(store);
  return new Hub(store, await threadOf(store), fail);
};

describe("the ring", () => {
  test("holds what was pushed, and gives exactly what comes after a seq", async () => {
    const hub = await ringed();
    hub.push(2, "r1", texts(3));
    hub.push(5, "r1", texts(2));
    expect(hub.tail).toBe(6);
    expect(hub.take(0)).toBeUndefined();
    expect(seqsOf(hub.take(1)?.events)).toEqual([2, 3, 4]);
    expect(seqsOf(hub.take(2)?.events)).toEqual([3, 4]);
    expect(seqsOf(hub.take(4)?.events)).toEqual([5, 6]);
    expect(hub.take(6)).toBeUndefined();
    hub.end();
  });

  test("takes what comes twice or late only once, and begins anew behind a gap", async () => {
    const hub = await ringed();
    hub.push(2, "r1", texts(3));
    hub.push(2, "r1", texts(2));
    hub.push(3, "r1", texts(3));
    expect(seqsOf(hub.take(4)?.events)).toEqual([5]);
    hub.push(9, "r1", texts(2));
    hub.push(6, "r1", texts(2));
    expect(hub.take(5)).toBeUndefined();
    expect(hub.take(7)).toBeUndefined();
    expect(seqsOf(hub.take(8)?.events)).toEqual([9, 10]);
    hub.end();
  });

  test("lets go of the oldest beyond its bounds, by number and by bytes", async () => {
    const many = await ringed();
    for (let seq = 2; seq < 2 + RING_EVENTS * 2; seq += 2) many.push(seq, "r1", texts(2));
    expect(many.take(RING_EVENTS)).toBeUndefined();
    expect(seqsOf(many.take(RING_EVENTS + 1)?.events)).toEqual([RING_EVENTS + 2, RING_EVENTS + 3]);
    const large = await ringed();
    const size = RING_BYTES / 8;
    for (let seq = 2; seq < 20; seq++) large.push(seq, "r1", texts(1, size));
    expect(large.take(11)).toBeUndefined();
    expect(seqsOf(large.take(12)?.events)).toEqual([13]);
    for (const hub of [many, large]) hub.end();
  });

  test("gives what one commit brought in pieces of 64 KiB, and an event that is larger alone", async () => {
    const hub = await ringed();
    hub.push(2, "r1", [...texts(7, 20_000), ...texts(1, 100_000), "x"]);
    const pieces: (readonly number[])[] = [];
    for (let after = 1; after < hub.tail;) {
      const chunk = hub.take(after);
      pieces.push(seqsOf(chunk?.events));
      after = chunk?.throughSeq ?? Infinity;
    }
    expect(pieces).toEqual([[2, 3, 4], [5, 6, 7], [8], [9], [10]]);
    hub.end();
  });

  test("is let go when nothing was added for a while", async () => {
    const hub = await ringed();
    hub.push(2, "r1", texts(3));
    hub.poll();
    expect(hub.take(1)).toBeDefined();
    hub.poll();
    expect(hub.take(1)).toBeUndefined();
    expect(hub.take(3)).toBeUndefined();
    hub.push(5, "r1", texts(1));
    expect(seqsOf(hub.take(4)?.events)).toEqual([5]);
    hub.end();
  });
});

describe("reading the store", () => {
  test("those who ask for the same at the same time share one read, and get at most about 64 KiB", async () => {
    const inner = memoryStore();
    const lease = await begin(inner);
    await append(inner, lease, 1, texts(400, 1000));
    let reads = 0;
    const read: Store["read"] = (...request) => {
      reads += 1;
      return inner.read(...request);
    };
    const hub = new Hub({ ...inner, read }, await threadOf(inner), fail);
    const pages = await Promise.all(Array.from({ length: 20 }, () => hub.page(0, WHOLE_THREAD)));
    expect(reads).toBe(1);
    expect(new Set(pages).size).toBe(1);
    expect(pages[0]?.events.length).toBeGreaterThan(50);
    expect(pages[0]?.encode(SSE).length).toBeLessThanOrEqual(64 * 1024);
    const other = await hub.page(0, onlyRun("r9"));
    expect([other.events, other.throughSeq]).toEqual([[], 401]);
    hub.end();
  });

  test("while a run of this process writes, its commits are not read back", async () => {
    const inner = memoryStore();
    const lease = await begin(inner);
    let reads = 0;
    const read: Store["read"] = (...request) => {
      reads += 1;
      return inner.read(...request);
    };
    const store = { ...inner, read };
    const hubs = new Hubs(store, { pollMs: 60_000, onTrouble: fail });
    const thread = await threadOf(inner);
    const hub = hubs.write(thread);
    const { events } = await attach(store, hubs, KEY, { after: `${thread.logId}_0000000000000001` });
    const viewer = events[Symbol.asyncIterator]();
    for (let number = 1; number <= 100; number++) {
      const next = viewer.next();
      const seq = await append(inner, lease, number, ["x"]);
      hub.push(seq, "r1", [eventOf("x")]);
      expect((await next).value).toMatchObject({ seq: number + 1 });
    }
    expect(reads).toBeLessThan(50);
    await viewer.return?.();
    hubs.endWrite(hub);
    expect(hubs.size).toBe(0);
  });

  test("a store that fails for a while delays its viewers, and does not cut them", async () => {
    const inner = memoryStore();
    const lease = await begin(inner);
    const trouble = Promise.withResolvers<unknown>();
    let broken = true;
    const read: Store["read"] = (...request) =>
      broken
        ? Promise.reject(new HeddleError("store-unavailable", "The database is being restarted.", {}))
        : inner.read(...request);
    const store = { ...inner, read };
    const hubs = new Hubs(store, { pollMs: 8, onTrouble: trouble.resolve });
    const { logId } = await threadOf(inner);
    const { events } = await attach(store, hubs, KEY, { after: `${logId}_0000000000000001` });
    const viewer = events[Symbol.asyncIterator]();
    const next = viewer.next();
    await append(inner, lease, 1, ["x"]);
    expect(await trouble.promise).toMatchObject({ code: "store-unavailable" });
    broken = false;
    expect((await next).value).toMatchObject({ seq: 2 });
    await viewer.return?.();
  });

  test("who leaves while waiting waits no more", async () => {
    const store = memoryStore();
    await begin(store);
    const hubs = new Hubs(store, { pollMs: 60_000, onTrouble: fail });
    const { frames } = await attach(store, hubs, KEY, {});
    const viewer = frames(SSE);
    await viewer.next();
    const waiting = viewer.next();
    await viewer.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(hubs.size).toBe(0);
  });

  test("a read that was overtaken by a commit is no other log", async () => {
    const inner = memoryStore();
    const lease = await begin(inner);
    const [reading, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const read: Store["read"] = async (...request) => {
      const page = await inner.read(...request);
      reading.resolve();
      await answer.promise;
      return page;
    };
    const hubs = new Hubs({ ...inner, read }, { pollMs: 60_000, onTrouble: fail });
    const hub = hubs.write(await threadOf(inner));
    const { events } = await attach(inner, hubs, KEY, {});
    const viewer = events[Symbol.asyncIterator]();
    const first = viewer.next();
    await reading.promise;
    hub.push(await append(inner, lease, 1, texts(2)), "r1", texts(2).map(eventOf));
    answer.resolve();
    expect((await first).value).toMatchObject({ seq: 1 });
    for (const seq of [2, 3]) expect((await viewer.next()).value).toMatchObject({ seq });
    await viewer.return?.();
    hubs.endWrite(hub);
  });

  test("what is committed before a viewer is heard, or comes in one piece, is found without another hint", async () => {
    const store = memoryStore();
    const lease = await begin(store);
    const hubs = new Hubs(store, { pollMs: 60_000, onTrouble: fail });
    const { logId } = await threadOf(store);
    const { events } = await attach(store, hubs, KEY, { after: formatCursor(logId, 1) });
    const viewer = events[Symbol.asyncIterator]();
    await append(store, lease, 1, ["x"]);
    expect((await viewer.next()).value).toMatchObject({ seq: 2 });
    const next = viewer.next();
    await append(store, lease, 2, texts(RING_EVENTS * 3));
    expect((await next).value).toMatchObject({ seq: 3 });
    for (let seq = 4; seq < 3 + RING_EVENTS * 3; seq++) expect((await viewer.next()).value).toMatchObject({ seq });
    await viewer.return?.();
  });

  test("a run's last words are part of it, although its terminal event came before", async () => {
    const store = memoryStore();
    const lease = await begin(store);
    const hubs = new Hubs(store, { pollMs: 60_000, onTrouble: fail });
    const live = (await attach(store, hubs, KEY, { runId: "r1" })).events[Symbol.asyncIterator]();
    await live.next();
    const finished = JSON.stringify({ type: "RUN_FINISHED", threadId: "t1", runId: "r1", result: "x".repeat(70_000) });
    const failed = JSON.stringify({ type: "RUN_ERROR", message: "after all" });
    const end = { status: "failed", interrupts: [], pendingToolCallIds: [] } as const;
    await store.append([{ lease, number: 1, events: [finished, failed], end }]);
    expect((await live.next()).value).toMatchObject({ event: { type: "RUN_FINISHED" } });
    expect((await live.next()).value).toMatchObject({ event: { type: "RUN_ERROR" } });
    expect((await live.next()).done).toBe(true);
  });

  test("where the beginning was dropped, a whole run is still there, and the whole thread is not", async () => {
    const store = memoryStore();
    const end = { status: "finished", interrupts: [], pendingToolCallIds: [] } as const;
    for (const runId of ["r1", "r2"]) {
      const lease = await begin(store, runId);
      await store.append([{ lease, number: 1, events: [eventOf("x")], end }]);
    }
    await store.settle({ ...KEY, runId: "r1" }, { snapshot: { runId: "r1", seq: 2, events: [] }, compacted: [] });
    await store.trim(Infinity);
    const hubs = new Hubs(store, { pollMs: 60_000, onTrouble: fail });
    for (const options of [{ all: true }, { onGap: "error" }, { runId: "r1", onGap: "error" }] as const) {
      await expect(attach(store, hubs, KEY, options)).rejects.toMatchObject({ code: "cursor-trimmed" });
    }
    const { events } = await attach(store, hubs, KEY, { runId: "r2" });
    const seen: number[] = [];
    for await (const { seq } of events) seen.push(seq);
    expect(seen).toEqual([3, 4]);
  });

  test("a thread that is deleted, and one that takes its name, end the viewers of the old one", async () => {
    const store = memoryStore();
    await append(store, await begin(store), 1, texts(500));
    const hubs = new Hubs(store, { pollMs: 8, onTrouble: fail });
    const start = async () => {
      const { events } = await attach(store, hubs, KEY, {});
      return events[Symbol.asyncIterator]();
    };
    const [one, two, behind] = [await start(), await start(), await start()];
    for (let seq = 1; seq <= 501; seq++) {
      for (const viewer of [one, two]) expect((await viewer.next()).value).toMatchObject({ seq });
    }
    await behind.next();
    const cut = one.next();
    await store.deleteThread(KEY);
    await expect(cut).rejects.toMatchObject({ code: "thread-unknown" });
    await begin(store, "r1");
    const rest = async (): Promise<void> => {
      while ((await behind.next()).done !== true) continue;
    };
    await expect(rest()).rejects.toMatchObject({ code: "thread-unknown" });
    await store.deleteThread(KEY);
    const lease = await begin(store, "r2");
    await append(store, lease, 1, texts(5));
    const fresh = await start();
    expect((await fresh.next()).value).toMatchObject({ seq: 1, runId: "r2" });
    await expect(two.next()).rejects.toMatchObject({ code: "thread-unknown" });
    await fresh.return?.();
    expect(hubs.size).toBe(0);
    // Those that were cut count no more.
    await hubs.left();
  });
});

describe("any number of viewers", () => {
  /** What happens in one step. A commit of another process is one that the hub is not told of. */
  const step = fc.oneof(
    fc.record({
      type: fc.constant("commit"),
      run: fc.constantFrom(0, 1),
      count: fc.integer({ min: 1, max: 400 }),
      told: fc.constantFrom("now", "twice", "late", "never"),
    }),
    fc.record({
      type: fc.constant("attach"),
      hub: fc.constantFrom(0, 1),
      place: fc.double({ min: 0, max: 1, noNaN: true }),
      run: fc.constantFrom(undefined, "r0", "r1"),
    }),
    fc.record({ type: fc.constant("take"), viewer: fc.nat(20), count: fc.integer({ min: 1, max: 300 }) }),
  );

  /** Somebody who follows, and what they have seen. */
  class Follower {
    readonly seen: number[] = [];
    readonly #store: Store;
    readonly #after: number;
    readonly #runId: string | undefined;
    readonly #events: AsyncIterator<LoggedEvent>;

    constructor(store: Store, after: number, runId: string | undefined, events: AsyncIterable<LoggedEvent>) {
      this.#store = store;
      this.#after = after;
      this.#runId = runId;
      this.#events = events[Symbol.asyncIterator]();
    }

    /** What there is for them. */
    async wanted(): Promise<readonly number[]> {
      const { events } = await this.#store.read(KEY, { afterSeq: this.#after, limit: Infinity });
      return seqsOf(events.filter(({ runId }) => this.#runId === undefined || runId === this.#runId));
    }

    /** Takes up to so many of those that are there. */
    async take(count: number): Promise<void> {
      const there = (await this.wanted()).length;
      while (this.seen.length < there && count-- > 0) {
        const { value } = await this.#events.next();
        if (value !== undefined) this.seen.push(value.seq);
      }
    }

    async leave(): Promise<void> {
      await this.#events.return?.();
    }
  }

  test("each gets exactly its part of the log, whatever is lost, doubled or late", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 40, size: "max" }),
        fc.infiniteStream(fc.boolean()),
        async (steps, heard) => {
          const inner = memoryStore();
          const leases = [await begin(inner, "r0"), await begin(inner, "r1")] as const;
          const numbers: [number, number] = [1, 1];
          const watch: Store["watch"] = (key, watcher) => inner.watch(key, () => heard.next().value && watcher());
          const hubsOf = (): Hubs => new Hubs({ ...inner, watch }, { pollMs: 8, onTrouble: fail });
          const hubs = [hubsOf(), hubsOf()] as const;
          const thread = await threadOf(inner);
          const hub = hubs[0].write(thread);
          const followers: Follower[] = [];
          const late: (() => void)[] = [];
          for (const each of steps) {
            if (each.type === "commit") {
              const lease = leases[each.run];
              const seq = await append(inner, lease, numbers[each.run]++, texts(each.count));
              const tell = (): void => hub.push(seq, lease.runId, texts(each.count).map(eventOf));
              if (each.told === "late") late.push(tell);
              if (each.told === "now" || each.told === "twice") tell();
              if (each.told === "twice") tell();
            } else if (each.type === "attach") {
              const { tail, logId } = await threadOf(inner);
              const after = Math.floor(each.place * tail);
              const options = { after: formatCursor(logId, after), runId: each.run, all: each.run === undefined };
              const { events } = await attach(inner, hubs[each.hub], KEY, options);
              followers.push(new Follower(inner, after, each.run, events));
            } else {
              await followers[each.viewer % followers.length]?.take(each.count);
              late.shift()?.();
            }
          }
          for (const follower of followers) {
            await follower.take(Infinity);
            expect(follower.seen).toEqual(await follower.wanted());
            await follower.leave();
          }
          hubs[0].endWrite(hub);
          expect(hubs.map(({ size }) => size)).toEqual([0, 0]);
        },
      ),
      { numRuns: 60 * SCALE },
    );
  });
});
