import { describe, expect, it } from "vitest";
import type { Event } from "../generated/model.ts";
import { decodeForeignSessionEvent } from "./decode-foreign-session-event.ts";
import { projectFromSession } from "./project-from-session.ts";
import { runInputToSessionInput } from "./run-input-to-session-input.ts";

const TIME = "2025-01-02T03:04:05.678Z";

type Given = readonly [type: string, data?: object, messageId?: string | undefined];

/** What events of an old server give, without the frame and the times; the connection ends after them. */
function converted(...given: readonly Given[]): readonly object[] {
  return whole(...given)
    .slice(1)
    .map((event) => Object.fromEntries(Object.entries(event).filter(([name]) => name !== "timestamp")));
}

function whole(...given: readonly Given[]): readonly Event[] {
  let count = 0;
  const run = projectFromSession({ threadId: "t", runId: "r", newId: () => `new-${++count}`, takenIds: ["old"] });
  const events = given.flatMap(([type, data = {}, messageId]) => {
    const event = decodeForeignSessionEvent(JSON.stringify({ type, sessionId: "s", messageId, timestamp: TIME, data }));
    return event === undefined ? [] : run.step(event);
  });
  return [...events, ...run.end()];
}

const text = (said: string, messageId?: string, more: object = {}): Given => [
  "text-chunk",
  { text: said, role: "assistant", isComplete: false, ...more },
  messageId,
];
const thought = (said: string, messageId?: string, more: object = {}): Given => [
  "thought-chunk",
  { thought: said, isComplete: false, ...more },
  messageId,
];
const call = (toolCallId: string, given: unknown, messageId?: string, more: object = {}): Given => [
  "tool-call-chunk",
  { toolCallId, toolName: "look", arguments: given, isComplete: false, ...more },
  messageId,
];
const result = (toolCallId: string, messageId?: string, more: object = {}): Given => [
  "tool-result-chunk",
  { toolCallId, result: "ok", isError: false, isComplete: false, ...more },
  messageId,
];
const status = (data: object): Given => ["status-update", data];
const END = { isComplete: true };
const done: Given = ["agent-response-complete"];
const FINISHED = { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "success" } };

/** Events in short: the type without what all share, and the id. */
const inShort = (events: readonly object[]): readonly string[] =>
  events.map((event) => {
    const { type, messageId, toolCallId, delta } = Object(event);
    return [type, messageId ?? toolCallId, delta].filter((part) => part !== undefined).join(" ");
  });

describe("text", () => {
  it("opens with the first chunk, and is stamped with the time of the event", () => {
    const stamp = { timestamp: Date.parse(TIME) };
    expect(whole(text("Hi", "g1"), ["text-message-complete", {}, "g1"], done)).toEqual([
      { type: "RUN_STARTED", threadId: "t", runId: "r", protocolVersion: "1.0", ...stamp },
      { type: "TEXT_MESSAGE_START", messageId: "g1", role: "assistant", ...stamp },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "g1", delta: "Hi", ...stamp },
      { type: "TEXT_MESSAGE_END", messageId: "g1", ...stamp },
      { ...FINISHED, ...stamp },
    ]);
  });

  it("of messages that are sent side by side stays apart, and what is open is closed at the end", () => {
    expect(inShort(converted(text("a", "g1"), text("b", "g2"), text("c", "g1"), done))).toEqual([
      "TEXT_MESSAGE_START g1",
      "TEXT_MESSAGE_CONTENT g1 a",
      "TEXT_MESSAGE_START g2",
      "TEXT_MESSAGE_CONTENT g2 b",
      "TEXT_MESSAGE_CONTENT g1 c",
      "TEXT_MESSAGE_END g1",
      "TEXT_MESSAGE_END g2",
      "RUN_FINISHED",
    ]);
  });

  it("PROTO-SESS-2: of two roles under one id is two messages, and an id of the history is not used again", () => {
    expect(converted(text("a", "g1"), text("b", "g1", { role: "user" }), text("c", "old"), done)).toMatchObject([
      { type: "TEXT_MESSAGE_START", messageId: "g1", role: "assistant" },
      { messageId: "g1", delta: "a" },
      { type: "TEXT_MESSAGE_START", messageId: "new-1", role: "user" },
      { messageId: "new-1", delta: "b" },
      { type: "TEXT_MESSAGE_START", messageId: "new-2", role: "assistant" },
      { messageId: "new-2", delta: "c" },
      {},
      {},
      {},
      FINISHED,
    ]);
  });

  it("without an id is one message until something else comes, or it is said to be whole", () => {
    const given = [
      text("a"),
      text("b"),
      call("c1", {}),
      text("c"),
      ["text-message-complete"],
      text("d"),
      done,
    ] as const;
    expect(inShort(converted(...given)).filter((each) => each.startsWith("TEXT"))).toEqual([
      "TEXT_MESSAGE_START new-1",
      "TEXT_MESSAGE_CONTENT new-1 a",
      "TEXT_MESSAGE_CONTENT new-1 b",
      "TEXT_MESSAGE_END new-1",
      "TEXT_MESSAGE_START new-2",
      "TEXT_MESSAGE_CONTENT new-2 c",
      "TEXT_MESSAGE_END new-2",
      "TEXT_MESSAGE_START new-3",
      "TEXT_MESSAGE_CONTENT new-3 d",
      "TEXT_MESSAGE_END new-3",
    ]);
  });

  it("that is whole at once is not opened again by being said to be whole", () => {
    const whole = text("a", "g1", { isComplete: true });
    expect(inShort(converted(whole, ["text-message-complete", {}, "g1"], done))).toEqual([
      "TEXT_MESSAGE_START g1",
      "TEXT_MESSAGE_CONTENT g1 a",
      "TEXT_MESSAGE_END g1",
      "RUN_FINISHED",
    ]);
  });
});

it("a thought under the id of its generation is a message of its own, and ends where the answer begins", () => {
  expect(inShort(converted(thought("hm", "g1"), text("a", "g1"), call("c1", {}, "g1"), done))).toEqual([
    "REASONING_START g1",
    "REASONING_MESSAGE_START g1",
    "REASONING_MESSAGE_CONTENT g1 hm",
    "REASONING_MESSAGE_END g1",
    "REASONING_END g1",
    "TEXT_MESSAGE_START new-1",
    "TEXT_MESSAGE_CONTENT new-1 a",
    "TOOL_CALL_START c1",
    "TEXT_MESSAGE_END new-1",
    "TOOL_CALL_ARGS c1 {}",
    "TOOL_CALL_END c1",
    "RUN_FINISHED",
  ]);
});

describe("tool calls (PROTO-SESS-3)", () => {
  it("belong to the message of their generation, and are whole when the server says so", () => {
    const given = [call("c1", { a: 1 }, "g1"), call("c2", [], "g1"), ["tool-call-complete", {}, "g1"], done] as const;
    expect(converted(...given)).toEqual([
      { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "look", parentMessageId: "g1" },
      { type: "TOOL_CALL_START", toolCallId: "c2", toolCallName: "look", parentMessageId: "g1" },
      { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '{"a":1}' },
      { type: "TOOL_CALL_END", toolCallId: "c1" },
      { type: "TOOL_CALL_ARGS", toolCallId: "c2", delta: "[]" },
      { type: "TOOL_CALL_END", toolCallId: "c2" },
      FINISHED,
    ]);
  });

  it.each([
    ["grow from chunk to chunk", [call("c1", {}), call("c1", { a: 1 }), call("c1", { a: 1, b: 2 })], '{"a":1,"b":2}'],
    ["come first, and the end says nothing of them", [call("c1", { a: 1 }), call("c1", null, "", END)], '{"a":1}'],
    ["are never said", [call("c1", null)], "{}"],
    ["are no JSON", [call("c1", null, "", { argumentsText: '{"a":' })], '{"a":'],
    ["are said again after the end", [call("c1", { a: 1 }, "", END), call("c1", { a: 2 })], '{"a":1}'],
  ])("have the newest arguments, once, where they %s", (_, given, delta) => {
    expect(inShort(converted(...given, done))).toEqual([
      "TOOL_CALL_START c1",
      `TOOL_CALL_ARGS c1 ${delta}`,
      "TOOL_CALL_END c1",
      "RUN_FINISHED",
    ]);
  });

  it("are whole when they are answered, each for itself", () => {
    expect(inShort(converted(call("c1", {}), call("c2", {}), result("c2", "m"), result("c1", "m"), done))).toEqual([
      "TOOL_CALL_START c1",
      "TOOL_CALL_START c2",
      "TOOL_CALL_ARGS c2 {}",
      "TOOL_CALL_END c2",
      "TOOL_CALL_RESULT m",
      "TOOL_CALL_ARGS c1 {}",
      "TOOL_CALL_END c1",
      "TOOL_CALL_RESULT new-1",
      "RUN_FINISHED",
    ]);
  });

  it.each([
    [{ isError: true }, { content: "ok", metadata: { heddle: { error: true } } }],
    [
      { isError: true, error: "late" },
      { content: "ok", metadata: { heddle: { error: "late" } } },
    ],
    [{ parts: [{ type: "text", text: "x" }] }, { content: [{ type: "text", text: "x" }] }],
  ])("results keep failures and parts: %j", (more, expected) => {
    expect(converted(result("c1", "m", more), done)[0]).toEqual({
      type: "TOOL_CALL_RESULT",
      messageId: "m",
      toolCallId: "c1",
      role: "tool",
      ...expected,
    });
  });
});

describe("status and progress", () => {
  it("are steps, subagents and activities; what has no place is an event of its own", () => {
    const sub = { subject: "subagent", subagentRunId: "s1" };
    const queued = { subject: "run", status: "queued" };
    const patch = [{ op: "replace", path: "/done", value: true }];
    const given = [
      status(queued),
      status({ subject: "step", status: "started", name: "plan" }),
      status({ ...sub, status: "started", name: "helper", message: "help" }),
      ["progress-update", { activityType: "PLAN", content: { done: false }, subagentRunId: "s1" }, "a1"],
      ["progress-update", { activityType: "PLAN", patch }, "a1"],
      ["progress-update", { activityType: "PLAN", patch: [{ op: "fly" }] }, "a1"],
      status({ ...sub, status: "failed", message: "no", code: "x" }),
      done,
    ] as const;
    expect(converted(...given)).toEqual([
      { type: "CUSTOM", name: "heddle.status-update", value: queued },
      { type: "STEP_STARTED", stepName: "plan" },
      { type: "SUBAGENT_STARTED", subagentRunId: "s1", name: "helper", description: "help" },
      {
        type: "ACTIVITY_SNAPSHOT",
        messageId: "a1",
        activityType: "PLAN",
        content: { done: false },
        subagentRunId: "s1",
      },
      { type: "ACTIVITY_DELTA", messageId: "a1", activityType: "PLAN", patch, subagentRunId: "s1" },
      { type: "CUSTOM", name: "heddle.progress-update", value: { activityType: "PLAN", patch: [{ op: "fly" }] } },
      { type: "SUBAGENT_ERROR", subagentRunId: "s1", message: "no", code: "x" },
      { type: "STEP_FINISHED", stepName: "plan" },
      FINISHED,
    ]);
  });

  it("usage of all updates is on the terminal event, custom values are events", () => {
    const counts = { promptTokens: 1, completionTokens: 2, totalTokens: 3, reasoningTokens: 4 };
    const given = [
      ["metadata-update", { usage: counts, model: "m", provider: "p" }],
      ["metadata-update", { usage: { cachedPromptTokens: 5, cacheWritePromptTokens: 6 } }],
      ["metadata-update", { custom: { name: "x.y", value: null } }],
      done,
    ] as const;
    expect(converted(...given)).toEqual([
      { type: "CUSTOM", name: "x.y", value: null },
      {
        ...FINISHED,
        usage: [
          { provider: "p", model: "m", inputTokens: 1, outputTokens: 2, totalTokens: 3, reasoningTokens: 4 },
          { cachedInputTokens: 5, cacheWriteInputTokens: 6 },
        ],
      },
    ]);
  });
});

describe("the end", () => {
  const interrupt = { id: "i", reason: "x" };
  it.each([
    [
      { outcome: "success", pendingToolCallIds: ["c"] },
      { type: "success", pendingToolCallIds: ["c"] },
    ],
    [
      { outcome: "interrupt", interrupts: [interrupt, interrupt] },
      { type: "interrupt", interrupts: [interrupt] },
    ],
    [{ outcome: "cancelled" }, { type: "cancelled" }],
    [{ finishReason: "stop" }, { type: "success" }],
  ])("of a response that is complete is RUN_FINISHED: %j", (data, outcome) => {
    expect(converted(["agent-response-complete", { ...data, result: 1 }])).toEqual([
      { ...FINISHED, result: 1, outcome },
    ]);
  });

  const error = { code: "X", message: "no" };
  it.each<[what: string, given: Given, code: string]>([
    ["agent-error", ["agent-error", { error: { ...error, details: { at: 1 } } }], "X"],
    ["a session-error that is fatal", ["session-error", { error: { ...error, isFatal: true } }], "X"],
    ["session-ended with an error", ["session-ended", { reason: "error", error }], "X"],
    ["session-ended without one", ["session-ended", { reason: "whatever" }], "agent-stream-cut"],
    ["a question that nobody asked", ["agent-response-complete", { outcome: "interrupt" }], "agent-response-invalid"],
  ])("by %s is RUN_ERROR, once, with what is open closed", (_, given, code) => {
    const used: Given = ["metadata-update", { usage: { promptTokens: 1 } }];
    const events = converted(used, text("a", "g1"), given, done, text("b", "g1"));
    expect(events.slice(2)).toMatchObject([
      { type: "TEXT_MESSAGE_END" },
      { type: "RUN_ERROR", code, usage: [{ inputTokens: 1 }] },
    ]);
  });

  it("of a connection before the run has ended is RUN_ERROR, also where nothing came", () => {
    const cut = { type: "RUN_ERROR", code: "agent-stream-cut" };
    expect(converted(text("a", "g1")).slice(2)).toMatchObject([{ type: "TEXT_MESSAGE_END" }, cut]);
    expect(whole(["session-started"])).toMatchObject([{ type: "RUN_STARTED" }, cut]);
  });

  it("an error that is not fatal refuses the request before the run began, and is a remark inside it", () => {
    const refusal: Given = ["session-error", { error: { ...error, isFatal: false } }];
    expect(whole(["session-started"], refusal)).toMatchObject([
      { type: "RUN_STARTED" },
      { type: "RUN_ERROR", code: "X" },
    ]);
    expect(converted(["metadata-update", {}], refusal, done)).toEqual([
      { type: "CUSTOM", name: "heddle.session-error", value: { error: { ...error, isFatal: false } } },
      FINISHED,
    ]);
  });
});

const read = (event: object) => decodeForeignSessionEvent(JSON.stringify(event));

describe("an event of a foreign server (PROTO-SESS-4)", () => {
  it.each([
    ["a zone is missing", "2025-01-02T03:04:05", /^2025-01-0/],
    ["seven digits", "2025-01-02T03:04:05.1234567Z", /^2025-01-02T03:04:05.1234567Z$/],
    ["it is none", "yesterday", /^\d{4}-/],
    ["it is missing", undefined, /^\d{4}-/],
  ])("has a time where %s", (_, timestamp, expected) => {
    expect(read({ type: "thought-complete", sessionId: "s", timestamp })?.timestamp).toMatch(expected);
  });

  it("is refused where the seed shows what it has to hold, and unknown where its type is", () => {
    for (const type of ["text-chunk", "tool-call-chunk", "tool-result-chunk", "thought-chunk", "agent-error"]) {
      expect(() => read({ type, sessionId: "s", timestamp: TIME, data: {} })).toThrow(
        expect.objectContaining({ code: "session-invalid" }),
      );
    }
    expect(read({ type: "heartbeat" })).toBeUndefined();
    expect(() => read([])).toThrow(expect.objectContaining({ code: "session-invalid" }));
  });
});

describe("a run input as a request", () => {
  it("keeps the conversation but activities and reasoning, the options and the answers, and says what is lost", () => {
    const { value, warnings } = runInputToSessionInput(
      {
        threadId: "t",
        runId: "r",
        messages: [
          { id: "1", role: "system", content: "Be kind." },
          { id: "2", role: "user", content: [{ type: "text", text: "Hi" }], name: "Ada" },
          { id: "3", role: "reasoning", content: "hm" },
          {
            id: "4",
            role: "assistant",
            toolCalls: [
              { id: "c1", type: "function", function: { name: "look", arguments: '{"a":1}' } },
              { id: "c2", type: "function", function: { name: "look", arguments: "{" } },
            ],
          },
          { id: "5", role: "tool", toolCallId: "c1", content: "no", metadata: { heddle: { error: "no" } } },
          { id: "6", role: "tool", toolCallId: "c2", content: "bad", error: "bad" },
          { id: "7", role: "activity", activityType: "PLAN", content: {} },
        ],
        tools: [{ name: "pick", description: "", parameters: {} }],
        context: [],
        state: {},
        forwardedProps: { options: { temperature: 1 }, other: 1 },
        resume: [{ interruptId: "i", status: "resolved", payload: 1 }],
      },
      "s1",
    );
    expect(value).toEqual({
      type: "run-agent",
      sessionId: "s1",
      data: {
        messages: [
          { id: "1", role: "system", content: "Be kind." },
          { id: "2", role: "user", content: [{ type: "text", text: "Hi" }], name: "Ada" },
          {
            id: "4",
            role: "assistant",
            toolCalls: [
              { toolCallId: "c1", toolName: "look", arguments: { a: 1 } },
              { toolCallId: "c2", toolName: "look", arguments: null, argumentsText: "{" },
            ],
          },
          { id: "5", role: "tool", toolCallId: "c1", content: "no", isError: true },
          { id: "6", role: "tool", toolCallId: "c2", content: "bad", isError: true },
        ],
        options: { temperature: 1 },
        resume: [{ interruptId: "i", status: "resolved", payload: 1 }],
      },
    });
    expect(warnings.map(({ path }) => path)).toEqual(["/tools", "/forwardedProps"]);
  });
});
