import { describe, expect, test } from "vitest";
import { parseEvent } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { detachEvent } from "./detach-event.ts";
import { plainDelta } from "./plain-delta.ts";

const MAX_BYTES = 1 << 20;
const SAID = { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "a", timestamp: 7 } as const;
const PLAIN: readonly Event[] = [
  SAID,
  { ...SAID, type: "REASONING_MESSAGE_CONTENT" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "{", timestamp: 7 },
];

test.each(PLAIN)("a plain $type is what the long way makes of it, and a value of its own", (event) => {
  const taken = plainDelta(event, MAX_BYTES);
  expect(taken).toEqual(parseEvent(detachEvent(event, MAX_BYTES)).value);
  expect(taken).not.toBe(event);
});

test("what AG-UI does not describe is left out, as on the long way", () => {
  const more = { ...SAID, secret: 1 } as Event;
  expect(plainDelta(more, MAX_BYTES)).toEqual(parseEvent(detachEvent(more, MAX_BYTES)).value);
});

describe("goes the long way", () => {
  const others: Readonly<Record<string, object>> = {
    "another event": { type: "TEXT_MESSAGE_END", messageId: "m", timestamp: 7 },
    metadata: { ...SAID, metadata: { a: 1 } },
    "a raw event": { ...SAID, rawEvent: 1 },
    "a subagent": { ...SAID, subagentRunId: "s" },
    "a text of its own": { ...SAID, toJSON: () => ({}) },
    "a delta that is no text": { ...SAID, delta: 5 },
    "an id that is no text": { ...SAID, messageId: {} },
    "an empty delta": { ...SAID, delta: "" },
    "a long delta": { ...SAID, delta: "x".repeat(1025) },
    "no time": { ...SAID, timestamp: undefined },
    "a time that is none": { ...SAID, timestamp: NaN },
  };
  test.each(Object.entries(others))("%s", (_, event) => {
    expect(plainDelta(event as Event, MAX_BYTES)).toBe(undefined);
  });

  test("everything where little is allowed", () => {
    expect(plainDelta(SAID, 1000)).toBe(undefined);
  });
});
