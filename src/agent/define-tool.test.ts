import { type } from "arktype";
import * as v from "valibot";
import * as z from "zod/v4";
import { describe, expect, expectTypeOf, test } from "vitest";
import { runToEnd } from "../../test/run-to-end.ts";
import { toolCallArgs, toolCallEnd, toolCallStart } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { defineAgent, defineTool, toolLoop } from "./index.ts";
import type { Model, ServerTool } from "./index.ts";

let calls = 0;

/** A model that calls one tool, and then says nothing. */
const calling = (name: string, args: string): Model =>
  async function* ({ messages }) {
    if (messages.some(({ role }) => role === "tool")) return;
    const toolCallId = `call-${++calls}`;
    yield toolCallStart({ toolCallId, toolCallName: name });
    yield toolCallArgs({ toolCallId, delta: args });
    yield toolCallEnd({ toolCallId });
  };

/** What a tool answers to a model's call. */
async function resultOf(tool: ServerTool, args: string, name = tool.name): Promise<Event | undefined> {
  const agent = defineAgent({
    name: "test",
    tools: [tool],
    run: (context) => toolLoop({ ...context, model: calling(name, args) }),
  });
  const { events, last } = await runToEnd(agent);
  expect(last).toMatchObject({ type: "RUN_FINISHED" });
  return events.find((event) => event.type === "TOOL_CALL_RESULT");
}

const description = "The weather of a city.";
const zodSchema = z.object({ city: z.string(), days: z.number().default(1) });
const valibotSchema = v.object({ city: v.string(), days: v.optional(v.number(), 1) });
const asJson = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "number" } },
  required: ["city"],
};

const byZod = defineTool({
  name: "weather",
  description,
  parameters: { schema: zodSchema, jsonSchema: z.toJSONSchema(zodSchema, { io: "input" }) as Record<string, unknown> },
  execute: ({ city, days }) => {
    expectTypeOf(days).toEqualTypeOf<number>();
    return `${city} ${days}`;
  },
});
const byValibot = defineTool({
  name: "weather",
  description,
  parameters: { schema: valibotSchema, jsonSchema: asJson },
  execute: ({ city, days }) => {
    expectTypeOf(days).toEqualTypeOf<number>();
    return `${city} ${days}`;
  },
});
const byArktype = defineTool({
  name: "weather",
  description,
  parameters: type({ city: "string", days: "number = 1" }),
  execute: ({ city, days }) => {
    expectTypeOf(city).toEqualTypeOf<string>();
    return `${city} ${days}`;
  },
});
const byJson = defineTool({
  name: "weather",
  description,
  parameters: asJson,
  execute: ({ city, days = 1 }) => {
    expectTypeOf(city).toEqualTypeOf<unknown>();
    return `${String(city)} ${String(days)}`;
  },
});

describe.each([
  ["zod", byZod],
  ["valibot", byValibot],
  ["arktype", byArktype],
  ["JSON Schema", byJson],
] as const)("a tool by %s", (_, tool: ServerTool) => {
  test("says its parameters as JSON Schema", () => {
    expect(tool.parameters).toMatchObject({ type: "object", properties: { city: { type: "string" } } });
  });

  test("runs on arguments that fit", async () => {
    expect(await resultOf(tool, '{"city":"Ulm"}')).toMatchObject({ content: "Ulm 1", role: "tool" });
  });

  test.each(['{"city":7}', "{}", "[]", "not json", '{"city":'])("answers %s with what is wrong", async (args) => {
    expect(await resultOf(tool, args)).toMatchObject({
      content: expect.stringContaining("tool-arguments-invalid"),
      metadata: { heddle: { code: "tool-arguments-invalid", error: expect.stringContaining("weather") } },
    });
  });
});

test("a library that says no JSON Schema is refused with what to do", () => {
  expect(() => defineTool({ name: "t", description, parameters: valibotSchema, execute: () => "" })).toThrow(
    expect.objectContaining({ code: "config-invalid", message: expect.stringContaining("{ schema, jsonSchema }") }),
  );
});

test.each(["", "a b", "x".repeat(65), "über"])("%j is no name for a tool", (name) => {
  const make = () => defineTool({ name, description, parameters: {}, execute: () => "" });
  expect(make).toThrow(expect.objectContaining({ code: "config-invalid" }));
});

test("two tools of one agent cannot have one name", () => {
  expect(() => defineAgent({ name: "a", tools: [byJson, byZod], run: () => {} })).toThrow(
    expect.objectContaining({ code: "config-invalid" }),
  );
});

test("the author's JSON Schema is left as it is, frozen or not", async () => {
  const parameters = Object.freeze({
    type: "object",
    properties: Object.freeze({ a: Object.freeze({ type: "string" }) }),
  });
  const tool = defineTool({ name: "t", description, parameters, execute: () => "fine" });
  expect(await resultOf(tool, '{"a":"x"}')).toMatchObject({ content: "fine" });
  expect(tool.parameters).toBe(parameters);
});

test.each<[string, () => unknown, unknown]>([
  ["text", () => "plain", "plain"],
  ["nothing", () => undefined, ""],
  ["null", () => null, "null"],
  ["JSON", () => ({ a: [1] }), '{"a":[1]}'],
  ["content parts", () => [{ type: "text", text: "hi" }], [{ type: "text", text: "hi" }]],
  [
    "media",
    () => [{ type: "image", source: { type: "url", value: "https://example.com/a.png" } }],
    [{ type: "image", source: { type: "url", value: "https://example.com/a.png" } }],
  ],
  ["a list that only looks like parts", () => [{ type: "text" }], '[{"type":"text"}]'],
  ["an empty list", () => [], "[]"],
])("a tool may return %s", async (_, execute, content) => {
  expect(await resultOf(defineTool({ name: "t", description, parameters: {}, execute }), "")).toMatchObject({
    content,
  });
});

test.each<[string, () => unknown, string]>([
  [
    "throws",
    () => {
      throw new Error("no such city");
    },
    "no such city",
  ],
  ["rejects with a text", () => Promise.reject("just text"), "just text"],
  ["returns what cannot be written down", () => 10n, "BigInt"],
  ["returns a function", () => () => {}, "return text"],
])("a tool that %s fails its call and not the run", async (_, execute, error) => {
  const result = await resultOf(defineTool({ name: "t", description, parameters: {}, execute }), "{}");
  expect(result).toMatchObject({
    content: expect.stringContaining(error),
    metadata: { heddle: { code: "tool-failed", error: expect.stringContaining(error) } },
  });
});

test("a tool that takes too long is told to stop, and its call fails", async () => {
  const told = Promise.withResolvers<unknown>();
  const tool = defineTool({
    name: "slow",
    description,
    parameters: {},
    timeoutMs: 5,
    execute: (_, { signal }) => {
      signal.addEventListener("abort", () => told.resolve(signal.reason));
      return new Promise(() => {});
    },
  });
  expect(await resultOf(tool, "")).toMatchObject({
    content: expect.stringContaining("5 ms"),
    metadata: { heddle: { code: "tool-timeout" } },
  });
  await expect(told.promise).resolves.toMatchObject({ code: "tool-timeout" });
});

test("a tool that is unknown is answered so that the model can read it", async () => {
  expect(await resultOf(byJson, "{}", "nope")).toMatchObject({
    content: expect.stringContaining("nope"),
    metadata: { heddle: { code: "tool-unknown" } },
  });
});

test("a tool speaks while it works, and knows its call", async () => {
  const tool = defineTool({
    name: "t",
    description,
    parameters: {},
    execute: async (_, { emit, toolCallId, log }) => {
      await emit.custom("test.progress", toolCallId);
      log.info("working");
      return "done";
    },
  });
  const agent = defineAgent({
    name: "test",
    tools: [tool],
    run: (context) => toolLoop({ ...context, model: calling("t", "") }),
  });
  const { events, lines } = await runToEnd(agent);
  const [started, progress] = [events[1], events[4]];
  expect(started).toMatchObject({ type: "TOOL_CALL_START" });
  expect(progress).toMatchObject({ type: "CUSTOM", value: Reflect.get(Object(started), "toolCallId") });
  expect(lines).toEqual(["info: working"]);
});
