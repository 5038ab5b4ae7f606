import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ContentPart, Message } from "../../../protocol/index.ts";
import { fromNativeMessages, toNativeMessages } from "./index.ts";
import type { NativeMessage } from "./index.ts";

const RUNS = { numRuns: Math.ceil(500 * Number(process.env["HEDDLE_TEST_SCALE"] ?? 1)) };

const parts = fc.array(
  fc.constantFrom<ContentPart>(
    { type: "text", text: "look" },
    { type: "image", source: { type: "url", value: "https://example.com/a.png" } },
  ),
  { minLength: 1, maxLength: 3 },
);
const content = fc.oneof(fc.string(), parts);
const name = fc.option(fc.string(), { nil: undefined });
const call = fc.record({ id: fc.uuid(), name: fc.string(), arguments: fc.string() });
const result = fc.record({ toolCallId: fc.uuid(), content, error: fc.option(fc.string(), { nil: undefined }) });

const message: fc.Arbitrary<NativeMessage> = fc
  .oneof(
    fc.record({ role: fc.constantFrom("system" as const, "developer" as const), content: fc.string(), name }),
    fc.record({ role: fc.constant("user" as const), content, name }),
    fc.record({ role: fc.constant("assistant" as const), content: fc.string(), name }),
    fc.record({ role: fc.constant("assistant" as const), toolCalls: fc.array(call) }),
    fc.record({ role: fc.constant("tool" as const), toolResults: fc.tuple(result) }),
  )
  .map((native) => JSON.parse(JSON.stringify(native)) as NativeMessage);

describe("message conversion", () => {
  test("004 server messages: a conversation goes to the agent library and back without loss", () => {
    fc.assert(
      fc.property(fc.array(message), (natives) => {
        const messages = fromNativeMessages(natives, (index) => `m${index}`);
        const there = toNativeMessages(messages);
        expect(there).toEqual(natives.map((native, index) => ({ id: `m${index}`, ...native })));
        expect(fromNativeMessages(there)).toEqual(messages);
      }),
      RUNS,
    );
  });

  test("004 server messages: the input of a run, in the agent library's form", () => {
    const messages: readonly Message[] = [
      { id: "s1", role: "system", content: "Be brief." },
      { id: "u1", role: "user", content: "Weather?", name: "Ada" },
      {
        id: "a1",
        role: "assistant",
        toolCalls: [{ id: "c1", type: "function", function: { name: "get_weather", arguments: '{"city":"Paris"}' } }],
      },
      { id: "t1", role: "tool", toolCallId: "c1", content: "no such city", error: "unknown" },
    ];
    expect(toNativeMessages(messages)).toEqual([
      { id: "s1", role: "system", content: "Be brief." },
      { id: "u1", role: "user", content: "Weather?", name: "Ada" },
      { id: "a1", role: "assistant", toolCalls: [{ id: "c1", name: "get_weather", arguments: '{"city":"Paris"}' }] },
      { id: "t1", role: "tool", toolResults: [{ toolCallId: "c1", content: "no such city", error: "unknown" }] },
    ]);
  });

  test("reasoning and activities have no native form: they are left out and named", () => {
    const dropped: string[] = [];
    const messages: readonly Message[] = [
      { id: "r1", role: "reasoning", content: "hm" },
      { id: "x1", role: "activity", activityType: "loading", content: {} },
      { id: "u1", role: "user", content: "Hi" },
    ];
    expect(toNativeMessages(messages, ({ id }) => dropped.push(id))).toEqual([
      { id: "u1", role: "user", content: "Hi" },
    ]);
    expect(dropped).toEqual(["r1", "x1"]);
  });

  test("several results in one native message are one tool message each; ids are made where they are missing", () => {
    const results = [
      { toolCallId: "c1", content: "1" },
      { toolCallId: "c2", content: "2" },
    ];
    expect(
      fromNativeMessages([
        { role: "user", content: "Hi" },
        { role: "tool", toolResults: results },
      ]),
    ).toEqual([
      { id: "message-1", role: "user", content: "Hi" },
      { id: "message-2", role: "tool", toolCallId: "c1", content: "1" },
      { id: "result-c2", role: "tool", toolCallId: "c2", content: "2" },
    ]);
  });

  test("parts where AG-UI has text only: the text counts", () => {
    const image: ContentPart = { type: "image", source: { type: "url", value: "https://example.com/a.png" } };
    expect(
      fromNativeMessages([{ id: "a1", role: "assistant", content: [{ type: "text", text: "Here" }, image] }]),
    ).toEqual([{ id: "a1", role: "assistant", content: "Here" }]);
  });
});
