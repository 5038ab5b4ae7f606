import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { packBatches } from "./packed-batches.ts";
import { CHECKSUM_BYTES, cutEvents, packEvents, packRow, unpack, unpackEvents } from "./segment.ts";

const texts = fc.array(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  { minLength: 1, maxLength: 600 },
);

const withRoom = (text: string): Buffer => Buffer.concat([Buffer.alloc(CHECKSUM_BYTES), Buffer.from(text)]);

describe("rows of events", () => {
  test("give the same texts back, whatever they are", () => {
    const returned = fc.property(texts, (events) => {
      const rows = packEvents(events);
      expect(rows.flatMap((row) => unpackEvents(row))).toEqual(events);
      expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(events.length);
    });
    fc.assert(returned, { numRuns: 200 });
  });

  test("hold at most 256 events and 64 KiB, but a single long one whole", () => {
    const short = Array.from({ length: 1000 }, (_, index) => `{"n":${index}}`);
    expect(cutEvents(short).map(({ count }) => count)).toEqual([256, 256, 256, 232]);
    const long = `"${"x".repeat(100_000)}"`;
    expect(cutEvents(["1", long, "2"]).map(({ count, loose }) => [count, loose])).toEqual([
      [1, true],
      [1, false],
      [1, true],
    ]);
  });

  test("are compressed where that pays, and only then", () => {
    const text = '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}\n'.repeat(200);
    const row = packRow(withRoom(text), false);
    expect(row.data.length).toBeLessThan(text.length / 10);
    expect(unpack(row)).toBe(text);
    for (const [plain, loose] of [[text, true] as const, ["short", false] as const]) {
      const kept = packRow(withRoom(plain), loose);
      expect([kept.codec, unpack(kept)]).toEqual([0, plain]);
    }
  });

  test("that are damaged, or packed in an unknown way, are said to be", () => {
    const damaged = { codec: 1, data: Buffer.from("not deflated at all") };
    expect(() => unpack(damaged)).toThrow(expect.objectContaining({ code: "store-corrupt" }));
    expect(() => unpack({ codec: 77, data: Buffer.from("x") })).toThrow(
      expect.objectContaining({ code: "store-corrupt" }),
    );
  });
});

test("batches travel as one piece of bytes, in which each row finds its own", () => {
  const lease = { tenant: "a", threadId: "t", runId: "r", ref: "1.2.3", fence: 7, nextBatch: 1, leaseMs: 5 };
  const batches = [
    { lease, number: 1, events: ['"é"', '"x"'] as const },
    { lease: { ...lease, ref: "1.2.4" }, number: 9, events: ['"𝄞"'] as const, end: undefined },
  ];
  const packed = packBatches(batches);
  const read = packed.batches.map(({ segments }) =>
    segments.map(({ start, end }) => Buffer.from(packed.bytes.subarray(start + CHECKSUM_BYTES, end)).toString()),
  );
  expect(read).toEqual([['"é"\n"x"'], ['"𝄞"']]);
  expect(packed.batches.map(({ ref, number, count, fence }) => [ref.run, number, count, fence])).toEqual([
    [3, 1, 2, 7],
    [4, 9, 1, 7],
  ]);
});
