/**
 * The agent with tools: it knows the weather of some cities and can calculate, both at once if it is asked for both.
 *
 * The model is scripted: it reads the question, asks for tools, and makes sentences of what they return. Any `Model` can
 * stand in its place; the loop, the tools and their events stay as they are.
 */
import { defineAgent, modelUsage, toolLoop } from "heddle/agent";
import type { Agent, Model, ModelRequest } from "heddle/agent";
import { calculatorTool } from "../tools/calculator-tool.ts";
import { weatherTool } from "../tools/weather-tool.ts";
import { userTexts } from "./conversation.ts";
import type { SampleAgentOptions } from "./simple-agent.ts";
import { countWords, streamWords } from "./stream-words.ts";

/** What the agent is made with. */
export interface ToolsAgentOptions extends SampleAgentOptions {
  /** Whether it has its tools at all. */
  readonly enableTools: boolean;
}

/** How many words' time a tool takes: long enough to see it at work. */
const WORDS_PER_CALL = 15;

/** Makes the agent. */
export function toolsAgent({ name, modelId, paceMs, enableTools }: ToolsAgentOptions): Agent {
  // Step 1: a tool has a name, a description, a schema for its arguments, and a function (see tools/).
  const delayMs = paceMs * WORDS_PER_CALL;
  const tools = enableTools ? [weatherTool({ delayMs }), calculatorTool({ delayMs })] : [];

  // Step 2: the agent is given its tools, so that clients can see what it can do.
  return defineAgent({
    name,
    description: "Knows the weather of some cities, and can calculate.",
    capabilities: {
      tools: { parallelCalls: true },
      custom: { examples: ["What is the weather in Paris and Oslo, and what is 17 * 23?", "What is (3 + 4) ^ 2?"] },
    },
    tools,
    // Step 3: the loop asks the model, runs the tools that it calls side by side, and asks again with their results.
    // A tool that throws gives a failed result, which the model sees as well.
    run: (context) =>
      context.emit.step("Working on it", () => toolLoop({ ...context, model: scripted(modelId, paceMs) })),
  });
}

/** In place of a model: calls the tools that the question is about, and tells what they returned. */
const scripted = (modelId: string, paceMs: number): Model =>
  async function* ({ messages, tools, signal }) {
    const messageId = `said-${crypto.randomUUID()}`;
    const question = userTexts(messages).at(-1) ?? "";
    const results = resultsSince(messages);
    const calls = results.length === 0 ? callsFor(question, tools) : [];

    // Step 4: text first, piece by piece.
    const text = results.length > 0 ? results.map(sentenceOf).join(" ") : openingOf(calls, tools);
    for await (const delta of streamWords(text, { paceMs }, signal)) {
      yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta };
    }
    // Step 5: then the calls. Their arguments are JSON, which a model writes piece by piece too.
    for (const { tool, args } of calls) {
      const toolCallId = `call-${crypto.randomUUID()}`;
      yield { type: "TOOL_CALL_START", toolCallId, toolCallName: tool, parentMessageId: messageId };
      yield { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify(args) };
      yield { type: "TOOL_CALL_END", toolCallId };
    }
    const inputTokens = countWords(question) + results.length;
    yield modelUsage({ provider: "sample", model: modelId, inputTokens, outputTokens: countWords(text) });
  };

type Message = ModelRequest["messages"][number];
type ToolMessage = Extract<Message, { readonly role: "tool" }>;

/** What the tools returned since the user last spoke. */
function resultsSince(messages: readonly Message[]): readonly ToolMessage[] {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(asked + 1).flatMap((message) => (message.role === "tool" ? [message] : []));
}

interface Call {
  readonly tool: string;
  readonly args: object;
}

/** The calls that a question needs, of the tools that there are. */
function callsFor(question: string, tools: ModelRequest["tools"]): readonly Call[] {
  const cities = citiesIn(question).map((city) => ({ tool: "get_weather", args: { city } }));
  const sums = sumsIn(question).map((expression) => ({ tool: "calculate", args: { expression } }));
  return [...cities, ...sums].filter((call) => tools.some(({ name }) => name === call.tool));
}

/** "weather in Paris, Oslo and Rome, and what is 2+2?" names Paris, Oslo and Rome. */
function citiesIn(question: string): readonly string[] {
  const after = /\bweather (?:like )?(?:in|for|at)\s+([^?!;\d]+)/iu.exec(question)?.[1] ?? "";
  const names = after.split(/\b(?:what|how|calculate|compute|please|today|now|right)\b/iu, 1)[0] ?? "";
  return names
    .split(/,|&|\band\b|\bor\b/iu)
    .map((city) => city.replaceAll(/[.\s]+$|^\s+/g, ""))
    .filter((city) => city !== "");
}

const WORDS_FOR_SIGNS = { plus: "+", minus: "-", times: "*", "multiplied by": "*", "divided by": "/", over: "/" };

/** "what is 17 times 23?" asks for 17 * 23. */
function sumsIn(question: string): readonly string[] {
  let text = question;
  for (const [word, sign] of Object.entries(WORDS_FOR_SIGNS)) {
    text = text.replaceAll(new RegExp(`(?<=[\\d)]\\s*)\\b${word}\\b(?=\\s*[\\d(-])`, "giu"), ` ${sign} `);
  }
  const found = text.match(/[-(]*\d[\d\s.()+\-*/×÷^%]*[\d)]/g) ?? [];
  return found.map((sum) => sum.replaceAll(/\s+/g, " ")).filter((sum) => /\d\)*\s?[-+*/×÷^%]/.test(sum));
}

function openingOf(calls: readonly Call[], tools: ModelRequest["tools"]): string {
  if (tools.length === 0) return "My tools are switched off, so I can neither look up the weather nor calculate.";
  if (calls.length === 0) return "Ask me for the weather in a city, or to calculate something. Both at once is fine.";
  return calls.length === 1 ? "Let me look that up." : `Let me look up these ${calls.length} things at once.`;
}

/** What a tool returned, as a sentence. A call that failed has its reason as text, behind the word Error and a code. */
function sentenceOf({ content }: ToolMessage): string {
  const text = String(content);
  const failure = /^Error \([\w-]+\): (.*)$/s.exec(text)?.[1];
  if (failure !== undefined) return `One thing did not work. ${failure}`;
  const { city, sky, temperature, expression, value } = Object(JSON.parse(text));
  return city === undefined ? `${expression} is ${value}.` : `In ${city} it is ${sky}, ${temperature}.`;
}
