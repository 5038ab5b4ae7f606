import { describe, expect, test, vi } from "vitest";
import { defineAgent } from "../agent/index.ts";
import type { Agent, RunContext } from "../agent/index.ts";
import { memoryStore } from "../store/index.ts";
import type { LoggedEvent, Store } from "../store/index.ts";
import { createHeddle } from "./index.ts";
import type { AttachOptions, Heddle, HeddleOptions } from "./index.ts";

const body = (runId = "r1", threadId = "t1"): object => ({ threadId, runId, messages: [] });

const agentOf = (run: (context: RunContext) => Promise<void> | void, name = "test"): Agent =>
  defineAgent({ name, run });

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
    expect(started).toEqual({ threadId: "t1", runId: "r1", joined: false, warnings: [] });
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
    const append: Store["append"] = async (...batch) => {
      await commit.promise;
      return inner.append(...batch);
    };
    const heddle = createHeddle({ store: { ...inner, append }, agents: [agentOf(() => {})] });
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
    const append: Store["append"] = async (threadId, runId, events) => {
      if (events[0].type === "TEXT_MESSAGE_CONTENT") {
        reached.resolve();
        await commit.promise;
      }
      return inner.append(threadId, runId, events);
    };
    const agents = [agentOf(({ emit }) => void emit.text().write("x"))];
    const heddle = createHeddle({ store: { ...inner, append }, agents });
    await heddle.start("test", body());
    await reached.promise;
    // The agent has said it and the log is about to have it: nobody may see it yet.
    expect((await collect(heddle, { follow: false })).at(-1)?.event.type).toBe("TEXT_MESSAGE_START");
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

  test("a log that fails cuts the viewers instead of letting them wait", async () => {
    const inner = memoryStore();
    let appends = 0;
    const append: Store["append"] = async (...batch) => {
      if (++appends === 3) throw new Error("disk full");
      return inner.append(...batch);
    };
    const onError = vi.fn<NonNullable<HeddleOptions["onError"]>>();
    const agents = [agentOf(({ emit }) => void emit.text().write("x"))];
    const heddle = createHeddle({ store: { ...inner, append }, agents, onError });
    await heddle.start("test", body());
    const seen = await collect(heddle, { runId: "r1" });
    expect(seen.map(({ event }) => event.type)).toEqual(["RUN_STARTED", "TEXT_MESSAGE_START"]);
    expect(onError).toHaveBeenCalledOnce();
  });

  test("a log that fails at once refuses the run, which can then be tried again", async () => {
    const inner = memoryStore();
    let broken = true;
    const append: Store["append"] = async (...batch) => {
      if (broken) throw new Error("disk full");
      return inner.append(...batch);
    };
    const heddle = createHeddle({ store: { ...inner, append }, agents: [agentOf(() => {})], onError: () => {} });
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

  test("closing cancels what runs and ends every viewer", async () => {
    const { agent } = gatedAgent();
    const heddle = createHeddle({ agents: [agent] });
    await heddle.start("test", body());
    const viewers = [collect(heddle, { runId: "r1" }), collect(heddle)];
    await heddle.close();
    for (const seen of await Promise.all(viewers)) {
      expect(textOf(seen)).toBe("a");
      expect(seen.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
    }
  });
});
