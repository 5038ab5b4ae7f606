/** Seed 000: messages and events look the same whichever model provider is behind them. */
import { anthropicModel } from "heddle/adapters/anthropic";
import { openAiModel } from "heddle/adapters/openai";
import { defineAgent, defineTool, runAgent, toolLoop } from "heddle/agent";
import type { Model } from "heddle/agent";
import type { Event } from "heddle/protocol";
import { reduceAll } from "heddle/stream";
import { expect, test } from "vitest";
import { strictAnthropic, strictChat, strictResponses } from "./strict-providers.ts";
import type { Script } from "./strict-providers.ts";

const ANSWER: Script = {
  thought: undefined,
  redacted: false,
  searches: false,
  afterthought: false,
  text: ["I look it up."],
  calls: [
    { name: "get_weather", city: "Ulm" },
    { name: "get_weather", city: "Rome" },
  ],
};

const weather = defineTool({
  name: "get_weather",
  description: "The weather in a city.",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  execute: ({ city }) => `sunny in ${String(city)}`,
});

const MODELS: Readonly<Record<string, () => Model>> = {
  Anthropic: () => anthropicModel({ model: "m", client: { messages: strictAnthropic([ANSWER]) } }),
  "Chat Completions": () =>
    openAiModel({
      model: "m",
      api: "chat",
      client: { chat: { completions: strictChat([ANSWER]) }, responses: strictChat([]) },
    }),
  Responses: () =>
    openAiModel({
      model: "m",
      api: "responses",
      client: { chat: { completions: strictChat([]) }, responses: strictResponses([ANSWER]) },
    }),
};

/** A text whose ids are replaced by their order of appearance, without times and figures of the provider's. */
function withoutIds(value: unknown): unknown {
  const ids = new Map<string, string>();
  return JSON.parse(
    JSON.stringify(value, (key, inner: unknown) => {
      if (["timestamp", "usage", "metadata"].includes(key)) return undefined;
      if (typeof inner !== "string" || !/^id$|Id$/.test(key)) return inner;
      ids.set(inner, ids.get(inner) ?? `id ${ids.size + 1}`);
      return ids.get(inner);
    }),
  );
}

/** What a run says of each message and call, in pieces that providers cut as they like, and the messages at its end. */
async function told(
  model: Model,
): Promise<{ readonly types: readonly (readonly string[])[]; readonly messages: unknown }> {
  const agent = defineAgent({ name: "any", tools: [weather], run: (context) => toolLoop({ ...context, model }) });
  const events: Event[] = [];
  const input = { threadId: "t1", runId: "r1", messages: [{ id: "u1", role: "user", content: "Weather?" }] } as const;
  for await (const event of runAgent(agent, { ...input, messages: [...input.messages] })) events.push(event);
  const byId = Map.groupBy(events, (event) =>
    "toolCallId" in event ? event.toolCallId : "messageId" in event ? event.messageId : "the run",
  );
  const types = [...byId.values()].map((own) => [...new Set(own.map(({ type }) => type))]);
  return { types, messages: withoutIds(reduceAll(events).messages) };
}

test("000 vendor-neutral: the same answer with the same calls is the same events and messages by every provider", async () => {
  const [first, ...others] = await Promise.all(Object.values(MODELS).map((modelOf) => told(modelOf())));
  expect(JSON.stringify(first)).toMatch(/I look it up\..*Rome.*sunny in Ulm.*sunny in Rome.*Done\./);
  expect(others).toEqual([first, first]);
});
