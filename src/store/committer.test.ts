/** Group commit and the way of a run into the log, on a store whose answers can be watched, lost and refused. */
import { describe, expect, test, vi } from "vitest";
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { createPreludeState, prelude, reduceAll, stepPrelude } from "../stream/index.ts";
import { Committer, foldBranch, memoryStore, readAll } from "./index.ts";
import type { CommitterOptions, RunListener, RunWriter, Store, StoredEvent } from "./index.ts";

const KEY = { tenant: "a", threadId: "t" };
const said = (delta: string, messageId = "m"): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta });
const opened: Event = { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" };
const closed: Event = { type: "TEXT_MESSAGE_END", messageId: "m" };
const finished = (runId: string): Event => ({ type: "RUN_FINISHED", threadId: "t", runId });

/** A store whose appends can be tampered with, and how often it was asked. */
function watched(tamper: (inner: Store, ...args: Parameters<Store["append"]>) => ReturnType<Store["append"]>) {
  const inner = memoryStore();
  const append = vi.fn<Store["append"]>((batches) => tamper(inner, batches));
  const store: Store = { ...inner, append };
  return { store, inner, append };
}

const straight = (inner: Store, ...args: Parameters<Store["append"]>) => inner.append(...args);

async function begin(
  store: Store,
  committer: Committer,
  runId: string,
  listener: RunListener = {},
  leaseMs = 60_000,
): Promise<RunWriter> {
  const event: Event = { type: "RUN_STARTED", threadId: "t", runId };
  const claimed = await store.claim({ ...KEY, runId, agent: "x", leaseMs, events: [JSON.stringify(event)] });
  if (claimed.type !== "claimed") throw new Error(claimed.type);
  const state = createPreludeState();
  stepPrelude(state, event);
  return committer.writer(claimed.lease, state, listener);
}

async function eventsIn(store: Store, runIds?: readonly string[]): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of readAll(store, KEY, runIds === undefined ? {} : { runIds })) events.push(event);
  return events;
}

const typesIn = async (store: Store): Promise<readonly string[]> =>
  (await eventsIn(store)).map(({ json }) => JSON.parse(json).type);

const unavailable = () => new HeddleError("store-unavailable", "The database is away.", {});

describe("group commit", () => {
  test("what runs say in one turn goes into one transaction, the first at once", async () => {
    const { store, append } = watched(straight);
    const committer = new Committer(store, { lingerMs: 60_000 });
    const writers = await Promise.all(["r1", "r2", "r3"].map((runId) => begin(store, committer, runId)));
    for (const writer of writers) void writer.write(opened);
    await Promise.all(writers.map((writer) => writer.flush()));
    expect(append).toHaveBeenCalledOnce();
    expect(append.mock.calls[0]?.[0].map(({ lease, number }) => [lease.runId, number])).toEqual([
      ["r1", 1],
      ["r2", 1],
      ["r3", 1],
    ]);
  });

  test("what comes next waits for company, unless it is urgent", async () => {
    const { store, append } = watched(straight);
    const committer = new Committer(store, { lingerMs: 60_000 });
    const [one, two] = [await begin(store, committer, "r1"), await begin(store, committer, "r2")];
    void one.write(opened);
    await one.flush();
    void one.write(said("a"));
    void one.write(said("b"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(append).toHaveBeenCalledTimes(1);
    void two.write(finished("r2"));
    await Promise.all([one.flush(), two.flush()]);
    expect(append).toHaveBeenCalledTimes(2);
    expect(append.mock.calls[1]?.[0].map(({ events }) => events.length)).toEqual([2, 1]);
  });

  test("what is urgent goes at once too where it came while a commit was under way", async () => {
    const gate = Promise.withResolvers<void>();
    const { store, append } = watched(async (inner, batches) => {
      await gate.promise;
      return inner.append(batches);
    });
    const committer = new Committer(store, { lingerMs: 60_000 });
    const writer = await begin(store, committer, "r1");
    void writer.write(opened);
    await new Promise((resolve) => setImmediate(resolve));
    for (const event of [said("a"), closed, finished("r1")]) void writer.write(event);
    gate.resolve();
    await writer.flush();
    expect(append.mock.calls.map(([batches]) => batches[0]?.events.length)).toEqual([1, 3]);
  });

  test("what is urgent waits like the rest once there was too much of it", async () => {
    const { store, append } = watched(straight);
    const committer = new Committer(store, { lingerMs: 60_000 });
    const writer = await begin(store, committer, "r1");
    for (let count = 0; count < 30; count++) {
      // Asking often earns nothing.
      for (let often = 0; often < 100; often++) void writer.write({ type: "CUSTOM", name: "x", value: count });
      void writer.write({ type: "STATE_SNAPSHOT", snapshot: { count } });
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(append.mock.calls.length).toBeLessThanOrEqual(11);
    await committer.close();
    expect(await typesIn(store)).toHaveLength(1 + 30 * 101);
  });

  test("a short linger brings it along by itself", async () => {
    const { store } = watched(straight);
    const committer = new Committer(store, { lingerMs: 1 });
    const writer = await begin(store, committer, "r1");
    for (const event of [opened, said("a"), closed, finished("r1")]) {
      void writer.write(event);
      await writer.flush();
    }
    expect(await typesIn(store)).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "RUN_FINISHED",
    ]);
    expect(await store.run({ ...KEY, runId: "r1" })).toMatchObject({ status: "finished", lastSeq: 5 });
  });

  test("closing commits what is waiting", async () => {
    const { store } = watched(straight);
    const committer = new Committer(store, { lingerMs: 60_000 });
    const writer = await begin(store, committer, "r1");
    void writer.write(opened);
    await writer.flush();
    void writer.write(said("late"));
    await committer.close();
    expect(await typesIn(store)).toHaveLength(3);
  });
});

describe("answers that get lost", () => {
  test("a commit without an answer is repeated as it was, and told once", async () => {
    let lost = 0;
    const { store } = watched(async (inner, batches) => {
      const answers = await inner.append(batches);
      if (lost++ === 0) throw unavailable();
      return answers;
    });
    const trouble = vi.fn<NonNullable<CommitterOptions["onTrouble"]>>();
    const committer = new Committer(store, { onTrouble: trouble });
    const committed = vi.fn<NonNullable<RunListener["committed"]>>();
    const writer = await begin(store, committer, "r1", { committed });
    void writer.write(opened);
    void writer.write(said("a"));
    await writer.flush();
    expect(trouble).toHaveBeenCalledOnce();
    expect(committed).toHaveBeenCalledExactlyOnceWith(2, [JSON.stringify(opened), JSON.stringify(said("a"))]);
    expect(await typesIn(store)).toEqual(["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]);
  });

  test("a commit without an answer is told where it is, though an annotation came behind it", async () => {
    const note = JSON.stringify({ type: "META", metaType: "thumbs_up", payload: {} });
    let lost = 0;
    const { store } = watched(async (inner, batches) => {
      const answers = await inner.append(batches);
      if (lost++ > 0) return answers;
      await inner.annotate({ ...KEY, runId: "r1", events: [note] });
      throw unavailable();
    });
    const committed = vi.fn<NonNullable<RunListener["committed"]>>();
    const writer = await begin(store, new Committer(store), "r1", { committed });
    void writer.write(opened);
    await writer.flush();
    void writer.write(closed);
    await writer.flush();
    expect(committed.mock.calls.map(([firstSeq]) => firstSeq)).toEqual([2, 4]);
    expect((await eventsIn(store)).map(({ json }) => JSON.parse(json).type)).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "META",
      "TEXT_MESSAGE_END",
    ]);
  });

  test("a store that stays away loses the run with its own error", async () => {
    const { store } = watched(() => Promise.reject(unavailable()));
    const lost = vi.fn<NonNullable<RunListener["lost"]>>();
    const writer = await begin(store, new Committer(store, { giveUpMs: 0 }), "r1", { lost });
    void writer.write(opened);
    await expect(writer.flush()).rejects.toMatchObject({ code: "store-unavailable" });
    expect(lost).toHaveBeenCalledOnce();
    expect(() => writer.write(said("more"))).toThrow("The database is away.");
  });

  test("a batch that cannot be stored loses its own run and no other", async () => {
    const { store } = watched(async (inner, batches) => {
      if (batches.some(({ events }) => events.some((json) => json.includes("poison")))) throw new Error("too big");
      return inner.append(batches);
    });
    const committer = new Committer(store);
    const [good, bad] = [await begin(store, committer, "r1"), await begin(store, committer, "r2")];
    void good.write(opened);
    void bad.write({ ...opened, messageId: "poison" });
    await expect(bad.flush()).rejects.toThrow("too big");
    await good.flush();
    expect(await typesIn(store)).toEqual(["RUN_STARTED", "RUN_STARTED", "TEXT_MESSAGE_START"]);
  });
});

describe("leases", () => {
  test("who is fenced learns it with the next commit, and nothing of it is in the log", async () => {
    const { store } = watched(straight);
    const lost = vi.fn<NonNullable<RunListener["lost"]>>();
    const writer = await begin(store, new Committer(store), "r1", { lost });
    await store.takeOver({ run: { ...KEY, runId: "r1" }, leaseMs: 1000 });
    void writer.write(opened);
    await expect(writer.flush()).rejects.toMatchObject({ code: "run-fenced" });
    expect(lost).toHaveBeenCalledOnce();
    expect(writer.over).toBe(true);
    expect(await typesIn(store)).toEqual(["RUN_STARTED"]);
  });

  test("a silent run keeps its lease, and hears of a stop and of the fence by the heartbeat", async () => {
    const { store } = watched(straight);
    const heartbeat = vi.spyOn(store, "heartbeat");
    const told: string[] = [];
    const committer = new Committer(store, { heartbeatMs: 60_000 });
    await begin(store, committer, "r1", { stopAsked: () => told.push("stop"), lost: () => told.push("lost") });
    await committer.beat();
    expect(heartbeat).toHaveBeenCalledOnce();
    expect(told).toEqual([]);
    await store.requestStop({ ...KEY, runId: "r1" });
    await committer.beat();
    await committer.beat();
    expect(told).toEqual(["stop"]);
    await store.takeOver({ run: { ...KEY, runId: "r1" }, leaseMs: 1000 });
    await committer.beat();
    expect(told).toEqual(["stop", "lost"]);
    await committer.beat();
    expect(heartbeat).toHaveBeenCalledTimes(4);
  });

  test("heartbeats come by themselves", async () => {
    const { store } = watched(straight);
    const beaten = Promise.withResolvers<void>();
    const committer = new Committer(
      { ...store, heartbeat: async () => (beaten.resolve(), [{ held: true, stop: false }]) },
      {
        heartbeatMs: 1,
      },
    );
    const writer = await begin(store, committer, "r1");
    await expect(beaten.promise).resolves.toBeUndefined();
    void writer.write(finished("r1"));
    await writer.flush();
    await committer.close();
  });
});

describe("what is written", () => {
  test("an event that must not come now is refused, and the run goes on", async () => {
    const { store } = watched(straight);
    const writer = await begin(store, new Committer(store), "r1");
    expect(() => writer.write(said("x"))).toThrow(expect.objectContaining({ code: "sequence-violation" }));
    void writer.write(opened);
    await writer.flush();
    expect(await typesIn(store)).toEqual(["RUN_STARTED", "TEXT_MESSAGE_START"]);
  });

  test("after the end nothing comes but a late RUN_ERROR that goes along with it", async () => {
    const { store } = watched(straight);
    const writer = await begin(store, new Committer(store), "r1");
    void writer.write(finished("r1"));
    expect(() => writer.write(opened)).toThrow(expect.objectContaining({ code: "run-ended" }));
    void writer.write({ type: "RUN_ERROR", message: "late" });
    await writer.flush();
    expect(() => writer.write({ type: "RUN_ERROR", message: "later" })).toThrow(
      expect.objectContaining({ code: "run-ended" }),
    );
    expect(await store.run({ ...KEY, runId: "r1" })).toMatchObject({
      status: "failed",
      end: { error: { message: "late" } },
    });
  });

  test("who writes faster than the log takes it is made to wait", async () => {
    const gate = Promise.withResolvers<void>();
    const { store } = watched(async (inner, batches) => {
      await gate.promise;
      return inner.append(batches);
    });
    const writer = await begin(store, new Committer(store), "r1");
    void writer.write(opened);
    const long = said("x".repeat(300_000));
    let room: Promise<void> | undefined;
    let written = 0;
    while (room === undefined && written < 20) {
      room = writer.write(long);
      written++;
    }
    expect(written).toBeLessThan(10);
    gate.resolve();
    await expect(room).resolves.toBeUndefined();
    await writer.flush();
    expect(await typesIn(store)).toHaveLength(2 + written);
  });

  test("a long run leaves snapshots on its way, from which the rest folds as the whole", async () => {
    const { store } = watched(straight);
    const committer = new Committer(store);
    const kept: Promise<void>[] = [];
    const writer = await begin(store, committer, "r1", {
      snapshot: (snapshot) => kept.push(store.saveSnapshot(KEY, snapshot)),
    });
    const other = await begin(store, committer, "r2");
    void other.write(opened);
    void writer.write(opened);
    for (let index = 0; index < 4500; index++) {
      void writer.write(said(`${index} `));
      if (index % 700 === 0) void other.write(said("between"));
      if (index % 900 === 0) await writer.flush();
    }
    await writer.flush();
    await Promise.all(kept);
    expect(kept).toHaveLength(2);
    const snapshot = await store.snapshot({ ...KEY, runId: "r1" });
    const mine = await eventsIn(store, ["r1"]);
    // The claim brought the run's first event.
    expect(mine[4000]?.seq).toBe(snapshot?.seq);
    const { state } = await foldBranch(store, { ...KEY, runId: "r1" });
    const whole = mine.map(({ json }): Event => JSON.parse(json));
    expect(reduceAll(prelude(state))).toEqual(reduceAll(whole));
  });
});

test("leases are renewed although one commit follows upon the other", async () => {
  const renewed = Promise.withResolvers<string>();
  let speaking: RunWriter | undefined;
  const { store: slow } = watched(async (inner, batches) => {
    // Longer than events wait for company, and there is more by then.
    void speaking?.write(said("x"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    return inner.append(batches);
  });
  const store: Store = {
    ...slow,
    heartbeat: (leases) => {
      renewed.resolve(leases.map(({ runId }) => runId).join());
      return slow.heartbeat(leases);
    },
  };
  const committer = new Committer(store, { lingerMs: 1, heartbeatMs: 50 });
  const writer = await begin(store, committer, "r1");
  speaking = writer;
  void writer.write(opened);
  expect(await renewed.promise).toBe("r1");
  speaking = undefined;
  void writer.write(closed);
  void writer.write(finished("r1"));
  await writer.flush();
  await committer.close();
});
