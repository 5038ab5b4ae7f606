/**
 * The agent `tools` has two tools, a weather report and a calculator, and answers from what they return.
 *
 * Ask "What is the weather in Ulm and Rome?" or "2 * (3 + 4)". The model is scripted, so answers are always the same;
 * what stands in its place is any `Model`: the loop, the tools and their events stay as they are.
 */
import { defineAgent, defineTool, modelUsage, toolLoop } from "heddle/agent";
import type { Model, ModelRequest } from "heddle/agent";

const WEATHER = ["sunny, 24 °C", "cloudy, 17 °C", "raining, 11 °C", "windy, 14 °C"];

const weather = defineTool({
  name: "get_weather",
  description: "The weather in a city, today.",
  parameters: {
    type: "object",
    properties: { city: { type: "string", minLength: 1 } },
    required: ["city"],
    additionalProperties: false,
  },
  timeoutMs: 5000,
  execute: ({ city }) => {
    const name = String(city);
    return { city: name, weather: WEATHER[name.length % WEATHER.length] };
  },
});

const calculator = defineTool({
  name: "calculate",
  description: "The value of an expression of numbers, + - * / and parentheses.",
  parameters: {
    type: "object",
    properties: { expression: { type: "string", maxLength: 200 } },
    required: ["expression"],
    additionalProperties: false,
  },
  timeoutMs: 5000,
  execute: ({ expression }) => String(calculate(String(expression))),
});

/** Answers with the help of its tools. */
export const tools = defineAgent({
  name: "tools",
  description: "Knows the weather and can calculate.",
  capabilities: { tools: { parallelCalls: true, clientProvided: true } },
  tools: [weather, calculator],
  run: (context) => toolLoop({ ...context, model: scripted }),
});

/** In place of a model: calls the tools that the question is about, and tells what they returned. */
const scripted: Model = async function* ({ messages }) {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const answers = messages.slice(asked + 1).flatMap((message) => (message.role === "tool" ? [message] : []));
  const messageId = `said-${crypto.randomUUID()}`;
  if (answers.length > 0) {
    const delta = answers.map(({ content }) => sentenceOf(content)).join(" ");
    yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta };
    yield modelUsage({
      provider: "scripted",
      model: "scripted",
      inputTokens: messages.length,
      outputTokens: delta.length,
    });
    return;
  }
  const calls = callsFor(textOf(messages[asked]));
  const delta = calls.length === 0 ? "Ask me for the weather in a city, or to calculate something." : "Let me see.";
  yield { type: "TEXT_MESSAGE_CHUNK", messageId, delta };
  for (const [toolCallName, args] of calls) {
    const toolCallId = `call-${crypto.randomUUID()}`;
    yield { type: "TOOL_CALL_START", toolCallId, toolCallName, parentMessageId: messageId };
    for (const piece of JSON.stringify(args).match(/.{1,8}/gs) ?? []) {
      yield { type: "TOOL_CALL_ARGS", toolCallId, delta: piece };
    }
    yield { type: "TOOL_CALL_END", toolCallId };
  }
};

type Message = ModelRequest["messages"][number];

const textOf = (message: Message | undefined): string => (typeof message?.content === "string" ? message.content : "");

function callsFor(question: string): readonly (readonly [string, object])[] {
  const cities = /weather in ([\p{L} ,]+)/iu.exec(question)?.[1]?.split(/,| and /) ?? [];
  const expression = /[\d(][\d\s.()+*/-]*[-+*/][\d\s.()+*/-]*/.exec(question)?.[0].trim();
  return [
    ...cities.filter((city) => city.trim() !== "").map((city) => ["get_weather", { city: city.trim() }] as const),
    ...(expression === undefined ? [] : [["calculate", { expression }] as const]),
  ];
}

/** What a tool returned, as a sentence. */
function sentenceOf(content: unknown): string {
  const text = typeof content === "string" ? content : "";
  const report = /^\{"city":"(.*)","weather":"(.*)"\}$/.exec(text);
  if (report !== null) return `In ${report[1]} it is ${report[2]}.`;
  return text.startsWith("Error") ? `That did not work. ${text}` : `The result is ${text}.`;
}

/** Reads numbers, signs and parentheses; anything else is refused. */
function calculate(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?|[-+*/()]|\S/g) ?? [];
  let place = 0;
  const factor = (): number => {
    const token = tokens[place++] ?? "";
    if (token === "-") return -factor();
    if (token === "(") {
      const value = sum();
      if (tokens[place++] !== ")") throw new Error("A parenthesis is not closed.");
      return value;
    }
    if (/^\d/.test(token)) return Number(token);
    throw new Error(token === "" ? "The expression ends too early." : `I cannot read “${token}”.`);
  };
  const product = (): number => {
    let value = factor();
    while (tokens[place] === "*" || tokens[place] === "/")
      value = tokens[place++] === "*" ? value * factor() : value / factor();
    return value;
  };
  const sum = (): number => {
    let value = product();
    while (tokens[place] === "+" || tokens[place] === "-")
      value = tokens[place++] === "+" ? value + product() : value - product();
    return value;
  };
  const value = sum();
  if (place < tokens.length) throw new Error(`I cannot read “${tokens[place]}”.`);
  if (!Number.isFinite(value)) throw new Error("That has no value.");
  return value;
}
