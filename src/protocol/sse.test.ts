import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryEvent } from "../../test/arbitrary-event.ts";
import { HeddleError } from "./errors.ts";
import type { Frame } from "./frames.ts";
import type { Event } from "./generated/model.ts";
import {
  createSseDecoder,
  createSseEncoder,
  decodeSse,
  encodeSse,
  encodeSseBytes,
  encodeSseComment,
  encodeSseCursor,
} from "./sse.ts";

const content = (delta: string, messageId = "m1"): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta });

/** Frames of a text that arrives in the given pieces. */
function decodePieces(pieces: readonly (string | Uint8Array)[]): readonly Frame[] {
  const decoder = createSseDecoder();
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

function failure(action: () => unknown): HeddleError {
  try {
    action();
  } catch (error) {
    if (error instanceof HeddleError) return error;
    throw error;
  }
  throw new Error("Expected a failure.");
}

describe("encodeSse", () => {
  it("writes what seed 001 shows for a delta", () => {
    expect(encodeSse({ type: "TEXT_MESSAGE_CONTENT", messageId: "msg_123", delta: "Hello!" })).toBe(
      'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_123","delta":"Hello!"}\n\n',
    );
  });

  it("PROTO-WIRE-1: puts the cursor before the data", () => {
    expect(encodeSse(content("x"), "log_0000000000000001")).toBe(
      'id: log_0000000000000001\ndata: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"x"}\n\n',
    );
  });

  it.each(["a\nb", "id: 1\r\n", "\u0000"])("refuses the cursor %j, which would be more than a line", (id) => {
    expect(failure(() => encodeSse(content("x"), id)).code).toBe("frame-invalid");
    expect(failure(() => encodeSseCursor(id)).code).toBe("frame-invalid");
  });

  it.each(['"', "\\", "\n", "\r\n", "\u0000", "\u2028", "\ud800", "\udc00x", "😀", "plain", ""])(
    "writes the delta %j as JSON does, whatever was open before",
    (delta) => {
      const encode = createSseEncoder();
      const events: Event[] = [
        content(delta),
        content(delta, `${delta}"id`),
        { type: "TOOL_CALL_ARGS", toolCallId: `c${delta}`, delta },
        { type: "REASONING_MESSAGE_CONTENT", messageId: "m1", delta },
        { ...content(delta), timestamp: 1_700_000_000_000 } as Event,
        { ...content(delta), timestamp: -5 } as Event,
        { ...content(delta), subagentRunId: "s" } as Event,
        { ...content(delta), metadata: { a: null } } as Event,
        content(delta),
      ];
      for (const event of events) {
        const frame = encode(event);
        expect(frame.startsWith("data: ") && frame.endsWith("\n\n")).toBe(true);
        expect(frame.slice(0, -2)).not.toMatch(/[\r\n]/);
        expect(JSON.parse(frame.slice(6))).toEqual(event);
      }
    },
  );

  it("leaves out a timestamp that is undefined", () => {
    const event = { ...content("x"), timestamp: undefined };
    expect(encodeSse(event as unknown as Event)).toBe(encodeSse(content("x")));
  });

  it("writes a batch as the bytes of its frames", () => {
    const events = [content("ä"), content("\ud83d\ude00"), content("z", "m2")];
    expect(new TextDecoder().decode(encodeSseBytes(events))).toBe(events.map((event) => encodeSse(event)).join(""));
  });
});

describe("decodeSse", () => {
  const whole = [
    { id: "l_1", value: content("ä — 😀") },
    { value: content("two") },
    { id: "l_3" },
    { id: "l_4", value: content("four") },
  ];
  const text = [
    encodeSse(content("ä — 😀"), "l_1"),
    encodeSseComment(" heartbeat"),
    encodeSse(content("two")),
    encodeSseCursor("l_3"),
    "event: message\nretry: 10\nunknown: x\n",
    encodeSse(content("four"), "l_4"),
  ].join("");

  it.each([
    ["LF", text],
    ["CRLF", text.replaceAll("\n", "\r\n")],
    ["CR", text.replaceAll("\n", "\r")],
    ["a byte order mark", `\ufeff${text}`],
  ])("PROTO-WIRE-3: reads %s, cut at every byte", (_, framed) => {
    const bytes = new TextEncoder().encode(framed);
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(decodePieces([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole);
    }
    expect(decodePieces(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole);
    expect(decodePieces(Array.from(framed))).toEqual(whole);
  });

  it("reads bytes and text in turns", () => {
    const bytes = new TextEncoder().encode(text);
    expect(
      decodePieces([bytes.subarray(0, 30), new TextDecoder().decode(bytes.subarray(30, 70)), bytes.subarray(70)]),
    ).toEqual(whole);
  });

  it("joins data of several lines", () => {
    expect(decodePieces(['data: {"a":\ndata: 1}\n\n'])).toEqual([{ value: { a: 1 } }]);
  });

  it("delivers a last frame that lacks its blank line, without the cursor that may be cut", () => {
    expect(decodePieces(['id: l_12\ndata: {"a":1}'])).toEqual([{ value: { a: 1 } }]);
  });

  it("never delivers half a frame, nor half a cursor, however the stream is cut", () => {
    const bytes = new TextEncoder().encode(text);
    for (let end = 0; end < bytes.length; end++) {
      const frames = decodePieces([bytes.subarray(0, end)]);
      const expected = whole.slice(0, frames.length);
      expect(frames.map(({ value }) => value)).toEqual(expected.map(({ value }) => value));
      for (const [index, frame] of frames.entries()) {
        expect([undefined, expected[index]?.id]).toContain(frame.id);
      }
    }
  });

  it("PROTO-WIRE-4: hands over what came before a bad frame, then fails", () => {
    const decoder = createSseDecoder();
    expect(decoder.push(`${encodeSse(content("x"))}data: {nope\n\n${encodeSse(content("y"))}`)).toEqual([
      { value: content("x") },
    ]);
    expect(failure(() => decoder.push("")).code).toBe("json-invalid");
    expect(failure(() => decoder.end()).code).toBe("json-invalid");
  });

  it("refuses a frame beyond the limit", () => {
    const decoder = createSseDecoder({ maxFrameBytes: 100 });
    expect(failure(() => decoder.push(`data: "${"x".repeat(200)}`)).code).toBe("limit-exceeded");
    const bytes = createSseDecoder({ maxFrameBytes: 100 });
    bytes.push(new Uint8Array(60).fill(120));
    expect(failure(() => bytes.push(new Uint8Array(60).fill(120))).code).toBe("limit-exceeded");
  });

  it("reads async sources and streams, and cancels a stream that is left", async () => {
    const chunks = [text.slice(0, 50), text.slice(50)];
    const collected: Frame[] = [];
    for await (const frame of decodeSse(chunks)) collected.push(frame);
    expect(collected).toEqual(whole);

    let cancelled = false;
    const stream = new ReadableStream<string>({
      pull: (controller) => controller.enqueue(text),
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const frame of decodeSse(stream)) {
      expect(frame).toEqual(whole[0]);
      break;
    }
    expect(cancelled).toBe(true);
  });

  it("gives back every event that was written, in chunks of any size", () => {
    fc.assert(
      fc.property(fc.array(arbitraryEvent(), { maxLength: 5 }), fc.integer({ min: 1, max: 50 }), (events, size) => {
        const bytes = encodeSseBytes(events);
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        );
        expect(decodePieces(pieces)).toEqual(events.map((value) => ({ value })));
      }),
      { numRuns: 200 },
    );
  });
});
