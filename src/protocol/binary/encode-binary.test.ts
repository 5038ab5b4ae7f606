import { describe, expect, it } from "vitest";
import { ERRORS, HeddleError } from "../errors.ts";
import type { Event } from "../index.ts";
import { decodeBinaryMessage, encodeBinary, encodeBinaryMessage } from "./index.ts";
import { MAX_JSON_DEPTH } from "./json-value.ts";
import { EVENTS, MESSAGES, isOneof } from "./layout.ts";
import type { EventLayout, Fields, Slot } from "./layout.ts";

function refusal(event: unknown): HeddleError {
  try {
    encodeBinary(event as Event);
  } catch (error) {
    if (error instanceof HeddleError) return error;
    throw error;
  }
  throw new Error("was not refused");
}

const delta = { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "d" } as const;
const custom = (value: unknown): Event => ({ type: "CUSTOM", name: "n", value });
const snapshot = (message: unknown): unknown => ({ type: "MESSAGES_SNAPSHOT", messages: [message] });

const partWith = (source: unknown): unknown => ({ id: "1", role: "user", content: [{ type: "image", source }] });

/** Lists and objects in turn, so many levels deep. */
function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { value };
  return value;
}

/** A value that fits a slot. */
function sample({ kind, presence }: Slot): unknown {
  if (presence !== "required" && presence !== "optional") return [];
  const scalars: Record<string, unknown> = {
    string: "s",
    bool: true,
    int64: 1,
    json: 1,
    "json-not-null": 1,
    object: {},
  };
  return scalars[kind];
}

describe("what is refused", () => {
  it.each([undefined, null, "RAW", 5, [], {}, { type: 3 }, { type: "" }, { type: "NEW" }, { type: "toString" }])(
    "%j is no event",
    (event) => {
      expect(refusal(event).details).toMatchObject({ reason: "unknown-event" });
    },
  );

  it.each(["META", "THINKING_START", "THINKING_END", "TOOL_CALL_CHUNKS"])("%s has no form", (type) => {
    expect(refusal({ type, metaType: "m", payload: {} })).toMatchObject({ code: "frame-invalid", details: { type } });
  });

  it.each(Object.entries<EventLayout>(EVENTS))("%s without one of its required fields", (type, { fields }) => {
    const whole: Record<string, unknown> = { type };
    for (const [field, slot] of Object.entries(fields)) {
      if (slot.presence === "required" || slot.presence === "list") whole[field] = sample(slot);
    }
    if (type === "TOOL_CALL_RESULT") whole["content"] = "c";
    expect(encodeBinary(whole as unknown as Event).length).toBeGreaterThan(4);
    for (const field of Object.keys(whole)) {
      if (field === "type") continue;
      const { [field]: _, ...rest } = whole;
      expect(refusal(rest).details).toMatchObject({ owner: type, field });
    }
    for (const field of Object.keys(whole).filter((name) => !["type", "snapshot", "event", "value"].includes(name))) {
      expect(refusal({ ...whole, [field]: null }).details).toMatchObject({ owner: type, field });
    }
  });

  it.each(Object.entries<EventLayout>(EVENTS))("%s with a field of another type", (type, { fields }) => {
    for (const [field, slot] of Object.entries(fields)) {
      if (slot.kind === "json" || slot.kind === "json-not-null" || field === "contentParts") continue;
      if (["interrupts", "pendingToolCallIds", "interruptIds"].includes(field)) continue;
      const others: Record<string, unknown> = {};
      for (const [name, other] of Object.entries(fields)) {
        if (other.presence === "required" || other.presence === "list") others[name] = sample(other);
      }
      if (type === "TOOL_CALL_RESULT") others["content"] = "c";
      expect(refusal({ type, ...others, [field]: 7 }).details).toMatchObject({ owner: type });
    }
    expect(refusal({ type, timestamp: 1.5 }).details).toMatchObject({ field: "timestamp" });
    expect(refusal({ type, timestamp: 2 ** 53 }).details).toMatchObject({ field: "timestamp" });
    expect(refusal({ type, timestamp: Number.NaN }).details).toMatchObject({ field: "timestamp" });
    expect(refusal({ type, metadata: "m" }).details).toMatchObject({ field: "metadata" });
  });

  it.each([
    ["a message that is no object", snapshot("m"), "messages"],
    ["a message without an id", snapshot({ role: "user", content: "" }), "id"],
    ["a message without a role", snapshot({ id: "1", content: "" }), "role"],
    ["a user message without content", snapshot({ id: "1", role: "user" }), "content"],
    ["a system message without content", snapshot({ id: "1", role: "system" }), "content"],
    ["a system message with parts", snapshot({ id: "1", role: "system", content: [] }), "content"],
    ["an assistant message with parts", snapshot({ id: "1", role: "assistant", content: [] }), "content"],
    [
      "an activity message with text",
      snapshot({ id: "1", role: "activity", activityType: "a", content: "" }),
      "content",
    ],
    ["an activity message without its type", snapshot({ id: "1", role: "activity", content: {} }), "activityType"],
    ["a tool message without its call", snapshot({ id: "1", role: "tool", content: "" }), "toolCallId"],
    ["a number as content", snapshot({ id: "1", role: "oracle", content: 1 }), "content"],
    [
      "a tool call without its function",
      snapshot({ id: "1", role: "assistant", toolCalls: [{ id: "c", type: "function" }] }),
      "function",
    ],
    ["a data source without its type", snapshot(partWith({ type: "data", value: "v" })), "mimeType"],
    ["a part without a source", snapshot(partWith(undefined)), "source"],
    ["a missing op", { type: "STATE_DELTA", delta: [{ path: "" }] }, "op"],
    ["an add without value", { type: "STATE_DELTA", delta: [{ op: "add", path: "" }] }, "value"],
    ["a move without from", { type: "STATE_DELTA", delta: [{ op: "move", path: "" }] }, "from"],
    ["a move from a number", { type: "STATE_DELTA", delta: [{ op: "move", path: "", from: 1 }] }, "from"],
    ["an outcome that is text", { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: "success" }, "outcome"],
    ["an outcome without type", { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: {} }, "outcome.type"],
    [
      "an interrupt without interrupts",
      { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "interrupt" } },
      "outcome.interrupts",
    ],
    [
      "a list of ids that is none",
      { type: "SUBAGENT_FINISHED", subagentRunId: "s", outcome: { type: "suspended", interruptIds: "i" } },
      "interruptIds",
    ],
  ])("%s", (_, event, field) => {
    expect(refusal(event)).toMatchObject({ code: "frame-invalid", details: { reason: "wrong-field", field } });
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 5n, () => 1, Symbol("s")])("%s in open JSON", (value) => {
    for (const held of [value, [value], { a: { b: value } }]) {
      expect(refusal(custom(held)).details).toMatchObject({ reason: "not-json" });
      expect(refusal({ ...delta, rawEvent: held }).details).toMatchObject({ reason: "not-json" });
      expect(refusal({ ...delta, metadata: { held } }).details).toMatchObject({ reason: "not-json" });
    }
  });

  it("open JSON that is too deep, or has no end", () => {
    expect(decodeBinaryMessage(encodeBinaryMessage(custom(nested(MAX_JSON_DEPTH))))).toEqual(
      custom(nested(MAX_JSON_DEPTH)),
    );
    expect(refusal(custom(nested(MAX_JSON_DEPTH + 1))).code).toBe("limit-exceeded");
    expect(refusal(custom(nested(100_000))).code).toBe("limit-exceeded");
    const endless: Record<string, unknown> = {};
    endless["self"] = endless;
    expect(refusal(custom(endless)).code).toBe("limit-exceeded");
    expect(refusal({ ...delta, metadata: endless }).code).toBe("limit-exceeded");
    const again = { toJSON: (): unknown => again };
    expect(refusal(custom(again)).code).toBe("limit-exceeded");
  });

  it("says what to do, with a code of the table and a reason", () => {
    const error = refusal({ ...delta, delta: 5 });
    expect(error.message).toBe("Cannot encode TEXT_MESSAGE_CONTENT: `delta` must be a string.");
    expect(error.status).toBe(ERRORS["frame-invalid"].status);
    expect(error.details).toStrictEqual({
      reason: "wrong-field",
      owner: "TEXT_MESSAGE_CONTENT",
      field: "delta",
      expected: "a string",
    });
  });
});

describe("the writer that is kept between calls", () => {
  const expected = Buffer.from(encodeBinary(delta)).toString("hex");
  const again = (): string => Buffer.from(encodeBinary(delta)).toString("hex");

  it("is clean after a refusal in the middle of an event", () => {
    refusal({ ...delta, metadata: { a: [1, Number.NaN] } });
    expect(again()).toBe(expected);
  });

  it("is clean after an event that grew it", () => {
    const large = custom("x".repeat(1_000_000));
    expect(decodeBinaryMessage(encodeBinaryMessage(large))).toStrictEqual(large);
    expect(again()).toBe(expected);
  });

  it("serves an event that encodes another one on its way", () => {
    let inner = "";
    const value = { toJSON: () => ((inner = again()), "text") };
    expect(decodeBinaryMessage(encodeBinaryMessage(custom(value)))).toStrictEqual(custom("text"));
    expect(inner).toBe(expected);
    expect(again()).toBe(expected);
  });

  it("hands out bytes that are the caller's own", () => {
    const first = encodeBinary(delta);
    encodeBinary({ ...delta, delta: "another" });
    expect(Buffer.from(first).toString("hex")).toBe(expected);
    expect(first.buffer.byteLength).toBe(first.length);
  });
});

/** A value that fills a slot with something other than what an empty wire reads as. */
function filled(slot: Slot): unknown {
  const scalars: Record<string, unknown> = {
    string: "s",
    bool: false,
    int64: 0,
    json: null,
    "json-not-null": 0,
    object: {},
    "patch-op": "test",
  };
  const one = slot.kind in scalars ? scalars[slot.kind] : filledMessage(slot.kind as keyof typeof MESSAGES);
  return slot.presence === "required" || slot.presence === "optional" ? one : [one, one];
}

function filledFields(fields: Fields, without: readonly string[] = []): Record<string, unknown> {
  const entries = Object.entries(fields).filter(([field]) => !without.includes(field));
  return Object.fromEntries(entries.map(([field, slot]) => [field, filled(slot)]));
}

function filledMessage(name: keyof typeof MESSAGES): object {
  const layout = MESSAGES[name];
  if (isOneof(layout)) {
    const [[type, arm] = ["", { message: name }]] = Object.entries(layout.arms);
    return { type, ...filledMessage(arm.message) };
  }
  const json = filledFields(layout, ["contentParts", "activityContent"]);
  return name === "Message" ? { ...json, role: "system" } : json;
}

it.each(Object.entries<EventLayout>(EVENTS))("every slot of %s is written and read", (type, { fields }) => {
  const lists = ["interrupts", "pendingToolCallIds", "interruptIds"];
  const event: Record<string, unknown> = {
    type,
    timestamp: 0,
    rawEvent: 0,
    metadata: {},
    ...filledFields(fields, ["contentParts", "outcome", ...lists]),
  };
  if ("outcome" in fields) {
    const held = Object.keys(fields).filter((field) => !lists.includes(field));
    event["outcome"] = { type: "x", ...filledFields(fields, held) };
  }
  expect(decodeBinaryMessage(encodeBinaryMessage(event as unknown as Event))).toStrictEqual(event);
});
