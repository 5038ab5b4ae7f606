/** Agents of the real SDK, run by us: what its model is asked, what comes back, approvals over two runs, stops. */
import { ToolLoopAgent, isStepCount, jsonSchema, simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test, vi } from "vitest";
import type { Event, Message, RunAgentInput, Tool } from "../../../protocol/index.ts";
import { chain, expanding, reduceAll, throughArray, verifying } from "../../../stream/index.ts";
import { runAgent } from "../../index.ts";
import type { Agent, RunOptions } from "../../index.ts";
import { aiSdkAgent } from "./index.ts";
import type { AiSdkRequest } from "./index.ts";

type StreamResult = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>;
type ModelPart = StreamResult["stream"] extends ReadableStream<infer P> ? P : never;

const finish = (unified: "stop" | "tool-calls"): ModelPart => ({
  type: "finish",
  finishReason: { unified, raw: unified },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: 1, reasoning: undefined },
  },
});

const streamOf = (parts: readonly ModelPart[]): StreamResult => ({
  stream: simulateReadableStream({ chunks: [...parts], initialDelayInMs: null, chunkDelayInMs: null }),
});

const saying = (words: string): readonly ModelPart[] => [
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: words },
  { type: "text-end", id: "0" },
  finish("stop"),
];

const calling = (...names: readonly string[]): readonly ModelPart[] => [
  ...names.map((toolName, index): ModelPart => ({
    type: "tool-call",
    toolCallId: `c${index + 1}`,
    toolName,
    input: '{"a":1}',
  })),
  finish("tool-calls"),
];

const modelOf = (...answers: (readonly ModelPart[])[]): MockLanguageModelV4 =>
  new MockLanguageModelV4({ doStream: answers.map(streamOf) });

const OBJECT = jsonSchema({ type: "object" });
const HELLO: Message = { id: "u1", role: "user", content: "Hello" };
const base: RunAgentInput = { threadId: "t", runId: "r1", messages: [HELLO] };

async function runOf(agent: Agent, input: RunAgentInput, options?: RunOptions): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of runAgent(agent, input, options)) events.push(event);
  return throughArray(chain(expanding(), verifying()), events);
}

const messagesAfter = (input: RunAgentInput, events: readonly Event[]): readonly Message[] =>
  reduceAll(events, { messages: input.messages }).messages;

const promptOf = (model: MockLanguageModelV4, call = 0) => model.doStreamCalls[call]?.prompt;

const PICK: Tool = { name: "pick", description: "Picks", parameters: { type: "object", properties: { a: {} } } };

test("streamText gets the conversation, the context and the frontend's tools, and stops at their calls", async () => {
  const model = modelOf(calling("pick"));
  const agent = aiSdkAgent({
    name: "sdk",
    streamText: { model, system: "Be kind.", tools: { mine: { inputSchema: OBJECT } }, stopWhen: isStepCount(5) },
  });
  const context = [{ description: "Page", value: "Cart" }];
  const events = await runOf(agent, { ...base, tools: [PICK], context });
  expect(promptOf(model)).toMatchObject([
    { role: "system", content: "Be kind." },
    { role: "system", content: "Page: Cart" },
    { role: "user", content: [{ type: "text", text: "Hello" }] },
  ]);
  expect(model.doStreamCalls[0]?.tools).toMatchObject([
    { name: "mine" },
    { name: "pick", description: "Picks", inputSchema: PICK.parameters },
  ]);
  expect(events.at(-1)).toMatchObject({ outcome: { type: "success", pendingToolCallIds: ["c1"] } });
});

test("a fixed agent gets the conversation, and says that it cannot offer the frontend's tools", async () => {
  const model = modelOf(saying("Hi"));
  const onWarning = vi.fn<(message: string) => void>();
  const agent = aiSdkAgent({ name: "sdk", agent: new ToolLoopAgent({ model, instructions: "Be kind." }), onWarning });
  const system: Message = { id: "s1", role: "system", content: "Rhyme." };
  const events = await runOf(agent, { ...base, messages: [system, HELLO], tools: [PICK] });
  expect(promptOf(model)).toMatchObject([
    { role: "system", content: "Be kind." },
    { role: "user", content: [{ type: "text", text: "Rhyme." }] },
    { role: "user", content: [{ type: "text", text: "Hello" }] },
  ]);
  expect(messagesAfter(base, events).at(-1)).toMatchObject({ role: "assistant", content: "Hi" });
  expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("not offered"));
});

test("an agent that is made for each run can offer them", async () => {
  const model = modelOf(calling("pick"));
  const make = ({ tools }: AiSdkRequest) => new ToolLoopAgent({ model, tools });
  const events = await runOf(aiSdkAgent({ name: "sdk", agent: make }), { ...base, tools: [PICK] });
  expect(model.doStreamCalls[0]?.tools).toMatchObject([{ name: "pick" }]);
  expect(events.at(-1)).toMatchObject({ outcome: { pendingToolCallIds: ["c1"] } });
});

test("the agent's own tool wins over the frontend's of the same name", async () => {
  const model = modelOf(calling("pick"), saying("done"));
  const warn = vi.fn<(message: string) => void>();
  const pick = { inputSchema: OBJECT, execute: () => "mine" };
  const settings = { model, tools: { pick }, stopWhen: isStepCount(2) };
  const log = { debug: warn, info: warn, warn, error: warn };
  const agent = aiSdkAgent({ name: "sdk", streamText: () => settings });
  const events = await runOf(agent, { ...base, tools: [PICK] }, { log });
  expect(messagesAfter(base, events)).toMatchObject([{}, {}, { role: "tool", content: "mine" }, { content: "done" }]);
  expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("pick"));
});

test.each([
  ["approved", { status: "resolved", payload: { approved: true } }, "paid", { type: "text", value: "paid" }],
  ["approved in one word", { status: "resolved", payload: true }, "paid", { type: "text", value: "paid" }],
  [
    "denied",
    { status: "resolved", payload: { approved: false, reason: "too much" } },
    "The call was denied: too much",
    { type: "execution-denied", reason: "too much" },
  ],
  ["abandoned", { status: "cancelled" }, "The call was denied: Nobody decided.", { type: "execution-denied" }],
  ["answered with nonsense", { status: "resolved", payload: "maybe" }, "The call was denied.", {}],
] as const)("an approval that is %s in the next run", async (_, answer, content, output) => {
  const model = modelOf(calling("pay", "free"), saying("done"));
  const execute = vi.fn<() => string>(() => "paid");
  const tools = {
    pay: { inputSchema: OBJECT, needsApproval: true, execute },
    free: { inputSchema: OBJECT, execute: () => "ok" },
  };
  const agent = aiSdkAgent({ name: "sdk", agent: new ToolLoopAgent({ model, tools }) });
  const asked = await runOf(agent, base);
  expect(asked.at(-1)).toMatchObject({ outcome: { type: "interrupt", interrupts: [{ id: "c1" }] } });
  expect(execute).not.toHaveBeenCalled();

  const next: RunAgentInput = {
    ...base,
    runId: "r2",
    messages: messagesAfter(base, asked),
    resume: [{ interruptId: "c1", ...answer }],
  };
  const events = await runOf(agent, next);
  expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED" });
  expect(execute).toHaveBeenCalledTimes(content === "paid" ? 1 : 0);
  expect(messagesAfter(next, events).filter(({ role }) => role === "tool")).toMatchObject([
    { toolCallId: "c2", content: "ok" },
    { toolCallId: "c1", content },
  ]);
  const results = promptOf(model, 1)?.flatMap((message) => (message.role === "tool" ? message.content : []));
  expect(results).toMatchObject([
    { type: "tool-result", toolCallId: "c2" },
    { type: "tool-result", toolCallId: "c1", output },
  ]);

  // A third run sees both calls answered.
  model.doStream = async (options) => {
    model.doStreamCalls.push(options);
    return streamOf(saying("bye"));
  };
  const more: Message = { id: "u2", role: "user", content: "Thanks" };
  const last = await runOf(agent, { ...base, runId: "r3", messages: [...messagesAfter(next, events), more] });
  expect(last.at(-1)).toMatchObject({ type: "RUN_FINISHED" });
  expect(execute).toHaveBeenCalledTimes(content === "paid" ? 1 : 0);
});

test("a signed approval is recognised by its signature", async () => {
  const model = modelOf(calling("pay"), saying("done"));
  const execute = vi.fn<() => string>(() => "paid");
  const agent = aiSdkAgent({
    name: "sdk",
    streamText: {
      model,
      stopWhen: isStepCount(3),
      tools: { pay: { inputSchema: OBJECT, needsApproval: true, execute } },
      experimental_toolApprovalSecret: "a secret of thirty-two characters",
    },
  });
  const asked = await runOf(agent, base);
  const messages = messagesAfter(base, asked);
  const resume = [{ interruptId: "c1", status: "resolved", payload: { approved: true } }] as const;
  const approved = await runOf(agent, { ...base, runId: "r2", messages, resume });
  expect(approved.at(-1)).toMatchObject({ type: "RUN_FINISHED" });
  expect(execute).toHaveBeenCalledOnce();

  // The same approval for other arguments is not.
  const forged: readonly Message[] = JSON.parse(JSON.stringify(messages).replaceAll('\\"a\\":1', '\\"a\\":1000'));
  const refused = await runOf(agent, { ...base, runId: "r3", messages: forged, resume });
  expect(refused.at(-1)).toMatchObject({ type: "RUN_ERROR" });
  expect(execute).toHaveBeenCalledOnce();
});

test("a stop reaches the model's signal before the next macrotask, ends as cancelled and keeps the text", async () => {
  let modelSignal: AbortSignal | undefined;
  const model = new MockLanguageModelV4({
    doStream: async ({ abortSignal }) => {
      modelSignal = abortSignal;
      return {
        stream: new ReadableStream({
          start(controller) {
            controller.enqueue({ type: "text-start", id: "0" });
            controller.enqueue({ type: "text-delta", id: "0", delta: "Half" });
            abortSignal?.addEventListener("abort", () => controller.error(abortSignal.reason));
          },
        }),
      };
    },
  });
  const stop = new AbortController();
  const agent = aiSdkAgent({ name: "sdk", streamText: { model } });
  const events: Event[] = [];
  for await (const event of runAgent(agent, base, { signal: stop.signal })) {
    events.push(event);
    if (event.type !== "TEXT_MESSAGE_CONTENT") continue;
    stop.abort();
    await Promise.resolve();
    expect(modelSignal?.aborted).toBe(true);
  }
  expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
  expect(messagesAfter(base, throughArray(chain(expanding(), verifying()), events)).at(-1)).toMatchObject({
    role: "assistant",
    content: "Half",
  });
});

test("whatever breaks because of a stop is no error", async () => {
  const stop = new AbortController();
  const onError = vi.fn<(error: unknown) => void>();
  const agent = aiSdkAgent({
    name: "sdk",
    agent: {
      async stream({ abortSignal }) {
        const broken = Promise.withResolvers<never>();
        abortSignal?.addEventListener("abort", () => broken.reject(new Error("torn apart")));
        stop.abort();
        return broken.promise;
      },
    },
  });
  const events = await runOf(agent, base, { signal: stop.signal, onError });
  expect(events.at(-1)).toMatchObject({ outcome: { type: "cancelled" } });
  expect(onError).not.toHaveBeenCalled();
});

test("a provider's error reaches the run with its code", async () => {
  const model = new MockLanguageModelV4({
    doStream: async () => {
      throw Object.assign(new Error("no"), { statusCode: 401, responseBody: '{"error":{"message":"Who are you?"}}' });
    },
  });
  const onError = vi.fn<(error: unknown) => void>();
  const events = await runOf(aiSdkAgent({ name: "sdk", streamText: { model } }), base, { onError });
  expect(events.at(-1)).toMatchObject({
    type: "RUN_ERROR",
    code: "model-unauthorised",
    message: expect.stringContaining("Who are you?"),
  });
  expect(onError).toHaveBeenCalledOnce();
});
