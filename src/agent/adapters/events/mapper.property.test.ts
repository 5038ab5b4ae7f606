import fc from "fast-check";
import { expect, test } from "vitest";
import { parseEvent } from "../../../protocol/index.ts";
import type { Event } from "../../../protocol/index.ts";
import { createReduceState, createVerifyState, reduce, verify, verifyEnd } from "../../../stream/index.ts";
import { EVENT_MAPPING, createMapper } from "./index.ts";
import type { MapperReport, NativeEvent } from "./index.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const RUNS = { numRuns: Math.ceil(5000 * SCALE) };
const FEWER = { numRuns: Math.ceil(1000 * SCALE) };

/** Ids from a small pool, so that strangers meet. */
const id = fc.constantFrom("a", "b", "r1", "r1-subagent-1");
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const maybeId = optional(id);
const patch = fc.constantFrom(
  [{ op: "replace", path: "/n", value: 1 }],
  [{ op: "add", path: "/list/-", value: 1 }],
  [{ op: "remove", path: "/gone" }],
);
const outcome = fc.constantFrom(
  undefined,
  { type: "cancelled" },
  { type: "success", pendingToolCallIds: ["a"] },
  { type: "interrupt", interrupts: [{ id: "a", reason: "ask" }] },
);
const messages = fc.constantFrom(
  [],
  [
    { id: "a", role: "user", content: "Hi" },
    { role: "assistant", toolCalls: [{ id: "b", name: "f", arguments: "{}" }] },
  ],
);

/** Every field that any native event has; each event takes those that are its own. */
const FIELDS = fc.record({
  runId: maybeId,
  name: optional(fc.constant("inner")),
  parentRunId: maybeId,
  parentToolCallId: maybeId,
  result: fc.constantFrom("done", "other"),
  outcome,
  message: fc.constant("boom"),
  isHandled: fc.boolean(),
  messageId: id,
  role: fc.constantFrom(undefined, "user", "assistant"),
  delta: fc.constantFrom("x", "", "yz"),
  toolCallId: id,
  toolCallName: fc.constant("tool"),
  parentMessageId: maybeId,
  error: fc.constantFrom(undefined, true, "why"),
  stepName: id,
  state: fc.constantFrom<unknown[]>(null, 7, { n: 0, list: [] }),
  patch,
  messages,
  activityId: id,
  activityType: fc.constantFrom("loading", "approval"),
  content: fc.constantFrom({}, { n: 0 }),
  routeName: id,
  iteration: fc.nat(9),
});

const TYPES = Object.keys(EVENT_MAPPING);
const WEIGHTED = [...TYPES, "run_start", "run_start", "run_end", "message_start", "tool_call_start", "step_start"];

/** Made once: to make them is what takes the time. */
const EVENTS = fc.sample(
  fc
    .tuple(fc.constantFrom(...WEIGHTED.filter((type) => type !== "run_error"), "unheard_of"), FIELDS)
    .map(([type, fields]) => ({ ...JSON.parse(JSON.stringify(fields)), type }) as NativeEvent),
  { numRuns: 1000, seed: 7 },
);
const nativeEvent = fc.constantFrom(...EVENTS);
const failure = fc.record({ runId: maybeId, isHandled: fc.boolean() }).map(({ runId, isHandled }): NativeEvent => ({
  type: "run_error",
  message: "boom",
  isHandled,
  ...(runId === undefined ? {} : { runId }),
}));

/** Errors are rare, since little happens after one. */
const source = fc.array(fc.oneof({ weight: 40, arbitrary: nativeEvent }, { weight: 1, arbitrary: failure }), {
  maxLength: 40,
  size: "max",
});
const initialState = fc.constantFrom<unknown[]>(undefined, { n: 0, list: [] });

/** What is wrong with a stream that verifies: values that AG-UI does not know, state deltas that do not apply. */
function findings(events: readonly Event[]): readonly unknown[] {
  const state = createVerifyState();
  const fold = createReduceState();
  const found = events.flatMap((event) => {
    verify(state, event);
    const skipped = reduce(fold, event);
    return [...parseEvent(event).warnings, ...(event.type === "STATE_DELTA" ? skipped : [])];
  });
  verifyEnd(state);
  return found;
}

const lifecycle = (events: readonly Event[]): string =>
  events.flatMap(({ type }) => (type.startsWith("RUN_") ? [type] : [])).join(" ");

test("004 order: whatever the source sends, event by event, what comes out is one run that verifies", () => {
  fc.assert(
    fc.property(source, initialState, (natives, state) => {
      const mapper = createMapper("t1", "r1", state === undefined ? {} : { initialState: state });
      const events = [...natives.flatMap((event) => mapper.mapEvent(event)), ...mapper.runFinished()];
      expect(findings(events)).toEqual([]);
      expect(lifecycle(events)).toMatch(/^(RUN_STARTED )?(RUN_FINISHED( RUN_ERROR)?|RUN_ERROR)$/);
    }),
    RUNS,
  );
});

test("004 order: whatever the source sends as a stream, also when it breaks off or throws, what comes out verifies", async () => {
  await fc.assert(
    fc.asyncProperty(source, fc.boolean(), async (natives, throws) => {
      const events: Event[] = [];
      for await (const event of createMapper("t1", "r1").mapStream(thrower(natives, throws))) events.push(event);
      expect(findings(events)).toEqual([]);
    }),
    FEWER,
  );
});

test("a malformed value ends the run with RUN_ERROR, or is harmless: what comes out verifies", async () => {
  const wrong = fc.constantFrom<unknown[]>(7, null, {}, [], true);
  await fc.assert(
    fc.asyncProperty(source, fc.nat(39), fc.nat(30), wrong, async (natives, which, at, value) => {
      const spoiled = natives.map((event, index) => {
        const keys = Object.keys(event).filter((key) => key !== "type");
        const key = keys[at % Math.max(keys.length, 1)];
        return index === which && key !== undefined ? ({ ...event, [key]: value } as NativeEvent) : event;
      });
      const events: Event[] = [];
      for await (const event of createMapper("t1", "r1").mapStream(spoiled)) events.push(event);
      expect(findings(events)).toEqual([]);
    }),
    FEWER,
  );
});

test("nothing is lost in silence: an event of which nothing comes out is reported, or is the run's own frame", () => {
  fc.assert(
    fc.property(source, (natives) => {
      const reports: MapperReport[] = [];
      const mapper = createMapper("t1", "r1", { onReport: (report) => reports.push(report) });
      mapper.runStarted();
      for (const event of natives) {
        const before = reports.length;
        const isFrame = event.type === "run_start" && mapper.depth === 0;
        const out = mapper.mapEvent(event);
        expect(out.length > 0 || reports.length > before || isFrame, `${event.type} was lost in silence`).toBe(true);
      }
    }),
    FEWER,
  );
});

async function* thrower(natives: readonly NativeEvent[], throws: boolean): AsyncGenerator<NativeEvent> {
  yield* natives;
  if (throws) throw new Error("the source broke");
}
