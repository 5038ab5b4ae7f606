import { expect, test, vi } from "vitest";
import { nextMessages, questionsOf, runToEnd } from "../../test/run-to-end.ts";
import type { EndedRun } from "../../test/run-to-end.ts";
import { HeddleError, parseRunInput, textMessageChunk, toolCallChunk } from "../protocol/index.ts";
import type { Event, Message, ResumeEntry, RunAgentInput } from "../protocol/index.ts";
import { defineAgent, defineTool, modelUsage, toolLoop } from "./index.ts";
import type { Agent, Model, ModelRequest, ServerTool, ToolLoopOptions } from "./index.ts";

/** What a scripted model does in one answer: says something, and calls tools as `[id, name, args]`. */
interface Turn {
  readonly say?: string;
  readonly call?: readonly (readonly [id: string, name: string, args?: unknown])[];
}

let messageCount = 0;

/** A model that plays its turns, one for each call, and keeps what it was asked. */
function scripted(...turns: readonly Turn[]): Model & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const model: Model = async function* (request) {
    const { say, call = [] } = turns[requests.length] ?? {};
    requests.push(request);
    const messageId = `said-${++messageCount}`;
    if (say !== undefined) yield textMessageChunk({ messageId, delta: say });
    for (const [toolCallId, toolCallName, args] of call) {
      const delta = args === undefined ? "" : JSON.stringify(args);
      yield toolCallChunk({ toolCallId, toolCallName, delta });
    }
    yield modelUsage({ model: "scripted", inputTokens: 1, outputTokens: 1 });
  };
  return Object.assign(model, { requests });
}

const looping = (model: Model, tools: readonly ServerTool[], options: Partial<ToolLoopOptions> = {}): Agent =>
  defineAgent({ name: "test", tools, run: (context) => toolLoop({ ...context, model, ...options }) });

const tool = (name: string, execute: () => unknown, extra: object = {}): ServerTool =>
  defineTool({ name, description: name, parameters: {}, execute, ...extra });

const resultsOf = ({ events }: EndedRun): [string, unknown][] =>
  events.flatMap((event) => (event.type === "TOOL_CALL_RESULT" ? [[event.toolCallId, event.content]] : []));

const answering = (run: EndedRun, ...resume: readonly ResumeEntry[]): Partial<RunAgentInput> => ({
  messages: nextMessages(run),
  resume,
});
const resolved = (interruptId: string, payload: unknown): ResumeEntry => ({ interruptId, status: "resolved", payload });

/** Every tool call is answered directly behind the message that carries it, as providers ask for. */
function expectProviderOrder(messages: readonly Message[]): void {
  for (const [index, message] of messages.entries()) {
    if (message.role !== "assistant" || message.toolCalls === undefined) continue;
    const ids = message.toolCalls.map(({ id }) => id);
    const behind = messages.slice(index + 1, index + 1 + ids.length);
    expect(behind.map((each) => (each.role === "tool" ? each.toolCallId : each.role))).toEqual(ids);
  }
}

test("calls the model, runs the tools, and goes on until the model is done", async () => {
  const model = scripted({ say: "Let me see.", call: [["c1", "add", { a: 1 }]] }, { say: "It is 2." });
  const run = await runToEnd(looping(model, [tool("add", () => 2)]), {
    messages: [{ id: "u", role: "user", content: "1+1?" }],
    context: [{ description: "d", value: "v" }],
  });
  expect(run.text).toBe("Let me see.It is 2.");
  expect(run.types.filter((type) => type.startsWith("TOOL_"))).toEqual([
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_RESULT",
  ]);
  expect(resultsOf(run)).toEqual([["c1", "2"]]);
  expect(run.last).toMatchObject({ usage: [{ model: "scripted", inputTokens: 2, outputTokens: 2, totalTokens: 4 }] });
  expect(run.last).not.toHaveProperty("outcome");
  expect(model.requests).toHaveLength(2);
  expect(model.requests[0]).toMatchObject({ context: [{ value: "v" }], tools: [{ name: "add", description: "add" }] });
  expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "assistant", "tool"]);
});

test("parallel calls run side by side, and their results come in the order of the calls", async () => {
  const gate = Promise.withResolvers<string>();
  const tools = [
    tool("slow", () => gate.promise),
    tool("fast", () => {
      gate.resolve("slow is done");
      return "fast is done";
    }),
  ];
  const model = scripted({
    call: [
      ["c1", "slow"],
      ["c2", "fast"],
    ],
  });
  expect(resultsOf(await runToEnd(looping(model, tools)))).toEqual([
    ["c1", "slow is done"],
    ["c2", "fast is done"],
  ]);
});

test("a frontend tool ends the run as success, with the calls that wait; server tools are answered first", async () => {
  const model = scripted(
    {
      call: [
        ["c1", "pick"],
        ["c2", "add"],
        ["c3", "pick"],
      ],
    },
    { say: "Thanks." },
  );
  const agent = looping(model, [tool("add", () => "2")]);
  const tools = [{ name: "pick", description: "asks the user", parameters: {} }];
  const first = await runToEnd(agent, { tools });
  expect(first.last).toMatchObject({ outcome: { type: "success", pendingToolCallIds: ["c1", "c3"] } });
  expect(resultsOf(first)).toEqual([["c2", "2"]]);
  expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["add", "pick"]);
  const answers = ["c1", "c3"].map(
    (toolCallId) => ({ id: `t-${toolCallId}`, role: "tool", toolCallId, content: "x" }) as const,
  );
  const second = await runToEnd(agent, { tools, messages: [...nextMessages(first), ...answers] });
  expect(second.text).toBe("Thanks.");
});

test("seed 000: the frontend's confirmAction tool reaches the model as it is, and only while it is passed", async () => {
  const confirmAction = {
    name: "confirmAction",
    description: "Ask the user to confirm a specific action before proceeding",
    parameters: {
      type: "object",
      properties: {
        action: { type: "string", description: "The action that needs user confirmation" },
        importance: { type: "string", enum: ["low", "medium", "high", "critical"] },
      },
      required: ["action"],
    },
  };
  const model = scripted({ call: [["c1", "confirmAction", { action: "go" }]] }, { call: [["c2", "confirmAction"]] });
  const agent = looping(model, []);
  const input = parseRunInput({ threadId: "t", runId: "r", messages: [], tools: [confirmAction] });
  const passed = await runToEnd(agent, input.value);
  expect(model.requests[0]?.tools).toEqual([confirmAction]);
  expect(passed.last).toMatchObject({ outcome: { type: "success", pendingToolCallIds: ["c1"] } });
  const withheld = await runToEnd(agent, { tools: [] });
  expect(model.requests[1]?.tools).toEqual([]);
  expect(resultsOf(withheld)).toEqual([["c2", expect.stringContaining("tool-unknown")]]);
});

test("frontend calls that nobody answered are never answered here, and the model is not called", async () => {
  const model = scripted();
  const messages: Message[] = [
    {
      id: "a",
      role: "assistant",
      toolCalls: [{ id: "c", type: "function", function: { name: "pick", arguments: "" } }],
    },
  ];
  const run = await runToEnd(looping(model, []), { messages, tools: [{ name: "pick", description: "d" }] });
  expect(run.types).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
  expect(model.requests).toHaveLength(0);
  expect(run.lines).toEqual([expect.stringContaining("has not answered")]);
});

test("a server tool wins over a frontend tool of the same name", async () => {
  const model = scripted({ call: [["c1", "add"]] });
  const run = await runToEnd(looping(model, [tool("add", () => "mine")]), {
    tools: [{ name: "add", description: "d" }],
  });
  expect(resultsOf(run)).toEqual([["c1", "mine"]]);
  expect(model.requests[0]?.tools).toHaveLength(1);
});

test("a model that never stops calling meets the step limit, with all its calls answered", async () => {
  const turns = Array.from({ length: 20 }, (_, index): Turn => ({ call: [[`c${index}`, "add"]] }));
  const model = scripted(...turns);
  const run = await runToEnd(looping(model, [tool("add", () => "2")]));
  expect(run.last).toMatchObject({ type: "RUN_ERROR", code: "step-limit", message: expect.stringContaining("8") });
  expect(model.requests).toHaveLength(8);
  expect(resultsOf(run)).toHaveLength(8);
  const short = scripted(...turns);
  await runToEnd(looping(short, [tool("add", () => "2")], { maxSteps: 2 }));
  expect(short.requests).toHaveLength(2);
});

const overloaded: Model = async function* () {
  yield textMessageChunk({ messageId: "m", delta: "half" });
  throw new HeddleError("model-overloaded", "Try later.", {});
};

test("what a model throws fails the run with its code", async () => {
  const { types, last, text } = await runToEnd(looping(overloaded, []));
  expect(text).toBe("half");
  expect(types.slice(-2)).toEqual(["TEXT_MESSAGE_END", "RUN_ERROR"]);
  expect(last).toMatchObject({ code: "model-overloaded", message: "Try later." });
});

const reporting: Model = async function* () {
  yield { type: "RUN_ERROR", message: "down" };
};

test("a model that says RUN_ERROR has failed", async () => {
  expect((await runToEnd(looping(reporting, []))).last).toMatchObject({
    type: "RUN_ERROR",
    code: "model-failed",
    message: "down",
  });
});

const careless: Model = async function* ({ messages }) {
  if (messages.some(({ role }) => role === "tool")) return;
  yield { type: "TEXT_MESSAGE_START", messageId: "m" };
  yield { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "add", parentMessageId: "m" };
};

test("what a model leaves open is closed before its tools run", async () => {
  const { types } = await runToEnd(looping(careless, [tool("add", () => "2")]));
  expect(types.slice(3)).toEqual(["TOOL_CALL_END", "TEXT_MESSAGE_END", "TOOL_CALL_RESULT", "RUN_FINISHED"]);
});

test("a stop reaches the model's signal before the next macrotask, ends cancelled, and keeps the partial text", async () => {
  const stop = new AbortController();
  const order: string[] = [];
  const speaking = Promise.withResolvers<void>();
  const model: Model = async function* ({ signal }) {
    signal.addEventListener("abort", () => order.push("model told"));
    yield textMessageChunk({ messageId: "m", delta: "partial " });
    yield textMessageChunk({ messageId: "m", delta: "text" });
    speaking.resolve();
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const running = runToEnd(looping(model, []), {}, { signal: stop.signal });
  await speaking.promise;
  setImmediate(() => order.push("macrotask"));
  stop.abort();
  const { last, text, view } = await running;
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual(["model told", "macrotask"]);
  expect(last).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
  expect(text).toBe("partial text");
  expect(view.messages).toMatchObject([{ id: "m", content: "partial text" }]);
});

test("a stop while a tool works ends the run, even if the tool ignores it; its call is not run again later", async () => {
  const stop = new AbortController();
  const execute = vi.fn<() => Promise<unknown>>(() => {
    stop.abort();
    return new Promise(() => {});
  });
  const model = scripted({ call: [["c1", "hang"]] }, { say: "I see." });
  const agent = looping(model, [tool("hang", execute)]);
  const first = await runToEnd(agent, {}, { signal: stop.signal });
  expect(first.last).toMatchObject({ outcome: { type: "cancelled" } });
  expect(resultsOf(first)).toEqual([]);
  const second = await runToEnd(agent, {
    messages: [...nextMessages(first), { id: "u", role: "user", content: "Well?" }],
  });
  expect(execute).toHaveBeenCalledOnce();
  expect(resultsOf(second)).toEqual([["c1", expect.stringContaining("ended before it returned")]]);
  expect(second.text).toBe("I see.");
  expectProviderOrder(model.requests[1]?.messages ?? []);
});

const deletion = (execute: (args: unknown) => unknown, extra: object = {}): ServerTool =>
  defineTool({
    name: "delete_file",
    description: "Deletes a file.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    needsApproval: true,
    execute,
    ...extra,
  });

test("seed 000, function approval: asked by an interrupt, executed once when it is approved", async () => {
  const execute = vi.fn<(args: unknown) => unknown>(() => "deleted");
  const model = scripted(
    { say: "I will delete it.", call: [["call_abc123", "delete_file", { path: "/important.txt" }]] },
    { say: "Done." },
  );
  const agent = looping(model, [deletion(execute)]);
  const first = await runToEnd(agent, { messages: [{ id: "u", role: "user", content: "Delete it" }] });
  expect(execute).not.toHaveBeenCalled();
  expect(questionsOf(first)).toEqual([
    {
      id: "call_abc123",
      reason: "tool_call",
      message: "Call delete_file?",
      toolCallId: "call_abc123",
      responseSchema: {
        type: "object",
        properties: {
          approved: { type: "boolean" },
          editedArgs: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
          reason: { type: "string" },
        },
        required: ["approved"],
      },
      metadata: {
        heddle: { payload: { functionName: "delete_file", functionArguments: { path: "/important.txt" } } },
      },
    },
  ]);
  const second = await runToEnd(agent, answering(first, resolved("call_abc123", { approved: true })));
  expect(execute.mock.calls.map(([args]) => args)).toEqual([{ path: "/important.txt" }]);
  expect(second.types.filter((type) => type.startsWith("TOOL_CALL"))).toEqual(["TOOL_CALL_RESULT"]);
  expect(resultsOf(second)).toEqual([["call_abc123", "deleted"]]);
  expect(second.text).toBe("Done.");
  expect(second.last).not.toHaveProperty("outcome");
  expectProviderOrder(model.requests[1]?.messages ?? []);
});

test.each<[string, ResumeEntry, string]>([
  ["denied", resolved("c1", { approved: false, reason: "too risky" }), "too risky"],
  ["abandoned", { interruptId: "c1", status: "cancelled" }, "Nobody decided"],
])("a call that is %s gets a result that says so, and the model goes on", async (_, entry, why) => {
  const execute = vi.fn<() => unknown>();
  const model = scripted({ call: [["c1", "delete_file", { path: "/a" }]] }, { say: "All right." });
  const agent = looping(model, [deletion(execute)]);
  const first = await runToEnd(agent);
  const second = await runToEnd(agent, answering(first, entry));
  expect(execute).not.toHaveBeenCalled();
  expect(resultsOf(second)).toEqual([["c1", expect.stringContaining(why)]]);
  expect(second.text).toBe("All right.");
  expectProviderOrder(model.requests[1]?.messages ?? []);
});

test("a call may be approved with other arguments, which the model is shown, now and later", async () => {
  const execute = vi.fn<(args: unknown) => unknown>(() => "deleted");
  const model = scripted({ call: [["c1", "delete_file", { path: "/a" }]] }, { say: "Done." }, { say: "Yes." });
  const agent = looping(model, [deletion(execute)]);
  const first = await runToEnd(agent);
  const second = await runToEnd(
    agent,
    answering(first, resolved("c1", { approved: true, editedArgs: { path: "/b" } })),
  );
  expect(execute.mock.calls.map(([args]) => args)).toEqual([{ path: "/b" }]);
  await runToEnd(agent, { messages: [...nextMessages(second), { id: "u2", role: "user", content: "Sure?" }] });
  for (const request of model.requests.slice(1)) {
    expect(request.messages[0]).toMatchObject({ toolCalls: [{ function: { arguments: '{"path":"/b"}' } }] });
  }
});

test.each([{ approved: "yes" }, {}, { approved: true, editedArgs: { path: 7 } }, "yes"])(
  "the answer %j does not fit, and nothing is run",
  async (payload) => {
    const execute = vi.fn<() => unknown>();
    const agent = looping(scripted({ call: [["c1", "delete_file", { path: "/a" }]] }), [deletion(execute)]);
    const first = await runToEnd(agent);
    const second = await runToEnd(agent, answering(first, resolved("c1", payload)));
    expect(second.last).toMatchObject({ type: "RUN_ERROR", code: "resume-invalid" });
    expect(execute).not.toHaveBeenCalled();
  },
);

test("calls that need no approval are answered before the question, and several questions are one outcome", async () => {
  const execute = vi.fn<(args: unknown) => unknown>((args) => `deleted ${JSON.stringify(args)}`);
  const model = scripted(
    {
      call: [
        ["c1", "delete_file", { path: "/a" }],
        ["c2", "add"],
        ["c3", "delete_file", { path: "/b" }],
      ],
    },
    { say: "Done." },
  );
  const agent = looping(model, [deletion(execute), tool("add", () => "2")]);
  const first = await runToEnd(agent);
  expect(resultsOf(first)).toEqual([["c2", "2"]]);
  expect(questionsOf(first).map(({ id }) => id)).toEqual(["c1", "c3"]);
  // Only one is answered: it is executed, the other is asked about again, and the model waits.
  const second = await runToEnd(agent, answering(first, resolved("c3", { approved: true })));
  expect(resultsOf(second)).toEqual([["c3", 'deleted {"path":"/b"}']]);
  expect(questionsOf(second).map(({ id }) => id)).toEqual(["c1"]);
  expect(model.requests).toHaveLength(1);
  const third = await runToEnd(agent, answering(second, resolved("c1", { approved: true })));
  expect(resultsOf(third)).toEqual([["c1", 'deleted {"path":"/a"}']]);
  expect(execute).toHaveBeenCalledTimes(2);
  expect(third.text).toBe("Done.");
});

test("without an answer the gated call is not run, whatever else the client sends", async () => {
  const execute = vi.fn<() => unknown>();
  const agent = looping(scripted({ call: [["c1", "delete_file", { path: "/a" }]] }), [deletion(execute)]);
  const first = await runToEnd(agent);
  const messages = [...nextMessages(first), { id: "u", role: "user", content: "hello?" } as const];
  const second = await runToEnd(agent, { messages, resume: [resolved("other", { approved: true })] });
  expect(questionsOf(second).map(({ id }) => id)).toEqual(["c1"]);
  expect(execute).not.toHaveBeenCalled();
});

const needsApproval = ({ path }: { path: string }): boolean => {
  if (path === "/throw") throw new Error("no rule");
  return path.startsWith("/important");
};

test("approval may depend on the arguments; a rule that fails fails the call", async () => {
  const execute = vi.fn<() => unknown>(() => "deleted");
  const agentFor = (path: string): Agent =>
    looping(scripted({ call: [[`c-${path}`, "delete_file", { path }]] }), [deletion(execute, { needsApproval })]);
  expect(resultsOf(await runToEnd(agentFor("/tmp/x")))).toEqual([["c-/tmp/x", "deleted"]]);
  expect(questionsOf(await runToEnd(agentFor("/important")))).toHaveLength(1);
  expect(resultsOf(await runToEnd(agentFor("/throw")))).toEqual([["c-/throw", expect.stringContaining("no rule")]]);
  expect(execute).toHaveBeenCalledOnce();
});

test("two loops in one run execute an approved call once", async () => {
  const execute = vi.fn<() => unknown>(() => "deleted");
  const model = scripted({ call: [["c1", "delete_file", { path: "/a" }]] }, { say: "Once." }, { say: "Twice." });
  const agent = defineAgent({
    name: "test",
    tools: [deletion(execute)],
    run: async (context) => {
      await toolLoop({ ...context, model });
      await toolLoop({ ...context, model });
    },
  });
  const first = await runToEnd(agent);
  const second = await runToEnd(agent, answering(first, resolved("c1", { approved: true })));
  expect(execute).toHaveBeenCalledOnce();
  expect(second.text).toBe("Once.Twice.");
});

test("a tool may ask while it works: other tools finish first, and only it is run again with the answer", async () => {
  const gate = Promise.withResolvers<void>();
  const other = vi.fn<() => unknown>(() => gate.promise.then(() => "other is done"));
  const started: string[] = [];
  const asking = defineTool({
    name: "ask",
    description: "asks",
    parameters: {},
    timeoutMs: 1000,
    execute: async (_, { emit, toolCallId }) => {
      started.push(toolCallId);
      setTimeout(gate.resolve, 5);
      const name = await emit.interrupt<string>({ reason: "input_required", responseSchema: { type: "string" } });
      const age = await emit.interrupt({ reason: "input_required" });
      return [name, age].map((answer) => (answer.status === "resolved" ? answer.payload : "?")).join(" ");
    },
  });
  const model = scripted(
    {
      call: [
        ["c1", "ask"],
        ["c2", "other"],
      ],
    },
    { say: "Hello." },
  );
  const agent = looping(model, [asking, tool("other", other)]);
  const first = await runToEnd(agent);
  expect(resultsOf(first)).toEqual([["c2", "other is done"]]);
  expect(questionsOf(first)).toMatchObject([{ id: "c1/1", toolCallId: "c1" }]);
  const second = await runToEnd(agent, answering(first, resolved("c1/1", "Ada")));
  expect(questionsOf(second)).toMatchObject([{ id: "c1/2", toolCallId: "c1" }]);
  const third = await runToEnd(agent, answering(second, resolved("c1/2", 36)));
  expect(resultsOf(third)).toEqual([["c1", "Ada 36"]]);
  expect(started).toEqual(["c1", "c1", "c1"]);
  expect(other).toHaveBeenCalledOnce();
  expect(third.text).toBe("Hello.");
  // Records of answers are not for models.
  expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(["assistant", "tool", "assistant", "tool"]);
});

test("a subagent's loop speaks as the subagent", async () => {
  const model = scripted({ say: "I look.", call: [["c1", "add"]] });
  const agent = defineAgent({
    name: "test",
    tools: [tool("add", () => "2")],
    run: async ({ emit, ...context }) => {
      const sub = emit.subagent("inner", { id: "s" });
      await toolLoop({ ...context, emit: sub.emit, model });
      await sub.end();
    },
  });
  const { events } = await runToEnd(agent);
  const inner: readonly Event[] = events.slice(1, -1);
  expect(inner.every((event) => "subagentRunId" in event && event.subagentRunId === "s")).toBe(true);
});

test("loops side by side finish their work before a question of one ends the run", async () => {
  const gate = Promise.withResolvers<void>();
  const execute = vi.fn<() => unknown>(() => "deleted");
  const slow: Model = async function* () {
    yield textMessageChunk({ messageId: "slow", delta: "one " });
    setTimeout(gate.resolve, 5);
    await gate.promise;
    yield textMessageChunk({ messageId: "slow", delta: "two" });
  };
  const agent = defineAgent({
    name: "test",
    tools: [deletion(execute)],
    run: async ({ emit, ...context }) => {
      const models = [scripted({ call: [["c1", "delete_file", { path: "/a" }]] }), slow];
      const loops = models.map((model, index) => ({ model, sub: emit.subagent("s", { id: `s${index}` }) }));
      await Promise.all(loops.map(({ model, sub }) => toolLoop({ ...context, emit: sub.emit, model })));
    },
  });
  const run = await runToEnd(agent);
  expect(run.text).toBe("one two");
  expect(questionsOf(run)).toMatchObject([{ id: "c1", toolCallId: "c1", subagentRunId: "s0" }]);
  // The agent's own loop leaves a subagent's calls alone.
  const model = scripted({ say: "Later." });
  const other = await runToEnd(looping(model, [deletion(execute)]), { messages: nextMessages(run) });
  expect(other.text).toBe("Later.");
  expect(execute).not.toHaveBeenCalled();
});

test("an emit that is none of ours is refused", async () => {
  const agent = defineAgent({
    name: "test",
    run: ({ emit, ...context }) => toolLoop({ ...context, emit: { ...emit }, model: scripted() }),
  });
  expect((await runToEnd(agent)).last).toMatchObject({ type: "RUN_ERROR", code: "config-invalid" });
});
