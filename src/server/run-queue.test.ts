import { describe, expect, test, vi } from "vitest";
import { agentOf, bodyOf, collect, runToEnd, served } from "../../test/served.ts";
import type { RunAgentInput } from "../protocol/index.ts";
import { memoryStore } from "../store/index.ts";
import type { Store } from "../store/index.ts";

const KEY = { tenant: "default", threadId: "t1" };
const user = (id: string) => ({ id, role: "user", content: id });

/** A server whose agent waits in its first run until it is let go. */
function gated(store: Store = memoryStore()) {
  const inputs: RunAgentInput[] = [];
  const gate = Promise.withResolvers<void>();
  const agent = agentOf(async ({ input, emit, signal }) => {
    inputs.push(input);
    await emit.text({ id: `re-${input.runId}` }).write(input.runId);
    signal.addEventListener("abort", () => gate.resolve());
    if (input.runId === "r1") await gate.promise;
  });
  const heddle = served(agent, { store, rules: { test: { onBusy: "enqueue" } } });
  return { heddle, inputs, open: gate.resolve };
}

const idsIn = (input: RunAgentInput | undefined): string => input?.messages.map(({ id }) => id).join(" ") ?? "";

describe("HTTP-HIS-6: runs that wait", () => {
  test("begin in their turn, behind what was said meanwhile, and are followed from the beginning", async () => {
    const { heddle, inputs, open } = gated();
    await heddle.start("test", bodyOf("r1", { messages: [user("u1")] }));
    const waiting = ["r2", "r3"].map(async (runId, index) => {
      const body = bodyOf(runId, { messages: [user("u1"), user(`u${index + 2}`)] });
      const started = await heddle.start("test", body);
      expect(started).toMatchObject({ joined: false, queued: expect.any(Number), run: { runId } });
      return collect(heddle, { runId, queued: true, prelude: true });
    });
    await vi.waitFor(async () => expect(await heddle.store.queue(KEY)).toHaveLength(2), { timeout: 20_000 });
    expect((await heddle.threads.details("t1")).queue.map(({ runId }) => runId)).toEqual(["r2", "r3"]);
    open();
    for (const events of await Promise.all(waiting)) expect(events.at(-1)?.event.type).toBe("RUN_FINISHED");
    expect(inputs.map(idsIn)).toEqual(["u1", "u1 re-r1 u2", "u1 re-r1 u2 re-r2 u3"]);
    expect(await heddle.store.queue(KEY)).toEqual([]);
  });

  test("are joined by the same post again", async () => {
    const { heddle, inputs, open } = gated();
    await heddle.start("test", bodyOf("r1"));
    const body = bodyOf("r2", { messages: [user("u2")] });
    const [one, two] = [await heddle.start("test", body), await heddle.start("test", body)];
    expect([one.queued, two.queued]).toEqual([1, 1]);
    open();
    await collect(heddle, { runId: "r2", queued: true });
    expect(inputs).toHaveLength(2);
  });

  test("are stopped before they began", async () => {
    const { heddle, inputs, open } = gated();
    await heddle.start("test", bodyOf("r1"));
    await heddle.start("test", bodyOf("r2"));
    const followed = collect(heddle, { runId: "r2", queued: true });
    expect(await heddle.cancel("t1", "r2")).toMatchObject({ status: "cancelled", runId: "r2", agent: "test" });
    await expect(followed).rejects.toMatchObject({ code: "run-unknown" });
    open();
    await runToEnd(heddle, bodyOf("r1"));
    expect(inputs).toHaveLength(1);
  });

  test("begin in another process when theirs is gone", async () => {
    const store = memoryStore();
    const first = gated(store);
    await first.heddle.start("test", bodyOf("r1"));
    await first.heddle.start("test", bodyOf("r2", { messages: [user("u2")] }));
    await first.heddle.close();
    expect(first.inputs).toHaveLength(1);
    const second = gated(store);
    await second.heddle.open();
    await collect(second.heddle, { runId: "r2", queued: true });
    expect(idsIn(second.inputs[0])).toBe("re-r1 u2");
  });

  test("wait on where the thread waits for answers", async () => {
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const agent = agentOf(async ({ input: { runId }, emit }) => {
      order.push(runId);
      if (runId !== "r1") return;
      await gate.promise;
      await emit.interrupt({ id: "q", reason: "sure?" });
    });
    const heddle = served(agent, { rules: { test: { onBusy: "enqueue" } } });
    await heddle.start("test", bodyOf("r1"));
    await heddle.start("test", bodyOf("r2", { messages: [user("u2")] }));
    gate.resolve();
    await collect(heddle, { runId: "r1" });
    await heddle.start("test", bodyOf("r3", { resume: [{ interruptId: "q", status: "cancelled" }] }));
    await collect(heddle, { runId: "r2", queued: true });
    expect(order).toEqual(["r1", "r3", "r2"]);
  });
});

test("HTTP-ANN-1: annotations are in the log, beside what the run says, for who asks", async () => {
  const { heddle, open } = gated();
  open();
  await runToEnd(heddle);
  const { id, runId } = await heddle.threads.annotate("t1", { metaType: "thumbs", payload: { value: "up" } });
  expect(runId).toBe("r1");
  const all = await collect(heddle, { follow: false, meta: true });
  expect(all.at(-1)).toMatchObject({
    cursor: id,
    event: { type: "META", metaType: "thumbs", payload: { value: "up" } },
  });
  expect((await collect(heddle, { follow: false })).map(({ event }) => event.type)).not.toContain("META");
  expect((await heddle.run("t1", "r1")).status).toBe("finished");
  for (const [body, code] of [
    [{}, "input-invalid"],
    ["thumbs", "input-invalid"],
    [{ metaType: "a", payload: 1 }, "input-invalid"],
    [{ metaType: "a", runId: "r9" }, "run-unknown"],
    [{ metaType: "a".repeat(70_000) }, "limit-exceeded"],
  ] as const) {
    await expect(heddle.threads.annotate("t1", body)).rejects.toMatchObject({ code });
  }
});

test("HTTP-TCL-1: a call is executed by one holder at a time", async () => {
  const heddle = served(
    agentOf(({ emit, input }) => void (input.runId === "r1" && emit.toolCall("f", { id: "c" }).end())),
  );
  await runToEnd(heddle);
  const claim = (holder: string, leaseMs = 60_000) => heddle.threads.claimToolCall("t1", "c", { holder, leaseMs });
  expect(await claim("one")).toMatchObject({ holder: "one", toolCallId: "c" });
  await expect(claim("two")).rejects.toMatchObject({ code: "tool-call-taken" });
  await claim("one", 0);
  expect(await claim("two")).toMatchObject({ holder: "two" });
  await expect(heddle.threads.claimToolCall("t1", "c", { leaseMs: 1 })).rejects.toMatchObject({
    code: "input-invalid",
  });
  const answer = { id: "x", role: "tool", toolCallId: "c", content: "1" };
  await runToEnd(heddle, bodyOf("r2", { messages: [answer] }));
  await expect(claim("two")).rejects.toMatchObject({ code: "tool-call-closed" });
});
