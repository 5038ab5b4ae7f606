/** The rules of order: every rule by a stream that breaks it at its last event, and what AG-UI allows beside them. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryStream } from "../../test/arbitrary-stream.ts";
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { createExpandState, expand } from "./expand.ts";
import { ADVICE, RULES } from "./rules.ts";
import type { Advice } from "./rules.ts";
import { throughArray, verifying } from "./stage.ts";
import { createVerifyState, verify, verifyEnd } from "./verify.ts";

const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);

interface Judged {
  /** Index of the event that was rejected, the stream's length where it may not end, or undefined. */
  readonly at: number | undefined;
  readonly error: HeddleError | undefined;
  readonly advice: readonly Advice[];
}

/** Judges a stream; `whole` also asks whether it may end. */
function judge(events: readonly Event[], { whole = true, version = "1.1" } = {}): Judged {
  const lanes = createExpandState();
  const state = createVerifyState(version);
  const advice: Advice[] = [];
  let at = 0;
  try {
    for (; at < events.length; at++) {
      for (const event of expand(lanes, events[at] as Event)) advice.push(...verify(state, event));
    }
    if (whole) verifyEnd(state);
    return { at: undefined, error: undefined, advice };
  } catch (error) {
    return { at, error: error as HeddleError, advice };
  }
}

const start: Event = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const finish: Event = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const fail: Event = { type: "RUN_ERROR", message: "no" };
const s1 = { subagentRunId: "s1" };
const s2 = { subagentRunId: "s2" };
const textStart: Event = { type: "TEXT_MESSAGE_START", messageId: "m1" };
const textMore: Event = { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "x" };
const textEnd: Event = { type: "TEXT_MESSAGE_END", messageId: "m1" };
const callStart: Event = { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "f" };
const callMore: Event = { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: "{}" };
const callEnd: Event = { type: "TOOL_CALL_END", toolCallId: "c1" };
const result: Event = { type: "TOOL_CALL_RESULT", messageId: "r1", toolCallId: "c1", content: "ok" };
const spanStart: Event = { type: "REASONING_START", messageId: "t1" };
const spanEnd: Event = { type: "REASONING_END", messageId: "t1" };
const thoughtStart: Event = { type: "REASONING_MESSAGE_START", messageId: "t1", role: "reasoning" };
const thoughtMore: Event = { type: "REASONING_MESSAGE_CONTENT", messageId: "t1", delta: "hm" };
const thoughtEnd: Event = { type: "REASONING_MESSAGE_END", messageId: "t1" };
const stepStart: Event = { type: "STEP_STARTED", stepName: "plan" };
const stepEnd: Event = { type: "STEP_FINISHED", stepName: "plan" };
const subStart: Event = { type: "SUBAGENT_STARTED", name: "one", ...s1 };
const subEnd: Event = { type: "SUBAGENT_FINISHED", ...s1 };
const activity: Event = { type: "ACTIVITY_SNAPSHOT", messageId: "a1", activityType: "PLAN", content: {} };
const activityMore: Event = { type: "ACTIVITY_DELTA", messageId: "a1", activityType: "PLAN", patch: [] };
const sealed: Event = { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "m1", encryptedValue: "x" };
const interrupts = ["approval", "other"].map((reason) => ({ id: "i1", reason }));
const chunk: Event = { type: "TEXT_MESSAGE_CHUNK", messageId: "m1" };

/** Streams that break a rule at their last event, by rule. */
const BROKEN: Readonly<
  Record<Exclude<keyof typeof RULES, "truncated" | "chunk-unexpanded">, readonly (readonly Event[])[]>
> = {
  "first-event": [[textStart], [finish], [{ type: "STATE_SNAPSHOT", snapshot: {} }], [{ type: "RAW", event: 1 }]],
  "after-finish": [
    [start, finish, textStart],
    [start, finish, finish],
    [start, finish, { type: "CUSTOM", name: "x", value: 1 }],
  ],
  "after-error": [
    [start, fail, finish],
    [start, fail, fail],
    [fail, textStart],
    [start, finish, fail, { type: "RAW", event: 1 }],
  ],
  "nested-run": [
    [start, start],
    [start, textStart, textEnd, { ...start, runId: "r2" }],
  ],
  "run-id": [[start, { ...finish, runId: "r2" }]],
  "thread-id": [[start, { ...finish, threadId: "t2" }]],
  "second-thread": [
    [start, finish, { ...start, threadId: "t2", runId: "r2" }],
    [start, fail, { ...start, threadId: "t2" }],
  ],
  "already-open": [
    [start, textStart, textStart],
    [start, callStart, callStart],
    [start, spanStart, spanStart],
    [start, thoughtStart, thoughtMore, thoughtStart],
    [start, { ...textStart, ...s1 }, textStart],
    [start, callStart, { ...callStart, parentMessageId: "m1" }],
  ],
  "not-open": [
    [start, textMore],
    [start, textEnd],
    [start, textStart, textEnd, textMore],
    [start, textStart, textEnd, textEnd],
    [start, callMore],
    [start, callEnd],
    [start, callStart, callEnd, callMore],
    [start, spanEnd],
    [start, thoughtMore],
    [start, thoughtEnd],
    [start, spanStart, thoughtMore],
    [start, thoughtStart, spanEnd],
    [start, textStart, fail, start, textEnd],
    [start, chunk, textEnd],
  ],
  "open-at-finish": [
    [start, textStart, finish],
    [start, callStart, finish],
    [start, spanStart, finish],
    [start, thoughtStart, finish],
    [start, stepStart, finish],
    [start, { ...stepStart, ...s1 }, finish],
    [start, subStart, finish],
    [start, textStart, { ...finish, outcome: { type: "cancelled" } }],
  ],
  "step-already-open": [
    [start, stepStart, stepStart],
    [start, { ...stepStart, ...s1 }, { ...stepStart, ...s1 }],
  ],
  "step-not-open": [
    [start, stepEnd],
    [start, stepStart, stepEnd, stepEnd],
    [start, stepStart, { ...stepEnd, ...s1 }],
    [start, { ...stepStart, ...s1 }, stepEnd],
  ],
  "owner-mismatch": [
    [start, { ...textStart, ...s1 }, { ...textMore, ...s2 }],
    [start, textStart, { ...textMore, ...s1 }],
    [start, { ...textStart, ...s1 }, { ...textEnd, ...s2 }],
    [start, { ...textStart, ...s1 }, textEnd, { ...textStart, ...s2 }],
    [start, { ...textStart, ...s1 }, textEnd, textStart, { ...textMore, ...s2 }],
    [start, { ...callStart, ...s1 }, { ...callMore, ...s2 }],
    [start, { ...callStart, ...s1 }, callEnd, { ...callStart, ...s2 }],
    [start, { ...spanStart, ...s1 }, { ...thoughtStart, ...s2 }],
    [start, { ...thoughtStart, ...s1 }, { ...thoughtEnd, ...s2 }],
    [start, { ...activity, ...s1 }, { ...activityMore, ...s2 }],
    [start, activity, { ...activityMore, ...s1 }],
    [start, { ...activity, ...s1 }, { ...activity, ...s2, replace: false }, { ...activityMore, ...s2 }],
    [start, { ...textStart, ...s1 }, textEnd, { ...sealed, ...s2 }],
    [start, { ...thoughtStart, ...s1 }, { ...sealed, entityId: "t1", ...s2 }],
    [start, { ...callStart, ...s1 }, callEnd, { ...sealed, subtype: "tool-call", entityId: "c1", ...s2 }],
    [start, { ...result, ...s1 }, { ...textStart, messageId: "r1", ...s2 }],
    [
      start,
      { type: "MESSAGES_SNAPSHOT", messages: [{ id: "m1", role: "user", content: "" }] },
      { ...textStart, ...s1 },
    ],
    [
      { ...start, input: { threadId: "t", runId: "r", messages: [{ id: "m1", role: "assistant", ...s1 }] } },
      { ...textStart, ...s2 },
    ],
    [start, { ...chunk, ...s1 }, { ...chunk, ...s2 }],
  ],
  "call-owner": [
    [start, textStart, { ...callStart, parentMessageId: "m1", ...s1 }],
    [start, { ...textStart, ...s1 }, { ...callStart, parentMessageId: "m1", ...s2 }],
    [start, callStart, callEnd, { ...textStart, ...s1 }, { ...callStart, parentMessageId: "m1" }],
  ],
  "subagent-active": [[start, subStart, subStart]],
  "subagent-reused": [
    [start, subStart, subEnd, subStart],
    [start, subStart, { type: "SUBAGENT_ERROR", message: "no", ...s1 }, subStart],
  ],
  "subagent-parent": [
    [start, { ...subStart, parentSubagentRunId: "s9" }],
    [start, { ...textStart, ...s2 }, { ...subStart, parentSubagentRunId: "s2" }],
  ],
  "subagent-not-active": [
    [start, subEnd],
    [start, { type: "SUBAGENT_ERROR", message: "no", ...s1 }],
    [start, subStart, subEnd, subEnd],
    [start, { ...textStart, ...s1 }, subEnd],
  ],
  "interrupt-ids": [[start, { ...finish, outcome: { type: "interrupt", interrupts } }]],
  "chunk-first": [[start, { type: "TEXT_MESSAGE_CHUNK", delta: "x" }]],
  "chunk-conflict": [[start, { type: "TEXT_MESSAGE_CHUNK", messageId: "m1" }, { ...chunk, role: "user" }]],
  "chunk-ambiguous": [
    [start, { ...chunk, ...s1 }, { ...chunk, messageId: "m2", ...s2 }, { type: "TEXT_MESSAGE_CHUNK", delta: "x" }],
  ],
};

describe("broken rules", () => {
  const cases = Object.entries(BROKEN).flatMap(([rule, streams]) => streams.map((events) => [rule, events] as const));

  it.each(cases)("%s (%#)", (rule, events) => {
    const { at, error } = judge(events, { whole: false });
    expect(at).toBe(events.length - 1);
    expect(error).toBeInstanceOf(HeddleError);
    expect(error).toMatchObject({
      code: "sequence-violation",
      details: { rule, clause: RULES[rule as keyof typeof RULES] },
    });
    expect(error?.details).toHaveProperty("event", events.at(-1));
  });

  it("chunk-unexpanded: a chunk that nobody expanded", () => {
    const state = createVerifyState();
    verify(state, start);
    expect(() => verify(state, chunk)).toThrow(
      expect.objectContaining({ details: { rule: "chunk-unexpanded", clause: "R-PROC-17", event: chunk } }),
    );
  });

  it.each([[[]], [[start]], [[start, textStart, textEnd]], [[start, finish, { ...start, runId: "r2" }]]])(
    "truncated: a stream that ends too early (%#)",
    (events) => {
      const { at, error } = judge(events);
      expect(at).toBe(events.length);
      expect(error).toMatchObject({ details: { rule: "truncated", clause: "R-TRAN-07" } });
      expect(() => throughArray(verifying(), events)).toThrow(HeddleError);
    },
  );

  it("are all here", () => {
    expect([...Object.keys(BROKEN), "truncated", "chunk-unexpanded"].toSorted()).toEqual(Object.keys(RULES).toSorted());
  });

  it("leave what came before: the next event is judged as if the rejected one had not come", () => {
    const state = createVerifyState();
    for (const event of [start, { ...textStart, ...s1 }]) verify(state, event);
    for (const event of [textStart, callEnd, { ...textMore, ...s2 }, finish])
      expect(() => verify(state, event)).toThrow(HeddleError);
    for (const event of [{ ...textMore, ...s1 }, textEnd, finish]) expect(verify(state, event)).toEqual([]);
  });
});

/** What AG-UI allows, though one might think otherwise. */
const ALLOWED: Readonly<Record<string, readonly Event[]>> = {
  "RUN_ERROR first": [fail],
  "RUN_ERROR first, then a run": [fail, start, finish],
  "RUN_ERROR with things open": [start, textStart, callStart, spanStart, thoughtStart, stepStart, subStart, fail],
  "a late RUN_ERROR": [start, finish, fail],
  "a run after a failed one, with the ids anew": [
    start,
    textStart,
    subStart,
    fail,
    start,
    textStart,
    textEnd,
    subStart,
    subEnd,
    finish,
  ],
  "a message opened again": [start, textStart, textEnd, textStart, textMore, textEnd, finish],
  "a message opened again without the tag, which stays its owner's": [
    start,
    { ...textStart, ...s1 },
    textEnd,
    textStart,
    { ...textMore, ...s1 },
    textEnd,
    finish,
  ],
  "a call opened again": [start, callStart, callEnd, callStart, callMore, callEnd, finish],
  "one id for different kinds": [
    start,
    ...[textStart, callStart, spanStart, thoughtStart, textEnd, callEnd, thoughtEnd, spanEnd].map((event): Event => ({
      ...event,
      ...("toolCallId" in event ? { toolCallId: "x" } : { messageId: "x" }),
    })),
    finish,
  ],
  "a reasoning message outside a span": [start, thoughtStart, thoughtMore, thoughtEnd, finish],
  "a span closed before the message in it": [start, spanStart, thoughtStart, spanEnd, thoughtEnd, finish],
  "a tag that nobody announced": [start, { ...textStart, ...s1 }, { ...textEnd, ...s1 }, finish],
  "continuations without the tag": [start, { ...textStart, ...s1 }, textMore, textEnd, { ...sealed }, finish],
  "an untagged call in a subagent's message": [
    start,
    { ...textStart, ...s1 },
    { ...callStart, parentMessageId: "m1" },
    { ...callMore, ...s1 },
    callEnd,
    textEnd,
    finish,
  ],
  "the same step of two owners": [start, stepStart, { ...stepStart, ...s1 }, stepEnd, { ...stepEnd, ...s1 }, finish],
  "a child of a finished subagent": [
    start,
    subStart,
    subEnd,
    { type: "SUBAGENT_STARTED", name: "two", ...s2, parentSubagentRunId: "s1" },
    { type: "SUBAGENT_ERROR", message: "no", ...s2 },
    finish,
  ],
  "a subagent's message that outlives it": [
    start,
    subStart,
    { ...textStart, ...s1 },
    subEnd,
    { ...textEnd, ...s1 },
    finish,
  ],
  "a replacing activity of another owner": [
    start,
    activity,
    { ...activity, ...s1 },
    { ...activityMore, ...s1 },
    finish,
  ],
  "a delta of an activity that is not there": [start, activityMore, finish],
  "an encrypted value for nobody": [start, { ...sealed, entityId: "nobody", ...s1 }, finish],
  "a snapshot that changes an owner": [
    start,
    { ...textStart, ...s1 },
    textEnd,
    { type: "MESSAGES_SNAPSHOT", messages: [{ id: "m1", role: "assistant", ...s2 }] },
    { ...textStart, ...s2 },
    textEnd,
    finish,
  ],
  "META, anywhere": [
    { type: "META", metaType: "x", payload: {} },
    start,
    finish,
    { type: "META", metaType: "x", payload: {} },
  ],
};

describe("what is allowed", () => {
  it.each(Object.entries(ALLOWED))("%s", (_, events) => {
    expect(judge(events)).toEqual({ at: undefined, error: undefined, advice: [] });
  });

  it("any valid stream, chunks or not, with at most the advice that an answer came for a call of another run", () => {
    const streams = fc.oneof(arbitraryStream({ chunks: false }), arbitraryStream({ chunks: true }));
    const property = fc.property(streams, (events) => {
      const { error, advice } = judge(events);
      expect(error).toBeUndefined();
      expect(advice.filter(({ rule }) => rule !== "result-orphan")).toEqual([]);
    });
    fc.assert(property, { numRuns: Math.round(2000 * SCALE) });
  });
});

/** Streams whose one advice is about their last event, by advice. */
const ADVISED: Readonly<Record<keyof typeof ADVICE, readonly (readonly Event[])[]>> = {
  "result-orphan": [[start, result]],
  "result-duplicate": [
    [start, callStart, callEnd, result, { ...result, messageId: "r2" }],
    [start, callStart, callEnd, result, result],
  ],
  "pending-calls": [
    [start, callStart, callEnd, { ...finish, outcome: { type: "success", pendingToolCallIds: [] } }],
    [start, callStart, callEnd, result, { ...finish, outcome: { type: "success", pendingToolCallIds: ["c1"] } }],
    [
      start,
      callStart,
      callEnd,
      { ...callStart, toolCallId: "c2" },
      { ...callEnd, toolCallId: "c2" },
      { ...finish, outcome: { type: "success", pendingToolCallIds: ["c2", "c1"] } },
    ],
  ],
  "version-newer": [[{ ...start, protocolVersion: "1.2" }], [{ ...start, protocolVersion: "2.0" }]],
  "version-unreadable": [[{ ...start, protocolVersion: "next" }], [{ ...start, protocolVersion: "1" }]],
};

describe("advice", () => {
  const cases = Object.entries(ADVISED).flatMap(([rule, streams]) => streams.map((events) => [rule, events] as const));

  it.each(cases)("%s (%#)", (rule, events) => {
    const { error, advice } = judge(events, { whole: false });
    expect(error).toBeUndefined();
    expect(advice).toEqual([{ rule, message: expect.stringMatching(/\.$/), event: events.at(-1) }]);
    expect(advice[0]?.event).toBe(events.at(-1));
  });

  it("is all here", () => {
    expect(Object.keys(ADVISED).toSorted()).toEqual(Object.keys(ADVICE).toSorted());
  });

  it.each(["1.0", "1.1", "0.9"])("says nothing of a producer that speaks %s", (protocolVersion) => {
    expect(judge([{ ...start, protocolVersion }, finish]).advice).toEqual([]);
  });

  it("says nothing where the calls that wait are named in order, or not at all", () => {
    const called = [start, callStart, callEnd];
    const outcome = { type: "success", pendingToolCallIds: ["c1"] } as const;
    expect(judge([...called, { ...finish, outcome }]).advice).toEqual([]);
    expect(judge([...called, { ...finish, outcome: { type: "success" } }]).advice).toEqual([]);
    expect(judge([...called, finish]).advice).toEqual([]);
  });
});

const answer: readonly Event[] = [textStart, textMore, textMore, textEnd];

/** Seed 001, "Event Sequences", and seed 004: what each draws, in the names of 1.0. */
const DIAGRAMS: Readonly<Record<string, readonly Event[]>> = {
  "001, basic text response": [start, textStart, textMore, textMore, textMore, textEnd, finish],
  "001, tool call with response": [start, callStart, callMore, callEnd, result, ...answer, finish],
  "001, multi-turn conversation, with the end that the drawing leaves out": [
    start,
    ...answer,
    finish,
    { ...start, runId: "r2" },
    ...answer,
    { ...finish, runId: "r2" },
  ],
  "001, error handling": [start, textStart, textMore, callStart, fail],
  "004, run lifecycle that finishes": [start, ...answer, callStart, callMore, callEnd, stepStart, stepEnd, finish],
  "004, run lifecycle that fails": [start, ...answer, callStart, stepStart, fail],
  "004, message sequence": [start, ...answer, finish],
  "004, tool call sequence": [start, callStart, callMore, callMore, callEnd, result, finish],
  "004, nested runs, of which only the outermost shows": [start, stepStart, ...answer, stepEnd, finish],
  "004, an error at any depth": [start, stepStart, textStart, fail],
};

describe("the sequences of the seeds", () => {
  it.each(Object.entries(DIAGRAMS))("%s", (_, events) => {
    expect(judge(events)).toEqual({ at: undefined, error: undefined, advice: [] });
  });

  it("001, multi-turn conversation as drawn: a run inside a run, which 1.0 forbids", () => {
    const drawn = [start, ...answer, { ...start, runId: "r2" }, ...answer, { ...finish, runId: "r2" }];
    expect(judge(drawn)).toMatchObject({ at: 5, error: { details: { rule: "nested-run", clause: "R-LIFE-27" } } });
  });
});
