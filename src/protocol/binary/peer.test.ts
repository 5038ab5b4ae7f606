/**
 * Against the published peer: equal bytes for all 31 events, each side reads the other, and every loss and every
 * deliberate difference has a case of its own.
 */
import { isDeepStrictEqual } from "node:util";
import { EventEncoder } from "@ag-ui/encoder";
import * as peer from "@ag-ui/proto";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ARBITRARY_EVENT_TYPES, arbitraryEvent } from "../../../test/arbitrary-event.ts";
import { HeddleError } from "../errors.ts";
import type { Event } from "../index.ts";
import {
  BINARY_MEDIA_TYPE,
  LOSSES,
  binaryCodec,
  decodeBinaryMessage,
  encodeBinary,
  encodeBinaryMessage,
} from "./index.ts";
import type { Loss } from "./index.ts";

const scale = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

const asEvent = (json: unknown): Event => json as Event;
const peerEncode = (event: unknown): Uint8Array => peer.encode(event as Parameters<typeof peer.encode>[0]);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const roundTrip = (event: unknown): unknown => decodeBinaryMessage(encodeBinaryMessage(asEvent(event)));

/** Exact equality; vitest's own takes a member called `constructor` for a class. */
function expectSame(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) {
    throw new Error(`${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`);
  }
}

let warnings: string[] = [];
beforeEach(() => {
  warnings = [];
  vi.spyOn(console, "warn").mockImplementation((...parts: unknown[]) => void warnings.push(parts.join(" ")));
});
afterEach(() => vi.restoreAllMocks());

type Json = Record<string, unknown>;
const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Rebuilds the protocol's own objects, not the open JSON inside them. */
function mapProtocol(value: unknown, change: (object: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((item) => mapProtocol(item, change));
  if (!isRecord(value)) return value;
  const nested = ["messages", "toolCalls", "input", "outcome", "delta", "patch"];
  const entries = Object.entries(value).map(([key, held]): [string, unknown] => [
    key,
    nested.includes(key) ? mapProtocol(held, change) : held,
  ]);
  return change(Object.fromEntries(entries));
}

/** What is left of an event by the losses that the format has. */
function carried(event: unknown): unknown {
  return mapProtocol(event, (object) => {
    const kept = { ...object };
    if (typeof kept["op"] === "string") {
      for (const key of Object.keys(kept)) if (!["op", "path", "from", "value"].includes(key)) delete kept[key];
    }
    for (const list of ["toolCalls", "usage", "pendingToolCallIds", "interruptIds"]) {
      const held = kept[list];
      if (Array.isArray(held) && held.length === 0) delete kept[list];
    }
    if ("messages" in kept && "threadId" in kept) {
      for (const list of ["tools", "context", "resume"]) kept[list] ??= [];
    }
    return kept;
  });
}

/** An event as 1.0, which the peer speaks: without the three slots that 1.1 added. */
function asVersion10(event: unknown): unknown {
  return mapProtocol(event, ({ encryptedValueType: _newer, ...kept }) => kept);
}

describe("the same event in both codecs", () => {
  it.each(ARBITRARY_EVENT_TYPES)("%s has equal bytes and reads equally on both sides", (type) => {
    fc.assert(
      fc.property(arbitraryEvent(type), (event) => {
        const event10 = asVersion10(event);
        const theirs = peerEncode(event10);
        const ours = encodeBinaryMessage(asEvent(event10));
        expect(hex(ours)).toBe(hex(theirs));
        expectSame(peer.decode(ours), carried(event10));
        expectSame(decodeBinaryMessage(theirs), carried(event10));
        // With 1.1's slots: carried by us, passed over by the peer.
        const bytes = encodeBinaryMessage(event);
        expectSame(decodeBinaryMessage(bytes), carried(event));
        expectSame(peer.decode(bytes), carried(event10));
        expect(warnings).toStrictEqual([]);
      }),
      { numRuns: 200 * scale },
    );
  });

  it("frames it as the peer's encoder does", () => {
    const encoder = new EventEncoder({ accept: BINARY_MEDIA_TYPE });
    expect(encoder.getContentType()).toBe(BINARY_MEDIA_TYPE);
    expect(binaryCodec).toStrictEqual({ mediaType: BINARY_MEDIA_TYPE, encode: encodeBinary });
    fc.assert(
      fc.property(arbitraryEvent(), (event) => {
        const event10 = asVersion10(event) as Parameters<typeof encoder.encodeBinary>[0];
        expect(hex(encodeBinary(asEvent(event10)))).toBe(hex(encoder.encodeBinary(event10)));
      }),
      { numRuns: 300 * scale },
    );
  });

  it.each([0x7f, 0x80, 0x3ffb, 0x3fff, 0x4000, 0x1ffff0, 0x200000])("holds text of %i characters", (length) => {
    for (const unit of ["a", "é", "€", "😀"]) {
      const event = { type: "CUSTOM", name: unit.repeat(length), value: [unit.repeat(length)] };
      expect(Buffer.compare(encodeBinaryMessage(asEvent(event)), peerEncode(event))).toBe(0);
      expect(isDeepStrictEqual(roundTrip(event), event)).toBe(true);
    }
  });

  it("holds integers of every width", () => {
    for (let bit = 0; bit <= 53; bit++) {
      for (const timestamp of [2 ** bit - 1, 2 ** bit, 2 ** bit + 1, -(2 ** bit), 1 - 2 ** bit]) {
        if (!Number.isSafeInteger(timestamp) || Object.is(timestamp, -0)) continue;
        const event = { type: "TEXT_MESSAGE_END", timestamp, messageId: "m" };
        expect(hex(encodeBinaryMessage(asEvent(event)))).toBe(hex(peerEncode(event)));
        expect(roundTrip(event)).toStrictEqual(event);
      }
    }
  });

  it("does not depend on the order of members or on undefined ones", () => {
    const event = {
      delta: "d",
      metadata: { b: 1, gone: undefined, a: { gone: undefined } },
      subagentRunId: undefined,
      messageId: "m",
      type: "TEXT_MESSAGE_CONTENT",
    };
    expect(encodeBinaryMessage(asEvent(event))).toStrictEqual(peerEncode(event));
    expect(roundTrip(event)).toStrictEqual({
      type: "TEXT_MESSAGE_CONTENT",
      metadata: { b: 1, a: {} },
      messageId: "m",
      delta: "d",
    });
  });
});

describe("what the format loses, as the peer does", () => {
  const input = { threadId: "t", runId: "r", messages: [] };
  const cases: Record<Loss, readonly [event: Json, read: Json][]> = {
    "patch-members": [
      [
        { type: "STATE_DELTA", delta: [{ op: "remove", path: "/a", value: null, note: 1 }] },
        { type: "STATE_DELTA", delta: [{ op: "remove", path: "/a", value: null }] },
      ],
    ],
    "unknown-members": [
      [
        { type: "STEP_STARTED", stepName: "s", colour: "red" },
        { type: "STEP_STARTED", stepName: "s" },
      ],
      [
        { type: "MESSAGES_SNAPSHOT", messages: [{ id: "1", role: "user", content: "c", contentParts: [{}] }] },
        { type: "MESSAGES_SNAPSHOT", messages: [{ id: "1", role: "user", content: "c" }] },
      ],
      [
        { type: "RUN_FINISHED", threadId: "t", runId: "r", interrupts: [{ id: "i", reason: "x" }] },
        { type: "RUN_FINISHED", threadId: "t", runId: "r" },
      ],
    ],
    "optional-null": [
      [
        { type: "RUN_STARTED", threadId: "t", runId: "r", rawEvent: null, input: null, parentRunId: null },
        { type: "RUN_STARTED", threadId: "t", runId: "r" },
      ],
      [
        { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: null, result: null, usage: [{ model: null }] },
        { type: "RUN_FINISHED", threadId: "t", runId: "r", usage: [{}] },
      ],
      [
        { type: "MESSAGES_SNAPSHOT", messages: [{ id: "1", role: "assistant", content: null, toolCalls: null }] },
        { type: "MESSAGES_SNAPSHOT", messages: [{ id: "1", role: "assistant" }] },
      ],
    ],
    "empty-lists": [
      [
        {
          type: "RUN_FINISHED",
          threadId: "t",
          runId: "r",
          usage: [],
          outcome: { type: "success", pendingToolCallIds: [] },
        },
        { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "success" } },
      ],
      [
        { type: "RUN_ERROR", message: "m", usage: [] },
        { type: "RUN_ERROR", message: "m" },
      ],
      [
        { type: "SUBAGENT_FINISHED", subagentRunId: "s", outcome: { type: "suspended", interruptIds: [] } },
        { type: "SUBAGENT_FINISHED", subagentRunId: "s", outcome: { type: "suspended" } },
      ],
      [
        { type: "MESSAGES_SNAPSHOT", messages: [{ id: "1", role: "assistant", toolCalls: [] }] },
        { type: "MESSAGES_SNAPSHOT", messages: [{ id: "1", role: "assistant" }] },
      ],
    ],
    "run-input-lists": [
      [
        { type: "RUN_STARTED", threadId: "t", runId: "r", input },
        { type: "RUN_STARTED", threadId: "t", runId: "r", input: { ...input, tools: [], context: [], resume: [] } },
      ],
    ],
    "lone-surrogates": [
      [
        { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "a\ud83d", metadata: { "\ude00": "\ude00b" } },
        { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "a\ufffd", metadata: { "\ufffd": "\ufffdb" } },
      ],
    ],
  };

  it.each(Object.keys(LOSSES) as Loss[])("%s", (loss) => {
    for (const [event, read] of cases[loss]) {
      expect(roundTrip(event)).toStrictEqual(read);
      expect(peer.decode(peerEncode(event))).toStrictEqual(read);
      expect(hex(encodeBinaryMessage(asEvent(event)))).toBe(hex(peerEncode(event)));
    }
  });

  it("keeps empty lists that are content of their own", () => {
    const events = [
      { type: "MESSAGES_SNAPSHOT", messages: [] },
      { type: "STATE_DELTA", delta: [] },
      { type: "ACTIVITY_DELTA", messageId: "m", activityType: "a", patch: [] },
      { type: "TOOL_CALL_RESULT", messageId: "m", toolCallId: "c", content: [] },
      { type: "MESSAGES_SNAPSHOT", messages: [{ id: "1", role: "user", content: [] }] },
    ];
    for (const event of events) expect(roundTrip(event)).toStrictEqual(event);
  });
});

const refused = (event: unknown): HeddleError => {
  try {
    encodeBinaryMessage(asEvent(event));
  } catch (error) {
    if (error instanceof HeddleError) return error;
  }
  throw new Error("was not refused");
};

const snapshotOf = (part: unknown): Json => ({
  type: "MESSAGES_SNAPSHOT",
  messages: [{ id: "1", role: "user", content: [part] }],
});

describe("where we differ from the peer on purpose", () => {
  const content = { type: "TEXT_MESSAGE_CONTENT", messageId: "m" };

  it("encryptedValueType: 1.1's slots travel, the peer of 1.0 drops them", () => {
    const event = {
      type: "REASONING_ENCRYPTED_VALUE",
      subtype: "message",
      entityId: "e",
      encryptedValue: "v",
      encryptedValueType: "t",
    };
    expect(roundTrip(event)).toStrictEqual(event);
    const expected = ["fa0116", "0a02081e", "1a076d657373616765", "220165", "2a0176", "320174"];
    expect(hex(encodeBinaryMessage(asEvent(event)))).toBe(expected.join(""));
    expect(peer.decode(peerEncode(event))).not.toHaveProperty("encryptedValueType");
  });

  it("__proto__: a member like any other, which the peer loses both ways", () => {
    const event = JSON.parse('{"type":"CUSTOM","name":"n","value":{"__proto__":{"x":1},"y":2}}') as Json;
    const read = roundTrip(event) as Json;
    expect(JSON.stringify(read["value"])).toBe('{"__proto__":{"x":1},"y":2}');
    expect(Object.getPrototypeOf(read["value"])).toBe(Object.prototype);
    expect(JSON.stringify((peer.decode(encodeBinaryMessage(asEvent(event))) as unknown as Json)["value"])).toBe(
      '{"y":2}',
    );
  });

  it("a missing delta: refused, where the peer writes the text undefined", () => {
    expect(peer.decode(peerEncode(content))).toHaveProperty("delta", "undefined");
    expect(refused(content)).toMatchObject({
      code: "frame-invalid",
      details: { reason: "wrong-field", field: "delta" },
    });
  });

  it("META: refused, where the peer writes no bytes at all", () => {
    const meta = { type: "META", metaType: "x", payload: {} };
    expect(peerEncode(meta)).toHaveLength(0);
    expect(refused(meta).details).toMatchObject({ reason: "unknown-event", type: "META" });
  });

  it("NaN: refused, where the peer writes what no JSON reader can hold", () => {
    const event = { type: "CUSTOM", name: "n", value: [Number.NaN] };
    expect(refused(event).details).toMatchObject({ reason: "not-json" });
    const bytes = peerEncode(event);
    expect(() => decodeBinaryMessage(bytes)).toThrow(HeddleError);
  });

  it("an undefined element: null as in JSON, where the peer writes a value without a kind", () => {
    const event = { type: "CUSTOM", name: "n", value: [undefined, 1] };
    expect(roundTrip(event)).toHaveProperty("value", [null, 1]);
    const bytes = peerEncode(event);
    expect(() => decodeBinaryMessage(bytes)).toThrow(HeddleError);
  });

  it("a Date: its text as in JSON, where the peer writes an empty object", () => {
    const event = { type: "CUSTOM", name: "n", value: new Date(0) };
    expect(roundTrip(event)).toHaveProperty("value", "1970-01-01T00:00:00.000Z");
    expect(peer.decode(peerEncode(event))).toHaveProperty("value", {});
  });

  it("a content part without a wire form: refused, where the peer drops it", () => {
    const event = snapshotOf({ type: "hologram", id: "h" });
    expect(peer.decode(peerEncode(event))).toHaveProperty("messages", [{ id: "1", role: "user", content: [] }]);
    expect(refused(event).details).toMatchObject({ owner: "ContentPart", field: "type" });
  });

  it("the retired binary part: refused, where the peer turns it into a marked document", () => {
    const event = snapshotOf({ type: "binary", mimeType: "image/png", data: "AA==" });
    expect(peer.decode(peerEncode(event))).toHaveProperty("messages.0.content.0.type", "document");
    expect(refused(event).details).toMatchObject({ owner: "ContentPart", field: "type" });
  });

  it("a source without a wire form: refused, where the peer sends the part without one", () => {
    const event = snapshotOf({ type: "image", source: { type: "torrent", value: "v" } });
    expect(peer.decode(peerEncode(event))).not.toHaveProperty("messages.0.content.0.source");
    expect(refused(event).details).toMatchObject({ owner: "PartSource", field: "type" });
  });

  it("metadata that is no object: refused, where the peer drops it", () => {
    const event = { ...content, delta: "d", metadata: ["x"] };
    expect(peer.decode(peerEncode(event))).not.toHaveProperty("metadata");
    expect(refused(event).details).toMatchObject({ field: "metadata" });
  });

  it("an outcome of a later version: keeps its lists, which the peer does not send", () => {
    const outcome = { type: "paused", pendingToolCallIds: ["c"] };
    const event = { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome };
    expect(roundTrip(event)).toHaveProperty("outcome", outcome);
    expect(peer.decode(encodeBinaryMessage(asEvent(event)))).toHaveProperty("outcome", outcome);
    expect(peer.decode(peerEncode(event))).toHaveProperty("outcome", { type: "paused" });
  });

  it("object content under an unknown role: travels, where the peer writes [object Object]", () => {
    const event = { type: "MESSAGES_SNAPSHOT", messages: [{ id: "1", role: "oracle", content: { a: 1 } }] };
    expect(roundTrip(event)).toStrictEqual(event);
    expect(peer.decode(encodeBinaryMessage(asEvent(event)))).toStrictEqual(event);
    expect(peer.decode(peerEncode(event))).toHaveProperty("messages.0.content", "[object Object]");
  });

  it("a from that is no text, on an operation that does not use it: left out, where the peer writes its text", () => {
    const event = { type: "STATE_DELTA", delta: [{ op: "remove", path: "/a", from: 5 }] };
    expect(roundTrip(event)).toHaveProperty("delta", [{ op: "remove", path: "/a" }]);
    expect(peer.decode(peerEncode(event))).toHaveProperty("delta.0.from", "5");
  });

  it("an operation without a name here: refused, where the peer throws what it happens to throw", () => {
    const event = { type: "STATE_DELTA", delta: [{ op: "merge", path: "/a" }] };
    expect(() => peerEncode(event)).toThrow("invalid int32");
    expect(refused(event).details).toMatchObject({ owner: "JsonPatchOperation", field: "op" });
  });
});
