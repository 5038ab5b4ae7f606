/** Compaction on generated streams: it verifies, folds to the same, and has nothing left to do. */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitrarySoup, arbitraryStream } from "../../test/arbitrary-stream.ts";
import type { Event } from "../protocol/index.ts";
import { compact, compactWithRanges } from "./compact.ts";
import { expanding, reduceAll, throughArray } from "./stage.ts";
import { createVerifyState, verify } from "./verify.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const RUNS = { numRuns: Math.ceil(5000 * SCALE) };

/** Why a list does not verify, or undefined where it does. */
function fault(events: readonly Event[]): unknown {
  const state = createVerifyState();
  try {
    for (const event of events) verify(state, event);
    return undefined;
  } catch (error) {
    return error;
  }
}

const expanded = (events: readonly Event[]): readonly Event[] => throughArray(expanding(), events);

/** What parts two values; undefined where nothing does. Cheaper than `toEqual` where they are the same. */
const difference = (actual: unknown, wanted: unknown): unknown =>
  isDeepStrictEqual(actual, wanted) ? undefined : { actual, wanted };

/** Streams that verify: as they are made, in chunks, or those that slips have left valid. */
const streams = fc.oneof(
  arbitraryStream(),
  arbitraryStream({ chunks: true }),
  arbitrarySoup({ chunks: false }).filter((events) => fault(events) === undefined),
);
/** And what there is of them at some moment: runs that have not ended yet. */
const prefixes = fc.tuple(streams, fc.nat(99)).map(([events, cut]) => events.slice(0, cut === 0 ? undefined : cut));

const MODES = ["events", "snapshot"] as const;

test.each(MODES)("mode %s verifies, folds to the same, and is done", (mode) => {
  const check = (events: readonly Event[]): void => {
    const before = structuredClone(events);
    const compacted = compact(events, { mode });
    const [folded, wanted] = [reduceAll(compacted), reduceAll(expanded(events))];
    expect(difference(folded, wanted)).toBe(undefined);
    expect(fault(compacted)).toBe(undefined);
    const again = compact(compacted, { mode });
    expect(difference(again, compacted)).toBe(undefined);
    expect(difference(events, before)).toBe(undefined);
  };
  fc.assert(fc.property(prefixes, check), RUNS);
});

test.each(MODES)("mode %s folds to the same from any history", (mode) => {
  const check = (history: readonly Event[], events: readonly Event[]): void => {
    const { messages, state } = reduceAll(expanded(history));
    const folded = reduceAll(compact(events, { mode, messages, state }), { messages, state });
    const wanted = reduceAll(expanded(events), { messages, state });
    expect(difference(folded, wanted)).toBe(undefined);
  };
  fc.assert(fc.property(streams, prefixes, check), RUNS);
});

test.each(MODES)("mode %s says what each event stands for", (mode) => {
  const check = (events: readonly Event[]): void => {
    const { events: out, ranges } = compactWithRanges(events, { mode });
    expect(ranges.length).toBe(out.length);
    const covered = new Set<number>();
    let sorted = true;
    let [run, until] = [-1, -1];
    for (const [index, [first, last]] of ranges.entries()) {
      sorted &&= first >= (ranges[index - 1]?.[0] ?? 0) && last >= first && last < events.length;
      // What is told in a run comes from that run.
      if (out[index]?.type === "RUN_STARTED") {
        const next = events.findIndex(({ type }, at) => at > first && type === "RUN_STARTED");
        [run, until] = [first, next < 0 ? events.length : next];
      }
      sorted &&= run < 0 || (first >= run && last < until);
      for (let at = first; at <= last; at++) covered.add(at);
    }
    expect(sorted).toBe(true);
    // A chunk that says nothing is told by nothing.
    const silent = events.filter(({ type }, at) => !covered.has(at) && !type.endsWith("_CHUNK"));
    expect(silent).toEqual([]);
  };
  fc.assert(fc.property(prefixes, check), RUNS);
});
