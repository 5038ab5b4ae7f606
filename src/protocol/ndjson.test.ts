import { describe, expect, it } from "vitest";
import { HeddleError } from "./errors.ts";
import type { Event } from "./generated/model.ts";
import { createNdjsonDecoder, decodeNdjson, encodeNdjson } from "./ndjson.ts";

const event = (delta: string): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta });

describe("NDJSON", () => {
  const events = [event("ä — 😀"), event("line\nbreak"), event("")];
  const text = events.map(encodeNdjson).join("");

  it("writes one line an event", () => {
    expect(text.split("\n")).toHaveLength(4);
  });

  it.each([
    ["LF", text],
    ["CRLF and blank lines", `\n${text.replaceAll("\n", "\r\n\r\n")}`],
    ["no newline at the end", text.trimEnd()],
    ["a byte order mark", `\ufeff${text}`],
  ])("reads %s, cut at every byte", (_, framed) => {
    const bytes = new TextEncoder().encode(framed);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const decoder = createNdjsonDecoder();
      const frames = [...decoder.push(bytes.subarray(0, cut)), ...decoder.push(bytes.subarray(cut)), ...decoder.end()];
      expect(frames).toEqual(events.map((value) => ({ value })));
    }
  });

  it("hands over what came before a bad line, then fails", () => {
    const decoder = createNdjsonDecoder();
    expect(decoder.push(`${text}{nope\n`)).toHaveLength(3);
    expect(() => decoder.push(text)).toThrow(HeddleError);
  });

  it("refuses a line beyond the limit, also where it comes in small pieces", () => {
    const decoder = createNdjsonDecoder({ maxFrameBytes: 100 });
    decoder.push("x".repeat(60));
    expect(() => decoder.push("x".repeat(60))).toThrow(/limit/);
  });

  it("reads a source to its end", async () => {
    const values: unknown[] = [];
    for await (const { value } of decodeNdjson([text])) values.push(value);
    expect(values).toEqual(events);
  });
});
