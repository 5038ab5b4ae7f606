import { describe, expect, it } from "vitest";
import { HeddleError } from "../protocol/index.ts";
import type { Event, Message } from "../protocol/index.ts";
import { createPreludeState, prelude, stepPrelude } from "./prelude.ts";
import { reduceAll } from "./stage.ts";
import { createVerifyState, verify } from "./verify.ts";

const IDS = { threadId: "t", runId: "r" };
const STARTED: Event = { type: "RUN_STARTED", ...IDS, protocolVersion: "1.0" };
const FINISHED: Event = { type: "RUN_FINISHED", ...IDS };
const FAILED: Event = { type: "RUN_ERROR", message: "no", code: "x" };

const start = (messageId: string): Event => ({ type: "TEXT_MESSAGE_START", messageId, role: "assistant" });
const say = (messageId: string, delta: string): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta });
const end = (messageId: string): Event => ({ type: "TEXT_MESSAGE_END", messageId });
const call = (toolCallId: string, more: { readonly parentMessageId?: string } = {}): Event => {
  return { type: "TOOL_CALL_START", toolCallId, toolCallName: "look", ...more };
};
const called = (toolCallId: string): Event => ({ type: "TOOL_CALL_END", toolCallId });
const answer = (toolCallId: string, messageId = "a"): Event => {
  return { type: "TOOL_CALL_RESULT", messageId, toolCallId, content: "done" };
};
const told = (...messages: readonly Message[]): Event => ({ type: "MESSAGES_SNAPSHOT", messages });
const carrier = (id: string, args = ""): Message => {
  return { id, role: "assistant", toolCalls: [{ id, type: "function", function: { name: "look", arguments: args } }] };
};
const toolAnswer = (toolCallId: string): Message => ({ id: "a", role: "tool", toolCallId, content: "done" });

describe("in an open run", () => {
  it("tells what there is, and opens again what is open", () => {
    const input = { ...IDS, messages: [{ id: "u", role: "user", content: "hi" }] as const, state: { a: 1 } };
    const [step, span]: readonly Event[] = [
      { type: "STEP_STARTED", stepName: "plan" },
      { type: "REASONING_START", messageId: "span" },
    ];
    const thought: Event = { type: "REASONING_MESSAGE_START", messageId: "th", role: "reasoning" };
    const prefix: readonly Event[] = [
      { ...STARTED, input, rawEvent: 1, timestamp: 7 } as Event,
      { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "helper" },
      ...[step, span, thought].filter((event) => event !== undefined),
      { type: "REASONING_MESSAGE_CONTENT", messageId: "th", delta: "hm" },
      { type: "TEXT_MESSAGE_START", messageId: "m", role: "developer", name: "Ada", subagentRunId: "s" },
      say("m", "Hel"),
      call("c"),
      { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "{" },
      { type: "STATE_DELTA", delta: [{ op: "add", path: "/b", value: 2 }] },
    ];
    expect(prelude(prefix)).toEqual([
      { ...STARTED, timestamp: 7 },
      told(
        { id: "u", role: "user", content: "hi" },
        { id: "th", role: "reasoning", content: "hm" },
        { id: "m", role: "developer", name: "Ada", subagentRunId: "s", content: "Hel" },
        carrier("c", "{"),
      ),
      { type: "STATE_SNAPSHOT", snapshot: { a: 1, b: 2 } },
      { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "helper" },
      step,
      span,
      thought,
      { type: "TEXT_MESSAGE_START", messageId: "m", role: "developer", name: "Ada", subagentRunId: "s" },
      call("c"),
    ]);
  });

  it("says no more than there is", () => {
    expect(prelude([])).toEqual([]);
    expect(prelude([{ type: "META", metaType: "note", payload: {} }])).toEqual([]);
    expect(prelude([STARTED])).toEqual([STARTED]);
    expect(prelude([STARTED, start("m"), end("m")])).toEqual([
      STARTED,
      told({ id: "m", role: "assistant", content: "" }),
    ]);
    expect(prelude([STARTED, { type: "STATE_SNAPSHOT", snapshot: {} }])).toHaveLength(2);
  });

  it("keeps calls pending that are, in their order, and no others", () => {
    const prefix = [STARTED, call("c1"), called("c1"), call("c2"), called("c2"), answer("c2"), call("c3")];
    const opening = prelude(prefix);
    expect(opening.slice(2)).toEqual([call("c1"), called("c1"), call("c3")]);
    expect(reduceAll(opening).pendingToolCallIds).toEqual(["c1", "c3"]);
  });

  it("leaves a call pending that is answered and opened again, and everything else as it was", () => {
    const prefix = [STARTED, call("c"), called("c"), answer("c")];
    const rest = [call("c"), { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "{}" } as const, called("c"), FINISHED];
    expect(prelude(prefix)).toEqual([STARTED, told(carrier("c"), toolAnswer("c"))]);
    const whole = reduceAll([...prefix, ...rest]);
    expect(reduceAll([...prelude(prefix), ...rest])).toEqual({ ...whole, pendingToolCallIds: ["c"] });
  });

  it("opens an answered call again without making it pending", () => {
    const prefix = [STARTED, call("c"), answer("c")];
    const opening = prelude(prefix);
    expect(opening.map(({ type }) => type)).toEqual([
      "RUN_STARTED",
      "TOOL_CALL_START",
      "TOOL_CALL_RESULT",
      "MESSAGES_SNAPSHOT",
    ]);
    expect(reduceAll(opening)).toEqual(reduceAll(prefix));
    expect(prelude([...opening, called("c")])).toEqual([STARTED, told(carrier("c"), toolAnswer("c"))]);
  });

  it("opens what the conversation has lost without bringing it back", () => {
    const thought: Event = { type: "REASONING_MESSAGE_START", messageId: "m2", role: "reasoning" };
    const prefix = [
      STARTED,
      start("m1"),
      start("m2"),
      thought,
      end("m2"),
      call("c1"),
      call("c2"),
      called("c2"),
      told(),
    ];
    const opening = prelude(prefix);
    expect(reduceAll(opening)).toEqual(reduceAll(prefix));
    expect(reduceAll(opening).messages).toEqual([]);
    const state = createPreludeState();
    for (const event of opening) stepPrelude(state, event);
    expect([state.verify.messages, state.verify.thoughts, state.verify.calls]).toEqual([
      new Set(["m1"]),
      new Set(["m2"]),
      new Set(["c1"]),
    ]);
  });

  it("tells every subagent of the run, those that ended too", () => {
    const subagents: readonly Event[] = [
      { type: "SUBAGENT_STARTED", subagentRunId: "s1", name: "one" },
      { type: "SUBAGENT_FINISHED", subagentRunId: "s1" },
      { type: "SUBAGENT_STARTED", subagentRunId: "s2", name: "two", parentSubagentRunId: "s1" },
    ];
    expect(prelude([STARTED, ...subagents])).toEqual([STARTED, ...subagents]);
  });

  it("tells questions of a run before by that run", () => {
    const asked: Event = {
      type: "RUN_FINISHED",
      ...IDS,
      outcome: { type: "interrupt", interrupts: [{ id: "i", reason: "ask" }] },
    };
    const next: Event = { type: "RUN_STARTED", threadId: "t", runId: "r2" };
    expect(prelude([STARTED, asked])).toEqual([STARTED, asked]);
    expect(prelude([STARTED, asked, next])).toEqual([STARTED, asked, next]);
    expect(prelude([STARTED, asked, next, FAILED])).toEqual([STARTED, asked, next, FAILED]);
    expect(prelude([STARTED, asked, next, { ...FINISHED, runId: "r2" }])).toEqual([next, { ...FINISHED, runId: "r2" }]);
  });
});

describe("where no run is open", () => {
  it("tells the last run as a closed one", () => {
    const finished: Event = { type: "RUN_FINISHED", ...IDS, result: 1 };
    const prefix = [STARTED, start("m"), say("m", "x"), end("m"), call("c"), called("c"), finished];
    expect(prelude(prefix)).toEqual([
      STARTED,
      told({ id: "m", role: "assistant", content: "x" }, carrier("c")),
      call("c"),
      called("c"),
      finished,
    ]);
    expect(prelude([...prefix, FAILED]).slice(-2)).toEqual([finished, FAILED]);
  });

  it("tells a failed run with its error, and nothing of it as open", () => {
    expect(prelude([STARTED, start("m"), call("c"), FAILED])).toEqual([
      STARTED,
      told({ id: "m", role: "assistant", content: "" }, carrier("c")),
      call("c"),
      FAILED,
    ]);
    expect(prelude([FAILED])).toEqual([FAILED]);
  });
});

/** What AG-UI forbids an agent (R-TEXT-03, R-SUB-14) and `verify`, which knows nothing of earlier runs, lets pass. */
describe("where the rest tags something otherwise than the conversation does", () => {
  const next: Event = { type: "RUN_STARTED", threadId: "t", runId: "r2" };
  const bySubagent = { subagentRunId: "s" };
  const places = {
    "a message of an earlier run": [
      [STARTED, start("m"), end("m"), FINISHED, next],
      [{ ...start("m"), ...bySubagent }, say("m", "x"), end("m")],
    ],
    "a message of an earlier run, by a call": [
      [STARTED, start("m"), end("m"), FINISHED, next],
      [{ ...call("c", { parentMessageId: "m" }), ...bySubagent }, called("c")],
    ],
    "the message that a call made": [
      [STARTED, call("c"), called("c")],
      [{ ...start("c"), ...bySubagent }, say("c", "x"), end("c")],
    ],
    "the message that a call made, which is open": [
      [STARTED, call("c"), called("c"), { ...start("c"), ...bySubagent }],
      [{ ...say("c", "x"), ...bySubagent }, end("c")],
    ],
  } as const satisfies Readonly<Record<string, readonly [readonly Event[], readonly Event[]]>>;

  it.each(Object.entries(places))("folds the same and does not verify: %s", (_, [prefix, rest]) => {
    const restated = told(...reduceAll(prefix).messages);
    expect(ruleBrokenBy([...prefix, ...rest])).toBe(undefined);
    expect(ruleBrokenBy([...prelude(prefix), ...rest])).toMatch(/-owner$|^owner-/);
    expect(ruleBrokenBy([...prefix, restated, ...rest])).toBe(ruleBrokenBy([...prelude(prefix), ...rest]));
    expect(reduceAll([...prelude(prefix), ...rest])).toEqual(reduceAll([...prefix, ...rest]));
  });
});

function ruleBrokenBy(events: readonly Event[]): unknown {
  const state = createVerifyState();
  try {
    for (const event of events) verify(state, event);
    return undefined;
  } catch (error) {
    return error instanceof HeddleError && error.code === "sequence-violation"
      ? Reflect.get(error.details, "rule")
      : error;
  }
}
