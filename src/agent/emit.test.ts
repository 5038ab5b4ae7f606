import { expect, test, vi } from "vitest";
import * as v from "valibot";
import { runToEnd } from "../../test/run-to-end.ts";
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { defineAgent } from "./index.ts";
import type { Agent, AgentDefinition, Emit, Subagent, TextWriter } from "./index.ts";

const agentOf = (run: Agent["run"], extra: Partial<AgentDefinition> = {}): Agent =>
  defineAgent({ name: "test", run, ...extra });

/** Events without their times, inside the run's frame. */
const inside = (events: readonly Event[]): unknown[] =>
  events.slice(1, -1).map(({ timestamp: _timestamp, ...event }) => event);

const said = async (run: (emit: Emit) => unknown): Promise<unknown[]> =>
  inside((await runToEnd(agentOf(({ emit }) => Promise.resolve(run(emit))))).events);

const codeOf = (work: () => unknown): unknown => {
  try {
    work();
    return "fine";
  } catch (error) {
    return error instanceof HeddleError ? error.code : error;
  }
};

test("text has an id, a role and a name, and is closed by hand or by the run", async () => {
  const events = await said(async (emit) => {
    const first = emit.text({ id: "m1", role: "system", name: "Host" });
    await first.write("a");
    await first.end();
    await first.end();
    await emit.text({ id: "m2" }).write("b");
  });
  expect(events).toEqual([
    { type: "TEXT_MESSAGE_START", messageId: "m1", role: "system", name: "Host" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "a" },
    { type: "TEXT_MESSAGE_END", messageId: "m1" },
    { type: "TEXT_MESSAGE_START", messageId: "m2", role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m2", delta: "b" },
    { type: "TEXT_MESSAGE_END", messageId: "m2" },
  ]);
});

test("what is written to a message after its end rejects, and goes nowhere", async () => {
  const events = await said(async (emit) => {
    const writer = emit.text();
    await writer.end();
    // Not awaited: an unhandled rejection would fail this file.
    void writer.write("x");
    await expect(writer.write("x")).rejects.toMatchObject({ code: "run-ended" });
    const thought = emit.reasoning();
    await thought.end();
    await expect(thought.write("x")).rejects.toMatchObject({ code: "run-ended" });
    const call = emit.toolCall("t", { id: "c" });
    await call.end();
    await expect(call.args("x")).rejects.toMatchObject({ code: "run-ended" });
  });
  expect(events).toEqual([
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "t" },
    { type: "TOOL_CALL_END", toolCallId: "c" },
  ]);
});

test("reasoning is a span with a message, and can carry encrypted values only", async () => {
  const events = await said(async (emit) => {
    const thought = emit.reasoning({ id: "r1" });
    await thought.write("hm");
    await thought.encrypted("sig", "anthropic.signature");
    await thought.end();
    await emit.reasoning({ id: "r2" }).encrypted("only");
  });
  expect(events).toEqual([
    { type: "REASONING_START", messageId: "r1" },
    { type: "REASONING_MESSAGE_START", messageId: "r1", role: "reasoning" },
    { type: "REASONING_MESSAGE_CONTENT", messageId: "r1", delta: "hm" },
    {
      type: "REASONING_ENCRYPTED_VALUE",
      subtype: "message",
      entityId: "r1",
      encryptedValue: "sig",
      encryptedValueType: "anthropic.signature",
    },
    { type: "REASONING_MESSAGE_END", messageId: "r1" },
    { type: "REASONING_END", messageId: "r1" },
    { type: "REASONING_START", messageId: "r2" },
    { type: "REASONING_MESSAGE_START", messageId: "r2", role: "reasoning" },
    { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "r2", encryptedValue: "only" },
    { type: "REASONING_MESSAGE_END", messageId: "r2" },
    { type: "REASONING_END", messageId: "r2" },
  ]);
});

test("a tool call streams its arguments, and its result closes it", async () => {
  const events = await said(async (emit) => {
    const call = emit.toolCall("search", { id: "c1", parentMessageId: "m1" });
    await call.args('{"q":');
    await call.args("1}");
    await call.encrypted("sig");
    await emit.toolResult("c1", "found", { id: "t1" });
    await emit.toolResult("c0", [{ type: "text", text: "late" }], { id: "t2", error: "too late", code: "late" });
  });
  expect(events).toEqual([
    { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "search", parentMessageId: "m1" },
    { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '{"q":' },
    { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: "1}" },
    { type: "REASONING_ENCRYPTED_VALUE", subtype: "tool-call", entityId: "c1", encryptedValue: "sig" },
    { type: "TOOL_CALL_END", toolCallId: "c1" },
    { type: "TOOL_CALL_RESULT", messageId: "t1", toolCallId: "c1", content: "found", role: "tool" },
    {
      type: "TOOL_CALL_RESULT",
      messageId: "t2",
      toolCallId: "c0",
      content: [{ type: "text", text: "late" }],
      role: "tool",
      metadata: { heddle: { error: "too late", code: "late" } },
    },
  ]);
});

test("calls that nobody answered are named when the run ends, in order", async () => {
  const { last } = await runToEnd(
    agentOf(async ({ emit }) => {
      emit.toolCall("a", { id: "c1" });
      emit.toolCall("b", { id: "c2" });
      emit.toolCall("c", { id: "c3" });
      await emit.toolResult("c2", "done");
    }),
  );
  expect(last).toMatchObject({ outcome: { type: "success", pendingToolCallIds: ["c1", "c3"] } });
});

test("steps go around work, return what it returns, and end when it throws", async () => {
  const events = await said(async (emit) => {
    expect(await emit.step("one", () => 42)).toBe(42);
    await expect(emit.step("two", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    emit.step("three");
    expect(codeOf(() => emit.step("three"))).toBe("sequence-violation");
    await emit.step("four").end();
  });
  expect(events).toEqual(
    ["+one", "-one", "+two", "-two", "+three", "+four", "-four", "-three"].map((step) => ({
      type: step.startsWith("+") ? "STEP_STARTED" : "STEP_FINISHED",
      stepName: step.slice(1),
    })),
  );
});

test("work inside a step that outlives the run still gives its result", async () => {
  const gate = Promise.withResolvers<number>();
  let step: Promise<number> | undefined;
  const { types } = await runToEnd(
    agentOf(({ emit }) => {
      step = emit.step("long", () => gate.promise);
    }),
  );
  expect(types).toEqual(["RUN_STARTED", "STEP_STARTED", "STEP_FINISHED", "RUN_FINISHED"]);
  gate.resolve(7);
  await expect(step).resolves.toBe(7);
});

test("activities are shown at once and changed by what differs", async () => {
  const events = await said(async (emit) => {
    const plan = emit.activity("PLAN", { steps: ["a"], done: 0 }, { id: "p" });
    await plan.update((draft) => void (draft.done += 1));
    await plan.update(() => {});
    await plan.patch([{ op: "add", path: "/steps/-", value: "b" }]);
    expect(codeOf(() => plan.patch([{ op: "replace", path: "/nope", value: 1 }]))).toBe("event-invalid");
    expect(codeOf(() => plan.patch([{ op: "replace", path: "", value: 1 }]))).toBe("event-invalid");
    await plan.set({ steps: [], done: 1 });
  });
  const plan = { messageId: "p", activityType: "PLAN" };
  expect(events).toEqual([
    { type: "ACTIVITY_SNAPSHOT", ...plan, content: { steps: ["a"], done: 0 } },
    { type: "ACTIVITY_DELTA", ...plan, patch: [{ op: "replace", path: "/done", value: 1 }] },
    { type: "ACTIVITY_DELTA", ...plan, patch: [{ op: "add", path: "/steps/-", value: "b" }] },
    { type: "ACTIVITY_SNAPSHOT", ...plan, content: { steps: [], done: 1 } },
  ]);
});

test("state starts from the input's, and changes by the smallest delta", async () => {
  const seen: unknown[] = [];
  const { events, view } = await runToEnd(
    agentOf(async ({ emit }) => {
      const { state } = emit;
      seen.push(state.value);
      await state.update((draft) => void Reflect.set(Object(draft), "count", 2));
      seen.push(state.value);
      await state.update((draft) => draft);
      await state.patch([{ op: "add", path: "/list", value: [1] }]);
      expect(codeOf(() => state.patch([{ op: "remove", path: "/nope" }]))).toBe("event-invalid");
      expect(codeOf(() => state.update(() => ({ bad: () => {} })))).toBe("event-invalid");
      await state.set(null);
      await state.set({ list: [] });
      seen.push(state.value);
    }),
    { state: { count: 1, name: "x" } },
  );
  expect(seen).toEqual([{ count: 1, name: "x" }, { count: 2, name: "x" }, { list: [] }]);
  expect(inside(events)).toEqual([
    { type: "STATE_DELTA", delta: [{ op: "replace", path: "/count", value: 2 }] },
    { type: "STATE_DELTA", delta: [{ op: "add", path: "/list", value: [1] }] },
    { type: "STATE_SNAPSHOT", snapshot: null },
    { type: "STATE_SNAPSHOT", snapshot: { list: [] } },
  ]);
  expect(view.state).toEqual({ list: [] });
});

test("without a state in the input it is an empty object, and what an author changes later changes nothing", async () => {
  const { events, view } = await runToEnd(
    agentOf(async ({ emit }) => {
      expect(emit.state.value).toEqual({});
      const mine = { list: [1] };
      await emit.state.set(mine);
      mine.list.push(2);
      expect(emit.state.value).toEqual({ list: [1] });
    }),
  );
  expect(inside(events)).toEqual([{ type: "STATE_SNAPSHOT", snapshot: { list: [1] } }]);
  expect(view.state).toEqual({ list: [1] });
});

test.each([
  ["a library's schema", v.object({ count: v.number() })],
  ["a JSON Schema", { type: "object", properties: { count: { type: "number" } }, required: ["count"] }],
])("a state that does not fit %s is refused, and nothing is sent", async (_, stateSchema) => {
  const { events } = await runToEnd(
    agentOf(
      async ({ emit }) => {
        await emit.state.set({ count: 1 });
        expect(codeOf(() => emit.state.set({ count: "1" }))).toBe("event-invalid");
        expect(codeOf(() => emit.state.update(() => ({ count: null })))).toBe("event-invalid");
        expect(codeOf(() => emit.state.patch([{ op: "remove", path: "/count" }]))).toBe("event-invalid");
        await emit.state.patch([{ op: "replace", path: "/count", value: 2 }]);
      },
      { stateSchema },
    ),
  );
  expect(inside(events)).toEqual([
    { type: "STATE_SNAPSHOT", snapshot: { count: 1 } },
    { type: "STATE_DELTA", delta: [{ op: "replace", path: "/count", value: 2 }] },
  ]);
});

test("messages, custom and raw events", async () => {
  const events = await said(async (emit) => {
    await emit.messages([{ id: "u", role: "user", content: "hi" }]);
    await emit.custom("shop.seen", null);
    await emit.raw({ native: 1 }, "provider");
  });
  expect(events).toEqual([
    { type: "MESSAGES_SNAPSHOT", messages: [{ id: "u", role: "user", content: "hi" }] },
    { type: "CUSTOM", name: "shop.seen", value: null },
    { type: "RAW", event: { native: 1 }, source: "provider" },
  ]);
});

test("usage adds up by provider and model, and what nobody counted stays absent", async () => {
  const { last } = await runToEnd(
    agentOf(({ emit }) => {
      emit.usage({ provider: "p", model: "m", inputTokens: 10, outputTokens: 2, cachedInputTokens: 4 });
      emit.usage({ provider: "p", model: "m", inputTokens: 1, outputTokens: 1 });
      emit.usage({ model: "other", outputTokens: 5 });
      expect(codeOf(() => emit.usage({ inputTokens: -1 }))).toBe("event-invalid");
    }),
  );
  expect(last).toMatchObject({
    type: "RUN_FINISHED",
    usage: [
      { provider: "p", model: "m", inputTokens: 11, outputTokens: 3, totalTokens: 14, cachedInputTokens: 4 },
      { model: "other", outputTokens: 5 },
    ],
  });
});

test("a failed run reports what it spent", async () => {
  const { last } = await runToEnd(
    agentOf(({ emit }) => {
      emit.usage({ model: "m", inputTokens: 1 });
      throw new Error("no");
    }),
  );
  expect(last).toMatchObject({ type: "RUN_ERROR", usage: [{ model: "m", inputTokens: 1 }] });
});

test("a subagent speaks under its name, and closes what it holds when it ends", async () => {
  let sub: Subagent | undefined;
  const events = await said(async (emit) => {
    sub = emit.subagent("researcher", { id: "s1", description: "finds", parentToolCallId: "c" });
    const text = sub.emit.text({ id: "m" });
    await text.write("looking");
    const inner = sub.emit.subagent("reader", { id: "s2" });
    inner.emit.step("read");
    await sub.end({ found: 1 });
    await expect(text.write("more")).rejects.toMatchObject({ code: "run-ended" });
    await expect(inner.emit.custom("x.y", 1)).rejects.toMatchObject({ code: "run-ended" });
    await sub.end();
    await emit.subagent("second", { id: "s3" }).fail(new HeddleError("model-failed", "no model", {}));
  });
  expect(events).toEqual([
    { type: "SUBAGENT_STARTED", subagentRunId: "s1", name: "researcher", description: "finds", parentToolCallId: "c" },
    { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant", subagentRunId: "s1" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "looking", subagentRunId: "s1" },
    { type: "SUBAGENT_STARTED", subagentRunId: "s2", name: "reader", parentSubagentRunId: "s1" },
    { type: "STEP_STARTED", stepName: "read", subagentRunId: "s2" },
    { type: "STEP_FINISHED", stepName: "read", subagentRunId: "s2" },
    { type: "SUBAGENT_FINISHED", subagentRunId: "s2" },
    { type: "TEXT_MESSAGE_END", messageId: "m", subagentRunId: "s1" },
    { type: "SUBAGENT_FINISHED", subagentRunId: "s1", result: { found: 1 } },
    { type: "SUBAGENT_STARTED", subagentRunId: "s3", name: "second" },
    { type: "SUBAGENT_ERROR", subagentRunId: "s3", message: "no model", code: "model-failed" },
  ]);
});

test.each([
  ["returns", { type: "SUBAGENT_FINISHED", subagentRunId: "s" }],
  ["throws", { type: "SUBAGENT_ERROR", subagentRunId: "s", message: "boom", code: "agent-failed" }],
  ["is stopped", { type: "SUBAGENT_ERROR", subagentRunId: "s", message: "The run was stopped.", code: "cancelled" }],
  ["asks", { type: "SUBAGENT_FINISHED", subagentRunId: "s", outcome: { type: "suspended" } }],
])("a run that %s closes everything, children before parents", async (how, end) => {
  const stop = new AbortController();
  const { events } = await runToEnd(
    agentOf(async ({ emit }) => {
      emit.step("outer");
      const sub = emit.subagent("sub", { id: "s" });
      sub.emit.step("inner");
      const call = sub.emit.toolCall("t", { id: "c" });
      await call.args("{");
      await sub.emit.reasoning({ id: "r" }).write("hm");
      await sub.emit.text({ id: "m" }).write("hi");
      if (how === "throws") throw new Error("boom");
      if (how === "is stopped") stop.abort();
      if (how === "asks") await emit.interrupt({ reason: "why" });
    }),
    {},
    { signal: stop.signal },
  );
  expect(inside(events).slice(-7)).toEqual([
    { type: "TEXT_MESSAGE_END", messageId: "m", subagentRunId: "s" },
    { type: "REASONING_MESSAGE_END", messageId: "r", subagentRunId: "s" },
    { type: "REASONING_END", messageId: "r", subagentRunId: "s" },
    { type: "TOOL_CALL_END", toolCallId: "c", subagentRunId: "s" },
    { type: "STEP_FINISHED", stepName: "inner", subagentRunId: "s" },
    end,
    { type: "STEP_FINISHED", stepName: "outer" },
  ]);
});

test("wrong values throw a typed error, and nothing is sent", async () => {
  const events = await said((emit) => {
    const no: never = 7 as never;
    for (const work of [
      () => emit.text({ id: no }),
      () => emit.text({ role: no }),
      () => emit.text().write(no),
      () => emit.reasoning().write(no),
      () => emit.reasoning().encrypted(no),
      () => emit.toolCall(no),
      () => emit.toolResult("c", no),
      () => emit.step(no),
      () => emit.activity("k", no),
      () => emit.state.set((() => {}) as never),
      () => emit.messages([no]),
      () => emit.custom(no, 1),
      () => emit.custom("x.y", undefined),
      () => emit.subagent(no),
      () => emit.interrupt({ reason: no }),
      () => emit.forward({ type: "TEXT_MESSAGE_START", messageId: no }),
    ]) {
      expect(codeOf(work)).toBe("event-invalid");
    }
  });
  expect(events).toEqual([]);
});

test("an id that is open already is refused", async () => {
  const events = await said(async (emit) => {
    await emit.text({ id: "m" }).write("a");
    expect(codeOf(() => emit.text({ id: "m" }).write("b"))).toBe("sequence-violation");
    emit.toolCall("t", { id: "c" });
    expect(codeOf(() => emit.toolCall("t", { id: "c" }))).toBe("sequence-violation");
    await emit.subagent("s", { id: "s" }).end();
    expect(codeOf(() => emit.subagent("s", { id: "s" }))).toBe("sequence-violation");
  });
  expect(events.map((event) => Reflect.get(Object(event), "type"))).toEqual([
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TOOL_CALL_START",
    "SUBAGENT_STARTED",
    "SUBAGENT_FINISHED",
    "TOOL_CALL_END",
    "TEXT_MESSAGE_END",
  ]);
});

test("everything rejects after the run", async () => {
  let late: Emit | undefined;
  let text: TextWriter | undefined;
  let sub: Subagent | undefined;
  await runToEnd(
    agentOf(async ({ emit }) => {
      late = emit;
      text = emit.text();
      await text.write("x");
      sub = emit.subagent("s");
    }),
  );
  const emit = late as Emit;
  const after = [
    () => text?.write("y"),
    () => text?.end(),
    () => emit.text().write("y"),
    () => emit.reasoning().write("y"),
    () => emit.toolCall("t").args("{}"),
    () => emit.toolResult("c", "y"),
    () => emit.step("s").end(),
    () => emit.activity("k", {}).set({ a: 1 }),
    () => emit.state.set(1),
    () => emit.state.update(() => 1),
    () => emit.messages([]),
    () => emit.custom("x.y", 1),
    () => emit.raw(1),
    () => emit.interrupt({ reason: "why" }),
    () => emit.forward({ type: "CUSTOM", name: "x.y", value: 1 }),
    () => sub?.emit.text().write("y"),
    () => sub?.end(),
  ];
  for (const work of after) await expect(work()).rejects.toMatchObject({ code: "run-ended" });
});

test("the log hears what the agent says, and nobody has to listen", async () => {
  const { lines } = await runToEnd(agentOf(({ log }) => log.info("hello", { a: 1 })));
  expect(lines).toEqual(["info: hello"]);
  const silent = vi.spyOn(console, "log");
  const events = defineAgent({ name: "quiet", run: ({ log }) => log.error("nothing") });
  expect((await runToEnd(events)).last).toMatchObject({ type: "RUN_FINISHED" });
  expect(silent).not.toHaveBeenCalled();
});

test("an agent describes itself in AG-UI's shape", () => {
  const agent = defineAgent({
    name: "a",
    description: "does",
    capabilities: { identity: { version: "1" }, reasoning: { supported: true } },
    run: () => {},
  });
  expect(agent.capabilities).toEqual({
    identity: { name: "a", description: "does", version: "1" },
    reasoning: { supported: true },
  });
});
