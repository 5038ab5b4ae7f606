/** Every event, through every wire, cut at every byte. */
import fc from "fast-check";
import {
  HeddleError,
  createNdjsonDecoder,
  createSseDecoder,
  decodeEvents,
  encodeEvents,
  encodeNdjson,
  encodeSse,
} from "heddle/protocol";
import type { Event, FrameDecoder } from "heddle/protocol";
import { createBinaryDecoder, encodeBinary } from "heddle/protocol/binary";
import { describe, expect, it } from "vitest";
import { ARBITRARY_EVENT_TYPES, arbitraryEvent } from "./arbitrary-event.ts";

const utf8 = new TextEncoder();

interface Wire {
  readonly encode: (event: Event) => Uint8Array;
  readonly decoder: () => FrameDecoder;
}

const WIRES: Readonly<Record<string, Wire>> = {
  SSE: { encode: (event) => utf8.encode(encodeSse(event, "log_0000000000000001")), decoder: createSseDecoder },
  NDJSON: { encode: (event) => utf8.encode(encodeNdjson(event)), decoder: createNdjsonDecoder },
  protobuf: { encode: encodeBinary, decoder: createBinaryDecoder },
};

/** One example of each type, with all that it can carry and nothing that protobuf cannot say. */
const EXAMPLES: readonly Event[] = [
  {
    type: "RUN_STARTED",
    threadId: "t",
    runId: "r",
    protocolVersion: "1.0",
    parentRunId: "p",
    input: {
      threadId: "t",
      runId: "r",
      messages: [{ id: "u", role: "user", content: [{ type: "text", text: "ä — 😀" }] }],
      tools: [{ name: "n", description: "d", parameters: { type: "object" } }],
      context: [{ description: "d", value: "v" }],
      state: { a: [1, null] },
      forwardedProps: { b: "c" },
      resume: [{ interruptId: "i", status: "resolved", payload: 5 }],
    },
  },
  {
    type: "RUN_FINISHED",
    threadId: "t",
    runId: "r",
    outcome: { type: "interrupt", interrupts: [{ id: "i", reason: "x", responseSchema: { type: "string" } }] },
    usage: [{ provider: "p", model: "m", inputTokens: 3 }],
    timestamp: 1_700_000_000_000,
  },
  { type: "RUN_ERROR", message: "no", code: "c", rawEvent: { x: null }, metadata: { k: null } },
  { type: "STEP_STARTED", stepName: "s", subagentRunId: "sub" },
  { type: "STEP_FINISHED", stepName: "s" },
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "user", name: "n" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: 'ä "\\\n 😀' },
  { type: "TEXT_MESSAGE_END", messageId: "m" },
  { type: "TEXT_MESSAGE_CHUNK", messageId: "m", delta: "x", role: "assistant" },
  { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "n", parentMessageId: "m" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: '{"a":' },
  { type: "TOOL_CALL_END", toolCallId: "c" },
  { type: "TOOL_CALL_CHUNK", toolCallId: "c", toolCallName: "n", delta: "" },
  {
    type: "TOOL_CALL_RESULT",
    messageId: "m",
    toolCallId: "c",
    content: [{ type: "image", source: { type: "file", value: "f", provider: "p" } }],
    role: "tool",
  },
  { type: "STATE_SNAPSHOT", snapshot: null },
  {
    type: "STATE_DELTA",
    delta: [
      { op: "add", path: "/a~1b", value: null },
      { op: "move", from: "/a", path: "/b" },
    ],
  },
  {
    type: "MESSAGES_SNAPSHOT",
    messages: [
      {
        id: "a",
        role: "assistant",
        toolCalls: [{ id: "c", type: "function", function: { name: "n", arguments: "{" } }],
      },
      { id: "b", role: "activity", activityType: "PLAN", content: { x: [true] } },
    ],
  },
  { type: "ACTIVITY_SNAPSHOT", messageId: "m", activityType: "PLAN", content: { a: 1 }, replace: false },
  { type: "ACTIVITY_DELTA", messageId: "m", activityType: "PLAN", patch: [{ op: "remove", path: "" }] },
  { type: "REASONING_START", messageId: "m" },
  { type: "REASONING_MESSAGE_START", messageId: "m", role: "reasoning" },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "m", delta: "" },
  { type: "REASONING_MESSAGE_END", messageId: "m" },
  { type: "REASONING_MESSAGE_CHUNK", messageId: "m", delta: "d" },
  { type: "REASONING_END", messageId: "m" },
  {
    type: "REASONING_ENCRYPTED_VALUE",
    subtype: "tool-call",
    entityId: "c",
    encryptedValue: "e",
    encryptedValueType: "x",
  },
  { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "n", description: "d", parentToolCallId: "c" },
  {
    type: "SUBAGENT_FINISHED",
    subagentRunId: "s",
    result: { ok: true },
    outcome: { type: "suspended", interruptIds: ["i"] },
  },
  { type: "SUBAGENT_ERROR", subagentRunId: "s", message: "m", code: "c" },
  { type: "RAW", event: null, source: "s" },
  { type: "CUSTOM", name: "n", value: { deep: [{ er: 0.5 }] } },
];

const read = (decoder: FrameDecoder, pieces: readonly Uint8Array[]): readonly unknown[] =>
  [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()].map(({ value }) => value);

it("has an example of every type", () => {
  expect(EXAMPLES.map(({ type }) => type).toSorted()).toEqual([...ARBITRARY_EVENT_TYPES].toSorted());
});

describe.each(Object.entries(WIRES))("%s", (_, { encode, decoder }) => {
  it.each(EXAMPLES.map((event) => [event.type, event] as const))("carries %s, cut at every byte", (_type, event) => {
    const bytes = encode(event);
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(read(decoder(), [bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual([event]);
    }
    expect(
      read(
        decoder(),
        Array.from(bytes, (byte) => Uint8Array.of(byte)),
      ),
    ).toEqual([event]);
  });

  it("carries all of them in one stream, cut at every byte", () => {
    const bytes = Uint8Array.from(EXAMPLES.flatMap((event) => [...encode(event)]));
    for (let cut = 0; cut <= bytes.length; cut += 7) {
      expect(read(decoder(), [bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(EXAMPLES);
    }
  });
});

it("PROTO-WIRE-6: META travels by every wire of text, and is refused by protobuf", () => {
  const meta: Event = { type: "META", metaType: "note", payload: { text: "x" } };
  for (const name of ["SSE", "NDJSON"]) {
    const wire = WIRES[name];
    expect(wire && read(wire.decoder(), [wire.encode(meta)])).toEqual([meta]);
  }
  expect(decodeEvents(encodeEvents([meta])).value).toEqual([meta]);
  expect(() => encodeBinary(meta)).toThrow(HeddleError);
});

it("SSE, NDJSON and JSON arrays give back any event", () => {
  fc.assert(
    fc.property(fc.array(arbitraryEvent(), { maxLength: 4 }), (events) => {
      expect(
        read(
          createSseDecoder(),
          events.map((event) => utf8.encode(encodeSse(event))),
        ),
      ).toEqual(events);
      expect(
        read(
          createNdjsonDecoder(),
          events.map((event) => utf8.encode(encodeNdjson(event))),
        ),
      ).toEqual(events);
      expect(decodeEvents(encodeEvents(events)).value).toEqual(events);
    }),
    { numRuns: 300 },
  );
});
