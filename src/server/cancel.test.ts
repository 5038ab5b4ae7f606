import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { agentOf, bodyOf, checkStream, collect, served } from "../../test/served.ts";
import type { Agent } from "../agent/index.ts";
import { memoryStore } from "../store/index.ts";

const STOPPED = { type: "RUN_FINISHED", outcome: { type: "cancelled" } };

/** Says something, and then waits for its signal, or for ever. */
function waiting(obeys = true): { readonly agent: Agent; readonly running: Promise<AbortSignal> } {
  const { promise: running, resolve } = Promise.withResolvers<AbortSignal>();
  const agent = agentOf(async ({ emit, signal }) => {
    await emit.text().write("partial");
    resolve(signal);
    await new Promise((_, reject) => {
      if (obeys) signal.addEventListener("abort", () => reject(signal.reason));
    });
  });
  return { agent, running };
}

describe("HTTP-RUN-8: stopping", () => {
  test.each([true, false])("ends a run of this process, whether its agent obeys (%s)", async (obeys) => {
    const { agent, running } = waiting(obeys);
    const heddle = served(agent, { cancelGraceMs: 40 });
    await heddle.start("test", bodyOf());
    const signal = await running;
    const watching = collect(heddle, { runId: "r1" });
    const stopped = await heddle.cancel("t1", "r1");
    expect(signal.aborted).toBe(true);
    expect(stopped).toMatchObject({ runId: "r1", status: "cancelled" });
    const events = (await watching).map(({ event }) => event);
    checkStream(events);
    expect(events.at(-1)).toMatchObject(STOPPED);
    expect(events).toContainEqual(expect.objectContaining({ delta: "partial" }));
    expect((await heddle.start("test", bodyOf("r2"))).joined).toBe(false);
    await heddle.cancel("t1", "r2");
    await heddle.close();
  });

  test("a run that has ended changes nothing, and an unknown one is unknown", async () => {
    const heddle = served(agentOf(() => {}));
    await heddle.start("test", bodyOf());
    await collect(heddle, { runId: "r1" });
    expect(await heddle.cancel("t1", "r1")).toMatchObject({ status: "finished" });
    expect(await heddle.run("t1", "r1")).toMatchObject({ status: "finished", agent: "test" });
    await expect(heddle.cancel("t1", "r9")).rejects.toMatchObject({ code: "run-unknown" });
    await expect(heddle.cancel("t9", "r1")).rejects.toMatchObject({ code: "thread-unknown" });
    await expect(heddle.run("t1", "r9")).rejects.toMatchObject({ code: "run-unknown" });
  });

  test("twice at once stops once", async () => {
    const { agent, running } = waiting();
    const heddle = served(agent);
    await heddle.start("test", bodyOf());
    await running;
    const answers = await Promise.all([heddle.cancel("t1", "r1"), heddle.cancel("t1", "r1")]);
    expect(answers.map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
    const ends = (await collect(heddle, { follow: false })).filter(({ event }) => event.type === "RUN_FINISHED");
    expect(ends).toHaveLength(1);
  });

  test("from another server reaches an agent that is silent, without a heartbeat", async () => {
    const store = memoryStore();
    const { agent, running } = waiting();
    const slow = { store, leaseMs: 600_000, heartbeatMs: 300_000 };
    const [one, two] = [served(agent, slow), served(agent, slow)];
    await one.start("test", bodyOf());
    const signal = await running;
    for await (const { event } of (await one.attach("t1")).events) if (event.type === "TEXT_MESSAGE_CONTENT") break;
    const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
    const stopped = await two.cancel("t1", "r1");
    await aborted;
    expect(stopped).toMatchObject({ status: "cancelled" });
    await Promise.all([one.close(), two.close()]);
  });

  test("from another server ends the run of one that does not answer", async () => {
    const inner = memoryStore();
    const { agent, running } = waiting(false);
    let stalled = false;
    const { promise: never } = Promise.withResolvers<never>();
    const stalling = {
      ...inner,
      append: ((batches) => (stalled ? never : inner.append(batches))) satisfies typeof inner.append,
      heartbeat: ((leases) => (stalled ? never : inner.heartbeat(leases))) satisfies typeof inner.heartbeat,
    };
    const one = served(agent, { store: stalling, cancelGraceMs: 40 });
    const two = served(agent, { store: inner, cancelGraceMs: 40 });
    await one.start("test", bodyOf());
    await running;
    await collect(one, { follow: false });
    stalled = true;
    expect(await two.cancel("t1", "r1")).toMatchObject({ status: "cancelled" });
    const events = (await collect(two, { runId: "r1" })).map(({ event }) => event);
    checkStream(events);
    expect(events.at(-1)).toMatchObject(STOPPED);
    await two.close();
  });
});

/** A run that two watch. */
async function watched(onDisconnect?: "cancel") {
  const { agent, running } = waiting();
  const heddle = served(agent);
  await heddle.start("test", bodyOf(), { onDisconnect });
  const signal = await running;
  const viewers = [new AbortController(), new AbortController()] as const;
  for (const { signal: gone } of viewers) await heddle.attach("t1", { runId: "r1", signal: gone });
  return { heddle, signal, viewers };
}

describe("HTTP-RUN-3: a client that goes away", () => {
  test("stops nothing", async () => {
    const { heddle, signal, viewers } = await watched();
    for (const viewer of viewers) viewer.abort();
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(signal.aborted).toBe(false);
    await heddle.close();
  });

  test("stops a run that asked for it, when it was the last", async () => {
    const { heddle, signal, viewers } = await watched("cancel");
    viewers[0].abort();
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(signal.aborted).toBe(false);
    viewers[1].abort();
    expect((await collect(heddle, { runId: "r1" })).at(-1)?.event).toMatchObject(STOPPED);
    await heddle.close();
  });

  test("before it could attach stops such a run too", async () => {
    const { agent } = waiting();
    const heddle = served(agent);
    await heddle.start("test", bodyOf(), { onDisconnect: "cancel" });
    await heddle.attach("t1", { runId: "r1", signal: AbortSignal.abort() });
    expect((await collect(heddle, { runId: "r1" })).at(-1)?.event).toMatchObject(STOPPED);
    await heddle.close();
  });
});
