/**
 * Any sequence of session events gives a valid stream; and what a stream says survives the way into the dialect and back.
 *
 * What the way there and back loses, besides what project-to-session.ts says nothing of (state, snapshots of the
 * messages, encrypted values, RAW, META): the metadata and names of messages and calls; the text of arguments, which
 * comes back as the JSON that it says, and where a call is opened again, what that adds to JSON that was whole; calls
 * whose arguments never ended; the order of what was open at the same time,
 * and of calls that one message makes; which subagent an untagged event is of; where subagents come from, what they
 * return and what they wait for; spans of reasoning that hold several messages, or none.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryStream } from "./arbitrary-stream.ts";
import { checkStream } from "./served.ts";
import { chain, expanding, reduceAll, throughArray, verifying } from "../src/stream/index.ts";
import { parseEvent } from "../src/protocol/index.ts";
import type { Event, Message } from "../src/protocol/index.ts";
import {
  SESSION_EVENT_TYPES,
  decodeForeignSessionEvent,
  decodeSessionEvent,
  encodeSessionEvent,
  projectFromSession,
  projectToSession,
} from "../src/protocol/session/index.ts";
import type { SessionEvent, SessionEventType } from "../src/protocol/session/index.ts";

const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);

function newIds(): () => string {
  let count = 0;
  return () => `new-${++count}`;
}

const id = fc.constantFrom("a", "b", "");
const lane = fc.option(fc.constantFrom("a", "s1", "s2"), { nil: undefined });
const flag = fc.boolean();
const text = fc.constantFrom("", "x", "long");
const open = fc.dictionary(fc.constantFrom("k", "ag-ui"), fc.jsonValue(), { maxKeys: 2 });
const error = fc.record({ code: text, message: text, details: fc.option(open, { nil: undefined }) });
const TRUE = fc.constant(true as const);
const role = fc.constantFrom("assistant" as const, "user" as const);
const part = fc.constantFrom(
  { type: "text" as const, text: "t" },
  { type: "image" as const, source: { type: "url" as const, value: "u" } },
);
const operation = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom({ op: "add", path: "/k", value: 1 }, { op: "remove", path: "/k" }, { op: "add", path: "no" }),
);
const interrupt = fc.record({ id, reason: text, subagentRunId: lane });
const status = fc.constantFrom("queued", "started", "waiting", "finished", "failed");

const DATA: Readonly<Record<SessionEventType, fc.Arbitrary<object>>> = {
  "session-started": fc.constant({
    session: { sessionId: "s", createdAt: "2025-01-01T00:00:00Z", lastActivityAt: "2025-01-01T00:00:00Z" },
  }),
  "session-ended": fc.record({ reason: fc.constant("error"), error: fc.option(error, { nil: undefined }) }),
  "session-error": fc.record({ error: fc.record({ code: text, message: text, isFatal: flag }) }),
  "text-chunk": fc.record({ text, role, isComplete: flag, subagentRunId: lane }),
  "text-message-complete": fc.record({ role, isComplete: TRUE, subagentRunId: lane }),
  "tool-call-chunk": fc.record({
    toolCallId: id,
    toolName: text,
    arguments: fc.oneof(fc.jsonValue(), fc.constant(null)),
    argumentsText: fc.option(fc.constantFrom("{", '{"a":', '{"a":1}'), { nil: undefined }),
    isComplete: flag,
    subagentRunId: lane,
  }),
  "tool-call-complete": fc.record({ toolCallIds: fc.array(id), isComplete: TRUE, subagentRunId: lane }),
  "tool-result-chunk": fc.record({
    toolCallId: id,
    result: text,
    isError: flag,
    error: fc.option(text, { nil: undefined }),
    parts: fc.option(fc.array(part), { nil: undefined }),
    isComplete: flag,
    subagentRunId: lane,
  }),
  "tool-result-complete": fc.record({ toolCallIds: fc.array(id), isComplete: TRUE, subagentRunId: lane }),
  "thought-chunk": fc.record({ thought: text, isComplete: flag, subagentRunId: lane }),
  "thought-complete": fc.record({ isComplete: TRUE, subagentRunId: lane }),
  "status-update": fc.record({
    subject: fc.constantFrom("run", "step", "subagent"),
    status,
    name: fc.option(text, { nil: undefined }),
    message: fc.option(text, { nil: undefined }),
    code: fc.option(text, { nil: undefined }),
    subagentRunId: lane,
  }),
  "progress-update": fc.record({
    activityType: text,
    content: fc.option(open, { nil: undefined }),
    patch: fc.option(fc.array(operation, { maxLength: 2 }), { nil: undefined }),
    replace: fc.option(flag, { nil: undefined }),
    subagentRunId: lane,
  }),
  "agent-response-complete": fc.record({
    outcome: fc.constantFrom("success", "interrupt", "cancelled"),
    result: fc.option(fc.jsonValue(), { nil: undefined }),
    interrupts: fc.option(fc.array(interrupt, { maxLength: 3 }), { nil: undefined }),
    pendingToolCallIds: fc.option(fc.array(id), { nil: undefined }),
  }),
  "agent-error": fc.record({ error }),
  "metadata-update": fc.record({
    usage: fc.option(fc.record({ promptTokens: fc.nat(9) }), { nil: undefined }),
    model: fc.option(text, { nil: undefined }),
    custom: fc.option(fc.record({ name: text, value: fc.jsonValue() }), { nil: undefined }),
  }),
};

const ENDING: ReadonlySet<string> = new Set([
  "session-ended",
  "session-error",
  "agent-error",
  "agent-response-complete",
]);
const frequent = SESSION_EVENT_TYPES.flatMap((type) => (ENDING.has(type) ? [type] : Array(6).fill(type)));

const anySessionEvent: fc.Arbitrary<SessionEvent> = fc
  .constantFrom<SessionEventType>(...frequent)
  .chain((type) =>
    fc.record({ type: fc.constant(type), messageId: fc.option(id, { nil: undefined }), data: DATA[type] }),
  )
  .map((event) =>
    decodeSessionEvent(JSON.stringify({ ...event, sessionId: "s", timestamp: "2025-01-01T00:00:00.000Z" })),
  );

describe("any sequence of valid session events", () => {
  it("PROTO-SESS-1: gives a valid stream that ends once, whatever is missing", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(anySessionEvent, { maxLength: 40, size: "max" }), (events) => {
        const run = projectFromSession({ threadId: "t", runId: "r", newId: newIds(), takenIds: ["b"] });
        const given = [...events.flatMap((event) => run.step(event)), ...run.end()];
        expect(run.isOver).toBe(true);
        for (const event of given) {
          seen.add(event.type);
          expect(parseEvent(event)).toEqual({ value: event, warnings: [] });
        }
        checkStream(given);
        const ends = given.filter(({ type }) => type === "RUN_FINISHED" || type === "RUN_ERROR");
        expect(ends).toEqual(given.slice(-1));
        // A run that fails leaves nothing open either.
        const [last] = ends;
        if (last?.type === "RUN_ERROR") {
          checkStream([...given.slice(0, -1), { type: "RUN_FINISHED", threadId: "t", runId: "r" }]);
        }
        // No message before the run is touched, and nothing is said twice under one id.
        const { messages } = reduceAll([...given], { messages: [{ id: "b", role: "user", content: "before" }] });
        expect(messages[0]).toEqual({ id: "b", role: "user", content: "before" });
        expect(new Set(messages.map((message) => message.id)).size).toBe(messages.length);
      }),
      { numRuns: 400 * SCALE },
    );
    expect([...seen].toSorted()).toEqual([
      "ACTIVITY_DELTA",
      "ACTIVITY_SNAPSHOT",
      "CUSTOM",
      "REASONING_END",
      "REASONING_MESSAGE_CONTENT",
      "REASONING_MESSAGE_END",
      "REASONING_MESSAGE_START",
      "REASONING_START",
      "RUN_ERROR",
      "RUN_FINISHED",
      "RUN_STARTED",
      "STEP_FINISHED",
      "STEP_STARTED",
      "SUBAGENT_ERROR",
      "SUBAGENT_FINISHED",
      "SUBAGENT_STARTED",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "TEXT_MESSAGE_START",
      "TOOL_CALL_ARGS",
      "TOOL_CALL_END",
      "TOOL_CALL_RESULT",
      "TOOL_CALL_START",
    ]);
  });

  it("loses no word: texts and thoughts say as much as their chunks did", () => {
    fc.assert(
      fc.property(fc.array(anySessionEvent, { maxLength: 40, size: "max" }), (events) => {
        const run = projectFromSession({ threadId: "t", runId: "r", newId: newIds() });
        const given: Event[] = [];
        let said = "";
        for (const event of events) {
          if (run.isOver) break;
          if (event.type === "text-chunk") said += event.data.text;
          if (event.type === "thought-chunk") said += event.data.thought;
          given.push(...run.step(event));
        }
        const heard = given.map((event) =>
          event.type === "TEXT_MESSAGE_CONTENT" || event.type === "REASONING_MESSAGE_CONTENT" ? event.delta : "",
        );
        expect(heard.join("")).toBe(said);
      }),
      { numRuns: 200 * SCALE },
    );
  });

  it("reads the same by the decoder for foreign servers", () => {
    fc.assert(
      fc.property(anySessionEvent, (event) => {
        expect(decodeForeignSessionEvent(encodeSessionEvent(event))).toEqual(event);
      }),
      { numRuns: 400 * SCALE },
    );
  });
});

/** What the dialect has no place for at all. */
const UNSAID: ReadonlySet<string> = new Set([
  "STATE_SNAPSHOT",
  "STATE_DELTA",
  "MESSAGES_SNAPSHOT",
  "REASONING_ENCRYPTED_VALUE",
  "RAW",
  "META",
]);

/** One run of a valid stream, without what the dialect has no place for. */
const oneRun = arbitraryStream({ runs: 1, chunks: true, moves: 30 })
  .filter((events) => events[0]?.type === "RUN_STARTED")
  .map((events) => {
    const last = events.findIndex(({ type }) => type === "RUN_FINISHED" || type === "RUN_ERROR");
    const expanded = throughArray(chain(expanding(), verifying()), events.slice(0, last + 1));
    const said = expanded.filter(({ type }) => !UNSAID.has(type));
    return said.map((event): Event => {
      const { metadata: _, ...rest } = event;
      if (rest.type === "RUN_STARTED") {
        const { input: _input, ...start } = rest;
        return start;
      }
      return rest as Event;
    });
  });

interface Said {
  readonly id: string;
  readonly [name: string]: unknown;
}

/** A message as the dialect can carry it. Calls that were opened twice are known by name only. */
function carried(message: Message, twice: ReadonlySet<string>): Said {
  const { id: messageId, role: speaker, content } = message;
  if (message.role === "assistant") {
    const calls = (message.toolCalls ?? []).map(({ id: callId, function: { name, arguments: given } }) => ({
      callId,
      name,
      arguments: twice.has(callId) ? "" : meaningOf(given),
    }));
    const toolCalls = calls.toSorted((a, b) => (a.callId < b.callId ? -1 : 1));
    return { id: messageId, role: speaker, content: content ?? "", toolCalls };
  }
  const call = message.role === "tool" ? { toolCallId: message.toolCallId } : {};
  const kind = message.role === "activity" ? { activityType: message.activityType } : {};
  return { id: messageId, role: speaker, content, ...call, ...kind };
}

function meaningOf(argumentText: string): unknown {
  if (argumentText.trim() === "") return {};
  try {
    return JSON.parse(argumentText) ?? {};
  } catch {
    return argumentText;
  }
}

/** Calls that ended: the others never were, for a client of the dialect. Nor were messages that began and said nothing. */
function whole(events: readonly Event[]): readonly Event[] {
  const ended = new Set(events.flatMap((event) => (event.type === "TOOL_CALL_END" ? [event.toolCallId] : [])));
  const heard = new Set(
    events.flatMap((event) => {
      if (event.type === "TEXT_MESSAGE_END" || event.type === "REASONING_MESSAGE_END") return [event.messageId];
      const isContent = event.type === "TEXT_MESSAGE_CONTENT" || event.type === "REASONING_MESSAGE_CONTENT";
      return isContent && event.delta !== "" ? [event.messageId] : [];
    }),
  );
  return events.filter((event) => {
    if (event.type === "TOOL_CALL_START" || event.type === "TOOL_CALL_ARGS") return ended.has(event.toolCallId);
    const begins = event.type.startsWith("TEXT_MESSAGE") || event.type.startsWith("REASONING_MESSAGE");
    return !begins || !("messageId" in event) || heard.has(event.messageId ?? "");
  });
}

/** Whether an id names one thing only; where it names two, the second is another message after the way back. */
function namesOneThing(events: readonly Event[]): boolean {
  const kinds = new Map<string, string>();
  const isNew = (name: string | undefined, kind: string): boolean => {
    if (name === undefined) return true;
    const known = kinds.get(name) ?? kind;
    kinds.set(name, kind);
    return known === kind;
  };
  return events.every((event) => {
    switch (event.type) {
      case "TEXT_MESSAGE_START":
        return isNew(event.messageId, event.role ?? "assistant");
      case "REASONING_MESSAGE_START":
        return isNew(event.messageId, "reasoning");
      case "ACTIVITY_SNAPSHOT":
      case "ACTIVITY_DELTA":
        return isNew(event.messageId, "activity");
      case "TOOL_CALL_START":
        return isNew(event.toolCallId, "call") && isNew(event.parentMessageId, "assistant");
      case "TOOL_CALL_RESULT":
        return isNew(event.messageId, `result of ${event.toolCallId}`);
      default:
        return true;
    }
  });
}

describe("AG-UI into the session dialect and back", () => {
  it("PROTO-SESS-5: reduces to the same messages, outcome, usage and error, as far as the dialect can carry them", () => {
    let compared = 0;
    fc.assert(
      fc.property(oneRun.filter(namesOneThing), (events) => {
        const there = projectToSession({ sessionId: "s" });
        const back = projectFromSession({ threadId: "thread", runId: "run1", newId: newIds() });
        const given = events
          .flatMap((event) => there(event))
          .flatMap((event) => back.step(decodeSessionEvent(encodeSessionEvent(event))));
        checkStream(given);
        const starts = events.flatMap((event) => (event.type === "TOOL_CALL_START" ? [event.toolCallId] : []));
        const twice = new Set(starts.filter((call, index) => starts.indexOf(call) !== index));
        const before = reduceAll([...whole(events)]);
        const after = reduceAll([...given]);
        const byId = (messages: readonly Message[]): readonly Said[] =>
          messages.map((message) => carried(message, twice)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
        expect(byId(after.messages)).toEqual(byId(before.messages));
        compared += after.messages.length;
        const { status: how, usage, error: failure, result } = after.run;
        const expected = before.run.error && { code: "AGENT_EXECUTION_ERROR", ...before.run.error };
        expect({ how, usage, failure, result }).toEqual({
          how: before.run.status,
          usage: before.run.usage,
          failure: expected,
          result: before.run.result,
        });
        expect(after.interrupts).toEqual(before.interrupts);
        expect(after.subagents.map(({ subagentRunId, name }) => [subagentRunId, name])).toEqual(
          before.subagents.map(({ subagentRunId, name }) => [subagentRunId, name]),
        );
      }),
      { numRuns: 300 * SCALE },
    );
    expect(compared).toBeGreaterThan(500);
  });
});
