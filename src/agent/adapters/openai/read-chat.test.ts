import { expect, test } from "vitest";
import { failureOfAnswer, hear, messagesAfter, recorded, say } from "../../../../test/model-answer.ts";
import type { Event } from "../../../protocol/index.ts";
import { fromOpenAiChat } from "./index.ts";
import type { OpenAiStreamOptions } from "./index.ts";

const fixture = (name: string): URL => new URL(`fixtures/chat-${name}.sse`, import.meta.url);

const read = (name: string, options?: OpenAiStreamOptions) => fromOpenAiChat(recorded(fixture(name)), options);

async function* values(...given: readonly unknown[]): AsyncGenerator<unknown, void, undefined> {
  yield* given;
}

const call = (index: number, id: string) => ({ index, id, function: { name: "f", arguments: "{}" } });

async function* chunks(...deltas: readonly object[]): AsyncGenerator<unknown, void, undefined> {
  for (const delta of deltas) yield { choices: [{ index: 0, ...delta }] };
}

const customs = (events: readonly Event[]) =>
  events.flatMap((event) => (event.type === "CUSTOM" ? [{ name: event.name, value: event.value }] : []));

const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-f]{32}$`));

test("text becomes one message, and the tokens are reported as totals with their parts", async () => {
  const events = await say(read("text"));
  expect(events.slice(0, 5)).toEqual([
    { type: "TEXT_MESSAGE_START", messageId: id("msg"), role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: id("msg"), delta: "Hel" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: id("msg"), delta: "lo, " },
    { type: "TEXT_MESSAGE_CONTENT", messageId: id("msg"), delta: "wörld 🌍" },
    { type: "TEXT_MESSAGE_END", messageId: id("msg") },
  ]);
  expect(customs(events)).toEqual([
    {
      name: "heddle.usage",
      value: {
        provider: "openai",
        model: "gpt-5.1-mini",
        inputTokens: 52,
        outputTokens: 31,
        totalTokens: 83,
        reasoningTokens: 8,
        cachedInputTokens: 16,
      },
    },
  ]);
});

test("parallel calls stream their arguments apart, in one message with the text before them", async () => {
  const events = await say(read("parallel-tools"));
  expect(messagesAfter(events)).toEqual([
    {
      id: id("msg"),
      role: "assistant",
      content: "Let me look.",
      toolCalls: [
        { id: "call_paris", type: "function", function: { name: "get_weather", arguments: '{"city":"Paris"}' } },
        { id: "call_rome", type: "function", function: { name: "get_weather", arguments: '{"city":"Rome"}' } },
        { id: "call_now", type: "function", function: { name: "now", arguments: "{}" } },
      ],
    },
  ]);
  const deltas = events.flatMap((event) => (event.type === "TOOL_CALL_ARGS" ? [event.delta] : []));
  expect(deltas).toEqual(['{"city":', '"Paris"}', '{"city":"Rome"}', "{}"]);
});

test("reasoning of compatible servers comes before the answer, as reasoning", async () => {
  const messages = messagesAfter(await say(read("reasoning")));
  expect(messages).toEqual([
    { id: id("rsn"), role: "reasoning", content: "The user greets." },
    { id: id("msg"), role: "assistant", content: "Hi!" },
  ]);
});

test("details of reasoning are sealed with it, before what they led to", async () => {
  const details = [
    { type: "reasoning.text", text: "Hm." },
    { type: "reasoning.encrypted", data: "x" },
  ];
  const stream = chunks(
    { delta: { reasoning: "Hm.", reasoning_details: details.slice(0, 1) } },
    { delta: { content: "", reasoning_details: details.slice(1) } },
    { delta: { tool_calls: [call(0, "c")] }, finish_reason: "tool_calls" },
  );
  expect(messagesAfter(await say(fromOpenAiChat(stream)))).toMatchObject([
    {
      role: "reasoning",
      content: "Hm.",
      encryptedValue: JSON.stringify({
        issuer: "openai",
        block: { type: "reasoning_details", reasoning_details: details },
      }),
    },
    { role: "assistant", toolCalls: [{ id: "c" }] },
  ]);
});

test("content in parts is its text, and reasoning among them reasoning", async () => {
  const stream = chunks(
    { delta: { content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] } },
    { delta: { content: [{ type: "text", text: "Hi" }] }, finish_reason: "stop" },
  );
  expect(messagesAfter(await say(fromOpenAiChat(stream)))).toMatchObject([
    { role: "reasoning", content: "Hm." },
    { role: "assistant", content: "Hi" },
  ]);
});

test("a refusal is text that says it is one", async () => {
  expect(messagesAfter(await say(read("refusal")))).toEqual([
    {
      id: id("msg"),
      role: "assistant",
      content: "I cannot help with that.",
      metadata: { openai: { refusal: true } },
    },
  ]);
});

test("a spoken answer is its transcript, and the sound an activity with all of its bytes", async () => {
  const messages = messagesAfter(await say(read("audio", { audioMimeType: "audio/pcm;rate=24000" })));
  expect(messages).toMatchObject([
    { role: "assistant", content: "Hello" },
    {
      role: "activity",
      activityType: "heddle.media",
      content: {
        provider: "openai",
        kind: "audio",
        source: { type: "data", value: btoa("\u0000\u0001\u0002\u0003"), mimeType: "audio/pcm;rate=24000" },
        audioId: "audio_1",
        expiresAt: 1763253600,
      },
    },
  ]);
});

test("an answer that was cut keeps its text and says so", async () => {
  const events = await say(read("length"));
  expect(messagesAfter(events)).toMatchObject([
    { content: "Once upon", metadata: { openai: { stopReason: "length" } } },
  ]);
  expect(customs(events)[0]).toEqual({ name: "heddle.stop", value: { provider: "openai", reason: "length" } });
});

test("a call that was cut is a failure, closed with what it had, and its tokens are reported", async () => {
  const { events, error } = await hear(read("length-in-call"));
  expect(error).toMatchObject({ code: "model-output-cut", message: expect.stringContaining("write_file") });
  expect(messagesAfter(events)).toMatchObject([{ toolCalls: [{ function: { arguments: '{"path":"a' } }] }]);
  expect(customs(events)).toMatchObject([{ name: "heddle.usage" }]);
});

test("a cut answer that holds nothing is a failure", async () => {
  const error = await failureOfAnswer(fromOpenAiChat(chunks({ delta: {}, finish_reason: "length" })));
  expect(error).toMatchObject({ code: "model-output-cut", message: expect.stringContaining("length") });
});

test("the content filter is a refusal, after what was said before it", async () => {
  const { events, error } = await hear(read("content-filter"));
  expect(error).toMatchObject({ code: "model-request-refused", message: expect.stringContaining("content_filter") });
  expect(messagesAfter(events)).toMatchObject([{ content: "So you" }]);
});

test("an error in the middle is that error, with everything closed before it", async () => {
  const { events, error } = await hear(read("error-midway"));
  expect(error).toMatchObject({ code: "model-failed", message: expect.stringContaining("Sorry about that!") });
  expect(messagesAfter(events)).toMatchObject([{ content: "Part" }]);
});

test("an HTTP status inside the stream counts as one", async () => {
  const stream = values({ error: { message: "Slow down", code: 429 } });
  expect(await failureOfAnswer(fromOpenAiChat(stream))).toMatchObject({ code: "model-rate-limited" });
});

test("a server that gives every call the same index is understood by their ids, and signatures are sealed", async () => {
  const [message] = messagesAfter(await say(read("same-index")));
  expect(message).toMatchObject({
    toolCalls: [
      { id: "a", function: { arguments: '{"city":"Paris"}' }, encryptedValueType: "openai.extra_content" },
      { id: "b", function: { arguments: '{"city":"Rome"}' } },
    ],
  });
});

test("a call of plain text keeps its text", async () => {
  expect(messagesAfter(await say(read("custom-tool")))).toMatchObject([
    {
      toolCalls: [
        {
          id: "call_c",
          function: { name: "run_sql", arguments: "select 1" },
          metadata: { openai: { type: "custom" } },
        },
      ],
    },
  ]);
});

test("ids that are missing or taken are replaced, each by its own", async () => {
  const stream = chunks({ delta: { tool_calls: [call(0, ""), call(1, "call_0")] }, finish_reason: "tool_calls" });
  const events = await say(fromOpenAiChat(stream, { takenCallIds: new Set(["call_0"]) }));
  const ids = events.flatMap((event) => (event.type === "TOOL_CALL_START" ? [event.toolCallId] : []));
  expect(ids).toEqual([id("call"), id("call")]);
  expect(new Set(ids).size).toBe(2);
});

test("text behind a call goes to the call's message", async () => {
  const stream = chunks(
    { delta: { tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "{}" } }] } },
    { delta: { content: "afterwards" }, finish_reason: "tool_calls" },
  );
  expect(messagesAfter(await say(fromOpenAiChat(stream)))).toMatchObject([
    { content: "afterwards", toolCalls: [{ id: "c" }] },
  ]);
});

test("the old way of calling a function is a call", async () => {
  const stream = chunks(
    { delta: { function_call: { name: "f", arguments: "" } } },
    { delta: { function_call: { arguments: '{"a":1}' } }, finish_reason: "function_call" },
  );
  expect(messagesAfter(await say(fromOpenAiChat(stream)))).toMatchObject([
    { toolCalls: [{ id: id("call"), function: { name: "f", arguments: '{"a":1}' } }] },
  ]);
});

test("what is left out is named, once", async () => {
  const warnings: string[] = [];
  const delta = { content: "x", telepathy: 1 };
  const stream = chunks(
    { delta, logprobs: { content: [] } },
    { delta },
    { index: 1, delta },
    { delta: {}, finish_reason: "because" },
  );
  const events = await say(fromOpenAiChat(stream, { onWarning: (message) => warnings.push(message) }));
  expect(warnings).toEqual([
    "telepathy was left out.",
    "Log probabilities were left out.",
    "Choices beyond the first were left out; ask for n = 1.",
    "The finish reason because is unknown.",
  ]);
  expect(customs(events)).toEqual([{ name: "heddle.stop", value: { provider: "openai", reason: "because" } }]);
});

test.each<[string, object[], string]>([
  ["without a finish reason", [{ delta: { content: "Hal" } }], "model-unreachable"],
  ["without any event", [], "model-stream-invalid"],
  ["with text that is a number", [{ delta: { content: 7 } }], "model-stream-invalid"],
  ["with a call of nothing", [{ delta: { tool_calls: [{ index: 0, id: "c" }] } }], "model-stream-invalid"],
  ["with a call that has no name", [{ delta: { tool_calls: [{ index: 0, function: {} }] } }], "model-stream-invalid"],
])("a stream %s is no answer", async (_, deltas, code) => {
  const { events, error } = await hear(fromOpenAiChat(chunks(...deltas)));
  expect(error).toMatchObject({ code });
  messagesAfter(events);
});

test("an event that is no object is no stream", async () => {
  expect(await failureOfAnswer(fromOpenAiChat(values("hello")))).toMatchObject({ code: "model-stream-invalid" });
});
