import { describe, expect, it } from "vitest";
import { binaryCodec } from "./binary/index.ts";
import { EventEncoder } from "./event-encoder.ts";
import type { Event } from "./generated/model.ts";

const event: Event = { type: "TEXT_MESSAGE_CONTENT", messageId: "msg_123", delta: "Hello!" };
const proto = "application/vnd.ag-ui.event+proto";

describe("EventEncoder", () => {
  it("writes Server-Sent Events where nothing else is asked for (seed 001)", () => {
    const encoder = new EventEncoder();
    expect(encoder.contentType).toBe("text/event-stream");
    expect(encoder.encode(event)).toBe(
      'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_123","delta":"Hello!"}\n\n',
    );
    expect(encoder.encode(event, "l_1")).toMatch(/^id: l_1\ndata: /);
    expect(new TextDecoder().decode(encoder.encodeBytes(event))).toBe(encoder.encode(event));
  });

  it.each([
    [undefined, "text/event-stream"],
    [null, "text/event-stream"],
    ["", "text/event-stream"],
    ["*/*", "text/event-stream"],
    ["application/*", "text/event-stream"],
    ["text/event-stream", "text/event-stream"],
    [`text/event-stream, ${proto};q=0`, "text/event-stream"],
    [`${proto};q=0.000`, "text/event-stream"],
    [proto, proto],
    [`text/event-stream, ${proto}`, proto],
    [`text/event-stream;q=1.0, ${proto.toUpperCase()} ; q=0.001`, proto],
  ])("PROTO-WIRE-2: answers Accept %j with %s", (accept, contentType) => {
    expect(new EventEncoder({ accept, binary: binaryCodec }).contentType).toBe(contentType);
  });

  it("writes frames of protobuf where they are named and on offer", () => {
    const encoder = new EventEncoder({ accept: proto, binary: binaryCodec });
    expect(encoder.encode(event)).toEqual(binaryCodec.encode(event));
    expect(encoder.encodeBytes(event)).toEqual(binaryCodec.encode(event));
  });

  it("ignores protobuf that is named but not on offer (R-PB-03)", () => {
    expect(new EventEncoder({ accept: proto }).contentType).toBe("text/event-stream");
  });
});
