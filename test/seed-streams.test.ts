/**
 * Every sequence and every example of compaction, branching and normalisation in seeds 001, 002 and 004, with the
 * outcome that the seed says; where 1.0 forbids what a seed draws, the rule that is broken and what we do instead.
 *
 * The data is the seeds' own. Ids, roles and texts that a seed leaves out ("..." or a bare type name) are filled in.
 */
import { HeddleError, METADATA_KEY, parseEvent } from "heddle/protocol";
import type { Event, JsonPatch, Message, RunAgentInput } from "heddle/protocol";
import { createNormaliseMemory, normaliseEvent } from "heddle/protocol/dialects";
import {
  applyPatch,
  chain,
  compact,
  createReduceState,
  expanding,
  reduce,
  reduceAll,
  throughArray,
  verifying,
  view,
} from "heddle/stream";
import type { Advice } from "heddle/stream";
import {
  branchOf,
  commonAncestor,
  diffBranches,
  entriesOf,
  historyOf,
  lineage,
  normaliseInput,
  rebuildInput,
  reconcile,
} from "heddle/stream/lineage";
import { repairing } from "heddle/stream/repair";
import type { RepairOptions } from "heddle/stream/repair";
import { describe, expect, it } from "vitest";

/** The rule that a stream breaks; `advice` where it breaks none but a producer is told something. */
function ruleOf(events: readonly Event[]): unknown {
  const advice: Advice[] = [];
  try {
    throughArray(chain(expanding(), verifying({ onAdvice: (each) => void advice.push(each) })), events);
    return advice.length === 0 ? undefined : "advice";
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    return (error.details as { readonly rule?: unknown }).rule;
  }
}

/** What repair makes of a stream, which always verifies, and the rules that it reports. */
function gateway(events: readonly Event[], options: RepairOptions = {}) {
  const rules: string[] = [];
  const repaired = throughArray(repairing({ ...options, onRepair: ({ rule }) => void rules.push(rule) }), events);
  expect(ruleOf(repaired)).toBeUndefined();
  return { events: repaired, rules };
}

/** Raw events as they come in: translated from the seeds' forms, then judged. */
function door(raws: readonly unknown[]): readonly Event[] {
  const memory = createNormaliseMemory();
  return raws.flatMap((raw) => normaliseEvent(raw, memory).values).flatMap((value) => parseEvent(value).value ?? []);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) deepFreeze(member);
    Object.freeze(value);
  }
  return value;
}

const started = (runId: string, more: object = {}): Event => ({
  type: "RUN_STARTED",
  threadId: "thread1",
  runId,
  ...more,
});
const finished = (runId: string): Event => ({ type: "RUN_FINISHED", threadId: "thread1", runId });
const text = (messageId: string, ...deltas: readonly string[]): readonly Event[] => [
  { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
  ...deltas.map((delta): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta })),
  { type: "TEXT_MESSAGE_END", messageId },
];
const user = (id: string, content: string): Message => ({ id, role: "user", content });
const assistant = (id: string, content: string): Message => ({ id, role: "assistant", content });
const typesOf = (events: readonly Event[]): readonly string[] => events.map(({ type }) => type);

describe("seed 001, event sequences", () => {
  const call: readonly Event[] = [
    { type: "TOOL_CALL_START", toolCallId: "call_123", toolCallName: "get_weather" },
    { type: "TOOL_CALL_ARGS", toolCallId: "call_123", delta: '{"location": "NYC"}' },
    { type: "TOOL_CALL_END", toolCallId: "call_123" },
  ];
  const answer: Event = {
    type: "TOOL_CALL_RESULT",
    messageId: "msg_789",
    toolCallId: "call_123",
    content: "72°F, sunny",
  };

  it("001 basic text response: start, contents, end inside a run is one message of the joined chunks", () => {
    const stream = [started("r1"), ...text("msg_123", "Hel", "lo", "!"), finished("r1")];
    expect(ruleOf(stream)).toBeUndefined();
    expect(gateway(stream)).toEqual({ events: stream, rules: [] });
    expect(reduceAll(stream)).toMatchObject({
      messages: [assistant("msg_123", "Hello!")],
      run: { status: "finished", threadId: "thread1", runId: "r1" },
    });
  });

  it("001 tool call with response: call, result and synthesis verify, and the result stands behind its call", () => {
    const stream = [started("r1"), ...call, answer, ...text("msg_456", "It's sunny!"), finished("r1")];
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(stream).pendingToolCallIds).toEqual([]);
    expect(reduceAll(stream).messages).toEqual([
      {
        id: "call_123",
        role: "assistant",
        toolCalls: [
          { id: "call_123", type: "function", function: { name: "get_weather", arguments: '{"location": "NYC"}' } },
        ],
      },
      { id: "msg_789", role: "tool", toolCallId: "call_123", content: "72°F, sunny" },
      assistant("msg_456", "It's sunny!"),
    ]);
  });

  it("001 multi-turn conversation as drawn: nested-run under 1.0, and repair finishes the first run", () => {
    const question = { threadId: "thread1", runId: "r2", messages: [user("msg_124", "And tomorrow?")] };
    const first = [started("r1"), ...text("msg_1", "It's sunny!")];
    const second = [started("r2", { input: question }), ...text("msg_2", "Rain."), finished("r2")];
    expect(ruleOf([...first, ...second])).toBe("nested-run");
    const whole = [...first, finished("r1"), ...second];
    expect(gateway([...first, ...second])).toEqual({ events: whole, rules: ["nested-run"] });
    expect(ruleOf(whole)).toBeUndefined();
    expect(reduceAll(whole).messages).toEqual([
      assistant("msg_1", "It's sunny!"),
      user("msg_124", "And tomorrow?"),
      assistant("msg_2", "Rain."),
    ]);
  });

  it("001 error handling: RUN_ERROR replaces RUN_FINISHED, and a RUN_FINISHED behind it is after-error", () => {
    const failure: Event = { type: "RUN_ERROR", message: "Bad input", code: "VALIDATION_ERROR" };
    const opened = text("msg_1", "Let me").slice(0, 2);
    const stream = [started("r1"), ...opened, ...call.slice(0, 1), failure];
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(stream)).toMatchObject({
      messages: [assistant("msg_1", "Let me"), { toolCalls: [{ id: "call_123" }] }],
      run: { status: "failed", error: { message: "Bad input", code: "VALIDATION_ERROR" } },
    });
    expect(ruleOf([...stream, finished("r1")])).toBe("after-error");
    expect(gateway([...stream, finished("r1")])).toEqual({ events: stream, rules: ["after-error"] });
  });

  it.each([
    ["content before its start", (events: readonly Event[]) => [events[1], events[0], events[2]], "not-open"],
    ["the end before its content", (events: readonly Event[]) => [events[0], events[2], events[1]], "not-open"],
    ["the end alone", (events: readonly Event[]) => [events[2]], "not-open"],
    ["a start without an end", (events: readonly Event[]) => [events[0], events[1]], "open-at-finish"],
    ["a second start while it is open", (events: readonly Event[]) => [events[0], ...events], "already-open"],
  ])("001 practice 1, start before content before end: %s is refused", (_, shuffle, rule) => {
    for (const item of [text("msg_1", "Hi"), call]) {
      const body = shuffle(item).flatMap((event) => event ?? []);
      expect(ruleOf([started("r1"), ...body, finished("r1")])).toBe(rule);
    }
  });

  it("001 practice 2, one id for related events: interleaved messages and calls come apart by their ids", () => {
    const [a, b] = [text("a", "1", "3"), text("b", "2", "4")];
    const mixed = a.flatMap((event, index) => [event, b[index] ?? []]).flat();
    const stream = [started("r1"), ...call.slice(0, 1), ...mixed, ...call.slice(1), finished("r1")];
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(stream).messages).toMatchObject([
      { toolCalls: [{ function: { arguments: '{"location": "NYC"}' } }] },
      assistant("a", "13"),
      assistant("b", "24"),
    ]);
  });

  it("001 practice 3, non-empty deltas: 1.0 allows an empty one, which adds nothing", () => {
    const stream = [started("r1"), ...text("msg_1", "", "Hello!", ""), finished("r1")];
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(stream).messages).toEqual([assistant("msg_1", "Hello!")]);
  });

  it("001 practice 4, results are linked by tool_call_id: one for no call is advice, and the call still waits", () => {
    const stream = [started("r1"), ...call, { ...answer, toolCallId: "call_999" } as Event, finished("r1")];
    expect(ruleOf(stream)).toBe("advice");
    expect(reduceAll(stream).pendingToolCallIds).toEqual(["call_123"]);
  });

  it("001 unique ids: a call's id is unique among open calls, and opened again it is the same call going on", () => {
    const [start, args, end] = call as readonly [Event, Event, Event];
    expect(ruleOf([started("r1"), start, start])).toBe("already-open");
    const again = [started("r1"), start, args, end, start, end, finished("r1")];
    expect(ruleOf(again)).toBeUndefined();
    expect(reduceAll(again).messages).toHaveLength(1);
    expect(reduceAll(again).messages).toMatchObject([{ toolCalls: [{ id: "call_123" }] }]);
  });
});

describe("seed 001, state delta example", () => {
  const held = { counter: 1, items: ["first", "second"], other: true };

  it.each([
    ["replace /counter by 5", { op: "replace", path: "/counter", value: 5 }, { ...held, counter: 5 }],
    [
      "add at /items/-",
      { op: "add", path: "/items/-", value: "new item" },
      { ...held, items: ["first", "second", "new item"] },
    ],
    ["remove /items/0", { op: "remove", path: "/items/0" }, { ...held, items: ["second"] }],
  ] as const)("001 %s changes just that", (_, operation, state) => {
    expect(reduceAll([started("r1"), { type: "STATE_DELTA", delta: [operation] }], { state: held }).state).toEqual(
      state,
    );
  });

  it("001 the three operations of the example apply one after the other, in one delta or in three", () => {
    const delta = [
      { op: "replace", path: "/counter", value: 5 },
      { op: "add", path: "/items/-", value: "new item" },
      { op: "remove", path: "/items/0" },
    ] as const;
    const wanted = { counter: 5, items: ["second", "new item"], other: true };
    expect(reduceAll([{ type: "STATE_DELTA", delta }], { state: held }).state).toEqual(wanted);
    const three = delta.map((operation): Event => ({ type: "STATE_DELTA", delta: [operation] }));
    expect(reduceAll(three, { state: held }).state).toEqual(wanted);
    expect(held.items).toEqual(["first", "second"]);
  });
});

const applied = (document: unknown, patch: JsonPatch): unknown => {
  const result = applyPatch(document, patch);
  return result.ok ? result.value : result.problem.reason;
};

describe("seed 000, JSON Patch examples", () => {
  it.each([
    [
      "add /user/preferences",
      { op: "add", path: "/user/preferences", value: { theme: "dark" } },
      { user: { name: "Ada" } },
      { user: { name: "Ada", preferences: { theme: "dark" } } },
    ],
    [
      "replace /conversation_state",
      { op: "replace", path: "/conversation_state", value: "paused" },
      { conversation_state: "active", a: 1 },
      { conversation_state: "paused", a: 1 },
    ],
    ["remove /temporary_data", { op: "remove", path: "/temporary_data" }, { temporary_data: [1], a: 1 }, { a: 1 }],
    [
      "move /pending_items/0 to /completed_items",
      { op: "move", path: "/completed_items", from: "/pending_items/0" },
      { pending_items: ["one", "two"], completed_items: [] },
      { pending_items: ["two"], completed_items: "one" },
    ],
    [
      "copy /current to /backup",
      { op: "copy", path: "/backup", from: "/current" },
      { current: { a: [1] } },
      { current: { a: [1] }, backup: { a: [1] } },
    ],
    ["test /version for 2", { op: "test", path: "/version", value: 2 }, { version: 2 }, { version: 2 }],
  ] as const)("000 %s", (_, operation, document, wanted) => {
    expect(applied(document, [operation])).toEqual(wanted);
  });

  it("000 test /version for 2 fails the whole patch where it is 3", () => {
    const document = { version: 3 };
    const patch = [
      { op: "add", path: "/a", value: 1 },
      { op: "test", path: "/version", value: 2 },
    ] as const;
    expect(applyPatch(document, patch).ok).toBe(false);
    expect(reduceAll([{ type: "STATE_DELTA", delta: patch }], { state: document }).state).toEqual({ version: 3 });
  });
});

const HELLO: readonly Event[] = [
  { type: "TEXT_MESSAGE_START", messageId: "msg1", role: "user" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "msg1", delta: "Hello " },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "msg1", delta: "world" },
  { type: "TEXT_MESSAGE_END", messageId: "msg1" },
];
const COUNTS: readonly Event[] = [
  { type: "STATE_DELTA", delta: [{ op: "add", path: "/count", value: 1 }] },
  { type: "STATE_DELTA", delta: [{ op: "replace", path: "/count", value: 2 }] },
];
const HELLO_WORLD: Event = { type: "MESSAGES_SNAPSHOT", messages: [user("msg1", "Hello world")] };
const COUNT_2: Event = { type: "STATE_SNAPSHOT", snapshot: { count: 2 } };
const MODES = ["events", "snapshot"] as const;

describe("seed 000, reasoning chunks", () => {
  it("000 REASONING_MESSAGE_CHUNK: the first names its message, which may be any string, also an empty one", () => {
    const chunk: Event = { type: "REASONING_MESSAGE_CHUNK", delta: "hm" };
    expect(ruleOf([started("r1"), chunk, finished("r1")])).toBe("chunk-first");
    const stream = door([started("r1"), { ...chunk, messageId: "" }, chunk, finished("r1")]);
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(throughArray(expanding(), stream)).messages).toEqual([
      { id: "", role: "reasoning", content: "hmhm" },
    ]);
  });
});

describe("seed 002, save and restore", () => {
  const session: readonly Event[] = [started("run1"), ...text("msg1", "Hello"), finished("run1")];

  it("002 events to JSON, to storage and back are the same events, and replay rebuilds the view", () => {
    const storage = new Map([["thread1", JSON.stringify(session)]]);
    const restored = door(JSON.parse(storage.get("thread1") ?? "") as readonly unknown[]);
    expect(restored).toEqual(session);
    expect(ruleOf(restored)).toBeUndefined();
    expect(reduceAll(restored)).toEqual(reduceAll(session));
    expect(reduceAll(restored)).toMatchObject({
      messages: [assistant("msg1", "Hello")],
      run: { status: "finished", runId: "run1" },
    });
  });

  it("002 debug what happened: a restored stream is replayed event by event, with a view after each", () => {
    const state = createReduceState();
    const seen = (JSON.parse(JSON.stringify(session)) as readonly Event[]).map((event) => {
      reduce(state, event);
      const { messages, run } = view(state);
      return [event.type, run.status, messages.map((message) => message.content)];
    });
    expect(seen).toEqual([
      ["RUN_STARTED", "running", []],
      ["TEXT_MESSAGE_START", "running", [""]],
      ["TEXT_MESSAGE_CONTENT", "running", ["Hello"]],
      ["TEXT_MESSAGE_END", "running", ["Hello"]],
      ["RUN_FINISHED", "finished", ["Hello"]],
    ]);
  });

  it.each([
    ["a content without messageId", { type: "TEXT_MESSAGE_CONTENT", delta: "Hello" }],
    ["an end without messageId", { type: "TEXT_MESSAGE_END" }],
    ["a start of a run without threadId", { type: "RUN_STARTED", runId: "run2", parentRunId: "run1" }],
    [
      "a message of an input without id and role",
      {
        type: "RUN_STARTED",
        threadId: "thread1",
        runId: "run1",
        input: { messages: [{ content: "Tell me about Paris" }] },
      },
    ],
  ])("002 the sketches leave required fields out: %s is malformed, and never guessed", (_, sketch) => {
    expect(() => door([started("run1"), ...text("msg1").slice(0, 1), sketch])).toThrow(
      expect.objectContaining({ code: "event-invalid" }),
    );
  });
});

const calling = (...deltas: readonly string[]): readonly Event[] => [
  { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "get_weather", parentMessageId: "m1" },
  ...deltas.map((delta): Event => ({ type: "TOOL_CALL_ARGS", toolCallId: "c1", delta })),
  { type: "TOOL_CALL_END", toolCallId: "c1" },
];

describe("seed 002, event compaction", () => {
  it("002 compaction example: the 4 events of Hello world are 1 MESSAGES_SNAPSHOT, 75 percent fewer", () => {
    const compacted = compact(HELLO, { mode: "snapshot" });
    expect(compacted).toEqual([HELLO_WORLD]);
    expect(compacted.length / HELLO.length).toBe(0.25);
    expect(reduceAll(compacted)).toEqual(reduceAll(HELLO));
  });

  it("002 compaction example, as a stream: start, one content and end, a quarter fewer", () => {
    const compacted = compact(HELLO, { mode: "events" });
    expect(compacted).toEqual([HELLO[0], { ...HELLO[1], delta: "Hello world" }, HELLO[3]]);
    expect(compacted.length / HELLO.length).toBe(0.75);
    expect(reduceAll(compacted)).toEqual(reduceAll(HELLO));
  });

  it("002 full compaction example: 6 events are 1 MESSAGES_SNAPSHOT and 1 STATE_SNAPSHOT", () => {
    const compacted = compact([...HELLO, ...COUNTS], { mode: "snapshot" });
    expect(compacted).toEqual([HELLO_WORLD, COUNT_2]);
    expect(reduceAll(compacted)).toEqual(reduceAll([...HELLO, ...COUNTS]));
  });

  it("002 the examples stand outside of any run: first-event under 1.0; inside a run the snapshots stay there", () => {
    expect(ruleOf(HELLO)).toBe("first-event");
    const { events, rules } = gateway(HELLO, { threadId: "thread1", runId: "run1" });
    expect(typesOf(events)).toEqual(["RUN_STARTED", ...typesOf(HELLO), "RUN_ERROR"]);
    expect(rules).toEqual(["first-event", "truncated"]);
    const run = [started("run1"), ...HELLO, ...COUNTS, finished("run1")];
    expect(compact(run, { mode: "snapshot" })).toEqual([started("run1"), HELLO_WORLD, COUNT_2, finished("run1")]);
  });

  it.each(MODES)("002 same meaning, less data: a restored run of 100 pieces in mode %s", (mode) => {
    const pieces = Array.from({ length: 100 }, (_, index) => `piece ${index} `);
    const saved = JSON.stringify([started("run1"), ...text("m1", ...pieces), ...COUNTS, finished("run1")]);
    const restored = JSON.parse(saved) as readonly Event[];
    const compacted = compact(restored, { mode });
    expect(compacted.length).toBeLessThanOrEqual(7);
    expect(JSON.stringify(compacted).length).toBeLessThan(saved.length / 4);
    expect(ruleOf(compacted)).toBeUndefined();
    expect(reduceAll(compacted)).toEqual(reduceAll(restored));
  });

  it("002 rule 1, TEXT_MESSAGE_START/CONTENT/END: a message in a MESSAGES_SNAPSHOT that holds the whole branch", () => {
    const first = [started("run1"), ...text("m1", "Hel", "lo"), finished("run1")];
    const second = [started("run2"), ...text("m2", "By", "e"), finished("run2")];
    expect(compact([...first, ...second], { mode: "snapshot" })).toEqual([
      started("run1"),
      { type: "MESSAGES_SNAPSHOT", messages: [assistant("m1", "Hello")] },
      finished("run1"),
      started("run2"),
      { type: "MESSAGES_SNAPSHOT", messages: [assistant("m1", "Hello"), assistant("m2", "Bye")] },
      finished("run2"),
    ]);
  });

  it("002 rule 2, several TEXT_MESSAGE_CONTENT: one string in order, in both modes", () => {
    const run = [started("run1"), ...text("m1", "a", "b", "c"), finished("run1")];
    expect(compact(run, { mode: "events" })).toEqual([started("run1"), ...text("m1", "abc"), finished("run1")]);
    expect(compact(run, { mode: "snapshot" })[1]).toEqual({
      type: "MESSAGES_SNAPSHOT",
      messages: [assistant("m1", "abc")],
    });
  });

  it("002 rule 3, TOOL_CALL_START/ARGS/END: one record on its message, or as a stream one TOOL_CALL_ARGS", () => {
    const parts = calling('{"location":', ' "Paris"', "}");
    const record = {
      id: "c1",
      type: "function",
      function: { name: "get_weather", arguments: '{"location": "Paris"}' },
    };
    expect(compact(parts, { mode: "snapshot" })).toEqual([
      { type: "MESSAGES_SNAPSHOT", messages: [{ id: "m1", role: "assistant", toolCalls: [record] }] },
    ]);
    expect(compact(parts, { mode: "events" })).toEqual(calling('{"location": "Paris"}'));
  });

  it("002 rule 4, several STATE_DELTA: one final STATE_SNAPSHOT, on the state that the run started from", () => {
    expect(compact(COUNTS, { mode: "snapshot" })).toEqual([COUNT_2]);
    const input = { threadId: "thread1", runId: "run1", messages: [], state: { kept: true } };
    const run = [started("run1", { input }), ...COUNTS, finished("run1")];
    for (const mode of MODES) {
      expect(compact(run, { mode })[1]).toEqual({ type: "STATE_SNAPSHOT", snapshot: { kept: true, count: 2 } });
      expect(reduceAll(compact(run, { mode }))).toEqual(reduceAll(run));
    }
    // Where nothing says what the deltas change, a stream keeps them: a snapshot would delete what it does not know.
    expect(compact(COUNTS, { mode: "events" })).toEqual(COUNTS);
    expect(compact(COUNTS, { mode: "events", state: { kept: true } })).toEqual([
      { type: "STATE_SNAPSHOT", snapshot: { kept: true, count: 2 } },
    ]);
  });

  it("002 rule 5, superseded snapshots: only the latest of each kind stays, as a stream of the state", () => {
    const states = [1, 2, 3].map((count): Event => ({ type: "STATE_SNAPSHOT", snapshot: { count } }));
    const lists = ["Hello", "Hello world"].map((content): Event => ({
      type: "MESSAGES_SNAPSHOT",
      messages: [user("msg1", content)],
    }));
    const run = [started("run1"), ...states.slice(0, 2), ...lists, ...states.slice(2), finished("run1")];
    const latest = [lists[1], states[2]];
    expect(compact(run, { mode: "snapshot" })).toEqual([started("run1"), ...latest, finished("run1")]);
    const kept = compact(run, { mode: "events" });
    expect(kept.filter(({ type }) => type === "STATE_SNAPSHOT")).toEqual(states.slice(2));
    expect(reduceAll(kept)).toEqual(reduceAll(run));
  });

  it("002 keep raw events: compaction, repair and restoring leave the log as it is, event by event", () => {
    const log = deepFreeze([started("run1"), ...HELLO, ...COUNTS, finished("run1")]);
    const before = JSON.stringify(log);
    for (const mode of MODES) expect(compact(log, { mode })).not.toEqual(log);
    expect(gateway(log).events).toEqual(log);
    expect(historyOf(entriesOf(log), "run1")).toEqual(log);
    reduceAll(log);
    expect(JSON.stringify(log)).toBe(before);
  });
});

/** A run that asks about a place and is answered, with ids made from the run's. */
const tell = (runId: string, question: string, place: string, more: object = {}): readonly Event[] => [
  started(runId, { input: { threadId: "thread1", runId, messages: [user(`q-${runId}`, question)] }, ...more }),
  ...text(`a-${runId}`, `About ${place}.`),
  finished(runId),
];
const contents = (events: readonly Event[]): readonly unknown[] =>
  reduceAll(events).messages.map(({ content }) => content);

describe("seed 002, run lineage", () => {
  const paris = tell("run1", "Tell me about Paris", "Paris");
  const london = tell("run2", "Tell me about London instead", "London", { parentRunId: "run1" });

  it("002 Paris and London: run2 hangs on run1 in the same thread, with its own input, and nothing is deleted", () => {
    const log = [...paris, ...london];
    expect(ruleOf(log)).toBeUndefined();
    const tree = lineage(entriesOf(log));
    expect(tree.runs.get("run2")).toMatchObject({ parentRunId: "run1" });
    expect(tree).toMatchObject({ roots: ["run1"], heads: ["run2"], problems: [] });
    expect(historyOf(entriesOf(log), "run1")).toEqual(paris);
    expect(log.find((event) => event.type === "RUN_STARTED" && event.runId === "run2")).toMatchObject({
      input: { messages: [{ content: "Tell me about London instead" }] },
    });
  });

  it("002 the example closes a run without its thread, which is filled in", () => {
    const { threadId, ...rest } = paris.at(-1) as { readonly threadId: string; readonly type: string };
    expect(threadId).toBe("thread1");
    expect(rest).toEqual({ type: "RUN_FINISHED", runId: "run1" });
    expect(door([...paris.slice(0, -1), rest])).toEqual(paris);
  });

  it("002 parentRunId run1 keeps the answer about Paris; a branch from before Paris names run1's parent", () => {
    expect(contents(historyOf(entriesOf([...paris, ...london]), "run2"))).toEqual([
      "Tell me about Paris",
      "About Paris.",
      "Tell me about London instead",
      "About London.",
    ]);
    const hello = tell("run0", "Hello", "me");
    const before = tell("run2", "Tell me about London instead", "London", { parentRunId: "run0" });
    const log = entriesOf([...hello, ...paris, ...before]);
    expect(lineage(log).runs.get("run2")).toMatchObject({ parentRunId: "run0", kind: "branch" });
    expect(contents(historyOf(log, "run2"))).toEqual([
      "Hello",
      "About me.",
      "Tell me about London instead",
      "About London.",
    ]);
    expect(contents(historyOf(log, "run1"))).toContain("About Paris.");
  });

  it("002 option B, branch from before Paris where Paris is the first run: an edit forks at the root", () => {
    const edited = user("q-run1", "Tell me about London instead");
    const messages = reduceAll(paris).messages.map((message) => ({ message, runId: "run1" }));
    const posted = { threadId: "thread1", runId: "run2", messages: [edited] };
    const verdict = reconcile(posted, { runs: [{ runId: "run1", ended: true }], messages });
    expect(verdict).toMatchObject({ verdict: "edit", forkAt: undefined, added: [edited], messages: [edited] });
    const place = { metadata: { [METADATA_KEY]: { lineage: { parent: null, kind: "branch" } } } };
    const log = entriesOf([...paris, started("run2", { input: posted, ...place }), finished("run2")]);
    expect(lineage(log)).toMatchObject({ roots: ["run1", "run2"], heads: ["run1", "run2"] });
    expect(contents(historyOf(log, "run2"))).toEqual(["Tell me about London instead"]);
    expect(historyOf(log, "run1")).toEqual(paris);
  });
});

describe("seed 002, the branch structure of five runs", () => {
  const runs = {
    run1: tell("run1", "Tell me about Paris", "Paris"),
    run2: tell("run2", "Tell me about London", "London", { parentRunId: "run1" }),
    run3: tell("run3", "Tell me about Tokyo", "Tokyo", { parentRunId: "run1" }),
    run4: tell("run4", "Go on", "the Thames", { parentRunId: "run2" }),
    run5: tell("run5", "Go on", "Shibuya", { parentRunId: "run3" }),
  };
  const log = Object.values(runs).flat();
  const entries = entriesOf(log);
  const tree = lineage(entries);

  it("002 five runs: run2 and run3 branch from run1, run4 from run2, run5 from run3", () => {
    expect(ruleOf(log)).toBeUndefined();
    expect([...tree.runs.values()].map(({ runId, parentRunId }) => [runId, parentRunId])).toEqual([
      ["run1", undefined],
      ["run2", "run1"],
      ["run3", "run1"],
      ["run4", "run2"],
      ["run5", "run3"],
    ]);
    expect(tree).toMatchObject({ roots: ["run1"], heads: ["run4", "run5"], problems: [] });
    expect(tree.runs.get("run1")?.children).toEqual(["run2", "run3"]);
    expect(commonAncestor(tree, "run4", "run5")).toBe("run1");
    expect(diffBranches(tree, "run4", "run3")).toEqual({ shared: ["run1"], onlyA: ["run2", "run4"], onlyB: ["run3"] });
  });

  it.each([
    ["run1", ["run1"]],
    ["run2", ["run1", "run2"]],
    ["run3", ["run1", "run3"]],
    ["run4", ["run1", "run2", "run4"]],
    ["run5", ["run1", "run3", "run5"]],
  ] as const)(
    "002 restoring a branch, getFullHistory(%s): its ancestors first, and no run beside them",
    (run, path) => {
      // The seed's own function: each run's events are put before those of its child.
      const expected: Event[] = [];
      for (const id of path.toReversed()) expected.unshift(...runs[id]);
      expect(branchOf(tree, run)).toEqual(path);
      expect(historyOf(entries, run)).toEqual(expected);
      expect(ruleOf(historyOf(entries, run))).toBeUndefined();
    },
  );

  it("002 restoring a branch at run3: the conversation is Paris and Tokyo, and London is not in it", () => {
    expect(contents(historyOf(entries, "run3"))).toEqual([
      "Tell me about Paris",
      "About Paris.",
      "Tell me about Tokyo",
      "About Tokyo.",
    ]);
    for (const mode of MODES) {
      expect(reduceAll(compact(historyOf(entries, "run3"), { mode }))).toEqual(reduceAll(historyOf(entries, "run3")));
    }
  });

  it("002 append-only: a sixth run from any run leaves the log a prefix and every earlier history as it was", () => {
    for (const parentRunId of Object.keys(runs)) {
      const longer = entriesOf([...log, ...tell("run6", "And Rome?", "Rome", { parentRunId })]);
      expect(longer.slice(0, entries.length)).toEqual(entries);
      expect(branchOf(lineage(longer), "run6")).toEqual([...branchOf(tree, parentRunId), "run6"]);
      for (const run of Object.keys(runs)) expect(historyOf(longer, run)).toEqual(historyOf(entries, run));
    }
  });
});

describe("seed 002, RUN_STARTED and input normalisation", () => {
  it("002 the RUN_STARTED event: threadId, runId, parentRunId and an input of messages alone", () => {
    const messages = [user("msg2", "New question")];
    const raw = { type: "RUN_STARTED", threadId: "thread1", runId: "run2", parentRunId: "run1", input: { messages } };
    const [event] = door([raw]);
    // 1.0 wants the ids in the input too: they are those of the event.
    expect(event).toEqual({ ...raw, input: { threadId: "thread1", runId: "run2", messages } });
    expect(reduceAll(door([raw]))).toMatchObject({ messages, run: { threadId: "thread1", runId: "run2" } });
    const { parentRunId, ...root } = raw;
    expect(parentRunId).toBe("run1");
    expect(door([root])).toHaveLength(1);
  });

  it("002 input normalisation: run 1 keeps its full input, run 2 only msg2; the parent chain gives msg1 back", () => {
    const [msg1, msg2] = [user("msg1", "Hello"), user("msg2", "How are you?")];
    const sent1: RunAgentInput = { threadId: "thread1", runId: "run1", messages: [msg1] };
    const sent2: RunAgentInput = { threadId: "thread1", runId: "run2", messages: [msg1, msg2] };
    const stored1 = normaliseInput(sent1, []);
    expect(stored1).toEqual(sent1);
    const run1 = [started("run1", { input: stored1 }), finished("run1")];
    const stored2 = normaliseInput(sent2, reduceAll(run1).messages);
    expect(stored2.messages).toEqual([msg2]);
    const log = entriesOf([...run1, started("run2", { parentRunId: "run1", input: stored2 }), finished("run2")]);
    const parent = lineage(log).runs.get("run2")?.parentRunId ?? "";
    expect(rebuildInput(stored2, reduceAll(historyOf(log, parent)).messages)).toEqual(sent2);
    expect(reduceAll(historyOf(log, "run2")).messages).toEqual([msg1, msg2]);
  });

  it("002 input normalisation, a branch over three runs: each run's full input comes back by its parents", () => {
    const sent: RunAgentInput[] = [];
    let log: readonly Event[] = [];
    let held: readonly Message[] = [];
    for (const [index, runId] of ["run1", "run2", "run3"].entries()) {
      const input = { threadId: "thread1", runId, messages: [...held, user(`msg${index}`, `Question ${index}`)] };
      sent.push(input);
      const stored = normaliseInput(input, held);
      expect(stored.messages).toHaveLength(1);
      const parent = index === 0 ? {} : { parentRunId: `run${index}` };
      log = [...log, started(runId, { ...parent, input: stored }), ...text(`a${index}`, "Answer"), finished(runId)];
      held = reduceAll(historyOf(entriesOf(log), runId)).messages;
    }
    const entries = entriesOf(log);
    const rebuilt = log.flatMap((event) => {
      if (event.type !== "RUN_STARTED" || event.input === undefined) return [];
      return rebuildInput(event.input, reduceAll(historyOf(entries, event.parentRunId ?? "")).messages);
    });
    expect(rebuilt).toEqual(sent);
    expect(held.map(({ id }) => id)).toEqual(["msg0", "a0", "msg1", "a1", "msg2", "a2"]);
  });
});

describe("seed 002, complete workflow", () => {
  const input = { threadId: "t1", runId: "run1", messages: [] };
  const session: readonly Event[] = [
    { type: "RUN_STARTED", runId: "run1", threadId: "t1", input },
    { type: "TEXT_MESSAGE_START", messageId: "m1", role: "user" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Hello" },
    { type: "TEXT_MESSAGE_END", messageId: "m1" },
    ...text("m2", "Hi ", "there!"),
    { type: "RUN_FINISHED", runId: "run1", threadId: "t1" },
  ];

  it("002 workflow 1 to 4: a saved session is restored by replay and by compaction to the same view", () => {
    expect(ruleOf(session)).toBeUndefined();
    const restored = JSON.parse(JSON.stringify(session)) as readonly Event[];
    const replayed = reduceAll(restored);
    expect(replayed).toEqual(reduceAll(session));
    expect(replayed.messages).toEqual([user("m1", "Hello"), assistant("m2", "Hi there!")]);
    for (const mode of MODES) {
      const compacted = compact(restored, { mode });
      expect(compacted.length).toBeLessThan(restored.length);
      expect(ruleOf(compacted)).toBeUndefined();
      expect(reduceAll(compacted)).toEqual(replayed);
    }
  });

  it("002 workflow 1, the user's message in the input and streamed under one id: 1.0 appends, so one must go", () => {
    const echoed: Event = {
      type: "RUN_STARTED",
      threadId: "t1",
      runId: "run1",
      input: { ...input, messages: [user("m1", "Hello")] },
    };
    const both = [echoed, ...session.slice(1)];
    expect(ruleOf(both)).toBeUndefined();
    expect(reduceAll(both).messages[0]).toEqual(user("m1", "HelloHello"));
    expect(reduceAll([echoed, ...session.slice(4)])).toEqual(reduceAll(session));
  });

  it("002 workflow 5: run2 continues run1 with the new message alone, after replay and after compaction alike", () => {
    const newMessage = user("m3", "How are you?");
    const next: readonly Event[] = [
      {
        type: "RUN_STARTED",
        threadId: "t1",
        runId: "run2",
        parentRunId: "run1",
        input: { threadId: "t1", runId: "run2", messages: [newMessage] },
      },
      { type: "RUN_FINISHED", threadId: "t1", runId: "run2" },
    ];
    const whole = [...session, ...next];
    expect(ruleOf(whole)).toBeUndefined();
    expect(lineage(entriesOf(whole)).runs.get("run2")).toMatchObject({ parentRunId: "run1", kind: "continue" });
    expect(reduceAll(whole).messages.map(({ id }) => id)).toEqual(["m1", "m2", "m3"]);
    for (const mode of MODES) {
      expect(reduceAll([...compact(session, { mode }), ...next])).toEqual(reduceAll(whole));
    }
  });
});

describe("seed 004, start, content, end and the lifecycle", () => {
  const message: readonly Event[] = [
    { type: "TEXT_MESSAGE_START", messageId: "msg-123", role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "msg-123", delta: "Hello" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "msg-123", delta: " there!" },
    { type: "TEXT_MESSAGE_END", messageId: "msg-123" },
  ];
  const call: readonly Event[] = [
    { type: "TOOL_CALL_START", toolCallId: "call-456", toolCallName: "get_weather" },
    { type: "TOOL_CALL_ARGS", toolCallId: "call-456", delta: '{"location":' },
    { type: "TOOL_CALL_ARGS", toolCallId: "call-456", delta: ' "Paris"}' },
    { type: "TOOL_CALL_END", toolCallId: "call-456" },
  ];
  const step: readonly Event[] = [
    { type: "STEP_STARTED", stepName: "plan" },
    { type: "STEP_FINISHED", stepName: "plan" },
  ];
  const failure: Event = { type: "RUN_ERROR", message: "no" };

  it("004 message example: four events are one message of the joined deltas", () => {
    const stream = [started("r1"), ...message, finished("r1")];
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(stream).messages).toEqual([assistant("msg-123", "Hello there!")]);
  });

  it("004 tool example: result comes in as content, with a messageId made from the call, and answers it", () => {
    const raw = { type: "TOOL_CALL_RESULT", toolCallId: "call-456", result: '{"temp": 22}' };
    expect(() => parseEvent(raw)).toThrow(expect.objectContaining({ code: "event-invalid" }));
    const stream = door([started("r1"), ...call, raw, finished("r1")]);
    expect(stream[5]).toEqual({
      type: "TOOL_CALL_RESULT",
      messageId: "result-call-456",
      toolCallId: "call-456",
      content: '{"temp": 22}',
    });
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(stream)).toMatchObject({
      pendingToolCallIds: [],
      messages: [
        { toolCalls: [{ id: "call-456", function: { name: "get_weather", arguments: '{"location": "Paris"}' } }] },
        { role: "tool", toolCallId: "call-456", content: '{"temp": 22}' },
      ],
    });
  });

  it("004 no content at all: the pattern allows any number, also none", () => {
    const stream = [started("r1"), ...text("m1"), call[0], call[3], finished("r1")] as readonly Event[];
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(stream).messages).toMatchObject([
      { content: "" },
      { toolCalls: [{ function: { arguments: "" } }] },
    ]);
  });

  it.each([
    ["finishes", finished("r1"), "finished"],
    ["fails", failure, "failed"],
  ])("004 mandatory lifecycle: RUN_STARTED, work, and a run that %s", (_, terminal, status) => {
    const stream = [started("r1"), ...message, ...call, ...step, terminal];
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(stream).run.status).toBe(status);
  });

  it.each([
    ["message", message],
    ["tool call", call],
    ["step", step],
  ])("004 mandatory lifecycle: a %s before, behind or without its run is refused, and repair says so", (_, work) => {
    expect(ruleOf([...work, started("r1"), finished("r1")])).toBe("first-event");
    expect(ruleOf([started("r1"), finished("r1"), ...work])).toBe("after-finish");
    expect(ruleOf([started("r1"), failure, ...work])).toBe("after-error");
    expect(ruleOf([started("r1"), ...work])).toBe("truncated");
    expect(ruleOf([started("r1"), ...work.slice(0, 1), finished("r1")])).toBe("open-at-finish");
    expect(ruleOf([started("r1"), finished("r1"), finished("r1")])).toBe("after-finish");
    expect(gateway([...work, started("r1"), finished("r1")], { threadId: "thread1", runId: "r1" })).toMatchObject({
      events: [started("r1"), ...work, finished("r1")],
      rules: ["first-event", "nested-run"],
    });
    expect(gateway([started("r1"), ...work]).events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "truncated" });
    expect(gateway([started("r1"), ...work.slice(0, 1), finished("r1")]).events).toEqual([
      started("r1"),
      work[0],
      work.at(-1),
      finished("r1"),
    ]);
  });

  it("004 steps: open between start and end; parallel blocks overlap", () => {
    const block: readonly Event[] = [
      { type: "STEP_STARTED", stepName: "parallel" },
      { type: "STEP_STARTED", stepName: "left" },
      { type: "STEP_STARTED", stepName: "right" },
      { type: "STEP_FINISHED", stepName: "left" },
    ];
    const rest: readonly Event[] = [
      { type: "STEP_FINISHED", stepName: "right" },
      { type: "STEP_FINISHED", stepName: "parallel" },
    ];
    expect(reduceAll([started("r1"), ...block]).steps).toEqual([{ name: "parallel" }, { name: "right" }]);
    const stream = [started("r1"), ...block, ...rest, finished("r1")];
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(stream).steps).toEqual([]);
  });

  it("004 StepSkipped as STEP_FINISHED alone: step-not-open under 1.0, and repair drops it", () => {
    const skipped: Event = { type: "STEP_FINISHED", stepName: "skipped" };
    expect(ruleOf([started("r1"), skipped, finished("r1")])).toBe("step-not-open");
    expect(gateway([started("r1"), skipped, finished("r1")])).toEqual({
      events: [started("r1"), finished("r1")],
      rules: ["step-not-open"],
    });
    expect(ruleOf([started("r1"), { type: "STEP_STARTED", stepName: "skipped" }, skipped, finished("r1")])).toBe(
      undefined,
    );
  });

  it("004 nested runs: a second RUN_STARTED is nested-run; nested work is a subagent inside one lifecycle", () => {
    const nested = [started("r1"), started("r2"), ...message, finished("r2"), finished("r1")];
    expect(ruleOf(nested)).toBe("nested-run");
    const subagent = { subagentRunId: "r2" };
    const stream: readonly Event[] = [
      started("r1"),
      { type: "SUBAGENT_STARTED", name: "nested", ...subagent },
      ...message.map((event) => ({ ...event, ...subagent }) as Event),
      { type: "SUBAGENT_FINISHED", ...subagent },
      finished("r1"),
    ];
    expect(ruleOf(stream)).toBeUndefined();
    expect(typesOf(stream).filter((type) => type.startsWith("RUN_"))).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
    expect(reduceAll(stream).subagents).toEqual([{ subagentRunId: "r2", name: "nested", status: "finished" }]);
    const failed = [...stream.slice(0, 3), failure];
    expect(ruleOf(failed)).toBeUndefined();
    expect(reduceAll(failed)).toMatchObject({ run: { status: "failed" }, subagents: [{ status: "abandoned" }] });
  });

  it("004 nested runs under one run id: repair drops the second start, and the first end ends the run", () => {
    const twice = [started("r1"), started("r1"), ...message, finished("r1"), ...step, finished("r1")];
    expect(ruleOf(twice)).toBe("nested-run");
    expect(gateway(twice)).toEqual({
      events: [started("r1"), ...message, finished("r1")],
      rules: ["nested-run", "after-finish", "after-finish", "after-finish"],
    });
  });

  it("004 ordering guarantees: order as received, ids tell the streams apart, deltas are joined in order", () => {
    const [m1, m2, m3, m4] = message as readonly [Event, Event, Event, Event];
    const [c1, c2, c3, c4] = call as readonly [Event, Event, Event, Event];
    const mixed = [started("r1"), m1, c1, m2, c2, c3, m3, c4, m4, finished("r1")];
    expect(ruleOf(mixed)).toBeUndefined();
    expect(reduceAll(mixed).messages).toMatchObject([
      { id: "msg-123", content: "Hello there!" },
      { toolCalls: [{ function: { arguments: '{"location": "Paris"}' } }] },
    ]);
    const swapped = [started("r1"), m1, m3, m2, m4, finished("r1")];
    expect(reduceAll(swapped).messages).toMatchObject([{ content: " there!Hello" }]);
  });

  it("004 a start opens a stream under its id: taken while it is open, and going on when it is opened again", () => {
    expect(ruleOf([started("r1"), ...message.slice(0, 1), ...message])).toBe("already-open");
    const again = [started("r1"), ...message, ...message, finished("r1")];
    expect(ruleOf(again)).toBeUndefined();
    expect(reduceAll(again).messages).toEqual([assistant("msg-123", "Hello there!Hello there!")]);
  });
});

describe("seed 004, state, activities and custom events", () => {
  const delta = [
    { op: "replace", path: "/progress", value: 75 },
    { op: "add", path: "/items/-", value: "new item" },
  ] as const;
  const change: Event = { type: "STATE_DELTA", delta };
  const wanted = { progress: 75, items: ["new item"] };

  it("004 state delta example: one delta replaces /progress and appends to /items", () => {
    const snapshot: Event = { type: "STATE_SNAPSHOT", snapshot: { progress: 0, items: [] } };
    const stream = [started("r1"), snapshot, change, finished("r1")];
    expect(ruleOf(stream)).toBeUndefined();
    expect(gateway(stream)).toEqual({ events: stream, rules: [] });
    expect(reduceAll(stream).state).toEqual(wanted);
  });

  it("004 state delta example on a fresh thread: nothing to replace, so it is skipped; repair lets it apply", () => {
    const stream = [started("r1"), change, finished("r1")];
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(stream).state).toEqual({});
    const { events, rules } = gateway(stream);
    expect(rules).toEqual(["patch-unappliable", "patch-unappliable"]);
    expect(reduceAll(events).state).toEqual(wanted);
  });

  it("004 state sync: a view after each event follows snapshots and deltas, and MESSAGES_SNAPSHOT the history", () => {
    const state = createReduceState();
    const events: readonly Event[] = [
      started("r1"),
      { type: "STATE_SNAPSHOT", snapshot: { progress: 0, items: [] } },
      change,
      { type: "STATE_SNAPSHOT", snapshot: { progress: 100 } },
      { type: "MESSAGES_SNAPSHOT", messages: [user("u1", "Hello")] },
    ];
    const seen = events.map((event) => {
      reduce(state, event);
      return view(state).state;
    });
    expect(seen).toEqual([{}, { progress: 0, items: [] }, wanted, { progress: 100 }, { progress: 100 }]);
    expect(view(state).messages).toEqual([user("u1", "Hello")]);
  });

  it("004 initial state: STATE_SNAPSHOT stands behind RUN_STARTED; before it, it is first-event and repaired", () => {
    const initial: Event = { type: "STATE_SNAPSHOT", snapshot: { progress: 0 } };
    const replace: Event = { type: "STATE_DELTA", delta: [{ op: "replace", path: "/progress", value: 75 }] };
    const stream = [started("r1"), initial, replace, finished("r1")];
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(stream.slice(0, 2)).state).toEqual({ progress: 0 });
    expect(reduceAll(stream).state).toEqual({ progress: 75 });
    const early = [initial, started("r1"), replace, finished("r1")];
    expect(ruleOf(early)).toBe("first-event");
    const { events, rules } = gateway(early, { threadId: "thread1", runId: "r1" });
    expect(rules).toEqual(["first-event", "nested-run"]);
    expect(events).toMatchObject(stream);
  });

  it("004 activities: a pending approval is shown, then approved; the question itself is an interrupt", () => {
    const approval = { messageId: "approval-1", activityType: "TOOL_APPROVAL" };
    const content = { toolCallId: "call-456", status: "pending" };
    const asked: readonly Event[] = [
      started("r1"),
      { type: "ACTIVITY_SNAPSHOT", ...approval, content },
      {
        type: "RUN_FINISHED",
        threadId: "thread1",
        runId: "r1",
        outcome: { type: "interrupt", interrupts: [{ id: "i1", reason: "approval", toolCallId: "call-456" }] },
      },
    ];
    const resume = [{ interruptId: "i1", status: "resolved", payload: { approved: true } }];
    const approved: readonly Event[] = [
      started("r2", { input: { threadId: "thread1", runId: "r2", messages: [], resume } }),
      { type: "ACTIVITY_DELTA", ...approval, patch: [{ op: "replace", path: "/status", value: "approved" }] },
      finished("r2"),
    ];
    const shown = { id: "approval-1", role: "activity", activityType: "TOOL_APPROVAL" };
    expect(reduceAll(asked)).toMatchObject({
      messages: [{ ...shown, content }],
      interrupts: [{ id: "i1" }],
      run: { status: "interrupted" },
    });
    const stream = door([...asked, ...approved]);
    expect(ruleOf(stream)).toBeUndefined();
    expect(reduceAll(stream)).toMatchObject({
      messages: [{ ...shown, content: { ...content, status: "approved" } }],
      interrupts: [],
      run: { status: "finished" },
    });
    for (const mode of MODES) expect(reduceAll(compact(stream, { mode }))).toEqual(reduceAll(stream));
  });

  it("004 custom events: a route and a loop pass in their place, through repair and compaction too", () => {
    const custom: readonly Event[] = [
      { type: "CUSTOM", name: "gains.route_selected", value: { stepName: "triage", routeName: "billing" } },
      { type: "CUSTOM", name: "gains.loop_iteration", value: { stepName: "refine", iteration: 2 } },
    ];
    const stream = [started("r1"), ...custom, finished("r1")];
    expect(ruleOf(stream)).toBeUndefined();
    expect(door(stream)).toEqual(stream);
    expect(gateway(stream)).toEqual({ events: stream, rules: [] });
    for (const mode of MODES) expect(compact(stream, { mode })).toEqual(stream);
    expect(ruleOf([...custom, ...stream])).toBe("first-event");
  });
});
