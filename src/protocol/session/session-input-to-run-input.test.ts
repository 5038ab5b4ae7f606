import { describe, expect, it } from "vitest";
import { parseRunInput } from "../enforce.ts";
import type { RunAgentInput } from "../generated/model.ts";
import type { AgentMessage, SessionRunInput } from "./model.ts";
import { decodeSessionRunInput } from "./session-codec.ts";
import { sessionInputToRunInput } from "./session-input-to-run-input.ts";

function convert(data: SessionRunInput["data"]): RunAgentInput {
  let made = 0;
  const ids = { threadId: "t1", runId: "r1", newId: () => `new-${++made}` };
  const text = JSON.stringify({ type: "run-agent", sessionId: "s1", data });
  const input = sessionInputToRunInput(decodeSessionRunInput(text), ids);
  expect(parseRunInput(input)).toEqual({ value: input, warnings: [] });
  return input;
}

describe("sessionInputToRunInput", () => {
  it("takes the seed's own request", () => {
    const messages: readonly AgentMessage[] = [{ role: "user", content: "Hello, how can you help me?" }];
    const options = { modelId: "openai/gpt-4", temperature: 0.7, maxTokens: 2048 };
    expect(convert({ messages, options })).toEqual({
      threadId: "t1",
      runId: "r1",
      protocolVersion: "1.0",
      messages: [{ id: "new-1", role: "user", content: "Hello, how can you help me?" }],
      forwardedProps: { options },
    });
  });

  it("makes ids only for messages that have none", () => {
    const messages: readonly AgentMessage[] = [
      { role: "user", content: "a" },
      { role: "assistant", content: "b", id: "m2" },
      { role: "user", content: "c" },
    ];
    expect(convert({ messages }).messages.map(({ id }) => id)).toEqual(["new-1", "m2", "new-2"]);
  });

  it("keeps the conversation in order, with every role", () => {
    const messages: readonly AgentMessage[] = [
      { role: "system", content: "Be kind.", id: "1", name: "host" },
      { role: "developer", content: "Be brief.", id: "2" },
      { role: "user", content: [{ type: "text", text: "Hi" }], id: "3", name: "Ada" },
      { role: "assistant", id: "4", toolCalls: [{ toolCallId: "c1", toolName: "t", arguments: { a: [1, null] } }] },
      { role: "tool", id: "5", toolCallId: "c1", content: "fine", name: "t" },
      { role: "assistant", content: "Done.", id: "6" },
    ];
    expect(convert({ messages }).messages).toEqual([
      { role: "system", content: "Be kind.", id: "1", name: "host" },
      { role: "developer", content: "Be brief.", id: "2" },
      { role: "user", content: [{ type: "text", text: "Hi" }], id: "3", name: "Ada" },
      {
        role: "assistant",
        id: "4",
        toolCalls: [{ id: "c1", type: "function", function: { name: "t", arguments: '{"a":[1,null]}' } }],
      },
      { role: "tool", id: "5", toolCallId: "c1", content: "fine" },
      { role: "assistant", content: "Done.", id: "6" },
    ]);
  });

  it("gives arguments back as the model wrote them where they are no JSON", () => {
    const toolCalls = [{ toolCallId: "c1", toolName: "t", arguments: null, argumentsText: "{oops" }];
    expect(convert({ messages: [{ role: "assistant", toolCalls }] }).messages[0]).toMatchObject({
      toolCalls: [{ function: { arguments: "{oops" } }],
    });
  });

  it("tells why a tool failed by what it returned", () => {
    const messages: readonly AgentMessage[] = [
      { role: "tool", toolCallId: "c1", content: "No such city.", isError: true },
      {
        role: "tool",
        toolCallId: "c2",
        content: [
          { type: "text", text: "a" },
          { type: "image", source: { type: "url", value: "u" } },
          { type: "text", text: "b" },
        ],
        isError: true,
      },
      { role: "tool", toolCallId: "c3", content: "fine", isError: false },
    ];
    const [first, second, third] = convert({ messages }).messages;
    expect(first).toMatchObject({ error: "No such city." });
    expect(second).toMatchObject({ error: "a\nb" });
    expect(third).not.toHaveProperty("error");
  });

  it("passes answers to interrupts on", () => {
    const resume = [{ interruptId: "i1", status: "resolved", payload: true }] as const;
    expect(convert({ messages: [], resume })).toEqual({
      threadId: "t1",
      runId: "r1",
      protocolVersion: "1.0",
      messages: [],
      resume,
    });
  });
});
