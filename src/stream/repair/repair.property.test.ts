import fc from "fast-check";
import { expect, test } from "vitest";
import { ARBITRARY_EVENT_TYPES, arbitraryEvent } from "../../../test/arbitrary-event.ts";
import { arbitrarySoup, arbitraryStream } from "../../../test/arbitrary-stream.ts";
import type { Event } from "../../protocol/index.ts";
import { createExpandState, expand } from "../expand.ts";
import type { ExpandState } from "../expand.ts";
import { createReduceState, reduce } from "../reduce.ts";
import { createRepairState, repair, repairEnd } from "./repair.ts";
import type { Repair, RepairOptions } from "./repair.ts";
import { createVerifyState, verify, verifyEnd } from "../verify.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const RUNS = { numRuns: Math.ceil(5000 * SCALE) };

/** Ids from a small pool, so that strangers meet. */
const POOL = ["m1", "m1-2", "c1", "s1", "s1-2", "x"];
const FIELDS = [
  "messageId",
  "toolCallId",
  "parentMessageId",
  "entityId",
  "subagentRunId",
  "parentSubagentRunId",
  "stepName",
  "threadId",
  "runId",
];

/** Events of all kinds, made once: to make them is what takes the time. */
const EVENTS = ARBITRARY_EVENT_TYPES.flatMap((type) => fc.sample(arbitraryEvent(type), { numRuns: 12, seed: 7 }));

/** Any events whatever, in any order: only each by itself is well-formed. */
const arbitraryJumble = fc.array(
  fc.tuple(fc.constantFrom(...EVENTS), fc.nat(POOL.length - 1), fc.nat(POOL.length - 1)).map(([event, pick, next]) => {
    const named = FIELDS.flatMap((field, index) =>
      field in event ? [[field, POOL[(pick + index * next) % POOL.length]]] : [],
    );
    return { ...event, ...Object.fromEntries(named) } as Event;
  }),
  { maxLength: 40, size: "max" },
);
const arbitraryInput: fc.Arbitrary<readonly Event[]> = fc.oneof(arbitrarySoup(), arbitraryJumble);
const arbitraryOptions: fc.Arbitrary<RepairOptions> = fc.constantFrom(
  {},
  { threadId: "thread", runId: "run1" },
  { threadId: "elsewhere", runId: "m1", state: { a: { b: 1 }, "a/b": [1] } },
  { state: null },
);

interface Outcome {
  readonly events: readonly Event[];
  readonly repairs: readonly Repair[];
}

function repaired(input: readonly Event[], options?: RepairOptions): Outcome {
  const state = createRepairState(options);
  const steps = [...input.map((event) => repair(state, event)), repairEnd(state)];
  return { events: steps.flatMap(({ events }) => events), repairs: steps.flatMap(({ repairs }) => repairs) };
}

function mustVerify(events: readonly Event[]): void {
  const state = createVerifyState();
  for (const event of events) verify(state, event);
  verifyEnd(state);
}

test("what comes out verifies, and its deltas apply, whatever goes in", () => {
  fc.assert(
    fc.property(arbitraryInput, arbitraryOptions, (input, options) => {
      const { events } = repaired(input, options);
      mustVerify(events);
      const fold = createReduceState(options);
      const warnings = events.map((event) => [event.type, reduce(fold, event)] as const);
      expect(warnings.filter(([type, skipped]) => type === "STATE_DELTA" && skipped.length > 0)).toStrictEqual([]);
    }),
    RUNS,
  );
});

test("what comes out verifies for events that never met before", () => {
  fc.assert(
    fc.property(fc.array(arbitraryEvent()), (input) => {
      expect(() => mustVerify(repaired(input).events)).not.toThrow();
    }),
    RUNS,
  );
});

test("what comes out is let alone by a second repair, and the same each time", () => {
  fc.assert(
    fc.property(arbitraryInput, arbitraryOptions, (input, options) => {
      const before = JSON.stringify(input);
      const first = repaired(input, options);
      expect(JSON.stringify(repaired(input, options))).toBe(JSON.stringify(first));
      expect(JSON.stringify(input)).toBe(before);
      const second = repaired(first.events, options);
      expect(second.events.length).toBe(first.events.length);
      expect(second.events.every((event, index) => event === first.events[index])).toBe(true);
      expect(second.repairs.filter(({ rule }) => !rule.startsWith("result-"))).toStrictEqual([]);
    }),
    RUNS,
  );
});

test("a valid stream passes as it is, with nothing to report", () => {
  fc.assert(
    fc.property(arbitraryStream(), (input) => {
      const { events, repairs } = repaired(input);
      expect(repairs).toStrictEqual([]);
      expect(events.length).toBe(input.length);
      expect(events.every((event, index) => event === input[index])).toBe(true);
    }),
    RUNS,
  );
});

test("a valid stream with chunks becomes what expansion makes of it", () => {
  fc.assert(
    fc.property(arbitraryStream({ chunks: true }), (input) => {
      const chunks = createExpandState();
      const expanded = input.flatMap((event) => expand(chunks, event));
      expect(repaired(input)).toStrictEqual({ events: expanded, repairs: [] });
    }),
    RUNS,
  );
});

/** What is said, apart from chunks: their texts are those of the events that they become. */
const textsOf = (events: readonly Event[]) =>
  events.flatMap((event) =>
    event.type === "TEXT_MESSAGE_CONTENT" || event.type === "REASONING_MESSAGE_CONTENT"
      ? [event.type, event.delta]
      : [],
  );

test("all text within a run comes out in order, and nothing else is lost in silence", () => {
  fc.assert(
    fc.property(arbitraryInput, arbitraryOptions, (input, options) => {
      const state = createRepairState(options);
      const chunks = createExpandState();
      for (const event of input) {
        const { phase } = state.verified;
        const said = expandOrNothing(chunks, event);
        const { events, repairs } = repair(state, event);
        const isHeard = phase === "running" || phase === "before";
        expect(textsOf(events)).toStrictEqual(isHeard ? textsOf(said) : []);
        const lost = said.filter(({ type }) => !events.some((each) => each.type === type));
        expect(lost.length > 0 && repairs.length === 0, `${event.type} was lost in silence`).toBe(false);
        expect(repairs.every((each) => each.event === event && each.message.endsWith("."))).toBe(true);
      }
    }),
    RUNS,
  );
});

function expandOrNothing(state: ExpandState, event: Event): readonly Event[] {
  try {
    return expand(state, event);
  } catch {
    return [];
  }
}
