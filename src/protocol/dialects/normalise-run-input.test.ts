import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryRunInput } from "../../../test/arbitrary-event.ts";
import { parseRunInput } from "../enforce.ts";
import { HeddleError } from "../errors.ts";
import type { RunAgentInput } from "../generated/model.ts";
import { normaliseRunInput } from "./normalise-run-input.ts";

function translate(input: unknown): RunAgentInput {
  const judged = parseRunInput(normaliseRunInput(input).value);
  expect(judged.warnings).toEqual([]);
  return judged.value;
}

const input = (fields: object): object => ({ threadId: "t", runId: "r", messages: [], ...fields });
const contentOf = (...parts: readonly unknown[]): unknown => {
  const [message] = translate(input({ messages: [{ id: "1", role: "user", content: parts }] })).messages;
  return message?.content;
};

describe("normaliseRunInput", () => {
  it("leaves inputs of 1.0 alone, and the same object", () => {
    fc.assert(
      fc.property(arbitraryRunInput(), (value) => {
        const normalised = normaliseRunInput(value);
        expect(normalised.value).toBe(value);
        expect(normalised.warnings).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it("makes a list of a single answer (seed 000), resolved unless it says otherwise", () => {
    const { value, warnings } = normaliseRunInput(
      input({ resume: { interruptId: "call_abc123", payload: { approved: true } } }),
    );
    expect(value).toMatchObject({
      resume: [{ interruptId: "call_abc123", status: "resolved", payload: { approved: true } }],
    });
    expect(warnings.map(({ path }) => path)).toEqual(["/resume", "/resume/0/status"]);
    expect(translate(input({ resume: [{ interruptId: "i", status: "cancelled", payload: null }] })).resume).toEqual([
      { interruptId: "i", status: "cancelled" },
    ]);
  });

  it("cannot guess which question a nameless answer is for", () => {
    expect(() => translate(input({ resume: { payload: 1 } }))).toThrow(HeddleError);
    expect(() => translate(input({ resume: "yes" }))).toThrow(HeddleError);
    expect(() => translate(input({ resume: null }))).toThrow(HeddleError);
  });

  it("reads snake_case and flat tool calls (seed 001)", () => {
    const { messages } = translate({
      thread_id: "t",
      run_id: "r",
      messages: [
        {
          id: "msg_456",
          role: "assistant",
          content: "It's sunny!",
          tool_calls: [{ id: "call_123", name: "get_weather", arguments: '{"location": "NYC"}' }],
        },
        { id: "msg_789", role: "tool", content: "72°F, sunny", tool_call_id: "call_123" },
      ],
    });
    expect(messages).toEqual([
      {
        id: "msg_456",
        role: "assistant",
        content: "It's sunny!",
        toolCalls: [
          { id: "call_123", type: "function", function: { name: "get_weather", arguments: '{"location": "NYC"}' } },
        ],
      },
      { id: "msg_789", role: "tool", content: "72°F, sunny", toolCallId: "call_123" },
    ]);
  });

  it("writes arguments that came as an object as text", () => {
    const { messages } = translate(
      input({ messages: [{ id: "1", role: "assistant", toolCalls: [{ id: "c", name: "n", arguments: { a: 1 } }] }] }),
    );
    expect(messages[0]).toMatchObject({ toolCalls: [{ function: { arguments: '{"a":1}' } }] });
  });

  it("reads reasoning with encryptedContent and a list of texts", () => {
    const { messages } = translate(
      input({ messages: [{ id: "1", role: "reasoning", content: ["a", "b"], encryptedContent: "e" }] }),
    );
    expect(messages).toEqual([{ id: "1", role: "reasoning", content: "ab", encryptedValue: "e" }]);
  });

  it("drops the nulls of state and forwardedProps, and no others", () => {
    expect(translate(input({ state: null, forwardedProps: null }))).toEqual(input({}));
    expect(() => translate(input({ parentRunId: null }))).toThrow(HeddleError);
    expect(translate(input({ state: { a: null }, forwardedProps: { b: null } }))).toEqual(
      input({ state: { a: null }, forwardedProps: { b: null } }),
    );
  });
});

describe("binary parts (seed 000)", () => {
  it.each([
    ["image/jpeg", "image"],
    ["audio/wav", "audio"],
    ["video/mp4", "video"],
    ["application/pdf", "document"],
  ])("of %s are of type %s", (mimeType, type) => {
    expect(contentOf({ type: "binary", mimeType, url: "https://x/y", filename: "f" })).toEqual([
      { type, source: { type: "url", value: "https://x/y", mimeType }, metadata: { filename: "f" } },
    ]);
  });

  it("prefer data, then url, then the id of an upload, and keep the others readable", () => {
    const mimeType = "image/png";
    expect(contentOf({ type: "binary", mimeType, data: "QQ==" })).toEqual([
      { type: "image", source: { type: "data", value: "QQ==", mimeType } },
    ]);
    expect(contentOf({ type: "binary", mimeType, id: "file-1" })).toEqual([
      { type: "image", source: { type: "file", value: "file-1", mimeType } },
    ]);
    expect(contentOf({ type: "binary", mimeType, data: "QQ==", url: "u", id: "i", filename: "f" })).toEqual([
      {
        type: "image",
        source: { type: "data", value: "QQ==", mimeType },
        metadata: { filename: "f", heddle: { url: "u", id: "i" } },
      },
    ]);
  });

  it("that repeat a modern part go, others stay", () => {
    const image = { type: "image", source: { type: "url", value: "u", mimeType: "image/png" } };
    const binary = { type: "binary", mimeType: "image/png", url: "u" };
    expect(contentOf(image, binary)).toEqual([image]);
    expect(contentOf(binary, binary)).toEqual([image, image]);
  });

  it.each([
    { type: "binary", mimeType: "image/png" },
    { type: "binary", url: "u" },
  ])("without bytes or type, such as %j, are left for enforcement, which takes them out with a warning", (part) => {
    const { value } = normaliseRunInput(input({ messages: [{ id: "1", role: "user", content: [part] }] }));
    const judged = parseRunInput(value);
    expect(judged.value.messages[0]?.content).toEqual([]);
    expect(judged.warnings.map(({ path }) => path)).toEqual(["/messages/0/content/0"]);
  });

  it("with malformed bytes stay malformed", () => {
    expect(() => contentOf({ type: "binary", mimeType: "image/png", data: 5 })).toThrow(HeddleError);
  });
});
