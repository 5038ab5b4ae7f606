/** Compaction step by step comes to the same as compaction of the whole. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitrarySoup, arbitraryStream } from "../../test/arbitrary-stream.ts";
import type { Event } from "../protocol/index.ts";
import { compactWithRanges } from "./compact.ts";
import { Compaction } from "./compaction.ts";
import { createExpandState, expand } from "./expand.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

const streams = fc.oneof(
  arbitraryStream({ runs: 2, moves: 20 }),
  arbitrarySoup({ chunks: true, runs: 2, moves: 20 }),
  arbitrarySoup({ chunks: false, runs: 1, moves: 30 }),
);

/** Chunks that break the rules of chunks are refused either way. */
function expands(events: readonly Event[]): boolean {
  const chunks = createExpandState();
  try {
    for (const event of events) expand(chunks, event);
    return true;
  } catch {
    return false;
  }
}

test("event by event as all at once, ranges too, whatever the state before", () => {
  const states = fc.constantFrom<unknown>(undefined, {}, { a: [1] });
  const check = fc.property(streams, states, (events, state) => {
    fc.pre(expands(events));
    const before = structuredClone(events);
    const compaction = new Compaction(state);
    for (const event of events) compaction.add(event);
    expect(compaction.end()).toEqual(compactWithRanges(events, { mode: "events", state }));
    expect(events).toEqual(before);
  });
  fc.assert(check, { numRuns: Math.ceil(1000 * SCALE) });
});
