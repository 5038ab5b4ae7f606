import { describe, expect, it } from "vitest";
import { HeddleError } from "./errors.ts";
import type { Event } from "./generated/model.ts";
import { decodeEvent, decodeEvents, decodeJson, decodeRunInput, encodeEvents } from "./json.ts";

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof HeddleError) return error.code;
    throw error;
  }
  return "none";
}

describe("JSON text", () => {
  it("is read from text and bytes, with or without a byte order mark", () => {
    const text = '{"type":"STEP_STARTED","stepName":"ä"}';
    for (const form of [
      text,
      `\ufeff${text}`,
      new TextEncoder().encode(text),
      new TextEncoder().encode(`\ufeff${text}`),
    ]) {
      expect(decodeEvent(form).value).toEqual({ type: "STEP_STARTED", stepName: "ä" });
    }
  });

  it("PROTO-WIRE-5: is refused where it is no JSON, no UTF-8, too long or too deep", () => {
    expect(codeOf(() => decodeJson("{"))).toBe("json-invalid");
    expect(codeOf(() => decodeJson(""))).toBe("json-invalid");
    expect(codeOf(() => decodeJson("NaN"))).toBe("json-invalid");
    expect(codeOf(() => decodeJson(Uint8Array.of(0x22, 0xff, 0x22)))).toBe("json-invalid");
    expect(codeOf(() => decodeJson('"xxxx"', { maxBytes: 5 }))).toBe("limit-exceeded");
    expect(codeOf(() => decodeJson("[".repeat(513) + "]".repeat(513)))).toBe("limit-exceeded");
    expect(codeOf(() => decodeJson("[".repeat(512) + "]".repeat(512)))).toBe("none");
    expect(codeOf(() => decodeJson(`${'{"a":'.repeat(600)}1${"}".repeat(600)}`))).toBe("limit-exceeded");
    expect(codeOf(() => decodeJson("[".repeat(200_000)))).toBe("json-invalid");
  });

  it("of a run input is judged", () => {
    expect(decodeRunInput('{"threadId":"t","runId":"r","messages":[]}').value).toEqual({
      threadId: "t",
      runId: "r",
      messages: [],
    });
    expect(codeOf(() => decodeRunInput('{"threadId":"t"}'))).toBe("input-invalid");
  });
});

describe("a history as one JSON array (seed 000, seed 002)", () => {
  const events: readonly Event[] = [
    { type: "RUN_STARTED", threadId: "t1", runId: "r1" },
    { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Hello!" },
    { type: "TEXT_MESSAGE_END", messageId: "m1" },
    { type: "RUN_FINISHED", threadId: "t1", runId: "r1" },
  ];

  it("comes back as it was saved", () => {
    expect(decodeEvents(encodeEvents(events))).toEqual({ value: events, warnings: [] });
  });

  it("is judged event by event, and says which one", () => {
    const text = JSON.stringify([events[0], { type: "FUTURE" }, { ...events[1], extra: 1 }]);
    const { value, warnings } = decodeEvents(text);
    expect(value).toEqual([events[0], events[1]]);
    expect(warnings.map(({ path }) => path)).toEqual(["/1", "/2/extra"]);
    expect(codeOf(() => decodeEvents('[{"type":"TEXT_MESSAGE_END"}]'))).toBe("event-invalid");
    expect(codeOf(() => decodeEvents("{}"))).toBe("json-invalid");
  });
});
