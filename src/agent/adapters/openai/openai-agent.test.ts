import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { replayProvider } from "../../../../test/replay-provider.ts";
import { defineTool, runAgent } from "../../index.ts";
import type { Event, RunAgentInput } from "../../../protocol/index.ts";
import { openAiAgent } from "./index.ts";

const bytes = (name: string): Uint8Array => readFileSync(new URL(`fixtures/${name}.sse`, import.meta.url));

const input = (more: Partial<RunAgentInput> = {}): RunAgentInput => ({
  threadId: "t",
  runId: "r",
  messages: [{ id: "u", role: "user", content: "How is the weather in Paris and Rome?" }],
  ...more,
});

async function eventsOf(run: AsyncIterable<Event>): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of run) events.push(event);
  return events;
}

const weather = defineTool({
  name: "get_weather",
  description: "Tells the weather.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  execute: ({ city }) => `Sunny in ${String(city)}`,
});

const now = defineTool({ name: "now", description: "", parameters: { type: "object" }, execute: () => "noon" });

test("with nothing but the environment it runs tools in parallel, goes on, and reports all tokens", async () => {
  await using provider = await replayProvider({ body: bytes("chat-parallel-tools") }, { body: bytes("chat-text") });
  const env = { OPENAI_BASE_URL: `${provider.url}/v1`, OPENAI_API_KEY: "key-1234", OPENAI_MODEL: "llama", OTHER: "x" };
  const agent = openAiAgent({ env, tools: [weather, now], instructions: "Be brief." });
  const events = await eventsOf(runAgent(agent, input()));
  const text = events.flatMap((event) => (event.type === "TEXT_MESSAGE_CONTENT" ? [event.delta] : [])).join("");
  expect(text).toBe("Let me look.Hello, wörld 🌍");
  expect(events.at(-1)).toMatchObject({
    type: "RUN_FINISHED",
    usage: [{ provider: "openai", inputTokens: 104, outputTokens: 62, reasoningTokens: 16 }],
  });
  expect(provider.asked[0]).toMatchObject({
    url: "/v1/chat/completions",
    headers: { authorization: "Bearer key-1234" },
    body: { model: "llama" },
  });
  expect(provider.asked[1]?.body["messages"]).toMatchObject([
    { role: "system", content: "Be brief." },
    { role: "user" },
    { role: "assistant", tool_calls: [{ id: "call_paris" }, { id: "call_rome" }, { id: "call_now" }] },
    { role: "tool", tool_call_id: "call_paris", content: "Sunny in Paris" },
    { role: "tool", tool_call_id: "call_rome", content: "Sunny in Rome" },
    { role: "tool", tool_call_id: "call_now", content: "noon" },
  ]);
});

test("a tool of the frontend is left to it", async () => {
  await using provider = await replayProvider({ body: bytes("chat-parallel-tools") });
  const agent = openAiAgent({ baseUrl: provider.url, model: "m", env: {}, tools: [now] });
  const tools = [{ name: "get_weather", description: "", parameters: { type: "object" } }];
  const events = await eventsOf(runAgent(agent, input({ tools })));
  expect(events.at(-1)).toMatchObject({
    type: "RUN_FINISHED",
    outcome: { type: "success", pendingToolCallIds: ["call_paris", "call_rome"] },
  });
  expect(provider.asked).toHaveLength(1);
});

test("reasoning is shown, and goes back encrypted with the results", async () => {
  await using provider = await replayProvider(
    { body: bytes("responses-reasoning-tools") },
    { body: bytes("responses-text") },
  );
  const agent = openAiAgent({ baseUrl: provider.url, api: "responses", model: "gpt-5.1", env: {}, tools: [weather] });
  const events = await eventsOf(runAgent(agent, input()));
  expect(events).toContainEqual(expect.objectContaining({ type: "REASONING_MESSAGE_CONTENT", delta: "**Plan** " }));
  expect(provider.asked[0]?.body).toMatchObject({ reasoning: { summary: "auto" } });
  expect(provider.asked[1]?.body["input"]).toEqual([
    { role: "user", content: "How is the weather in Paris and Rome?" },
    {
      id: "rs_1",
      type: "reasoning",
      encrypted_content: "gAAAAABsealed==",
      summary: [
        { type: "summary_text", text: "**Plan** two calls" },
        { type: "summary_text", text: "Then answer" },
      ],
    },
    { role: "assistant", content: "I look at both.", phase: "commentary" },
    { type: "function_call", call_id: "call_paris", name: "get_weather", arguments: '{"city":"Paris"}' },
    { type: "function_call", call_id: "call_rome", name: "get_weather", arguments: '{"city":"Rome"}' },
    { type: "function_call_output", call_id: "call_paris", output: "Sunny in Paris" },
    { type: "function_call_output", call_id: "call_rome", output: "Sunny in Rome" },
  ]);
});

test("where summaries are refused it asks without them, from then on", async () => {
  const message = "Your organization must be verified to generate reasoning summaries.";
  const refusal = { error: { message, type: "invalid_request_error", param: "reasoning.summary" } };
  await using provider = await replayProvider(
    { status: 400, headers: { "content-type": "application/json" }, body: JSON.stringify(refusal) },
    { body: bytes("responses-text") },
  );
  const agent = openAiAgent({ baseUrl: provider.url, api: "responses", model: "gpt-5.1", env: {} });
  for (let run = 0; run < 2; run++) {
    expect((await eventsOf(runAgent(agent, input()))).at(-1)).toMatchObject({ type: "RUN_FINISHED" });
  }
  expect(provider.asked.map(({ body }) => "reasoning" in body)).toEqual([true, false, false]);
});

test("a provider's error is the run's error, with its code, its reason and no key", async () => {
  const error = { message: "Incorrect API key provided: key-98765432.", code: "invalid_api_key" };
  await using provider = await replayProvider({
    status: 401,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ error }),
  });
  const agent = openAiAgent({ baseUrl: provider.url, apiKey: "key-98765432", model: "m", env: {} });
  const events = await eventsOf(runAgent(agent, input()));
  expect(events.at(-1)).toMatchObject({
    type: "RUN_ERROR",
    code: "model-unauthorised",
    message: expect.stringContaining("Incorrect API key provided: [redacted]"),
  });
});

test("a stop reaches the connection, keeps what was said, and ends as cancelled", async () => {
  await using provider = await replayProvider({ body: bytes("chat-text").subarray(0, 900), after: "hang" });
  const agent = openAiAgent({ baseUrl: provider.url, model: "m", env: {} });
  const stop = new AbortController();
  const events: Event[] = [];
  for await (const event of runAgent(agent, input(), { signal: stop.signal })) {
    events.push(event);
    if (event.type === "TEXT_MESSAGE_CONTENT") stop.abort();
  }
  expect(events.map(({ type }) => type)).toEqual([
    "RUN_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "RUN_FINISHED",
  ]);
  expect(events.at(-1)).toMatchObject({ outcome: { type: "cancelled" } });
  await provider.asked[0]?.closed;
});

test.each([
  [{ OPENAI_API_KEY: "key" }, "OPENAI_MODEL"],
  [{ OPENAI_MODEL: "m", OPENAI_API_KEY: " " }, "OPENAI_API_KEY"],
  [{ OPENAI_MODEL: "m", OPENAI_BASE_URL: "localhost" }, "baseUrl"],
])("a setting that is missing or wrong is named: %o", (env, setting) => {
  expect(() => openAiAgent({ env })).toThrow(
    expect.objectContaining({ code: "config-invalid", details: expect.objectContaining({ setting }) }),
  );
});

test("the environment is the process's", () => {
  vi.stubEnv("OPENAI_MODEL", "m");
  vi.stubEnv("OPENAI_API_KEY", "key");
  try {
    expect(openAiAgent()).toMatchObject({ name: "openai", capabilities: { reasoning: { supported: true } } });
  } finally {
    vi.unstubAllEnvs();
  }
});
