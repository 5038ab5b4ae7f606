/**
 * Agents on providers that refuse a request which breaks their documented rules: OpenAI's two APIs and Anthropic's. In
 * each turn the model thinks, says something, calls a tool, and says what it found; what it was asked, the agent tells in
 * a CUSTOM event `requests`, and what was refused in `refused`.
 */
import { anthropicModel } from "heddle/adapters/anthropic";
import { openAiModel } from "heddle/adapters/openai";
import { defineAgent, defineTool, toolLoop } from "heddle/agent";
import type { Agent, Model } from "heddle/agent";
import { strictAnthropic, strictChat, strictResponses } from "../strict-providers.ts";
import type { Script, StrictProvider } from "../strict-providers.ts";

/** What the model says before it calls, and when it has the result, in each turn. */
export const SAYS = [
  ["Let me look. ", "It is windy in Ulm. "],
  ["Once more. ", "Still windy. "],
] as const;

const scripts: readonly Script[] = SAYS.flatMap(([before, after]) => {
  const plain = { thought: "Hm.", redacted: false, searches: false, afterthought: false };
  return [
    { ...plain, text: [before], calls: [{ name: "look", city: "Ulm" }] },
    { ...plain, text: [after], calls: [] },
  ];
});

const look = defineTool({
  name: "look",
  description: "Looks out of the window.",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  execute: ({ city }) => `wind in ${String(city)}`,
});

type Provider = (scripts: readonly Script[]) => StrictProvider;

function onProvider(name: string, provider: Provider, modelOf: (provider: StrictProvider) => Model): Agent {
  const strict = provider(scripts);
  const requests: object[] = [];
  const create = (body: object): Promise<AsyncIterable<unknown>> => {
    requests.push(body);
    return strict.create(body);
  };
  const model = modelOf({ ...strict, create });
  return defineAgent({
    name,
    async run(context) {
      const { emit } = context;
      await toolLoop({ ...context, model, tools: [look] });
      await emit.custom("requests", requests.splice(0));
      await emit.custom("refused", strict.refused);
    },
  });
}

const NOT_USED = { create: () => Promise.reject(new Error("not used")) };

/** OpenAI, by Chat Completions. */
export const chat = onProvider("chat", strictChat, (completions) =>
  openAiModel({ model: "m", api: "chat", client: { chat: { completions }, responses: NOT_USED } }),
);

/** OpenAI, by Responses. */
export const responses = onProvider("responses", strictResponses, (items) =>
  openAiModel({ model: "m", api: "responses", client: { chat: { completions: NOT_USED }, responses: items } }),
);

/** Anthropic. */
export const anthropic = onProvider("anthropic", strictAnthropic, (messages) =>
  anthropicModel({ model: "m", client: { messages } }),
);
