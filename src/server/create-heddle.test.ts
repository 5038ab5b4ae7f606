import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { defineAgent } from "../agent/index.ts";
import type { Agent } from "../agent/index.ts";
import { foldBranch, memoryStore } from "../store/index.ts";
import type { Lease, RunKey, Store } from "../store/index.ts";
import { view } from "../stream/index.ts";
import { DEFAULT_TENANT, SSE, createHeddle } from "./index.ts";
import type { AttachOptions, Encoding, Heddle, HeddleOptions, LoggedEvent } from "./index.ts";

const body = (runId = "r1", threadId = "t1"): object => ({ threadId, runId, messages: [], forwardedProps: { go: 1 } });

const agentOf = (run: Agent["run"], name = "test"): Agent => defineAgent({ name, run });

/** Writes `a`, waits for the gate, writes `b`. */
function gatedAgent(): { readonly agent: Agent; open(): void } {
  const gate = Promise.withResolvers<void>();
  const agent = agentOf(async ({ emit, signal }) => {
    const reply = emit.text();
    await reply.write("a");
    signal.addEventListener("abort", () => gate.reject(signal.reason));
    await gate.promise;
    await reply.write("b");
  });
  return { agent, open: () => gate.resolve() };
}

const keyOf = (runId: string): RunKey => ({ tenant: DEFAULT_TENANT, threadId: "t1", runId });

async function collect(heddle: Heddle, options?: AttachOptions): Promise<LoggedEvent[]> {
  const { events } = await heddle.attach("t1", options);
  const seen: LoggedEvent[] = [];
  for await (const logged of events) seen.push(logged);
  return seen;
}

const textOf = (seen: readonly LoggedEvent[]): string =>
  seen.map(({ event }) => (event.type === "TEXT_MESSAGE_CONTENT" ? event.delta : "")).join("");

describe("starting", () => {
  test("runs the agent to its end although nobody watches", async () => {
    const done = Promise.withResolvers<void>();
    const heddle = createHeddle({ agents: [agentOf(() => done.resolve())] });
    const started = await heddle.start("test", body());
    const ids = { threadId: "t1", runId: "r1" };
    expect(started).toEqual({
      ...ids,
      run: ids,
      joined: false,
      opening: undefined,
      held: [],
      peer: { version: "0.0.57" },
      warnings: [],
    });
    await done.promise;
    const seen = await collect(heddle, { runId: "r1" });
    expect(seen.map(({ event }) => event.type)).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
  });

  test("with the ids of a run joins that run, while it runs and afterwards", async () => {
    const { agent, open } = gatedAgent();
    const run = vi.fn<Agent["run"]>(agent.run);
    const heddle = createHeddle({ agents: [agentOf(run)] });
    const [first, second] = await Promise.all([heddle.start("test", body()), heddle.start("test", body())]);
    expect([first.joined, second.joined]).toEqual([false, true]);
    open();
    await collect(heddle, { runId: "r1" });
    expect((await heddle.start("test", body())).joined).toBe(true);
    expect(run).toHaveBeenCalledOnce();
  });

  test("takes inputs in older forms, and says what it translated", async () => {
    const inputs: unknown[] = [];
    const heddle = createHeddle({ agents: [agentOf(({ input }) => void inputs.push(input))] });
    const resume = { interruptId: "i", payload: { approved: true } };
    const older = { thread_id: "t1", run_id: "r1", messages: [], state: null, forwardedProps: null, resume };
    const { warnings } = await heddle.start("test", older);
    await collect(heddle, { runId: "r1" });
    expect(inputs).toEqual([
      { threadId: "t1", runId: "r1", messages: [], resume: [{ ...resume, status: "resolved" }] },
    ]);
    expect(warnings.map(({ code }) => code)).toEqual(Array.from({ length: 6 }, () => "retired-form"));
  });

  test("joins a run that is just starting only when it can be watched", async () => {
    const inner = memoryStore();
    const commit = Promise.withResolvers<void>();
    const claim: Store["claim"] = async (request) => {
      await commit.promise;
      return inner.claim(request);
    };
    const heddle = createHeddle({ store: { ...inner, claim }, agents: [agentOf(() => {})] });
    const starting = heddle.start("test", body());
    const watching = heddle.start("test", body()).then(() => collect(heddle, { runId: "r1" }));
    const early = heddle.attach("t1", { runId: "r1" });
    await expect(early).rejects.toMatchObject({ code: "thread-unknown" });
    commit.resolve();
    expect((await watching).map(({ event }) => event.type)).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
    expect((await starting).joined).toBe(false);
  });

  test("reports what it took out of the input", async () => {
    const heddle = createHeddle({ agents: [agentOf(() => {})] });
    const { warnings } = await heddle.start("test", { ...body(), colour: "red" });
    expect(warnings).toMatchObject([{ code: "unknown-property", path: "/colour" }]);
  });

  test("refuses what it cannot start", async () => {
    const { agent } = gatedAgent();
    const heddle = createHeddle({ agents: [agent, agentOf(() => {}, "other")] });
    await heddle.start("test", body());
    const start = (name: string, input: unknown): Promise<unknown> => heddle.start(name, input);
    await expect(start("nobody", body())).rejects.toMatchObject({ code: "agent-unknown" });
    await expect(start("test", {})).rejects.toMatchObject({ code: "input-invalid", details: { path: "/threadId" } });
    await expect(start("other", body())).rejects.toMatchObject({ code: "run-conflict" });
    await expect(start("test", body("r2"))).rejects.toMatchObject({ code: "thread-busy", details: { runId: "r1" } });
    await heddle.close();
    await expect(start("test", body("r3"))).rejects.toMatchObject({ code: "server-closing" });
  });

  test.each(["", ".", "..", "\ud800", "x".repeat(257)])("refuses the id %j", async (id) => {
    const heddle = createHeddle({ agents: [agentOf(() => {})] });
    for (const input of [body(id), body("r1", id)]) {
      await expect(heddle.start("test", input)).rejects.toMatchObject({ code: "input-invalid" });
    }
  });

  test("refuses two agents of one name", () => {
    const agents = [agentOf(() => {}), agentOf(() => {})];
    expect(() => createHeddle({ agents })).toThrow(expect.objectContaining({ code: "config-invalid" }));
  });
});

describe("attaching", () => {
  test("HTTP-RUN-2: shows an event only after the log has it", async () => {
    const inner = memoryStore();
    const [reached, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const append: Store["append"] = async (batches) => {
      reached.resolve();
      await commit.promise;
      return inner.append(batches);
    };
    const agents = [agentOf(({ emit }) => void emit.text().write("x"))];
    const heddle = createHeddle({ store: { ...inner, append }, agents });
    await heddle.start("test", body());
    await reached.promise;
    // The agent has said it and the log is about to have it: nobody may see it yet.
    expect((await collect(heddle, { follow: false })).map(({ event }) => event.type)).toEqual(["RUN_STARTED"]);
    const watching = collect(heddle, { runId: "r1" });
    commit.resolve();
    expect(textOf(await watching)).toBe("x");
  });

  test("from a cursor gives exactly the rest, for a run and for the thread", async () => {
    const heddle = createHeddle({ agents: [agentOf(({ emit }) => void emit.text().write("x"))] });
    for (const runId of ["r1", "r2", "r3"]) {
      await heddle.start("test", body(runId));
      await collect(heddle, { runId });
    }
    const all = await collect(heddle, { follow: false });
    expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: 15 }, (_, index) => index + 1));
    for (const [index, { cursor }] of all.entries()) {
      const rest = all.slice(index + 1);
      expect(await collect(heddle, { after: cursor, follow: false })).toEqual(rest);
      expect(await collect(heddle, { after: cursor, runId: "r2" })).toEqual(rest.filter(({ runId }) => runId === "r2"));
    }
  });

  test("says where a run has nothing left", async () => {
    const heddle = createHeddle({ agents: [agentOf(() => {})] });
    await heddle.start("test", body());
    const seen = await collect(heddle, { runId: "r1" });
    const finished = async (after?: string): Promise<boolean> =>
      (await heddle.attach("t1", { runId: "r1", after })).finished;
    expect(await finished()).toBe(false);
    expect(await finished(seen.at(-2)?.cursor)).toBe(false);
    expect(await finished(seen.at(-1)?.cursor)).toBe(true);
    expect((await heddle.attach("t1", { after: seen.at(-1)?.cursor })).finished).toBe(false);
  });

  test("at the newest event of a running run waits for the rest", async () => {
    const { agent, open } = gatedAgent();
    const heddle = createHeddle({ agents: [agent] });
    await heddle.start("test", body());
    const { events } = await heddle.attach("t1", { runId: "r1" });
    let newest: string | undefined;
    for await (const { event, cursor } of events) {
      newest = cursor;
      if (event.type === "TEXT_MESSAGE_CONTENT") break;
    }
    const rest = await heddle.attach("t1", { runId: "r1", after: newest });
    expect(rest.finished).toBe(false);
    open();
    const types: string[] = [];
    for await (const { event } of rest.events) types.push(event.type);
    expect(types).toEqual(["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]);
  });

  test("follows a thread over several runs until the viewer goes", async () => {
    const heddle = createHeddle({ agents: [agentOf(() => {})] });
    await heddle.start("test", body("r1"));
    const gone = new AbortController();
    const { events } = await heddle.attach("t1", { signal: gone.signal });
    const seen: string[] = [];
    for await (const { event, runId } of events) {
      seen.push(`${runId} ${event.type}`);
      if (seen.length === 2) await heddle.start("test", body("r2"));
      if (seen.length === 4) gone.abort();
    }
    expect(seen).toEqual(["r1 RUN_STARTED", "r1 RUN_FINISHED", "r2 RUN_STARTED", "r2 RUN_FINISHED"]);
  });

  test("refuses an unknown thread, an unknown run and a bad cursor", async () => {
    const heddle = createHeddle({ agents: [agentOf(() => {})] });
    await heddle.start("test", body());
    await expect(heddle.attach("nowhere")).rejects.toMatchObject({ code: "thread-unknown" });
    await expect(heddle.attach("t1", { runId: "r9" })).rejects.toMatchObject({ code: "run-unknown" });
    await expect(heddle.attach("t1", { after: "7" })).rejects.toMatchObject({ code: "cursor-invalid" });
  });
});

describe("failing and closing", () => {
  test("a failing agent is reported with its error, and its viewers see RUN_ERROR", async () => {
    const onError = vi.fn<NonNullable<HeddleOptions["onError"]>>();
    const boom = new Error("boom");
    const heddle = createHeddle({ agents: [agentOf(() => Promise.reject(boom))], onError });
    await heddle.start("test", body());
    expect((await collect(heddle, { runId: "r1" })).at(-1)?.event).toMatchObject({
      type: "RUN_ERROR",
      message: "boom",
    });
    expect(onError).toHaveBeenCalledExactlyOnceWith(boom, expect.objectContaining({ input: body() }));
  });

  test("a log that fails once ends the run, and says so to its viewers", async () => {
    const inner = memoryStore();
    let appends = 0;
    const append: Store["append"] = async (batches) => {
      if (++appends === 1) throw new Error("disk full");
      return inner.append(batches);
    };
    const onError = vi.fn<NonNullable<HeddleOptions["onError"]>>();
    const agents = [agentOf(({ emit }) => void emit.text().write("x"))];
    const heddle = createHeddle({ store: { ...inner, append }, agents, onError });
    await heddle.start("test", body());
    const seen = await collect(heddle, { runId: "r1" });
    expect(seen.map(({ event }) => event.type)).toEqual(["RUN_STARTED", "RUN_ERROR"]);
    expect(seen.at(-1)?.event).toMatchObject({ code: "worker-lost" });
    expect(onError).toHaveBeenCalledExactlyOnceWith(new Error("disk full"), expect.anything());
    expect((await heddle.start("test", body("r2"))).joined).toBe(false);
  });

  test("a log that fails at once refuses the run, which can then be tried again", async () => {
    const inner = memoryStore();
    let broken = true;
    const claim: Store["claim"] = async (request) => {
      if (broken) throw new Error("disk full");
      return inner.claim(request);
    };
    const heddle = createHeddle({ store: { ...inner, claim }, agents: [agentOf(() => {})] });
    await expect(heddle.start("test", body())).rejects.toThrow("disk full");
    broken = false;
    expect((await heddle.start("test", body())).joined).toBe(false);
  });

  test("without a reporter a failure is a warning of the process", async () => {
    const warning = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const heddle = createHeddle({ agents: [agentOf(() => Promise.reject(new Error("boom")))] });
    await heddle.start("test", body());
    await collect(heddle, { runId: "r1" });
    expect(warning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("boom"), "HeddleWarning");
    warning.mockRestore();
  });

  test("closing fails what does not end in time, and ends every viewer", async () => {
    const { agent } = gatedAgent();
    const heddle = createHeddle({ agents: [agent], shutdownGraceMs: 10, onError: () => undefined });
    await heddle.start("test", body());
    const viewers = [collect(heddle, { runId: "r1" }), collect(heddle)];
    await heddle.close();
    for (const seen of await Promise.all(viewers)) {
      expect(textOf(seen)).toBe("a");
      expect(seen.at(-1)?.event).toMatchObject({ type: "RUN_ERROR", code: "server-closing" });
    }
  });
});

describe("closing waits", () => {
  test("for a run that is just starting", async () => {
    const inner = memoryStore();
    const [reached, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const claim: Store["claim"] = async (request) => {
      reached.resolve();
      await commit.promise;
      return inner.claim(request);
    };
    const heddle = createHeddle({ store: { ...inner, claim }, agents: [agentOf(() => {})] });
    const starting = heddle.start("test", body());
    await reached.promise;
    const closed = heddle.close();
    commit.resolve();
    await closed;
    expect((await starting).joined).toBe(false);
    expect(await inner.run(keyOf("r1"))).toMatchObject({ status: "finished" });
  });

  test("for what is still to be made of runs that have ended", async () => {
    const inner = memoryStore();
    const settle: Store["settle"] = async (key, settlement) => {
      for (let turn = 0; turn < 20; turn++) await nextTurn();
      return inner.settle(key, settlement);
    };
    const heddle = createHeddle({ store: { ...inner, settle }, agents: [agentOf(() => {})] });
    await heddle.start("test", body());
    await collect(heddle, { runId: "r1" });
    await heddle.close();
    expect(await inner.run(keyOf("r1"))).toMatchObject({ settled: true });
  });
});

describe("one encoding for all", () => {
  test("what many viewers follow is encoded once, and what they get is the same bytes", async () => {
    const { agent, open } = gatedAgent();
    const heddle = createHeddle({ agents: [agent] });
    await heddle.start("test", body());
    const encoded: number[] = [];
    const counting: Encoding = {
      ...SSE,
      encode(event, cursor) {
        encoded.push(event.seq);
        return SSE.encode(event, cursor);
      },
    };
    // Some follow the run, some the thread: as long as only this run speaks, it is the same.
    const early = await collect(heddle, { follow: false });
    const after = early.at(-1)?.cursor;
    const gone = new AbortController();
    const viewers = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const options = index % 2 === 0 ? { after, runId: "r1" } : { after, signal: gone.signal };
        const { frames } = await heddle.attach("t1", options);
        return frames(counting)[Symbol.asyncIterator]();
      }),
    );
    const first = viewers.map((viewer) => viewer.next());
    open();
    const chunks = await Promise.all(first);
    expect(new Set(chunks.map(({ value }) => value)).size).toBe(1);
    await collect(heddle, { runId: "r1" });
    gone.abort();
    for (const viewer of viewers) while ((await viewer.next()).done !== true) continue;
    expect(encoded.toSorted((a, b) => a - b)).toEqual([...new Set(encoded)].toSorted((a, b) => a - b));
    expect(encoded).toContain(early.length + 1);
  });
});

describe("the log behind the runs", () => {
  test("a run continues the one before, and its branch holds what all of them said", async () => {
    const store = memoryStore();
    const says = agentOf(({ emit, input }) => void emit.text().write(input.runId));
    const heddle = createHeddle({ store, agents: [says] });
    for (const runId of ["r1", "r2", "r3"]) {
      await heddle.start("test", body(runId));
      const [started] = await collect(heddle, { runId });
      const before = { r1: {}, r2: { parent: "r1", kind: "continue" }, r3: { parent: "r2", kind: "continue" } };
      expect(started?.event).toMatchObject({ metadata: { heddle: { lineage: Reflect.get(before, runId) } } });
    }
    expect((await store.branch(keyOf("r3"))).map(({ runId }) => runId)).toEqual(["r1", "r2", "r3"]);
    const { messages } = view((await foldBranch(store, keyOf("r3"))).state.reduce);
    expect(messages.map(({ content }) => content)).toEqual(["r1", "r2", "r3"]);
    await heddle.close();
    // Settled, and the store is still open: it is not the server's own.
    expect(await store.unsettled()).toEqual([]);
    expect(await store.compacted(keyOf("r2"))).not.toHaveLength(0);
    expect((await store.snapshot(keyOf("r2")))?.runId).toBe("r2");
  });

  test("a long run leaves a snapshot before it ends", async () => {
    const inner = memoryStore();
    const kept = Promise.withResolvers<number>();
    const gate = Promise.withResolvers<void>();
    const saveSnapshot: Store["saveSnapshot"] = async (key, snapshot) => {
      await inner.saveSnapshot(key, snapshot);
      kept.resolve(snapshot.seq);
    };
    const agents = [
      agentOf(async ({ emit }) => {
        const reply = emit.text();
        for (let index = 0; index < 2500; index++) await reply.write("x");
        await gate.promise;
      }),
    ];
    const heddle = createHeddle({ store: { ...inner, saveSnapshot }, agents });
    await heddle.start("test", body());
    const seq = await kept.promise;
    expect(await inner.run(keyOf("r1"))).toMatchObject({ status: "running" });
    expect(await inner.snapshot(keyOf("r1"))).toMatchObject({ runId: "r1", seq });
    gate.resolve();
    await heddle.close();
  });

  test("opening ends what a lost process left, and settles it", async () => {
    const store = memoryStore();
    const started = JSON.stringify({ type: "RUN_STARTED", threadId: "t1", runId: "r1" });
    await store.claim({ ...keyOf("r1"), agent: "test", leaseMs: 0, events: [started] });
    const heddle = createHeddle({ store, agents: [agentOf(() => {})] });
    await heddle.open();
    expect((await collect(heddle, { runId: "r1" })).at(-1)?.event).toMatchObject({ code: "worker-lost" });
    expect((await heddle.start("test", body("r2"))).joined).toBe(false);
    await heddle.close();
    expect(await store.unsettled()).toEqual([]);
  });

  test("a store of one's own is closed with the server, and one that was given is not", async () => {
    const own = createHeddle({ agents: [agentOf(() => {})] });
    await own.start("test", body());
    await own.close();
    await expect(own.attach("t1")).rejects.toMatchObject({ code: "store-closed" });
    const store = memoryStore();
    await createHeddle({ agents: [], store }).close();
    await expect(store.open()).resolves.toBeUndefined();
  });

  test("a store that cannot be opened is tried again", async () => {
    const inner = memoryStore();
    let broken = true;
    const open: Store["open"] = () => (broken ? Promise.reject(new Error("not yet")) : inner.open());
    const heddle = createHeddle({ store: { ...inner, open }, agents: [agentOf(() => {})] });
    await expect(heddle.start("test", body())).rejects.toThrow("not yet");
    broken = false;
    expect((await heddle.start("test", body())).joined).toBe(false);
  });
});

/** The same log for another server, to which this part of the hints is lost. */
const deaf = (store: Store, hears: (call: number) => boolean): Store => {
  let calls = 0;
  return { ...store, watch: (key, watcher) => store.watch(key, () => hears(calls++) && watcher()) };
};

describe("two servers on one log", () => {
  test.each<[string, (call: number) => boolean]>([
    ["no", () => false],
    ["every other", (call) => call % 2 === 0],
    ["every", () => true],
  ])("viewers on either see identical streams where the other server hears %s hint", async (_, hears) => {
    const store = memoryStore();
    const talks = agentOf(async ({ emit }) => {
      const reply = emit.text();
      for (let index = 0; index < 1500; index++) await reply.write(`${index} `);
    });
    const one = createHeddle({ store, agents: [talks] });
    const two = createHeddle({ store: deaf(store, hears), agents: [talks], pollMs: 8 });
    await one.start("test", body());
    expect((await two.start("test", body())).joined).toBe(true);
    const [here, there, late] = await Promise.all([
      collect(one, { runId: "r1" }),
      collect(two, { runId: "r1" }),
      collect(two, { runId: "r1" }),
    ]);
    expect(here).toHaveLength(1504);
    expect(there).toEqual(here);
    expect(late).toEqual(here);
    await Promise.all([one.close(), two.close()]);
  });

  test("a run whose process stalls is ended by the other, and its agent is stopped when it comes back", async () => {
    const inner = memoryStore();
    const running = Promise.withResolvers<AbortSignal>();
    let stalled: Promise<void> | undefined;
    const back = Promise.withResolvers<void>();
    const stalling: Store = {
      ...inner,
      append: async (batches) => {
        await stalled;
        return inner.append(batches);
      },
      heartbeat: async (leases: readonly Lease[]) => {
        await stalled;
        return inner.heartbeat(leases);
      },
    };
    const waits = agentOf(async ({ emit, signal }) => {
      emit
        .text()
        .write("a")
        .catch(() => undefined);
      running.resolve(signal);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    const onError = vi.fn<NonNullable<HeddleOptions["onError"]>>();
    const times = { leaseMs: 500, heartbeatMs: 20, reapMs: 20, pollMs: 8 };
    const one = createHeddle({ store: stalling, agents: [waits], onError, ...times, reapMs: 60_000 });
    const two = createHeddle({ store: inner, agents: [waits], ...times });
    await one.start("test", body());
    const signal = await running.promise;
    stalled = back.promise;
    const seen = await collect(two, { runId: "r1" });
    expect(seen.at(-1)?.event).toMatchObject({ type: "RUN_ERROR", code: "worker-lost" });
    expect(await collect(one, { runId: "r1" })).toEqual(seen);
    expect(signal.aborted).toBe(false);
    back.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    expect(signal.reason).toMatchObject({ code: "run-fenced" });
    await one.close();
    expect(onError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: "run-fenced" }), expect.anything());
    expect(await collect(two, { runId: "r1" })).toEqual(seen);
    await two.close();
  });

  test("a stop that is asked for anywhere reaches the agent", async () => {
    const store = memoryStore();
    const { agent } = gatedAgent();
    const heddle = createHeddle({ store, agents: [agent], heartbeatMs: 5 });
    await heddle.start("test", body());
    const watching = collect(heddle, { runId: "r1" });
    await store.requestStop(keyOf("r1"));
    expect((await watching).at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
  });

  test("of two that start a run at once, one does, and the other says who", async () => {
    const store = memoryStore();
    const { agent } = gatedAgent();
    const servers = [0, 1].map(() => createHeddle({ store, agents: [agent] }));
    const answers = await Promise.allSettled(servers.map((server, index) => server.start("test", body(`r${index}`))));
    const refused = answers.filter(({ status }) => status === "rejected");
    expect(refused).toMatchObject([{ reason: { code: "thread-busy" } }]);
    await Promise.all(servers.map((server) => server.close()));
  });
});
