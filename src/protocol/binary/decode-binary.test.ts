import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryEvent } from "../../../test/arbitrary-event.ts";
import { HeddleError } from "../errors.ts";
import type { Frame } from "../frames.ts";
import type { Event } from "../index.ts";
import { createBinaryDecoder, decodeBinary, decodeBinaryMessage, encodeBinary, encodeBinaryMessage } from "./index.ts";

const scale = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

const asEvent = (json: unknown): Event => json as Event;
const valuesOf = (frames: readonly Frame[]): unknown[] => frames.map((frame) => frame.value);
const concat = (chunks: readonly Uint8Array[]): Uint8Array => Uint8Array.from(Buffer.concat(chunks));

function failure(act: () => unknown): HeddleError {
  try {
    act();
  } catch (error) {
    if (error instanceof HeddleError) return error;
    throw error;
  }
  throw new Error("did not fail");
}

async function collect(source: AsyncIterable<Frame>): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const frame of source) values.push(frame.value);
  return values;
}

const frame = (bytes: Uint8Array): Uint8Array => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return concat([length, bytes]);
};

function streamOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const rest = [...chunks];
  return new ReadableStream({
    pull(controller) {
      const chunk = rest.shift();
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
}

const start = { type: "TEXT_MESSAGE_START", messageId: "m1", role: "user" };
const content = { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Grüße 👋", timestamp: 1_753_900_000_000 };
const end = { type: "TEXT_MESSAGE_END", messageId: "m1" };
const stream = concat([start, content, end].map((event) => encodeBinary(asEvent(event))));

/** Milliseconds to read `bytes` in chunks of `size`. */
function timeToRead(bytes: Uint8Array, size: number): number {
  const started = performance.now();
  const decoder = createBinaryDecoder();
  for (let pos = 0; pos < bytes.length; pos += size) decoder.push(bytes.subarray(pos, pos + size));
  decoder.end();
  return performance.now() - started;
}

describe("frames in chunks", () => {
  it("reads a stream that is cut once, at every byte", () => {
    for (let cut = 0; cut <= stream.length; cut++) {
      const decoder = createBinaryDecoder();
      const frames = [
        ...decoder.push(stream.subarray(0, cut)),
        ...decoder.push(stream.subarray(cut)),
        ...decoder.end(),
      ];
      expect(valuesOf(frames)).toStrictEqual([start, content, end]);
    }
  });

  it("hands a frame over with the byte that completes it", () => {
    const decoder = createBinaryDecoder();
    const first = encodeBinary(asEvent(start)).length;
    const seen = Array.from(stream, (byte, index) => [index + 1, decoder.push(Uint8Array.of(byte)).length] as const);
    const second = first + encodeBinary(asEvent(content)).length;
    expect(seen.filter(([, frames]) => frames > 0)).toStrictEqual([
      [first, 1],
      [second, 1],
      [stream.length, 1],
    ]);
    expect(decoder.end()).toStrictEqual([]);
  });

  it("reads random events in random chunks", () => {
    fc.assert(
      fc.property(
        fc.array(arbitraryEvent(), { maxLength: 6 }),
        fc.array(fc.nat({ max: 400 }), { maxLength: 20 }),
        (events, sizes) => {
          const bytes = concat(events.map((event) => encodeBinary(event)));
          const decoder = createBinaryDecoder();
          const values: unknown[] = [];
          let pos = 0;
          for (const size of [...sizes, bytes.length]) {
            values.push(...valuesOf(decoder.push(bytes.subarray(pos, pos + size))));
            pos += size;
          }
          expect(decoder.end()).toStrictEqual([]);
          expect(values).toEqual(events.map((event) => decodeBinaryMessage(encodeBinaryMessage(event))));
        },
      ),
      { numRuns: 300 * scale },
    );
  });

  it("does not read on in a chunk that its owner writes over", () => {
    const decoder = createBinaryDecoder();
    const chunk = Uint8Array.from(stream);
    const cut = 30;
    const first = decoder.push(chunk.subarray(0, cut));
    chunk.fill(0xff, 0, cut);
    expect(valuesOf([...first, ...decoder.push(chunk.subarray(cut))])).toStrictEqual([start, content, end]);
  });

  it("reads a stream, an async iterable, an array and nothing at all", async () => {
    const chunks = [stream.subarray(0, 7), stream.subarray(7)];
    expect(await collect(decodeBinary(chunks))).toStrictEqual([start, content, end]);
    expect(await collect(decodeBinary(streamOf(chunks)))).toStrictEqual([start, content, end]);
    expect(await collect(decodeBinary([]))).toStrictEqual([]);
    expect(await collect(decodeBinary([new Uint8Array(0)]))).toStrictEqual([]);
    async function* slowly(): AsyncGenerator<Uint8Array> {
      yield* chunks;
    }
    expect(await collect(decodeBinary(slowly()))).toStrictEqual([start, content, end]);
  });

  it("cancels the source when its reader stops early", async () => {
    let cancelled = false;
    const source = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(stream),
      cancel: () => void (cancelled = true),
    });
    for await (const first of decodeBinary(source)) {
      expect(first.value).toStrictEqual(start);
      break;
    }
    expect(cancelled).toBe(true);
  });

  it("takes time in proportion to the bytes", () => {
    const many = concat(Array.from({ length: 20_000 }, () => stream));
    const large = encodeBinary({ type: "CUSTOM", name: "n", value: "x".repeat(8_000_000) });
    // Quadratic work on any of these takes minutes.
    for (const [bytes, size] of [
      [many, many.length],
      [many, 100],
      [large, 1000],
      [large, 16],
    ] as const) {
      expect(timeToRead(bytes, size)).toBeLessThan(5000);
    }
  });
});

describe("broken streams", () => {
  it("an end in the middle of a frame is a truncated run (R-PB-08)", async () => {
    const first = encodeBinary(asEvent(start)).length;
    const whole = [first, first + encodeBinary(asEvent(content)).length];
    for (let cut = 1; cut < stream.length; cut++) {
      if (whole.includes(cut)) continue;
      const decoder = createBinaryDecoder();
      decoder.push(stream.subarray(0, cut));
      expect(failure(() => decoder.end())).toMatchObject({ code: "frame-invalid", details: { reason: "truncated" } });
    }
    await expect(collect(decodeBinary([stream.subarray(0, 10)]))).rejects.toMatchObject({
      details: { reason: "truncated" },
    });
  });

  it("a length above the limit is refused as soon as it is read", () => {
    const limit = { maxFrameBytes: 100 };
    const details = { limit: "size of a frame", allowed: 100, actual: 101 };
    for (const chunks of [[[0, 0, 0, 97]], [[0], [0, 0], [97]], [[0, 0, 0, 97, 1, 2, 3]]]) {
      const decoder = createBinaryDecoder(limit);
      const error = failure(() => chunks.forEach((chunk) => decoder.push(Uint8Array.from(chunk))));
      expect(error).toMatchObject({ code: "limit-exceeded", details });
    }
    expect(failure(() => createBinaryDecoder().push(Uint8Array.of(255, 255, 255, 255))).details).toMatchObject({
      actual: 2 ** 32 + 3,
    });
    const exact = encodeBinary(asEvent(content));
    expect(createBinaryDecoder({ maxFrameBytes: exact.length }).push(exact)).toHaveLength(1);
    expect(failure(() => createBinaryDecoder({ maxFrameBytes: exact.length - 1 }).push(exact)).code).toBe(
      "limit-exceeded",
    );
  });

  it("a claimed length allocates nothing", () => {
    const before = process.memoryUsage().arrayBuffers;
    const decoders = Array.from({ length: 200 }, () => {
      const decoder = createBinaryDecoder();
      decoder.push(Uint8Array.of(0, 0x9f, 0xff, 0x00, 1));
      return decoder;
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(decoders.length * 10_000);
  });

  it("what came whole before a broken frame is handed over first", async () => {
    const broken = concat([stream, frame(Uint8Array.of(0xff))]);
    const decoder = createBinaryDecoder();
    expect(valuesOf(decoder.push(broken))).toStrictEqual([start, content, end]);
    const error = failure(() => decoder.push(stream));
    expect(error.code).toBe("frame-invalid");
    expect(failure(() => decoder.end())).toBe(error);
    const seen: unknown[] = [];
    const reading = (async (): Promise<void> => {
      for await (const { value } of decodeBinary([broken])) seen.push(value);
    })();
    await expect(reading).rejects.toMatchObject({ code: "frame-invalid" });
    expect(seen).toStrictEqual([start, content, end]);
  });

  it("a frame without an event is refused, an empty one too", () => {
    expect(failure(() => createBinaryDecoder().push(Uint8Array.of(0, 0, 0, 0))).details).toMatchObject({
      reason: "no-event",
    });
    expect(failure(() => decodeBinaryMessage(new Uint8Array(0))).details).toMatchObject({ reason: "no-event" });
  });

  it("text is no chunk of this wire", () => {
    expect(failure(() => createBinaryDecoder().push("data: {}\n\n")).details).toMatchObject({ reason: "not-bytes" });
  });
});
