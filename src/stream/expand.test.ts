/** Chunks to triads: the chunk-closing matrix of ag-ui-rules.md (section 6), row by row, and the rules around it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitrarySoup, arbitraryStream } from "../../test/arbitrary-stream.ts";
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { createExpandState, expand } from "./expand.ts";

const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);

/** What comes out of a stream, up to where it breaks a rule. */
function expandAll(events: readonly Event[]): readonly Event[] {
  const state = createExpandState();
  const out: Event[] = [];
  try {
    for (const event of events) out.push(...expand(state, event));
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
  }
  return out;
}

function violationOf(events: readonly Event[]): HeddleError | undefined {
  const state = createExpandState();
  try {
    for (const event of events) expand(state, event);
    return undefined;
  } catch (error) {
    return error as HeddleError;
  }
}

const text: Event = { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta: "a" };
const tool: Event = { type: "TOOL_CALL_CHUNK", toolCallId: "c1", toolCallName: "f", delta: "{" };
const thought: Event = { type: "REASONING_MESSAGE_CHUNK", messageId: "t1", delta: "hm" };
const textStart: Event = { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" };
const textContent: Event = { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "a" };
const textEnd: Event = { type: "TEXT_MESSAGE_END", messageId: "m1" };

/** Row by row: what an event of the lane does to the lane's stream. */
const CLOSES_ITS_LANE: readonly Event[] = [
  { type: "TEXT_MESSAGE_START", messageId: "m2" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m2", delta: "" },
  { type: "TEXT_MESSAGE_END", messageId: "m2" },
  { type: "TOOL_CALL_START", toolCallId: "c2", toolCallName: "f" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c2", delta: "" },
  { type: "TOOL_CALL_END", toolCallId: "c2" },
  { type: "TOOL_CALL_RESULT", messageId: "r2", toolCallId: "c2", content: "" },
  { type: "STEP_STARTED", stepName: "plan" },
  { type: "STEP_FINISHED", stepName: "plan" },
  { type: "STATE_SNAPSHOT", snapshot: null },
  { type: "STATE_DELTA", delta: [] },
  { type: "CUSTOM", name: "note", value: null },
  { type: "REASONING_START", messageId: "t2" },
  { type: "REASONING_END", messageId: "t2" },
  { type: "REASONING_MESSAGE_START", messageId: "t2", role: "reasoning" },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "t2", delta: "" },
  { type: "REASONING_MESSAGE_END", messageId: "t2" },
];
const CLOSES_NOTHING: readonly Event[] = [
  { type: "RAW", event: null },
  { type: "ACTIVITY_SNAPSHOT", messageId: "a1", activityType: "PLAN", content: {} },
  { type: "ACTIVITY_DELTA", messageId: "a1", activityType: "PLAN", patch: [] },
  { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "m1", encryptedValue: "x" },
];
const CLOSES_EVERY_LANE: readonly Event[] = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  { type: "RUN_FINISHED", threadId: "t", runId: "r" },
  { type: "RUN_ERROR", message: "no" },
  { type: "MESSAGES_SNAPSHOT", messages: [] },
];
const named = (events: readonly Event[]) => events.map((event) => [event.type, event] as const);

describe("what closes a chunk stream", () => {
  it.each(named(CLOSES_ITS_LANE))("%s of the lane does", (_, event) => {
    expect(expandAll([text, event])).toEqual([textStart, textContent, textEnd, event]);
    const mine = { ...event, subagentRunId: "s1" } as Event;
    expect(expandAll([{ ...text, subagentRunId: "s1" }, mine]).at(-2)).toEqual({ ...textEnd, subagentRunId: "s1" });
  });

  it.each(named(CLOSES_ITS_LANE))("%s of another lane does not", (_, event) => {
    const others = { ...event, subagentRunId: "s1" } as Event;
    expect(expandAll([text, others])).toEqual([textStart, textContent, others]);
    expect(expandAll([{ ...text, subagentRunId: "s2" }, others]).slice(2)).toEqual([others]);
    expect(expandAll([{ ...text, subagentRunId: "s1" }, event]).slice(2)).toEqual([event]);
  });

  it.each(named(CLOSES_NOTHING))("%s does not", (_, event) => {
    expect(expandAll([text, event, { type: "TEXT_MESSAGE_CHUNK", delta: "a" }])).toEqual([
      textStart,
      textContent,
      event,
      textContent,
    ]);
  });

  it.each(named(CLOSES_EVERY_LANE))("%s closes every lane, in the order they opened", (_, event) => {
    expect(
      expandAll([{ ...text, subagentRunId: "s1" }, tool, { ...thought, subagentRunId: "s2" }, event]).slice(6),
    ).toEqual([
      { ...textEnd, subagentRunId: "s1" },
      { type: "TOOL_CALL_END", toolCallId: "c1" },
      { type: "REASONING_MESSAGE_END", messageId: "t1", subagentRunId: "s2" },
      event,
    ]);
  });

  it("SUBAGENT_STARTED does not, not even of the lane", () => {
    const event: Event = { type: "SUBAGENT_STARTED", subagentRunId: "s1", name: "n" };
    expect(expandAll([{ ...text, subagentRunId: "s1" }, event]).slice(2)).toEqual([event]);
  });

  it.each(
    named([
      { type: "SUBAGENT_FINISHED", subagentRunId: "s1" },
      { type: "SUBAGENT_ERROR", subagentRunId: "s1", message: "no" },
    ]),
  )("%s does, before itself, in its subagent's lane alone", (_, event) => {
    const mine = { ...text, subagentRunId: "s1" };
    expect(expandAll([mine, tool, event]).slice(4)).toEqual([{ ...textEnd, subagentRunId: "s1" }, event]);
  });

  it("a chunk of another id or kind does, and opens its own", () => {
    const other: Event = { type: "TEXT_MESSAGE_CHUNK", messageId: "m2" };
    expect(expandAll([text, other]).slice(2)).toEqual([textEnd, { ...textStart, messageId: "m2" }]);
    expect(expandAll([text, thought]).slice(2)).toEqual([
      textEnd,
      { type: "REASONING_MESSAGE_START", messageId: "t1", role: "reasoning" },
      { type: "REASONING_MESSAGE_CONTENT", messageId: "t1", delta: "hm" },
    ]);
    expect(expandAll([tool, text]).slice(2)).toEqual([
      { type: "TOOL_CALL_END", toolCallId: "c1" },
      textStart,
      textContent,
    ]);
  });

  it("the end of the stream does not", () => {
    expect(expandAll([text])).toEqual([textStart, textContent]);
  });

  it("a closed stream is not continued without an id, and is opened again with it", () => {
    const custom: Event = { type: "CUSTOM", name: "keep-alive", value: 1 };
    expect(violationOf([text, custom, { type: "TEXT_MESSAGE_CHUNK", delta: "b" }])?.details).toMatchObject({
      rule: "chunk-first",
    });
    expect(expandAll([text, custom, text])).toEqual([textStart, textContent, textEnd, custom, textStart, textContent]);
  });
});

describe("what chunks become", () => {
  const common = { metadata: { k: 1 }, timestamp: 5 };

  it.each([
    ["text", text, [textStart, textContent]],
    [
      "text with role and name",
      { ...text, role: "user", name: "Ada" },
      [{ ...textStart, role: "user", name: "Ada" }, textContent],
    ],
    ["text without a delta", { type: "TEXT_MESSAGE_CHUNK", messageId: "m1" }, [textStart]],
    ["text with an empty delta", { ...text, delta: "" }, [textStart, { ...textContent, delta: "" }]],
    [
      "a tool call",
      { ...tool, parentMessageId: "m1" },
      [
        { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "f", parentMessageId: "m1" },
        { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: "{" },
      ],
    ],
    [
      "metadata, on start and content; the time on both",
      { ...text, ...common },
      [
        { ...textStart, ...common },
        { ...textContent, ...common },
      ],
    ],
    [
      "a raw event, on the content alone, and that is made for it",
      { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", rawEvent: { x: 1 } },
      [textStart, { ...textContent, delta: "", rawEvent: { x: 1 } }],
    ],
  ] as readonly (readonly [string, Event, readonly Event[]])[])("%s", (_, chunk, out) => {
    expect(expandAll([chunk])).toEqual(out);
  });

  it.each([
    ["a delta", { delta: "b" }, [{ ...textContent, delta: "b" }]],
    ["an empty delta", { delta: "" }, [{ ...textContent, delta: "" }]],
    ["metadata alone", { metadata: { k: 1 } }, [{ ...textContent, delta: "", metadata: { k: 1 } }]],
    ["a raw event alone", { rawEvent: 1 }, [{ ...textContent, delta: "", rawEvent: 1 }]],
    ["nothing", {}, []],
    [
      "the same id, role and no name",
      { messageId: "m1", role: "assistant", delta: "b" },
      [{ ...textContent, delta: "b" }],
    ],
  ] as const)("a continuation with %s", (_, fields, out) => {
    expect(expandAll([text, { type: "TEXT_MESSAGE_CHUNK", ...fields }]).slice(2)).toEqual(out);
  });

  it("an end takes the time of what brings it, and no metadata", () => {
    const late: Event = { type: "CUSTOM", name: "x", value: 1, timestamp: 9, metadata: { k: 2 } };
    expect(expandAll([text, late])[2]).toEqual({ ...textEnd, timestamp: 9 });
  });

  it("everything else passes as it is: the same object", () => {
    const event: Event = { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "x" };
    expect(expand(createExpandState(), event)[0]).toBe(event);
  });
});

describe("which stream a chunk continues", () => {
  const mine = { ...text, subagentRunId: "s1" };
  const anonymous: Event = { type: "TEXT_MESSAGE_CHUNK", delta: "b" };

  it("by its id, whatever the lane", () => {
    expect(expandAll([mine, text]).slice(2)).toEqual([{ ...textContent, subagentRunId: "s1" }]);
  });

  it("by its tag", () => {
    const other: Event = { ...text, messageId: "m2" };
    expect(expandAll([other, mine, { ...anonymous, subagentRunId: "s1" }]).at(-1)).toMatchObject({ messageId: "m1" });
  });

  it("the agent's own stream of the kind first, else the only one", () => {
    expect(expandAll([mine, { ...text, messageId: "m2" }, anonymous]).at(-1)).toMatchObject({ messageId: "m2" });
    expect(expandAll([mine, tool, anonymous]).at(-1)).toMatchObject({ messageId: "m1", subagentRunId: "s1" });
  });
});

describe("the rules of chunks", () => {
  const s1 = { subagentRunId: "s1" };
  const s2 = { subagentRunId: "s2" };

  it.each([
    ["chunk-first", [{ type: "TEXT_MESSAGE_CHUNK", delta: "a" }]],
    ["chunk-first", [{ type: "REASONING_MESSAGE_CHUNK", delta: "a" }]],
    ["chunk-first", [{ type: "TOOL_CALL_CHUNK", toolCallName: "f" }]],
    ["chunk-first", [{ type: "TOOL_CALL_CHUNK", toolCallId: "c1" }]],
    ["chunk-first", [tool, text, { type: "TOOL_CALL_CHUNK", toolCallId: "c1", delta: "}" }]],
    [
      "chunk-first",
      [
        { ...text, ...s1 },
        { type: "REASONING_MESSAGE_CHUNK", delta: "x" },
      ],
    ],
    ["chunk-conflict", [text, { ...text, role: "user" }]],
    [
      "chunk-conflict",
      [
        { ...text, role: "user" },
        { ...text, role: "assistant" },
      ],
    ],
    ["chunk-conflict", [text, { ...text, name: "Ada" }]],
    ["chunk-conflict", [tool, { ...tool, toolCallName: "g" }]],
    ["chunk-conflict", [tool, { ...tool, parentMessageId: "m1" }]],
    [
      "chunk-ambiguous",
      [
        { ...text, ...s1 },
        { ...text, messageId: "m2", ...s2 },
        { type: "TEXT_MESSAGE_CHUNK", delta: "b" },
      ],
    ],
    [
      "owner-mismatch",
      [
        { ...text, ...s1 },
        { ...text, ...s2 },
      ],
    ],
    ["owner-mismatch", [text, { ...text, ...s1 }]],
  ] as readonly (readonly [string, readonly Event[]])[])("%s names the rule and the chunk (%#)", (rule, events) => {
    const error = violationOf(events);
    expect(error).toMatchObject({ code: "sequence-violation", details: { rule } });
    expect(error?.details).toHaveProperty("event", events.at(-1));
  });
});

describe("any stream", () => {
  const cases = { numRuns: Math.round(5000 * SCALE) };

  it("comes out without chunks, and unchanged when it goes in again", () => {
    const property = fc.property(
      fc.oneof(arbitraryStream({ chunks: true }), arbitrarySoup({ chunks: true })),
      (events) => {
        const once = expandAll(events);
        expect(once.filter(({ type }) => type.endsWith("_CHUNK"))).toEqual([]);
        expect(expandAll(once)).toEqual(once);
      },
    );
    fc.assert(property, cases);
  });

  it("without chunks passes as it is", () => {
    const property = fc.property(arbitraryStream(), (events) => {
      expect(expandAll(events)).toEqual(events);
    });
    fc.assert(property, { numRuns: Math.round(500 * SCALE) });
  });
});
