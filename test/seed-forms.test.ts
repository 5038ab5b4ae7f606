/** Every form of the seeds, as it stands there, ends in 1.0; and the stock client 1.0.0 takes what comes out. */
import { HttpAgent } from "@ag-ui/client";
import type { RunAgentInput as PeerInput } from "@ag-ui/core";
import { parseEvent, parseRunInput } from "heddle/protocol";
import type { Event } from "heddle/protocol";
import { createNormaliseMemory, normaliseEvent, normaliseRunInput, projectEvent } from "heddle/protocol/dialects";
import { describe, expect, it, vi } from "vitest";
import { scriptedAgent } from "./scripted-agent.ts";

/** Through the door: translated, judged, and written for a 1.0 peer. */
function toCurrent(stream: readonly unknown[]): readonly Event[] {
  const memory = createNormaliseMemory();
  return stream
    .flatMap((raw) => normaliseEvent(raw, memory).values)
    .flatMap((value) => parseEvent(value).value ?? [])
    .flatMap((event) => projectEvent(event, { version: "1.0" }, { runOpen: true }).value ?? [])
    .map((value) => value as unknown as Event);
}

/** Runs the stock client against a stream, inside a run that the test does not have to write. */
async function stockClient(body: readonly unknown[], last?: (ids: object) => unknown) {
  await using agent = await scriptedAgent((ids) =>
    toCurrent([
      { type: "RUN_STARTED", ...pick(ids), protocolVersion: "1.0" },
      ...body,
      last?.(pick(ids)) ?? { type: "RUN_FINISHED", ...pick(ids) },
    ]),
  );
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const client = new HttpAgent({ url: agent.url, threadId: "t1" });
  const seen: string[] = [];
  await client.runAgent({}, { onEvent: ({ event }) => void seen.push(event.type) });
  const warnings = warn.mock.calls.map((call) => String(call[0]));
  warn.mockRestore();
  expect(warnings).toEqual([]);
  return { client, seen };
}

const pick = ({ threadId, runId }: { threadId: string; runId: string }) => ({ threadId, runId });

describe("seed 000: interrupts", () => {
  const interrupts = [
    {
      id: "call_abc123",
      payload: { functionName: "delete_file", functionArguments: { path: "/important.txt" } },
    },
    { id: "input_789", payload: { prompt: "Please enter your API key", inputType: "password" } },
  ];

  it.each(interrupts)("a run that asks $id is taken by the stock client as a question", async (interrupt) => {
    for (const outcome of ["interrupt", undefined]) {
      const { client } = await stockClient([], (ids) => ({ type: "RUN_FINISHED", ...ids, outcome, interrupt }));
      expect(client.pendingInterrupts).toMatchObject([
        { id: interrupt.id, metadata: { heddle: { payload: interrupt.payload } } },
      ]);
    }
  });

  it("a success in words is a success", async () => {
    const { client } = await stockClient([], (ids) => ({ type: "RUN_FINISHED", ...ids, outcome: "success" }));
    expect(client.pendingInterrupts).toEqual([]);
  });

  it.each([
    { interruptId: "call_abc123", payload: { approved: true } },
    { interruptId: "input_789", payload: { response: "sk-secret-key-123" } },
  ])("the answer to $interruptId is a list of one", (resume) => {
    const body = { threadId: "t", runId: "r", messages: [], tools: [], context: [], state: {}, resume };
    expect(parseRunInput(normaliseRunInput(body).value).value.resume).toEqual([{ ...resume, status: "resolved" }]);
  });
});

describe("seed 000: reasoning, META and binary content", () => {
  it("a reasoning sequence in the seed's words reaches the stock client, encrypted content included", async () => {
    const { client } = await stockClient([
      { type: "REASONING_START", messageId: "r1", encryptedContent: "gAAAA" },
      { type: "REASONING_MESSAGE_START", messageId: "r1", role: "assistant" },
      { type: "REASONING_MESSAGE_CONTENT", messageId: "r1", delta: "thinking" },
      { type: "REASONING_MESSAGE_END", messageId: "r1" },
      { type: "REASONING_END", messageId: "r1" },
    ]);
    expect(client.messages).toEqual([{ id: "r1", role: "reasoning", content: "thinking", encryptedValue: "gAAAA" }]);
  });

  it("THINKING events reach the stock client as reasoning", async () => {
    const { client } = await stockClient([
      { type: "THINKING_START", title: "Plan" },
      { type: "THINKING_TEXT_MESSAGE_START" },
      { type: "THINKING_TEXT_MESSAGE_CONTENT", delta: "hm" },
      { type: "THINKING_TEXT_MESSAGE_END" },
      { type: "THINKING_END" },
    ]);
    expect(client.messages).toMatchObject([{ role: "reasoning", content: "hm" }]);
  });

  it("PROTO-META-1: META is first-class here, and CUSTOM for the stock client", async () => {
    const meta = { type: "META", metaType: "thumbs_up", payload: { messageId: "m1" } };
    expect(parseEvent(meta)).toEqual({ value: meta, warnings: [] });
    const { seen } = await stockClient([meta]);
    expect(seen).toEqual(["RUN_STARTED", "CUSTOM", "RUN_FINISHED"]);
  });

  it("binary content in a snapshot is media for the stock client", async () => {
    const { client } = await stockClient([
      {
        type: "MESSAGES_SNAPSHOT",
        messages: [
          {
            id: "u1",
            role: "user",
            content: [
              { type: "text", text: "Look" },
              { type: "binary", mimeType: "image/jpeg", url: "https://example.com/a.jpg", filename: "a.jpg" },
              { type: "binary", mimeType: "audio/wav", data: "UklGRg==" },
              { type: "binary", mimeType: "application/pdf", id: "file_1" },
            ],
          },
        ],
      },
    ]);
    expect(client.messages).toMatchObject([
      {
        content: [
          { type: "text" },
          { type: "image", source: { type: "url" }, metadata: { filename: "a.jpg" } },
          { type: "audio", source: { type: "data" } },
          { type: "document", source: { type: "file", value: "file_1" } },
        ],
      },
    ]);
  });
});

describe("seed 001: messages and multi-turn", () => {
  const messages = [
    { id: "msg_012", role: "system", content: "You are a helpful assistant." },
    { id: "msg_123", role: "user", content: "What's the weather?", name: "john_doe" },
    {
      id: "msg_456",
      role: "assistant",
      content: "It's sunny!",
      tool_calls: [{ id: "call_123", name: "get_weather", arguments: '{"location": "NYC"}' }],
    },
    { id: "msg_789", role: "tool", content: "72°F, sunny", tool_call_id: "call_123" },
  ];

  it("snake_case and flat tool calls survive, in a snapshot and in an input", async () => {
    const { client } = await stockClient([{ type: "MESSAGES_SNAPSHOT", messages }]);
    const call = {
      id: "call_123",
      type: "function",
      function: { name: "get_weather", arguments: '{"location": "NYC"}' },
    };
    expect(client.messages).toMatchObject([{}, {}, { toolCalls: [call] }, { toolCallId: "call_123" }]);
    const { value } = parseRunInput(normaliseRunInput({ threadId: "t", runId: "r", messages }).value);
    expect(value.messages).toEqual(client.messages);
  });

  it("snake_case events of its constructors are read", () => {
    expect(
      toCurrent([
        { type: "RUN_STARTED", thread_id: "t", run_id: "r", parent_run_id: "p" },
        { type: "STEP_STARTED", step_name: "s" },
        { type: "TOOL_CALL_START", tool_call_id: "c", tool_call_name: "n", parent_message_id: "m" },
        { type: "TOOL_CALL_RESULT", message_id: "m2", tool_call_id: "c", content: "x" },
      ]),
    ).toEqual([
      { type: "RUN_STARTED", threadId: "t", runId: "r", parentRunId: "p" },
      { type: "STEP_STARTED", stepName: "s" },
      { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "n", parentMessageId: "m" },
      { type: "TOOL_CALL_RESULT", messageId: "m2", toolCallId: "c", content: "x" },
    ]);
  });
});

describe("seeds 002, 003 and 004", () => {
  it("seed 002 echoes an input without its ids and closes runs without naming the thread", () => {
    const message = { id: "msg2", role: "user", content: "New question" };
    expect(
      toCurrent([
        {
          type: "RUN_STARTED",
          threadId: "thread1",
          runId: "run2",
          parentRunId: "run1",
          input: { messages: [message] },
        },
        { type: "RUN_FINISHED", runId: "run2" },
      ]),
    ).toEqual([
      {
        type: "RUN_STARTED",
        threadId: "thread1",
        runId: "run2",
        parentRunId: "run1",
        input: { threadId: "thread1", runId: "run2", messages: [message] },
      },
      { type: "RUN_FINISHED", threadId: "thread1", runId: "run2" },
    ]);
  });

  it("seed 003 writes ISO timestamps, which the stock client would refuse", async () => {
    const { seen } = await stockClient([{ type: "CUSTOM", name: "x", value: null, timestamp: "2026-11-15T20:00:00Z" }]);
    expect(seen).toContain("CUSTOM");
  });

  it("seed 004 calls a tool's content result", async () => {
    const { client } = await stockClient([
      { type: "TOOL_CALL_START", toolCallId: "call-456", toolCallName: "get_weather" },
      { type: "TOOL_CALL_ARGS", toolCallId: "call-456", delta: '{"location":' },
      { type: "TOOL_CALL_ARGS", toolCallId: "call-456", delta: ' "Paris"}' },
      { type: "TOOL_CALL_END", toolCallId: "call-456" },
      { type: "TOOL_CALL_RESULT", toolCallId: "call-456", result: '{"temp": 22}' },
    ]);
    expect(client.messages).toMatchObject([{ role: "assistant" }, { role: "tool", content: '{"temp": 22}' }]);
  });

  it("an input that we wrote is one that the stock schema takes", () => {
    const input: PeerInput = { threadId: "t", runId: "r", messages: [], state: {}, tools: [], context: [] };
    expect(parseRunInput(input).warnings).toEqual([]);
  });
});
