/** Streams of the real SDK with its own mock model, as events that verify and say the same. */
import { APICallError, isStepCount, jsonSchema, simulateReadableStream, streamText } from "ai";
import type { ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test, vi } from "vitest";
import { HeddleError } from "../../../protocol/index.ts";
import type { Event, Message, RunFinishedEvent } from "../../../protocol/index.ts";
import { chain, expanding, reduceAll, throughArray, verifying } from "../../../stream/index.ts";
import { defineAgent, runAgent } from "../../index.ts";
import { fromAiSdk } from "./index.ts";
import type { AiSdkSource } from "./index.ts";

type ModelPart =
  Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;

const USAGE = {
  inputTokens: { total: 10, noCache: 7, cacheRead: 3, cacheWrite: undefined },
  outputTokens: { total: 20, text: 15, reasoning: 5 },
};

const finish = (unified: "stop" | "tool-calls" = "stop"): ModelPart => ({
  type: "finish",
  finishReason: { unified, raw: unified },
  usage: USAGE,
});

const text = (words: string, id = "0"): readonly ModelPart[] => [
  { type: "text-start", id },
  ...words.split(/(?<= )/).map((delta): ModelPart => ({ type: "text-delta", id, delta })),
  { type: "text-end", id },
];

const streamOf = (parts: readonly ModelPart[]) => ({
  stream: simulateReadableStream({
    chunks: [{ type: "stream-start", warnings: [] } satisfies ModelPart, ...parts],
    initialDelayInMs: null,
    chunkDelayInMs: null,
  }),
});

/** A model that gives one list of parts for each call. */
const modelOf = (...answers: (readonly ModelPart[])[]): MockLanguageModelV4 =>
  new MockLanguageModelV4({ modelId: "mock", doStream: answers.map(streamOf) });

const OBJECT = jsonSchema({ type: "object" });

const ask = (model: MockLanguageModelV4, tools: ToolSet = {}) =>
  streamText({ model, prompt: "Hi", tools, stopWhen: isStepCount(5), onError: () => {} });

/** The run that a stream makes, checked by the rules of order. */
async function runOf(source: AiSdkSource, onWarning: (message: string) => void = () => {}): Promise<readonly Event[]> {
  const agent = defineAgent({ name: "sdk", run: () => fromAiSdk(source, { onWarning }) });
  const log = { debug: () => {}, info: () => {}, warn: onWarning, error: onWarning };
  const events: Event[] = [];
  for await (const event of runAgent(agent, { threadId: "t", runId: "r", messages: [] }, { log })) events.push(event);
  return throughArray(chain(expanding(), verifying()), events);
}

const messagesOf = (events: readonly Event[]): readonly Message[] => reduceAll(events).messages;

const end = (events: readonly Event[]): Event | undefined => events.at(-1);

test("text streams as it comes, each step with its own message, and usage adds up", async () => {
  const onWarning = vi.fn<(message: string) => void>();
  const model = modelOf(
    [
      ...text("Let me see."),
      { type: "tool-call", toolCallId: "c1", toolName: "now", input: "{}" },
      finish("tool-calls"),
    ],
    [...text("It is noon."), finish()],
  );
  const events = await runOf(ask(model, { now: { inputSchema: OBJECT, execute: () => "12:00" } }), onWarning);
  expect(events.map(({ type }) => type)).toEqual([
    "RUN_STARTED",
    "STEP_STARTED",
    "TEXT_MESSAGE_START",
    ...Array<string>(3).fill("TEXT_MESSAGE_CONTENT"),
    "TEXT_MESSAGE_END",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_RESULT",
    "STEP_FINISHED",
    "STEP_STARTED",
    "TEXT_MESSAGE_START",
    ...Array<string>(3).fill("TEXT_MESSAGE_CONTENT"),
    "TEXT_MESSAGE_END",
    "STEP_FINISHED",
    "RUN_FINISHED",
  ]);
  expect(messagesOf(events)).toMatchObject([
    {
      role: "assistant",
      content: "Let me see.",
      toolCalls: [{ id: "c1", function: { name: "now", arguments: "{}" } }],
    },
    { role: "tool", toolCallId: "c1", content: "12:00" },
    { role: "assistant", content: "It is noon." },
  ]);
  expect(end(events)).toMatchObject({
    usage: [
      {
        model: "mock",
        inputTokens: 20,
        outputTokens: 40,
        totalTokens: 60,
        cachedInputTokens: 6,
        reasoningTokens: 10,
      },
    ],
  });
  expect(onWarning).not.toHaveBeenCalled();
});

test("reasoning keeps its signature, calls and text theirs, and empty blocks are no messages", async () => {
  const model = modelOf([
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "hm" },
    { type: "reasoning-delta", id: "r", delta: "", providerMetadata: { anthropic: { signature: "sig" } } },
    { type: "reasoning-end", id: "r" },
    { type: "reasoning-start", id: "s", providerMetadata: { anthropic: { redactedData: "xyz" } } },
    { type: "reasoning-end", id: "s" },
    { type: "reasoning-start", id: "empty" },
    { type: "reasoning-end", id: "empty" },
    { type: "text-start", id: "empty" },
    { type: "text-end", id: "empty" },
    { type: "text-start", id: "0", providerMetadata: { openai: { itemId: "i0" } } },
    { type: "text-delta", id: "0", delta: "Hi", providerMetadata: { openai: { itemId: "i1" } } },
    {
      type: "text-end",
      id: "0",
      citations: [{ source: { type: "source", sourceType: "url", id: "1", url: "http://a" } }],
    },
    { type: "tool-call", toolCallId: "c1", toolName: "f", input: '{"a":1}', providerMetadata: { google: { s: "t" } } },
    finish("tool-calls"),
  ]);
  const messages = messagesOf(await runOf(ask(model, { f: { inputSchema: OBJECT } })));
  expect(messages).toMatchObject([
    { role: "reasoning", content: "hm" },
    { role: "reasoning", content: "" },
    { role: "assistant", content: "Hi", metadata: { "ai-sdk": { citations: [{ source: { url: "http://a" } }] } } },
  ]);
  const sealed = [...messages, ...(messages[2]?.role === "assistant" ? (messages[2].toolCalls ?? []) : [])];
  expect(sealed.map((carrier) => "encryptedValue" in carrier && JSON.parse(String(carrier.encryptedValue)))).toEqual([
    { issuer: "ai-sdk", block: { type: "reasoning", providerMetadata: { anthropic: { signature: "sig" } } } },
    { issuer: "ai-sdk", block: { type: "reasoning", providerMetadata: { anthropic: { redactedData: "xyz" } } } },
    { issuer: "ai-sdk", block: { type: "text", providerMetadata: { openai: { itemId: "i1" } } } },
    { issuer: "ai-sdk", block: { type: "tool-call", providerMetadata: { google: { s: "t" } } } },
  ]);
});

test("streamed input comes as it streams; parallel calls share one message, and reasoning separates them", async () => {
  const model = modelOf([
    { type: "tool-input-start", id: "c1", toolName: "f" },
    { type: "tool-input-delta", id: "c1", delta: '{"city":' },
    { type: "tool-input-delta", id: "c1", delta: '"Rome"}' },
    { type: "tool-input-end", id: "c1" },
    { type: "tool-call", toolCallId: "c1", toolName: "f", input: '{"city":"Rome"}' },
    { type: "tool-call", toolCallId: "c2", toolName: "f", input: '{"city":"Oslo"}' },
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "more" },
    { type: "reasoning-end", id: "r" },
    { type: "tool-call", toolCallId: "c3", toolName: "f", input: '{"city":"Bern"}' },
    finish("tool-calls"),
  ]);
  const onWarning = vi.fn<(message: string) => void>();
  const events = await runOf(ask(model, { f: { inputSchema: OBJECT } }), onWarning);
  expect(events.flatMap((event) => (event.type === "TOOL_CALL_ARGS" ? [event.delta] : []))).toEqual([
    '{"city":',
    '"Rome"}',
    '{"city":"Oslo"}',
    '{"city":"Bern"}',
  ]);
  expect(messagesOf(events)).toMatchObject([
    { role: "assistant", toolCalls: [{ id: "c1" }, { id: "c2" }] },
    { role: "reasoning", content: "more" },
    { role: "assistant", toolCalls: [{ id: "c3" }] },
  ]);
  expect(end(events)).toMatchObject({ outcome: { type: "success", pendingToolCallIds: ["c1", "c2", "c3"] } });
  expect(onWarning).not.toHaveBeenCalled();
});

const call = (toolCallId: string, toolName: string, input = "{}"): ModelPart => ({
  type: "tool-call",
  toolCallId,
  toolName,
  input,
});

test("results are text or JSON; failures, unknown tools and bad input are results that say so", async () => {
  const model = modelOf(
    [
      call("c1", "json"),
      call("c2", "throws"),
      call("c3", "missing", '{"x":1}'),
      call("c4", "json", "{oops"),
      call("c5", "nothing"),
      finish("tool-calls"),
    ],
    [...text("ok"), finish()],
  );
  const events = await runOf(
    ask(model, {
      json: { inputSchema: OBJECT, execute: () => ({ t: 20 }) },
      nothing: { inputSchema: OBJECT, execute: () => undefined },
      throws: {
        inputSchema: OBJECT,
        execute: () => {
          throw new Error("no key sk-abcdefghij0123456789 here");
        },
      },
    }),
  );
  const calls = messagesOf(events)[0];
  expect(calls).toMatchObject({ toolCalls: { 3: { id: "c4", function: { arguments: "{oops" } } } });
  const results = events.flatMap((event) => (event.type === "TOOL_CALL_RESULT" ? [event] : []));
  const byCall = Object.fromEntries(
    results.map(({ toolCallId, content, metadata }) => [toolCallId, { content, metadata }]),
  );
  expect(byCall).toEqual({
    c1: { content: '{"t":20}' },
    c2: { content: "no key [redacted] here", metadata: { heddle: { error: "no key [redacted] here" } } },
    c3: { content: expect.stringContaining("missing"), metadata: { heddle: { error: expect.any(String) } } },
    c4: { content: expect.stringContaining("json"), metadata: { heddle: { error: expect.any(String) } } },
    c5: { content: "" },
  });
});

test("preliminary results are shown, and only the last one answers", async () => {
  const model = modelOf(
    [{ type: "tool-call", toolCallId: "c1", toolName: "slow", input: "{}" }, finish("tool-calls")],
    [...text("ok"), finish()],
  );
  const slow = {
    inputSchema: OBJECT,
    async *execute() {
      yield "half";
      yield "whole";
    },
  };
  const events = await runOf(ask(model, { slow }));
  expect(events.flatMap((event) => (event.type === "CUSTOM" ? [[event.name, event.value]] : []))).toEqual([
    ["ai-sdk.preliminary-tool-result", { toolCallId: "c1", output: "half" }],
    ["ai-sdk.preliminary-tool-result", { toolCallId: "c1", output: "whole" }],
  ]);
  expect(messagesOf(events).filter(({ role }) => role === "tool")).toMatchObject([{ content: "whole" }]);
});

test("sources and files stay with the conversation, custom parts and raw chunks pass by", async () => {
  const model = modelOf([
    { type: "source", sourceType: "url", id: "s1", url: "http://a/", title: "A" },
    { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } },
    { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "BBBB" } },
    { type: "custom", kind: "mock.thing", providerMetadata: { mock: { a: 1 } } },
    { type: "raw", rawValue: { chunk: 1 } },
    ...text("ok"),
    finish(),
  ]);
  const result = streamText({ model, prompt: "Hi", includeRawChunks: true });
  const events = await runOf(result);
  expect(messagesOf(events).filter(({ role }) => role === "activity")).toMatchObject([
    { activityType: "ai-sdk.source", content: { sourceType: "url", id: "s1", url: "http://a/", title: "A" } },
    { activityType: "ai-sdk.file", content: { source: { type: "data", value: "AAAA", mimeType: "image/png" } } },
    { activityType: "ai-sdk.reasoning-file", content: { source: { value: "BBBB" } } },
  ]);
  expect(events).toContainEqual({
    type: "CUSTOM",
    name: "ai-sdk.mock.thing",
    value: { kind: "mock.thing", providerMetadata: { mock: { a: 1 } } },
  });
  expect(events).toContainEqual({ type: "RAW", event: { chunk: 1 }, source: "ai-sdk" });
});

async function* odd() {
  yield* streamText({ model: modelOf([...text("ok"), finish()]), prompt: "Hi" }).stream;
  yield JSON.parse('{"type":"tool-telepathy"}');
}

test("parts that no version knows are named, not swallowed", async () => {
  const onWarning = vi.fn<(message: string) => void>();
  await runOf(odd(), onWarning);
  expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('"tool-telepathy"'));
});

async function* steered() {
  const content = [
    { type: "text" as const, text: "Shorter!" },
    { type: "file" as const, data: "AA", mediaType: "a/b" },
  ];
  yield { type: "steering-message" as const, id: "s", message: { role: "user" as const, content }, stepNumber: 1 };
}

test("a steering message is a message of the person's", async () => {
  const onWarning = vi.fn<(message: string) => void>();
  const events = await runOf(steered(), onWarning);
  expect(messagesOf(events)).toMatchObject([{ role: "user", content: "Shorter!" }]);
  expect(onWarning).toHaveBeenCalledOnce();
});

async function* parts() {
  yield { type: "tool-input-start" as const, id: "c1", toolName: "patch", inputEncoding: "text" as const };
  yield { type: "tool-input-delta" as const, id: "c1", delta: "*** Begin" };
  yield { type: "tool-input-end" as const, id: "c1" };
  yield {
    type: "tool-call" as const,
    toolCallId: "c1",
    toolName: "patch",
    input: "*** Begin",
    dynamic: true as const,
  };
  yield { type: "tool-input-start" as const, id: "c2", toolName: "f" };
  yield { type: "tool-input-delta" as const, id: "c2", delta: '{"a": 1}' };
  yield { type: "tool-call" as const, toolCallId: "c2", toolName: "f", input: { a: 2 }, dynamic: true as const };
}

test("input that is not JSON is known only whole; input that was changed after streaming is reported", async () => {
  const onWarning = vi.fn<(message: string) => void>();
  const events = await runOf(parts(), onWarning);
  expect(events.flatMap((event) => (event.type === "TOOL_CALL_ARGS" ? [event.delta] : []))).toEqual([
    '"*** Begin"',
    '{"a": 1}',
  ]);
  expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("c2"));
});

test("a call that waits for approval ends the run with a question about it", async () => {
  const model = modelOf([
    ...text("May I?"),
    { type: "tool-call", toolCallId: "c1", toolName: "pay", input: '{"sum":5}' },
    { type: "tool-call", toolCallId: "c2", toolName: "free", input: "{}" },
    finish("tool-calls"),
  ]);
  const execute = vi.fn<() => string>(() => "paid");
  const events = await runOf(
    ask(model, {
      pay: { inputSchema: OBJECT, needsApproval: true, execute },
      free: { inputSchema: OBJECT, execute: () => "ok" },
    }),
  );
  const interrupt = { id: "c1", reason: "tool_call", message: "Run pay?", toolCallId: "c1" };
  expect(end(events)).toMatchObject({
    outcome: { type: "interrupt", interrupts: [{ ...interrupt, responseSchema: { required: ["approved"] } }] },
  });
  expect(events.filter(({ type }) => type === "TOOL_CALL_RESULT")).toMatchObject([{ toolCallId: "c2" }]);
  expect(execute).not.toHaveBeenCalled();
});

async function* decided() {
  const toolCall = { type: "tool-call", toolCallId: "c1", toolName: "f", input: {}, dynamic: true } as const;
  const common = { approvalId: "a1", toolCall };
  yield toolCall;
  yield { type: "tool-approval-request", ...common, isAutomatic: true } as const;
  yield { type: "tool-approval-response", ...common, approved: false, reason: "by rule" } as const;
  yield { type: "tool-output-denied", toolCallId: "c1", toolName: "f" } as const;
  const left = { ...toolCall, toolCallId: "c2" };
  yield left;
  yield { type: "tool-approval-request", approvalId: "a2", toolCall: left, isAutomatic: true } as const;
}

test("what the SDK decides by itself is no question; a denial says why", async () => {
  const events = await runOf(decided());
  expect(end(events)).toMatchObject({ outcome: { type: "success", pendingToolCallIds: ["c2"] } });
  expect(messagesOf(events).at(-1)).toMatchObject({ role: "tool", content: "The call was denied: by rule" });
});

const apiError = (statusCode: number, body: string) => () => {
  throw new APICallError({
    message: "the SDK's own words",
    url: "http://provider/?key=query-secret-1",
    requestBodyValues: { prompt: "private" },
    statusCode,
    responseBody: body,
    isRetryable: false,
  });
};

const BODY = (type: string, message: string): string => JSON.stringify({ error: { type, message } });

test.each([
  [401, BODY("authentication_error", "Bad key sk-ant-0123456789abcdef"), "model-unauthorised", "Bad key [redacted]"],
  [429, BODY("rate_limit_error", "Slow down"), "model-rate-limited", "Slow down"],
  [529, BODY("overloaded_error", "Overloaded"), "model-overloaded", "Overloaded"],
  [400, BODY("invalid_request_error", "prompt is too long: 9 tokens"), "model-context-exceeded", "prompt is too long"],
  [400, "", "model-request-refused", "the SDK's own words"],
  [502, "<html>Bad gateway</html>", "model-unreachable", "the SDK's own words"],
])("status %i %s becomes %s", async (status, body, code, reason) => {
  const model = new MockLanguageModelV4({ doStream: apiError(status, body) });
  const events = await runOf(streamText({ model, prompt: "Hi", onError: () => {} }));
  expect(end(events)).toMatchObject({ type: "RUN_ERROR", code, message: expect.stringContaining(reason) });
  expect(JSON.stringify(end(events))).not.toMatch(/sk-ant|query-secret|private/);
});

test("retries are looked through to what failed last", async () => {
  let calls = 0;
  const doStream = () => {
    const headers = { "retry-after-ms": "1" };
    const common = { message: "no", url: "http://p/", requestBodyValues: {}, responseHeaders: headers };
    throw new APICallError({ ...common, statusCode: 503, isRetryable: true, responseBody: `try ${++calls}` });
  };
  const model = new MockLanguageModelV4({ doStream });
  const events = await runOf(streamText({ model, prompt: "Hi", maxRetries: 1, onError: () => {} }));
  expect(end(events)).toMatchObject({ code: "model-overloaded", message: expect.stringContaining("try 2") });
});

const broken = (error: unknown) => ({
  stream: new ReadableStream<ModelPart>({
    start(controller) {
      controller.enqueue({ type: "stream-start", warnings: [] });
      for (const part of text("Half an answer").slice(0, -1)) controller.enqueue(part);
    },
    pull: (controller) => controller.error(error),
  }),
});

test.each([
  [
    "a broken connection",
    broken(new TypeError("terminated", { cause: new Error("other side closed") })),
    "model-unreachable",
  ],
  ["a malformed stream", broken(new SyntaxError("Unexpected token < in JSON")), "model-stream-invalid"],
  ["an error of another kind", broken(new RangeError("odd")), "model-failed"],
  ["a stream that just ends", streamOf(text("Half").slice(0, -1)), "model-unreachable"],
  ["a stream that ends before it began", streamOf([]), "model-unreachable"],
  [
    "an error part",
    streamOf([{ type: "error", error: { type: "overloaded_error", message: "Busy" } }]),
    "model-overloaded",
  ],
  ["an error part of text", streamOf([{ type: "error", error: "odd" }, ...text("on"), finish()]), "model-failed"],
  ["a content filter", streamOf([{ ...finishWith("content-filter") }]), "model-request-refused"],
  ["a failed finish", streamOf([...text("Half"), finishWith("error")]), "model-failed"],
  ["an interrupted finish", streamOf([...text("Half"), finishWith("interrupted")]), "model-unreachable"],
])("%s fails the run", async (_, doStream, code) => {
  const model = new MockLanguageModelV4({ doStream });
  const events = await runOf(streamText({ model, prompt: "Hi", onError: () => {}, maxRetries: 0 }));
  expect(end(events)).toMatchObject({ type: "RUN_ERROR", code });
});

function finishWith(unified: "content-filter" | "error" | "interrupted" | "length"): ModelPart {
  return { type: "finish", finishReason: { unified, raw: unified }, usage: USAGE };
}

test("an answer that reached the token limit is a success with a warning", async () => {
  const onWarning = vi.fn<(message: string) => void>();
  const events = await runOf(ask(modelOf([...text("Half"), finishWith("length")])), onWarning);
  expect(end(events)).toMatchObject({ type: "RUN_FINISHED" });
  expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("token limit"));
});

const untilAborted = async ({ abortSignal }: { abortSignal?: AbortSignal | undefined }) => ({
  stream: new ReadableStream<ModelPart>({
    start(controller) {
      for (const part of text("Half an answer").slice(0, -1)) controller.enqueue(part);
      abortSignal?.addEventListener("abort", () => controller.error(abortSignal.reason));
    },
  }),
});

test("a stream that its owner aborts ends as cancelled", async () => {
  const stop = new AbortController();
  const model = new MockLanguageModelV4({ doStream: untilAborted });
  const events: Event[] = [];
  for await (const event of fromAiSdk(streamText({ model, prompt: "Hi", abortSignal: stop.signal }))) {
    events.push(event);
    if (event.type === "TEXT_MESSAGE_CONTENT" && event.delta === "answer") stop.abort();
  }
  const last = events.at(-1) as RunFinishedEvent;
  expect(last).toEqual({ type: "RUN_FINISHED", threadId: "", runId: "", outcome: { type: "cancelled" } });
});

test("the full stream alone will do, and a result with only that", async () => {
  const { fullStream } = streamText({ model: modelOf([...text("ok"), finish()]), prompt: "Hi" });
  const other = streamText({ model: modelOf([...text("ok"), finish()]), prompt: "Hi" });
  expect(messagesOf(await runOf(fullStream))).toMatchObject([{ content: "ok" }]);
  expect(messagesOf(await runOf({ fullStream: other.fullStream }))).toMatchObject([{ content: "ok" }]);
});

test("errors of ours keep their code", async () => {
  const error = new HeddleError("limit-exceeded", "Too much.", { limit: "x", allowed: 1, actual: 2 });
  const stream = new ReadableStream({ pull: (controller) => controller.error(error) });
  expect(end(await runOf({ stream }))).toMatchObject({ code: "limit-exceeded" });
});
