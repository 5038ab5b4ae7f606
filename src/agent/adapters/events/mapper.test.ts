import { describe, expect, test } from "vitest";
import { defineAgent, runAgent } from "../../index.ts";
import { decodeSse, encodeSse, parseEvent } from "../../../protocol/index.ts";
import type { Event, RunAgentInput } from "../../../protocol/index.ts";
import { createVerifyState, reduceAll, verify, verifyEnd } from "../../../stream/index.ts";
import { EVENT_MAPPING, createMapper, toNativeMessages } from "./index.ts";
import type { Mapper, MapperOptions, MapperReport, NativeEvent, NativeMessage } from "./index.ts";

interface Told {
  readonly mapper: Mapper;
  readonly reports: readonly MapperReport[];
}

/** A mapper as the seed's tests use it: custom events are named `gains.`. */
function gains(options: MapperOptions = {}): Told {
  const reports: MapperReport[] = [];
  const onReport = (report: MapperReport): void => void reports.push(report);
  return { mapper: createMapper("t1", "r1", { prefix: "gains.", onReport, ...options }), reports };
}

const typesOf = (events: readonly Event[]): string[] => events.map(({ type }) => type);

function mustVerify(events: readonly Event[]): void {
  const state = createVerifyState();
  for (const event of events) {
    parseEvent(event);
    verify(state, event);
  }
  verifyEnd(state);
}

/** A whole source, event by event, ended by nobody. Everything that comes out is a valid run. */
function mapped(source: readonly NativeEvent[], options?: MapperOptions) {
  const { mapper, reports } = gains(options);
  const events = source.flatMap((event) => mapper.mapEvent(event));
  mustVerify(events);
  return { events, reports };
}

/** What a source that is in order becomes between RUN_STARTED and RUN_FINISHED. */
function within(...work: readonly NativeEvent[]): readonly Event[] {
  const { events, reports } = mapped([{ type: "run_start" }, ...work, { type: "run_end" }]);
  expect(reports).toEqual([]);
  return events.slice(1, -1);
}

async function collect(events: AsyncIterable<Event>): Promise<readonly Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event);
  mustVerify(all);
  return all;
}

const MESSAGE: readonly NativeEvent[] = [
  { type: "message_start", messageId: "msg-123", role: "assistant" },
  { type: "message_delta", messageId: "msg-123", delta: "Hello" },
  { type: "message_delta", messageId: "msg-123", delta: " there!" },
  { type: "message_end", messageId: "msg-123" },
];

const CALL: readonly NativeEvent[] = [
  { type: "tool_call_start", toolCallId: "call-456", toolCallName: "get_weather" },
  { type: "tool_call_args", toolCallId: "call-456", delta: '{"location":' },
  { type: "tool_call_args", toolCallId: "call-456", delta: ' "Paris"}' },
  { type: "tool_call_end", toolCallId: "call-456" },
  { type: "tool_call_result", toolCallId: "call-456", result: '{"temp": 22}' },
];

/** An agent library with a run inside its run. */
const echo = (messages: readonly NativeMessage[]): readonly NativeEvent[] => [
  { type: "run_start" },
  { type: "message_start", messageId: "m1" },
  { type: "message_delta", messageId: "m1", delta: `You said ${String(messages[0]?.content)}` },
  { type: "message_end", messageId: "m1" },
  { type: "run_end" },
  { type: "run_end" },
];

describe("the mapping table", () => {
  test("004 run lifecycle: the outermost start and end are RUN_STARTED and RUN_FINISHED, with the run's ids", () => {
    const { events } = mapped([{ type: "run_start" }, { type: "run_end", result: { ok: true } }]);
    expect(events).toEqual([
      { type: "RUN_STARTED", threadId: "t1", runId: "r1", protocolVersion: "1.0" },
      { type: "RUN_FINISHED", threadId: "t1", runId: "r1", result: { ok: true } },
    ]);
  });

  test("004 run lifecycle: an error of the run is RUN_ERROR, and closes what is open", () => {
    const { events } = mapped([
      { type: "run_start" },
      ...MESSAGE.slice(0, 2),
      { type: "run_error", message: "boom", code: "E1" },
    ]);
    expect(typesOf(events)).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "RUN_ERROR",
    ]);
    expect(events.at(-1)).toEqual({ type: "RUN_ERROR", message: "boom", code: "E1" });
  });

  test("004 message example: the four events come out as shown", () => {
    expect(within(...MESSAGE)).toEqual([
      { type: "TEXT_MESSAGE_START", messageId: "msg-123", role: "assistant" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "msg-123", delta: "Hello" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "msg-123", delta: " there!" },
      { type: "TEXT_MESSAGE_END", messageId: "msg-123" },
    ]);
  });

  test("004 tool example: the five events come out as shown, the result as content with a messageId of its own", () => {
    expect(within(...CALL)).toEqual([
      { type: "TOOL_CALL_START", toolCallId: "call-456", toolCallName: "get_weather" },
      { type: "TOOL_CALL_ARGS", toolCallId: "call-456", delta: '{"location":' },
      { type: "TOOL_CALL_ARGS", toolCallId: "call-456", delta: ' "Paris"}' },
      { type: "TOOL_CALL_END", toolCallId: "call-456" },
      {
        type: "TOOL_CALL_RESULT",
        messageId: "result-call-456",
        toolCallId: "call-456",
        content: '{"temp": 22}',
        role: "tool",
      },
    ]);
  });

  test("004 tool results: a messageId of the source is kept, and a failure stands in the metadata", () => {
    const result: NativeEvent = {
      type: "tool_call_result",
      toolCallId: "call-456",
      result: "no such city",
      messageId: "m9",
      error: "unknown",
    };
    expect(within(...CALL.slice(0, 4), result).at(-1)).toMatchObject({
      messageId: "m9",
      content: "no such city",
      metadata: { heddle: { error: "unknown" } },
    });
  });

  test("004 steps: steps, iterations and parallel blocks are STEP_STARTED and STEP_FINISHED", () => {
    const events = within(
      { type: "parallel_start", stepName: "fan-out" },
      { type: "step_start", stepName: "left" },
      { type: "step_start", stepName: "right" },
      { type: "step_end", stepName: "left" },
      { type: "step_end", stepName: "right" },
      { type: "parallel_end", stepName: "fan-out" },
    );
    expect(events).toEqual([
      { type: "STEP_STARTED", stepName: "fan-out" },
      { type: "STEP_STARTED", stepName: "left" },
      { type: "STEP_STARTED", stepName: "right" },
      { type: "STEP_FINISHED", stepName: "left" },
      { type: "STEP_FINISHED", stepName: "right" },
      { type: "STEP_FINISHED", stepName: "fan-out" },
    ]);
  });

  test("004 StepSkipped: STEP_FINISHED; a step that never began is opened first", () => {
    const finished = { type: "STEP_FINISHED", stepName: "maybe", metadata: { heddle: { skipped: true } } };
    expect(within({ type: "step_start", stepName: "maybe" }, { type: "step_skipped", stepName: "maybe" })).toEqual([
      { type: "STEP_STARTED", stepName: "maybe" },
      finished,
    ]);
    expect(within({ type: "step_skipped", stepName: "maybe" })).toEqual([
      { type: "STEP_STARTED", stepName: "maybe" },
      finished,
    ]);
  });

  test("004 state: snapshot and delta are STATE_SNAPSHOT and STATE_DELTA, and the fold follows", () => {
    const events = within(
      { type: "state_snapshot", state: { progress: 0, items: [] } },
      { type: "state_delta", patch: [{ op: "replace", path: "/progress", value: 75 }] },
    );
    expect(events).toEqual([
      { type: "STATE_SNAPSHOT", snapshot: { progress: 0, items: [] } },
      { type: "STATE_DELTA", delta: [{ op: "replace", path: "/progress", value: 75 }] },
    ]);
    expect(reduceAll(events).state).toEqual({ progress: 75, items: [] });
  });

  test("004 MessagesSnapshot: the full history, in AG-UI's form", () => {
    const events = within({
      type: "messages_snapshot",
      messages: [
        { id: "u1", role: "user", content: "Weather?" },
        { role: "assistant", toolCalls: [{ id: "c1", name: "get_weather", arguments: "{}" }] },
        { id: "a1", role: "tool", toolResults: [{ toolCallId: "c1", content: "sunny" }] },
      ],
    });
    expect(events).toEqual([
      {
        type: "MESSAGES_SNAPSHOT",
        messages: [
          { id: "u1", role: "user", content: "Weather?" },
          {
            id: "r1-message-2",
            role: "assistant",
            toolCalls: [{ id: "c1", type: "function", function: { name: "get_weather", arguments: "{}" } }],
          },
          { id: "a1", role: "tool", toolCallId: "c1", content: "sunny" },
        ],
      },
    ]);
  });

  test("004 activities: a pending approval appears and is given; the decision itself is an interrupt", () => {
    const activity = { activityId: "call-456", activityType: "tool_approval" } as const;
    const { events } = mapped([
      { type: "run_start" },
      { type: "activity_snapshot", ...activity, content: { status: "pending" } },
      { type: "activity_delta", ...activity, patch: [{ op: "replace", path: "/status", value: "approved" }] },
      { type: "run_end", outcome: { type: "interrupt", interrupts: [{ id: "i1", reason: "approval" }] } },
    ]);
    expect(events.slice(1, 3)).toEqual([
      {
        type: "ACTIVITY_SNAPSHOT",
        messageId: "call-456",
        activityType: "tool_approval",
        content: { status: "pending" },
      },
      {
        type: "ACTIVITY_DELTA",
        messageId: "call-456",
        activityType: "tool_approval",
        patch: [{ op: "replace", path: "/status", value: "approved" }],
      },
    ]);
    expect(reduceAll(events)).toMatchObject({
      messages: [{ role: "activity", content: { status: "approved" } }],
      run: { status: "interrupted" },
      interrupts: [{ id: "i1" }],
    });
  });

  test("004 custom events: a route and a loop are CUSTOM under the prefix, heddle. by default", () => {
    const work: readonly NativeEvent[] = [
      { type: "route_selected", stepName: "triage", routeName: "billing" },
      { type: "loop_iteration", stepName: "refine", iteration: 2 },
    ];
    expect(within(...work)).toEqual([
      { type: "CUSTOM", name: "gains.route_selected", value: { stepName: "triage", routeName: "billing" } },
      { type: "CUSTOM", name: "gains.loop_iteration", value: { stepName: "refine", iteration: 2 } },
    ]);
    const mapper = createMapper("t1", "r1");
    expect(work.flatMap((event) => mapper.mapEvent(event))).toMatchObject([
      { type: "RUN_STARTED" },
      { name: "heddle.route_selected" },
      { name: "heddle.loop_iteration" },
    ]);
  });

  test("004 one to one: in a source in order, each event becomes the one event of the table", () => {
    const source: readonly NativeEvent[] = [
      { type: "run_start" },
      { type: "step_start", stepName: "s1" },
      ...MESSAGE,
      ...CALL,
      { type: "step_end", stepName: "s1" },
      { type: "step_start", stepName: "s2" },
      { type: "step_skipped", stepName: "s2" },
      { type: "parallel_start", stepName: "p" },
      { type: "parallel_end", stepName: "p" },
      { type: "route_selected", stepName: "s1", routeName: "a" },
      { type: "loop_iteration", stepName: "s1", iteration: 1 },
      { type: "state_snapshot", state: { n: 1 } },
      { type: "state_delta", patch: [{ op: "replace", path: "/n", value: 2 }] },
      { type: "messages_snapshot", messages: [] },
      { type: "activity_snapshot", activityId: "a1", activityType: "loading", content: {} },
      { type: "activity_delta", activityId: "a1", activityType: "loading", patch: [] },
      { type: "run_end" },
      { type: "run_error", message: "too late to be fine" },
    ];
    const { mapper, reports } = gains();
    const pairs = source.map((event) => [event.type, typesOf(mapper.mapEvent(event))] as const);
    expect(pairs).toEqual(source.map(({ type }) => [type, [EVENT_MAPPING[type]]]));
    expect(new Set(source.map(({ type }) => type))).toEqual(new Set(Object.keys(EVENT_MAPPING)));
    expect(reports).toEqual([]);
  });

  test("timestamps of the source are kept", () => {
    expect(within({ type: "step_start", stepName: "s", timestamp: 7 }, { type: "step_end", stepName: "s" })).toEqual([
      { type: "STEP_STARTED", stepName: "s", timestamp: 7 },
      { type: "STEP_FINISHED", stepName: "s" },
    ]);
  });
});

describe("nested runs", () => {
  test("004 nested runs: depth 1, 2, 1, 0; one lifecycle outside, a subagent inside", () => {
    const { mapper, reports } = gains();
    const step = (event: NativeEvent) => [typesOf(mapper.mapEvent(event)), mapper.depth];
    expect(step({ type: "run_start" })).toEqual([["RUN_STARTED"], 1]);
    expect(step({ type: "run_start" })).toEqual([["SUBAGENT_STARTED"], 2]);
    expect(step({ type: "run_end" })).toEqual([["SUBAGENT_FINISHED"], 1]);
    expect(step({ type: "run_end" })).toEqual([["RUN_FINISHED"], 0]);
    expect(reports).toEqual([]);
  });

  test("004 nested runs: what an inner run says is its subagent's, and exactly one run is seen", () => {
    const { events, reports } = mapped([
      { type: "run_start", name: "workflow" },
      { type: "step_start", stepName: "research" },
      { type: "run_start", name: "researcher", description: "find it" },
      ...MESSAGE,
      { type: "run_start", name: "reader" },
      ...CALL,
      { type: "run_end", result: 1 },
      { type: "run_end", result: 2 },
      { type: "step_end", stepName: "research" },
      { type: "run_end" },
    ]);
    expect(reports).toEqual([]);
    expect(typesOf(events).filter((type) => type.startsWith("RUN_"))).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
    expect(events.filter(({ type }) => type.startsWith("SUBAGENT_"))).toEqual([
      { type: "SUBAGENT_STARTED", subagentRunId: "r1-subagent-1", name: "researcher", description: "find it" },
      {
        type: "SUBAGENT_STARTED",
        subagentRunId: "r1-subagent-2",
        name: "reader",
        parentSubagentRunId: "r1-subagent-1",
      },
      { type: "SUBAGENT_FINISHED", subagentRunId: "r1-subagent-2", result: 1 },
      { type: "SUBAGENT_FINISHED", subagentRunId: "r1-subagent-1", result: 2 },
    ]);
    const lanes = (prefix: string) =>
      new Set(events.flatMap((e) => (e.type.startsWith(prefix) && "subagentRunId" in e ? [e.subagentRunId] : [])));
    expect(lanes("TEXT_MESSAGE_")).toEqual(new Set(["r1-subagent-1"]));
    expect(lanes("TOOL_CALL_")).toEqual(new Set(["r1-subagent-2"]));
    expect(lanes("STEP_")).toEqual(new Set());
  });

  test("004 nested runs: runs in parallel are told apart by their ids, and what began in one stays its own", () => {
    const { events, reports } = mapped([
      { type: "run_start", runId: "top" },
      { type: "parallel_start", stepName: "both" },
      { type: "run_start", runId: "a", name: "A", parentRunId: "top" },
      { type: "run_start", runId: "b", name: "B", parentRunId: "top" },
      { type: "message_start", messageId: "ma", runId: "a" },
      { type: "message_start", messageId: "mb", runId: "b" },
      { type: "message_delta", messageId: "ma", delta: "from a" },
      { type: "run_end", runId: "b" },
      { type: "message_end", messageId: "ma" },
      { type: "message_delta", messageId: "mb", delta: "late", runId: "b" },
      { type: "message_end", messageId: "mb", runId: "b" },
      { type: "run_end", runId: "a" },
      { type: "parallel_end", stepName: "both" },
      { type: "run_end", runId: "top" },
    ]);
    expect(reports).toEqual([]);
    const view = reduceAll(events);
    expect(view.messages).toMatchObject([
      { id: "ma", content: "from a", subagentRunId: "a" },
      { id: "mb", content: "late", subagentRunId: "b" },
    ]);
    expect(view.subagents).toEqual([
      { subagentRunId: "a", name: "A", status: "finished" },
      { subagentRunId: "b", name: "B", status: "finished" },
    ]);
    expect(events.filter((event) => "parentSubagentRunId" in event)).toEqual([]);
  });

  test.each([1, 2, 3])(
    "004 error bubbling: an error at depth %i fails its run, those around it, and the run",
    (depth) => {
      const opened = Array.from({ length: depth }, (): NativeEvent => ({ type: "run_start" }));
      const { events } = mapped([...opened, { type: "run_error", message: "boom", code: "E1" }]);
      const failures = events.slice(depth);
      const reason = { message: "boom", code: "E1" };
      const inner = Array.from({ length: depth - 1 }, (_, index) => ({
        type: "SUBAGENT_ERROR",
        subagentRunId: `r1-subagent-${depth - 1 - index}`,
        ...reason,
      }));
      expect(failures).toEqual([...inner, { type: "RUN_ERROR", ...reason }]);
    },
  );

  test("004 error bubbling: what the source sends after its error is dropped and reported", () => {
    const late: readonly NativeEvent[] = [{ type: "run_end" }, ...MESSAGE, { type: "run_error", message: "again" }];
    const { events, reports } = mapped([
      { type: "run_start" },
      { type: "run_start" },
      { type: "run_error", message: "boom" },
      ...late,
    ]);
    expect(typesOf(events).slice(2)).toEqual(["SUBAGENT_ERROR", "RUN_ERROR"]);
    expect(reports.map(({ kind, event }) => [kind, event])).toEqual(late.map((event) => ["dropped", event]));
    expect(reports[0]?.message).toBe("run_end comes after the end of the run. It is dropped.");
  });

  test("004 error bubbling: an error before the run, or after its end, is RUN_ERROR too", () => {
    expect(typesOf(mapped([{ type: "run_error", message: "no start" }]).events)).toEqual(["RUN_ERROR"]);
    const { events } = mapped([{ type: "run_start" }, { type: "run_end" }, { type: "run_error", message: "late" }]);
    expect(typesOf(events)).toEqual(["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"]);
  });

  test("004 error bubbling: an inner error that the run around it handles ends the inner run only", () => {
    const { events, reports } = mapped([
      { type: "run_start" },
      { type: "run_start", runId: "a" },
      { type: "run_error", message: "no luck", isHandled: true },
      ...MESSAGE,
      { type: "run_end" },
    ]);
    expect(reports).toEqual([]);
    expect(reduceAll(events)).toMatchObject({
      run: { status: "finished" },
      subagents: [{ subagentRunId: "a", status: "failed" }],
      messages: [{ content: "Hello there!" }],
    });
    expect(reduceAll(events).messages[0]).not.toHaveProperty("subagentRunId");
  });

  test("an inner run that waits is suspended, one that was stopped is no success", () => {
    const interrupts = [{ id: "i1", reason: "approval" }];
    const { events, reports } = mapped([
      { type: "run_start" },
      { type: "run_start", runId: "a" },
      { type: "run_end", outcome: { type: "cancelled" }, usage: [{ inputTokens: 1 }] },
      { type: "run_start", runId: "b" },
      { type: "run_end", outcome: { type: "interrupt", interrupts } },
      { type: "run_end", outcome: { type: "interrupt", interrupts }, usage: [{ inputTokens: 2 }] },
    ]);
    expect(reduceAll(events)).toMatchObject({
      subagents: [{ status: "failed" }, { status: "suspended" }],
      run: { status: "interrupted", usage: [{ inputTokens: 2 }] },
    });
    expect(reports).toMatchObject([{ kind: "dropped", message: "Only the outermost run_end carries usage." }]);
  });
});

describe("the run around a source", () => {
  test("004 initial state: STATE_SNAPSHOT right behind RUN_STARTED", () => {
    const { events } = mapped([{ type: "run_start" }, { type: "run_end" }], { initialState: { progress: 0 } });
    expect(events).toMatchObject([
      { type: "RUN_STARTED" },
      { type: "STATE_SNAPSHOT", snapshot: { progress: 0 } },
      { type: "RUN_FINISHED" },
    ]);
  });

  test("004 initial state: without one, no STATE_SNAPSHOT is sent", () => {
    const { events } = mapped([{ type: "run_start" }, ...MESSAGE, { type: "run_end" }]);
    expect(typesOf(events)).not.toContain("STATE_SNAPSHOT");
  });

  test("004 state delta example: stateDelta replaces /progress and appends to /items in one event", () => {
    const { mapper, reports } = gains({ initialState: { progress: 0, items: [] } });
    const events = [
      ...mapper.runStarted(),
      ...mapper.stateDelta(
        { op: "replace", path: "/progress", value: 75 },
        { op: "add", path: "/items/-", value: "new item" },
      ),
      ...mapper.runFinished(),
    ];
    mustVerify(events);
    expect(typesOf(events)).toEqual(["RUN_STARTED", "STATE_SNAPSHOT", "STATE_DELTA", "RUN_FINISHED"]);
    expect(reduceAll(events).state).toEqual({ progress: 75, items: ["new item"] });
    expect(reports).toEqual([]);
  });

  test("004 server lifecycle: written around a source with a lifecycle of its own, each comes exactly once", () => {
    const { mapper, reports } = gains({ initialState: {} });
    const source: readonly NativeEvent[] = [{ type: "run_start" }, ...MESSAGE, { type: "run_end" }];
    const events = [
      ...mapper.runStarted(),
      ...source.flatMap((event) => mapper.mapEvent(event)),
      ...mapper.runFinished(),
    ];
    mustVerify(events);
    expect(typesOf(events).filter((type) => /^RUN_|^STATE_/.test(type))).toEqual([
      "RUN_STARTED",
      "STATE_SNAPSHOT",
      "RUN_FINISHED",
    ]);
    expect(mapper.runStarted()).toEqual([]);
    expect(reports).toEqual([]);
  });

  test("004 basic usage: a server maps event by event, with the ids and messages of its input, and writes SSE", async () => {
    const input: RunAgentInput = {
      threadId: "thread-9",
      runId: "run-9",
      messages: [{ id: "u1", role: "user", content: "Hi" }],
    };
    const mapper = createMapper(input.threadId, input.runId);
    const native = [{ type: "run_start" } as const, ...echo(toNativeMessages(input.messages))];
    const written = [
      ...mapper.runStarted(),
      ...native.flatMap((event) => mapper.mapEvent(event)),
      ...mapper.runFinished(),
    ];
    const body = written.map((event) => encodeSse(event)).join("");
    const events: Event[] = [];
    for await (const { value } of decodeSse([body])) {
      const event = parseEvent(value).value;
      if (event !== undefined) events.push(event);
    }
    expect(events).toEqual(written);
    mustVerify(events);
    expect(events[0]).toMatchObject({ type: "RUN_STARTED", threadId: "thread-9", runId: "run-9" });
    expect(reduceAll(events)).toMatchObject({
      messages: [{ id: "m1", content: "You said Hi" }],
      run: { status: "finished", runId: "run-9" },
    });
  });

  test.each([
    ["finishes", { type: "run_end" }, "RUN_FINISHED", "finished"],
    ["fails inside", { type: "run_error", message: "boom", code: "E1" }, "RUN_ERROR", "failed"],
  ] as const)(
    "004 server lifecycle: as an agent of ours, a source that %s has one start and one end",
    async (_, last, terminal, status) => {
      const source: readonly NativeEvent[] = [
        { type: "run_start" },
        { type: "run_start", runId: "a" },
        ...MESSAGE,
        last,
      ];
      const agent = defineAgent({
        name: "mapped",
        run: ({ input: { threadId, runId } }) => createMapper(threadId, runId).mapStream([...source, last]),
      });
      const events = await collect(runAgent(agent, { threadId: "t1", runId: "r1", messages: [] }));
      expect(typesOf(events).filter((type) => type.startsWith("RUN_"))).toEqual(["RUN_STARTED", terminal]);
      expect(reduceAll(events)).toMatchObject({
        messages: [{ content: "Hello there!", subagentRunId: "a" }],
        run: { status },
        subagents: [{ subagentRunId: "a", status }],
      });
    },
  );

  test("004 workflow usage: a whole stream with an initial state, without what maps to nothing", async () => {
    const { mapper, reports } = gains({ initialState: { progress: 0 } });
    mapper.runStarted();
    const source: readonly NativeEvent[] = [
      { type: "run_start" },
      { type: "step_start", stepName: "work" },
      { type: "state_delta", patch: [{ op: "replace", path: "/progress", value: 100 }] },
      { type: "step_end", stepName: "work" },
      { type: "run_end" },
    ];
    const whole = gains({ initialState: { progress: 0 } });
    const events = await collect(whole.mapper.mapStream(source));
    expect(typesOf(events)).toEqual([
      "RUN_STARTED",
      "STATE_SNAPSHOT",
      "STEP_STARTED",
      "STATE_DELTA",
      "STEP_FINISHED",
      "RUN_FINISHED",
    ]);
    expect(reduceAll(events).state).toEqual({ progress: 100 });
    const rest: Event[] = [];
    for await (const event of mapper.mapStream(source)) rest.push(event);
    expect(typesOf(rest)).toEqual(["STEP_STARTED", "STATE_DELTA", "STEP_FINISHED", "RUN_FINISHED"]);
    expect([...reports, ...whole.reports]).toEqual([]);
  });

  test("events of a stream come as the source gives them, not at its end", async () => {
    const gate = Promise.withResolvers<void>();
    async function* source(): AsyncGenerator<NativeEvent> {
      yield { type: "run_start" };
      yield* MESSAGE.slice(0, 2);
      await gate.promise;
      yield* MESSAGE.slice(2);
      yield { type: "run_end" };
    }
    const events = createMapper("t1", "r1").mapStream(source());
    const first = [await events.next(), await events.next(), await events.next()];
    expect(first.map(({ value }) => value?.type)).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
    ]);
    gate.resolve();
    const rest: Event[] = [];
    for await (const event of events) rest.push(event);
    expect(typesOf(rest)).toEqual(["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]);
  });

  test("a source without runs of its own gets one around it; one with nothing too", async () => {
    const { mapper, reports } = gains();
    const events = await collect(mapper.mapStream(MESSAGE));
    expect([events[0]?.type, events.at(-1)?.type, events.length]).toEqual(["RUN_STARTED", "RUN_FINISHED", 6]);
    expect(typesOf(await collect(gains().mapper.mapStream([])))).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
    expect(reports).toEqual([]);
  });

  test("a source that throws fails the run from its depth, with the reason, and is reported", async () => {
    const boom = new Error("the model is down");
    async function* source(): AsyncGenerator<NativeEvent> {
      yield { type: "run_start" };
      yield { type: "run_start", runId: "a" };
      yield* MESSAGE.slice(0, 2);
      throw boom;
    }
    const { mapper, reports } = gains();
    const events = await collect(mapper.mapStream(source()));
    expect(events.slice(-3)).toEqual([
      { type: "TEXT_MESSAGE_END", messageId: "msg-123", subagentRunId: "a" },
      { type: "SUBAGENT_ERROR", subagentRunId: "a", message: "the model is down", code: "agent-failed" },
      { type: "RUN_ERROR", message: "the model is down", code: "agent-failed" },
    ]);
    expect(reports).toEqual([{ kind: "failed", message: "the model is down", error: boom }]);
  });

  test("a source that stops in the middle of its run was cut off: no success", async () => {
    const { mapper, reports } = gains();
    const events = await collect(mapper.mapStream([{ type: "run_start" }, ...MESSAGE.slice(0, 2)]));
    expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "truncated" });
    expect(reports.at(-1)).toMatchObject({ kind: "repaired", rule: "truncated" });
  });

  test("a malformed value is refused before anything changes, and ends a stream as event-invalid", async () => {
    const bad: NativeEvent = { type: "message_start", messageId: "m1" };
    Reflect.set(bad, "messageId", 7);
    const { mapper } = gains();
    expect(() => mapper.mapEvent(bad)).toThrow(expect.objectContaining({ code: "event-invalid" }));
    const events = MESSAGE.flatMap((event) => mapper.mapEvent(event));
    expect(typesOf(events)[0]).toBe("RUN_STARTED");
    mustVerify([...events, ...mapper.runFinished()]);
    const failed = await collect(gains().mapper.mapStream([{ type: "run_start" }, bad]));
    expect(failed.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "event-invalid" });
  });

  test("004 mapper state: what is out of order is put right or dropped, and named", () => {
    const unknown: NativeEvent = { type: "run_start" };
    Reflect.set(unknown, "type", "retry_attempt");
    const { events, reports } = mapped([
      { type: "run_start" },
      unknown,
      { type: "message_delta", messageId: "m1", delta: "nobody opened me" },
      { type: "step_end", stepName: "never" },
      { type: "run_end", runId: "stranger" },
      { type: "step_start", stepName: "s", runId: "stranger" },
      { type: "run_end" },
    ]);
    expect(typesOf(events)).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "STEP_STARTED",
      "TEXT_MESSAGE_END",
      "STEP_FINISHED",
      "RUN_FINISHED",
    ]);
    expect(reports.map(({ kind, rule, event }) => [kind, rule, event?.type])).toEqual([
      ["dropped", undefined, "retry_attempt"],
      ["repaired", "not-open", "message_delta"],
      ["repaired", "step-not-open", "step_end"],
      ["dropped", undefined, "run_end"],
      ["repaired", undefined, "step_start"],
      ["repaired", "open-at-finish", "run_end"],
      ["repaired", "open-at-finish", "run_end"],
    ]);
  });
});
