import { expect, test } from "vitest";
import type { Event } from "../../protocol/index.ts";
import { createRepairState, repair, repairEnd, repairing } from "./repair.ts";
import type { Repair, RepairOptions } from "./repair.ts";
import { throughArray } from "../stage.ts";

const started: Event = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const finished: Event = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const text = (messageId: string): Event => ({ type: "TEXT_MESSAGE_START", messageId, role: "assistant" });
const says = (messageId: string, delta: string): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta });
const ends = (messageId: string): Event => ({ type: "TEXT_MESSAGE_END", messageId });
const calls = (toolCallId: string, parentMessageId: string): Event => ({
  type: "TOOL_CALL_START",
  toolCallId,
  toolCallName: "search",
  parentMessageId,
});
const called = (toolCallId: string): Event => ({ type: "TOOL_CALL_END", toolCallId });
const result = (toolCallId: string, messageId: string, content = "done"): Event => ({
  type: "TOOL_CALL_RESULT",
  toolCallId,
  messageId,
  content,
});
const begins = (subagentRunId: string): Event => ({ type: "SUBAGENT_STARTED", subagentRunId, name: "helper" });
const done = (subagentRunId: string): Event => ({ type: "SUBAGENT_FINISHED", subagentRunId });
const step = (stepName: string): Event => ({ type: "STEP_STARTED", stepName });
const stepped = (stepName: string): Event => ({ type: "STEP_FINISHED", stepName });
const failed: Event = { type: "RUN_ERROR", message: "no" };
const truncated: Event = { type: "RUN_ERROR", message: "The stream ended before the run did.", code: "truncated" };

const pending = (ids: readonly string[]): Event => ({
  ...finished,
  outcome: { type: "success", pendingToolCallIds: ids },
});

/** The whole stream as it comes out, with its end, and the names of the rules that were reported. */
function run(input: readonly Event[], options?: RepairOptions): [readonly Event[], readonly Repair["rule"][]] {
  const state = createRepairState(options);
  const steps = [...input.map((event) => repair(state, event)), repairEnd(state)];
  return [steps.flatMap(({ events }) => events), steps.flatMap(({ repairs }) => repairs.map(({ rule }) => rule))];
}

test("a stream that does not begin with RUN_STARTED gets one, by the ids that the gateway knows", () => {
  const [events, rules] = run([text("m"), ends("m"), finished], { threadId: "t", runId: "r" });
  expect(events).toStrictEqual([{ ...started, protocolVersion: "1.0" }, text("m"), ends("m"), finished]);
  expect(rules).toStrictEqual(["first-event"]);
});

test("a RUN_STARTED that comes late is the run that was opened for it", () => {
  const [events, rules] = run([step("a"), { ...started, runId: "own" }, stepped("a"), finished], {
    threadId: "t",
    runId: "r",
  });
  expect(events).toStrictEqual([{ ...started, protocolVersion: "1.0" }, step("a"), stepped("a"), finished]);
  expect(rules).toStrictEqual(["first-event", "nested-run"]);
});

test("boundary ids are those of the gateway, whatever the agent calls its run", () => {
  const own = { threadId: "own", runId: "own" };
  const [events, rules] = run(
    [
      { ...started, ...own },
      { ...finished, ...own },
    ],
    { threadId: "t", runId: "r" },
  );
  expect(events).toStrictEqual([started, finished]);
  expect(rules).toStrictEqual(["thread-id", "run-id", "thread-id", "run-id"]);
});

test("without a gateway the first RUN_STARTED says what the ids are", () => {
  const [events, rules] = run([started, { ...finished, threadId: "x", runId: "y" }]);
  expect(events).toStrictEqual([started, finished]);
  expect(rules).toStrictEqual(["thread-id", "run-id"]);
});

test("a second thread is the stream's", () => {
  const [events, rules] = run([
    started,
    finished,
    { ...started, threadId: "x", runId: "r2" },
    { ...finished, runId: "r2" },
  ]);
  expect(events).toStrictEqual([started, finished, { ...started, runId: "r2" }, { ...finished, runId: "r2" }]);
  expect(rules).toStrictEqual(["second-thread"]);
});

test("the same run started again is dropped", () => {
  expect(run([started, started, finished])).toStrictEqual([[started, finished], ["nested-run"]]);
});

test("another run started inside a run finishes the first", () => {
  const second = [
    { ...started, runId: "r2" },
    { ...finished, runId: "r2" },
  ];
  const [events, rules] = run([started, text("m"), ...second]);
  expect(events).toStrictEqual([started, text("m"), ends("m"), finished, ...second]);
  expect(rules).toStrictEqual(["nested-run", "nested-run"]);
});

test("what is open is closed before RUN_FINISHED, innermost first, under its owner and at its time", () => {
  const opened: Event[] = [
    begins("s1"),
    { ...begins("s2"), parentSubagentRunId: "s1" } as Event,
    step("outer"),
    step("inner"),
    { type: "STEP_STARTED", stepName: "inner", subagentRunId: "s2" },
    { type: "REASONING_START", messageId: "p" },
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "search", subagentRunId: "s1" },
    { type: "REASONING_MESSAGE_START", messageId: "p", role: "reasoning" },
    text("m1"),
    { ...text("m2"), subagentRunId: "s2" } as Event,
  ];
  const last: Event = { ...finished, timestamp: 7 };
  const [events, rules] = run([started, ...opened, last]);
  expect(events.slice(opened.length + 1)).toStrictEqual([
    { type: "TEXT_MESSAGE_END", messageId: "m2", subagentRunId: "s2", timestamp: 7 },
    { type: "TEXT_MESSAGE_END", messageId: "m1", timestamp: 7 },
    { type: "REASONING_MESSAGE_END", messageId: "p", timestamp: 7 },
    { type: "TOOL_CALL_END", toolCallId: "c", subagentRunId: "s1", timestamp: 7 },
    { type: "REASONING_END", messageId: "p", timestamp: 7 },
    { type: "STEP_FINISHED", stepName: "inner", subagentRunId: "s2", timestamp: 7 },
    { type: "STEP_FINISHED", stepName: "inner", timestamp: 7 },
    { type: "STEP_FINISHED", stepName: "outer", timestamp: 7 },
    { type: "SUBAGENT_FINISHED", subagentRunId: "s2", timestamp: 7 },
    { type: "SUBAGENT_FINISHED", subagentRunId: "s1", timestamp: 7 },
    last,
  ]);
  expect(rules).toStrictEqual(Array.from({ length: 10 }, () => "open-at-finish"));
});

test("RUN_ERROR abandons what is open: nothing is closed for it", () => {
  expect(run([started, text("m"), failed])).toStrictEqual([[started, text("m"), failed], []]);
});

test("a stream that breaks off is closed and ends with RUN_ERROR", () => {
  const [events, rules] = run([started, begins("s"), step("a"), text("m"), says("m", "hal")]);
  expect(events.slice(5)).toStrictEqual([
    ends("m"),
    stepped("a"),
    {
      type: "SUBAGENT_ERROR",
      subagentRunId: "s",
      message: "The stream ended before the subagent did.",
      code: "truncated",
    },
    truncated,
  ]);
  expect(rules).toStrictEqual(["truncated", "truncated", "truncated", "truncated"]);
  expect(run([])).toStrictEqual([[truncated], ["truncated"]]);
});

test("one ending is enough, and a late RUN_ERROR stays", () => {
  const late = text("m");
  const meta: Event = { type: "META", metaType: "rating", payload: {} };
  expect(run([started, finished, finished])).toStrictEqual([[started, finished], ["after-finish"]]);
  expect(run([started, failed, finished])).toStrictEqual([[started, failed], ["after-error"]]);
  expect(run([started, failed, failed])).toStrictEqual([[started, failed], ["after-error"]]);
  expect(run([started, finished, late, failed, failed, meta])).toStrictEqual([
    [started, finished, failed, meta],
    ["after-finish", "after-error"],
  ]);
});

test("interrupts have an id each, and a subagent that asks is suspended, not done", () => {
  const interrupts = [
    { id: "i", reason: "a" },
    { id: "i", reason: "b", subagentRunId: "s" },
    { id: "i-2", reason: "c" },
  ];
  const [events, rules] = run([started, begins("s"), { ...finished, outcome: { type: "interrupt", interrupts } }]);
  expect(events.slice(2)).toStrictEqual([
    { ...done("s"), outcome: { type: "suspended", interruptIds: ["i-3"] } },
    {
      ...finished,
      outcome: { type: "interrupt", interrupts: [interrupts[0], { ...interrupts[1], id: "i-3" }, interrupts[2]] },
    },
  ]);
  expect(rules).toStrictEqual(["interrupt-ids", "open-at-finish"]);
});

test("the list of calls that wait is the stream's own", () => {
  const [events, rules] = run([
    started,
    calls("c1", "m"),
    called("c1"),
    calls("c2", "m"),
    called("c2"),
    result("c1", "r1"),
    pending(["c1"]),
  ]);
  expect(events.at(-1)).toStrictEqual(pending(["c2"]));
  expect(rules).toStrictEqual(["pending-calls"]);
});

test("outcomes stay as they are", () => {
  const cancelled: Event = { ...finished, outcome: { type: "cancelled" } };
  const plain = [started, calls("c", "m"), called("c"), finished];
  expect(run([started, text("m"), cancelled])[0]).toStrictEqual([started, text("m"), ends("m"), cancelled]);
  expect(run(plain)).toStrictEqual([plain, []]);
});

test("every report has a sentence and the event at fault", () => {
  const told: Repair[] = [];
  const stage = repairing({ threadId: "t", runId: "r", onRepair: (each) => told.push(each) });
  expect(throughArray(stage, [started, ends("m"), text("n")])).toStrictEqual([
    started,
    text("n"),
    ends("n"),
    truncated,
  ]);
  expect(told[0]).toStrictEqual({
    rule: "not-open",
    message: "TEXT_MESSAGE_END names m, which is not open. It is dropped.",
    event: ends("m"),
  });
  expect(told.slice(1).map((each) => ["event" in each, each.message.endsWith(".")])).toStrictEqual([
    [false, true],
    [false, true],
  ]);
});
