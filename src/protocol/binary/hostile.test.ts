/** Bytes that nobody meant: they never crash, never hang, and give JSON or a `HeddleError`. */
import { isDeepStrictEqual } from "node:util";
import * as peer from "@ag-ui/proto";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { arbitraryEvent } from "../../../test/arbitrary-event.ts";
import { HeddleError } from "../errors.ts";
import { createBinaryDecoder, decodeBinaryMessage, encodeBinary, encodeBinaryMessage } from "./index.ts";

const scale = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

interface Change {
  readonly how: "set" | "flip" | "cut" | "insert" | "remove" | "repeat" | "splice";
  readonly at: number;
  readonly byte: number;
}

const change: fc.Arbitrary<Change> = fc.record({
  how: fc.constantFrom("set", "flip", "cut", "insert", "remove", "repeat", "splice"),
  at: fc.nat(),
  byte: fc.nat({ max: 255 }),
});

function mutate(bytes: number[], { how, at, byte }: Change): number[] {
  const pos = bytes.length === 0 ? 0 : at % bytes.length;
  switch (how) {
    case "set":
      return bytes.with(pos, byte);
    case "flip":
      return bytes.with(pos, (bytes[pos] ?? 0) ^ (1 << (byte & 7)));
    case "cut":
      return bytes.slice(0, pos);
    case "insert":
      return bytes.toSpliced(pos, 0, byte);
    case "remove":
      return bytes.toSpliced(pos, (byte & 15) + 1);
    case "repeat":
      return [...bytes, ...bytes];
    case "splice":
      return bytes.toSpliced(pos, 0, ...bytes.slice(pos, pos + byte));
  }
}

const mutated = fc.tuple(arbitraryEvent(), fc.array(change, { minLength: 1, maxLength: 4 })).map(([event, changes]) => {
  const bytes = Array.from(encodeBinaryMessage(event));
  return Uint8Array.from(changes.reduce((held, next) => (held.length === 0 ? held : mutate(held, next)), bytes));
});

function isJson(value: unknown): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isJson);
  return typeof value === "object" && Object.values(value).every(isJson);
}

/** What reading gives: JSON, nothing where the event was dropped, or an error of ours. Anything else is thrown. */
function attempt(bytes: Uint8Array): { readonly value?: unknown; readonly error?: HeddleError } {
  try {
    const value = decodeBinaryMessage(bytes);
    if (value !== undefined && !isJson(value)) throw new Error("read something that is no JSON");
    return { value };
  } catch (error) {
    if (error instanceof HeddleError && ["frame-invalid", "limit-exceeded"].includes(error.code)) return { error };
    throw error;
  }
}

const reasonOf = (error: HeddleError): unknown => (error.details as Readonly<Record<string, unknown>>)["reason"];

const withoutNewer = (value: unknown): string =>
  JSON.stringify(value, (key, held: unknown) => (key === "encryptedValueType" ? undefined : held));

/** How our reading compares with the peer's. */
function compare(bytes: Uint8Array): "same" | "differs" | "both refuse" | "stricter" | "laxer" {
  const { value, error } = attempt(bytes);
  let theirs: unknown;
  try {
    theirs = peer.decode(bytes);
  } catch (peerError) {
    const dropped = peerError instanceof peer.AGUIUnknownEventTypeError;
    if (dropped) return error === undefined && value === undefined ? "same" : "differs";
    return error === undefined ? "laxer" : "both refuse";
  }
  if (error !== undefined) return ["not-json", "malformed"].includes(String(reasonOf(error))) ? "stricter" : "differs";
  const same = isDeepStrictEqual(JSON.parse(withoutNewer(value)), JSON.parse(withoutNewer(theirs)));
  return same ? "same" : "differs";
}

/** All that a decoder gives for a stream in chunks of `size`: values, and how it failed. */
function readInChunks(bytes: Uint8Array, size: number): unknown[] {
  const decoder = createBinaryDecoder({ maxFrameBytes: 100_000 });
  const seen: unknown[] = [];
  try {
    for (let pos = 0; pos < bytes.length; pos += size) {
      for (const { value } of decoder.push(bytes.subarray(pos, pos + size))) seen.push(value);
    }
    decoder.end();
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    // A frame with two faults may name either, depending on the bytes behind it.
    seen.push(error.code);
  }
  return seen;
}

describe("hostile bytes", () => {
  it("random ones", () => {
    const property = fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => void attempt(bytes));
    expect(() => fc.assert(property, { numRuns: 8000 * scale })).not.toThrow();
  });

  it("random ones behind the arm of an event", () => {
    const armed = fc
      .tuple(fc.integer({ min: 1, max: 31 }), fc.nat({ max: 30 }), fc.uint8Array({ maxLength: 100 }))
      .map(([arm, type, rest]) => {
        const tag = arm < 16 ? [arm * 8 + 2] : [((arm * 8 + 2) & 0x7f) | 0x80, 1];
        return Uint8Array.from([...tag, rest.length + 4, 0x0a, 0x02, 0x08, type, ...rest]);
      });
    const property = fc.property(armed, (bytes) => void attempt(bytes));
    expect(() => fc.assert(property, { numRuns: 4000 * scale })).not.toThrow();
  });

  it("events that were changed: never read otherwise than the peer, never what it takes for broken", () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const counts: Record<string, number> = {};
    fc.assert(
      fc.property(mutated, (bytes) => {
        const verdict = compare(bytes);
        counts[verdict] = (counts[verdict] ?? 0) + 1;
        // We are stricter where the peer hands out what is no JSON, or overlooks broken bytes.
        expect(["same", "both refuse", "stricter"]).toContain(verdict);
      }),
      { numRuns: 8000 * scale },
    );
    expect(counts["same"]).toBeGreaterThan(500);
    expect(counts["both refuse"]).toBeGreaterThan(500);
    vi.restoreAllMocks();
  });

  it("whole streams that were changed, in random chunks", () => {
    const damaged = fc
      .tuple(fc.array(arbitraryEvent(), { minLength: 1, maxLength: 4 }), fc.array(change, { maxLength: 3 }))
      .map(([events, changes]) => {
        const bytes = events.flatMap((event) => Array.from(encodeBinary(event)));
        return Uint8Array.from(changes.reduce((held, next) => (held.length === 0 ? held : mutate(held, next)), bytes));
      });
    fc.assert(
      fc.property(damaged, fc.integer({ min: 1, max: 300 }), (bytes, size) => {
        // The same frames and the same failure, however the stream is cut.
        const whole = readInChunks(bytes, Math.max(1, bytes.length));
        expect(isDeepStrictEqual(readInChunks(bytes, size), whole)).toBe(true);
      }),
      { numRuns: 2000 * scale },
    );
  });

  it("many empty messages cost no more than their bytes deserve", () => {
    // Two bytes a message: 200,000 of them in one snapshot.
    const body = Uint8Array.from([
      0x0a,
      0x02,
      0x08,
      0x08,
      ...Array.from({ length: 200_000 }, () => [0x12, 0x00]).flat(),
    ]);
    const length = body.length;
    const header = [0x4a, (length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14];
    const started = performance.now();
    const { value } = attempt(Uint8Array.from([...header, ...body]));
    expect((value as { messages: unknown[] }).messages).toHaveLength(200_000);
    expect(performance.now() - started).toBeLessThan(5000);
  });
});
