import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { hear, messagesAfter, recorded, recordedEvents, say } from "../../../../test/model-answer.ts";
import type { Event } from "../../../protocol/index.ts";
import { fromAnthropic } from "./index.ts";
import type { AnthropicStreamOptions } from "./index.ts";

const fixture = (name: string): URL => new URL(`fixtures/${name}.sse`, import.meta.url);

const read = (name: string, options?: AnthropicStreamOptions) => fromAnthropic(recorded(fixture(name)), options);

async function* stream(...events: readonly object[]): AsyncGenerator<unknown, void, undefined> {
  yield* events;
}

const block = (index: number, content_block: object, ...deltas: readonly object[]) => [
  { type: "content_block_start", index, content_block },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index },
];

const stop = (stop_reason: string) => [
  { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
];

const sealed = (value: object): string => JSON.stringify({ issuer: "anthropic", block: value });

const customs = (events: readonly Event[]) =>
  events.flatMap((event) => (event.type === "CUSTOM" ? [{ name: event.name, value: event.value }] : []));

const call = (id: string, name: string, text: string) => ({
  id,
  type: "function",
  function: { name, arguments: text },
});

const anyId = expect.any(String);

test("thinking with its signature, redacted thinking, text and parallel calls come in their order", async () => {
  const events = await say(read("thinking-tools"));
  expect(messagesAfter(events)).toEqual([
    {
      id: anyId,
      role: "reasoning",
      content: "Two cities, two calls.",
      encryptedValue: sealed({ type: "thinking", signature: "EqoBCkgIsigned==" }),
      encryptedValueType: "anthropic.thinking",
    },
    {
      id: anyId,
      role: "reasoning",
      content: "",
      encryptedValue: sealed({ type: "redacted_thinking", data: "EmwKAhgBredacted" }),
      encryptedValueType: "anthropic.redacted_thinking",
    },
    {
      id: anyId,
      role: "assistant",
      content: "I look at both.",
      metadata: { anthropic: { cuts: [15] } },
      toolCalls: [
        call("toolu_paris", "get_weather", '{"city": "Paris"}'),
        call("toolu_rome", "get_weather", '{"city": "Rome"}'),
        call("toolu_now", "now", "{}"),
      ],
    },
  ]);
});

test("cached tokens, which Anthropic counts beside the others, are counted among them; later counts replace", async () => {
  expect(customs(await say(read("thinking-tools")))).toEqual([
    {
      name: "heddle.usage",
      value: {
        provider: "anthropic",
        model: "claude-sonnet-5",
        inputTokens: 325,
        outputTokens: 80,
        totalTokens: 405,
        reasoningTokens: 30,
        cachedInputTokens: 200,
        cacheWriteInputTokens: 100,
      },
    },
  ]);
});

test("a search by Anthropic is one activity and goes back sealed; citations say which text they support", async () => {
  const messages = messagesAfter(await say(read("web-search")));
  expect(messages.map((message) => [message.role, Reflect.get(message, "encryptedValueType")])).toEqual([
    ["assistant", undefined],
    ["activity", undefined],
    ["reasoning", "anthropic.server_tool_use"],
    ["reasoning", "anthropic.web_search_tool_result"],
    ["assistant", undefined],
  ]);
  expect(messages[1]).toMatchObject({
    activityType: "heddle.provider-tool",
    content: { tool: "web_search", status: "completed", input: { query: "heddle" }, output: [{ title: "Heddle" }] },
  });
  expect(JSON.stringify(messages[1])).not.toContain("secret");
  const text = "Then: a heddle guides threads.";
  expect(messages[4]).toMatchObject({
    content: text,
    metadata: {
      anthropic: {
        cuts: [6, text.length - 1, text.length],
        citations: [{ from: 6, to: text.length - 1, citation: { title: "Heddle" } }],
      },
    },
  });
});

test("who called a tool on the model's behalf is kept for the way back", async () => {
  const caller = { type: "code_execution_20260120", tool_id: "srvtoolu_1" };
  const use = { type: "tool_use", id: "toolu_1", name: "f", input: {}, caller };
  const events = stream(...block(0, use, { type: "input_json_delta", partial_json: "{}" }), ...stop("tool_use"));
  expect(messagesAfter(await say(fromAnthropic(events)))).toMatchObject([
    { toolCalls: [{ id: "toolu_1", metadata: { anthropic: { caller } } }] },
  ]);
});

test("an input that comes with the start of its block is not lost", async () => {
  const use = { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } };
  expect(messagesAfter(await say(fromAnthropic(stream(...block(0, use), ...stop("tool_use")))))).toMatchObject([
    { toolCalls: [{ function: { arguments: '{"a":1}' } }] },
  ]);
});

test("thinking that is not shown still goes back", async () => {
  const thinking = { type: "thinking", thinking: "", signature: "" };
  const events = stream(
    ...block(0, thinking, { type: "signature_delta", signature: "sig" }),
    ...block(1, { type: "text", text: "Hi" }),
    ...stop("end_turn"),
  );
  expect(messagesAfter(await say(fromAnthropic(events)))).toMatchObject([
    { role: "reasoning", content: "", encryptedValue: sealed({ type: "thinking", signature: "sig" }) },
    { content: "Hi" },
  ]);
});

test.each([
  ["max-tokens", "max_tokens"],
  ["pause-turn", "pause_turn"],
])("an answer that stops early says so: %s", async (name, reason) => {
  const events = await say(read(name));
  messagesAfter(events);
  expect(customs(events)[0]).toEqual({ name: "heddle.stop", value: { provider: "anthropic", reason } });
});

test.each([
  ["refusal", "model-request-refused", "The request concerns pathogens."],
  ["max-tokens-in-call", "model-output-cut", "inside a call of write_file"],
  ["overloaded-midway", "model-overloaded", "Overloaded"],
])("%s is a failure with its reason, after what was said", async (name, code, reason) => {
  const { events, error } = await hear(read(name));
  expect(error).toMatchObject({ code, message: expect.stringContaining(reason) });
  expect(messagesAfter(events)).toHaveLength(1);
  expect(customs(events)).toMatchObject([{ name: "heddle.usage" }]);
});

test.each([
  ["authentication_error", "model-unauthorised"],
  ["permission_error", "model-unauthorised"],
  ["rate_limit_error", "model-rate-limited"],
  ["invalid_request_error", "model-request-refused"],
  ["request_too_large", "model-context-exceeded"],
  ["api_error", "model-failed"],
  ["timeout_error", "model-failed"],
])("the error %s in a stream is %s", async (type, code) => {
  const { error } = await hear(fromAnthropic(stream({ type: "error", error: { type, message: "Why." } })));
  expect(error).toMatchObject({ code, message: expect.stringContaining("Why.") });
});

test("what is unknown is left out and named", async () => {
  const warnings: string[] = [];
  const events = stream(
    { type: "telepathy" },
    ...block(0, { type: "hologram" }, { type: "light_delta" }),
    ...block(1, { type: "text", text: "Hi" }, { type: "smell_delta" }),
    ...stop("end_turn"),
  );
  await say(fromAnthropic(events, { onWarning: (message) => warnings.push(message) }));
  expect(warnings).toEqual([
    "The event telepathy was left out.",
    "The block hologram was left out.",
    "The delta light_delta was left out.",
    "The delta smell_delta was left out.",
  ]);
});

test("every recorded stream, cut before any of its events, leaves a valid run and an error", async () => {
  const names = readdirSync(new URL("fixtures/", import.meta.url)).filter((name) => name.endsWith(".sse"));
  expect(names.length).toBeGreaterThan(5);
  for (const name of names) {
    const whole = recordedEvents(new URL(`fixtures/${name}`, import.meta.url));
    for (let length = 0; length < whole.length; length++) {
      const { events, error } = await hear(fromAnthropic(stream(...whole.slice(0, length))));
      messagesAfter(events);
      expect(error).toMatchObject({ code: length === 0 ? "model-stream-invalid" : "model-unreachable" });
    }
  }
});
