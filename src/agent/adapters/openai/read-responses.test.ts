import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { hear, messagesAfter, recorded, recordedEvents, say } from "../../../../test/model-answer.ts";
import type { Event } from "../../../protocol/index.ts";
import { fromOpenAiResponses } from "./index.ts";
import type { OpenAiStreamOptions } from "./index.ts";

const fixture = (name: string): URL => new URL(`fixtures/responses-${name}.sse`, import.meta.url);

const read = (name: string, options?: OpenAiStreamOptions) => fromOpenAiResponses(recorded(fixture(name)), options);

async function* stream(...events: readonly object[]): AsyncGenerator<unknown, void, undefined> {
  yield* events;
}

const done = (output_index: number, item: object) => ({ type: "response.output_item.done", output_index, item });

const sealed = (block: object): string => JSON.stringify({ issuer: "openai", block });

const customs = (events: readonly Event[]) =>
  events.flatMap((event) => (event.type === "CUSTOM" ? [{ name: event.name, value: event.value }] : []));

test("reasoning, text and parallel calls come in their order, the reasoning with its encrypted item", async () => {
  const events = await say(read("reasoning-tools"));
  expect(messagesAfter(events)).toEqual([
    {
      id: expect.any(String),
      role: "reasoning",
      content: "**Plan** two calls\n\nThen answer",
      encryptedValue: sealed({
        id: "rs_1",
        type: "reasoning",
        encrypted_content: "gAAAAABsealed==",
        summary: [
          { type: "summary_text", text: "**Plan** two calls" },
          { type: "summary_text", text: "Then answer" },
        ],
      }),
      encryptedValueType: "openai.reasoning",
    },
    {
      id: expect.any(String),
      role: "assistant",
      content: "I look at both.",
      metadata: { openai: { phase: "commentary" } },
      toolCalls: [
        { id: "call_paris", type: "function", function: { name: "get_weather", arguments: '{"city":"Paris"}' } },
        { id: "call_rome", type: "function", function: { name: "get_weather", arguments: '{"city":"Rome"}' } },
      ],
    },
  ]);
  expect(customs(events)).toEqual([
    {
      name: "heddle.usage",
      value: {
        provider: "openai",
        model: "gpt-5.1",
        inputTokens: 120,
        outputTokens: 90,
        totalTokens: 210,
        reasoningTokens: 40,
        cachedInputTokens: 64,
        cacheWriteInputTokens: 10,
      },
    },
  ]);
});

test("tools that OpenAI runs are activities and go back sealed, in their places; citations are the text's", async () => {
  const warnings: string[] = [];
  const messages = messagesAfter(await say(read("builtins", { onWarning: (message) => warnings.push(message) })));
  const shown = messages.flatMap((message) => (message.role === "activity" ? [message.content] : []));
  expect(shown).toMatchObject([
    { tool: "web_search", status: "completed", action: { query: "heddle loom" } },
    { tool: "file_search", status: "completed", results: [{ filename: "a.md" }] },
    { tool: "code_interpreter", status: "completed", code: "1+1", outputs: [{ logs: "2" }] },
    { tool: "mcp_list_tools", status: "completed", tools: [{ name: "roll" }] },
    { tool: "mcp", status: "completed", name: "roll", output: "4" },
    { tool: "image_generation", status: "completed", revised_prompt: "a loom" },
    { kind: "image", source: { type: "data", value: "iVBORw==", mimeType: "image/png" } },
    { tool: "computer", status: "completed" },
  ]);
  expect(shown[6]).not.toHaveProperty("partial");
  const order = messages.flatMap((message) => {
    if (message.role === "reasoning") return [message.encryptedValueType];
    return message.role === "assistant" ? ["text"] : [];
  });
  expect(order).toEqual([
    "openai.reasoning",
    "openai.web_search_call",
    "openai.file_search_call",
    "openai.code_interpreter_call",
    "openai.mcp_list_tools",
    "openai.mcp_call",
    "text",
  ]);
  const citation = { type: "url_citation", start_index: 0, end_index: 8, title: "Heddle", content_index: 0 };
  expect(messages.at(-1)).toMatchObject({
    content: "A heddle guides threads.",
    metadata: { openai: { phase: "final_answer", annotations: [citation] } },
  });
  expect(warnings).toEqual(["An item computer_call asks the caller to act, which cannot be answered here."]);
});

test("a refusal is text that says it is one", async () => {
  expect(messagesAfter(await say(read("refusal")))).toMatchObject([
    { content: "I cannot do that.", metadata: { openai: { refusal: true } } },
  ]);
});

test("an incomplete answer keeps its text and says so", async () => {
  const events = await say(read("incomplete"));
  expect(messagesAfter(events)).toMatchObject([{ content: "Once upon" }]);
  expect(customs(events)[0]).toEqual({
    name: "heddle.stop",
    value: { provider: "openai", reason: "max_output_tokens" },
  });
});

test.each([
  ["failed", "model-failed", "failed to generate a response"],
  ["error", "model-rate-limited", "Rate limit reached"],
])("the stream %s is an error of that kind", async (name, code, reason) => {
  const { error } = await hear(read(name));
  expect(error).toMatchObject({ code, message: expect.stringContaining(reason) });
});

test("an answer that the content filter stopped is refused", async () => {
  const response = { incomplete_details: { reason: "content_filter" } };
  const { error } = await hear(fromOpenAiResponses(stream({ type: "response.incomplete", response })));
  expect(error).toMatchObject({ code: "model-request-refused" });
});

test("a call that was cut is a failure", async () => {
  const item = { type: "function_call", call_id: "c", name: "f", arguments: "" };
  const response = { incomplete_details: { reason: "max_output_tokens" } };
  const events = stream(
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"a' },
    { type: "response.output_item.done", output_index: 0, item: { ...item, arguments: '{"a', status: "incomplete" } },
    { type: "response.incomplete", response },
  );
  expect((await hear(fromOpenAiResponses(events))).error).toMatchObject({ code: "model-output-cut" });
});

test("a server that says items only when they are done is understood", async () => {
  const events = stream(
    done(0, { type: "reasoning", id: "r", summary: [{ type: "summary_text", text: "Hm." }] }),
    done(1, { type: "message", content: [{ type: "output_text", text: "Hello" }] }),
    done(2, { type: "function_call", call_id: "c", name: "f", arguments: '{"a":1}' }),
    { type: "response.completed", response: {} },
  );
  expect(messagesAfter(await say(fromOpenAiResponses(events)))).toMatchObject([
    { role: "reasoning", content: "Hm." },
    { content: "Hello", toolCalls: [{ function: { arguments: '{"a":1}' } }] },
  ]);
});

test("sounds are an activity, and what is said in them text", async () => {
  const events = stream(
    { type: "response.audio.transcript.delta", delta: "Hi" },
    { type: "response.audio.delta", delta: "AAE=" },
    { type: "response.audio.delta", delta: "Ag==" },
    { type: "response.audio.done" },
    { type: "response.completed", response: {} },
  );
  expect(messagesAfter(await say(fromOpenAiResponses(events)))).toMatchObject([
    { content: "Hi" },
    { content: { kind: "audio", source: { value: btoa("\u0000\u0001\u0002") } } },
  ]);
});

test("a call of plain text, and who asked for a call, are kept for the way back", async () => {
  const item = { type: "custom_tool_call", call_id: "c", name: "sql", input: "", namespace: "db" };
  const events = stream(
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.custom_tool_call_input.delta", output_index: 0, delta: "select 1" },
    { type: "response.custom_tool_call_input.done", output_index: 0, input: "select 1" },
    { type: "response.output_item.done", output_index: 0, item: { ...item, input: "select 1" } },
    { type: "response.completed", response: {} },
  );
  expect(messagesAfter(await say(fromOpenAiResponses(events)))).toMatchObject([
    { toolCalls: [{ function: { arguments: "select 1" }, metadata: { openai: { type: "custom", namespace: "db" } } }] },
  ]);
});

test("what is unknown is left out and named", async () => {
  const warnings: string[] = [];
  const events = stream(
    { type: "response.telepathy" },
    { type: "response.output_item.added", output_index: 0, item: { type: "constructor" } },
    { type: "response.completed", response: {} },
  );
  await say(fromOpenAiResponses(events, { onWarning: (message) => warnings.push(message) }));
  expect(warnings).toEqual(["The event response.telepathy was left out.", "The item constructor was left out."]);
});

test("every recorded stream, cut before any of its events, leaves a valid run and an error", async () => {
  const names = readdirSync(new URL("fixtures/", import.meta.url)).filter((name) => name.startsWith("responses-"));
  expect(names.length).toBeGreaterThan(5);
  for (const name of names) {
    const whole = recordedEvents(new URL(`fixtures/${name}`, import.meta.url));
    for (let length = 0; length < whole.length; length++) {
      const { events, error } = await hear(fromOpenAiResponses(stream(...whole.slice(0, length))));
      messagesAfter(events);
      expect(error).toMatchObject({ code: length === 0 ? "model-stream-invalid" : "model-unreachable" });
    }
  }
});
