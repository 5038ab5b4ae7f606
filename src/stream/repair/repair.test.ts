import { expect, test } from "vitest";
import type { Event } from "../../protocol/index.ts";
import { createRepairState, repair, repairEnd } from "./repair.ts";
import type { Repair, RepairOptions } from "./repair.ts";

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
const args = (toolCallId: string, delta: string): Event => ({ type: "TOOL_CALL_ARGS", toolCallId, delta });
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

/** The whole stream as it comes out, with its end, and the names of the rules that were reported. */
function run(input: readonly Event[], options?: RepairOptions): [readonly Event[], readonly Repair["rule"][]] {
  const state = createRepairState(options);
  const steps = [...input.map((event) => repair(state, event)), repairEnd(state)];
  return [steps.flatMap(({ events }) => events), steps.flatMap(({ repairs }) => repairs.map(({ rule }) => rule))];
}

/** What comes out between the boundaries of a run, and the rules. */
function within(input: readonly Event[], options?: RepairOptions): [readonly Event[], readonly Repair["rule"][]] {
  const [events, rules] = run([started, ...input, finished], options);
  expect([events[0], events.at(-1)]).toStrictEqual([started, finished]);
  return [events.slice(1, -1), rules];
}

test("text without a start is opened", () => {
  const tagged: Event = { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "hi", subagentRunId: "s", timestamp: 3 };
  const [events, rules] = within([tagged, ends("m")]);
  expect(events).toStrictEqual([{ ...text("m"), timestamp: 3, subagentRunId: "s" }, tagged, ends("m")]);
  expect(rules).toStrictEqual(["not-open"]);
});

test("reasoning without a start is opened, also where its span has the same id", () => {
  const said: Event[] = [
    { type: "REASONING_START", messageId: "p" },
    { type: "REASONING_MESSAGE_CONTENT", messageId: "p", delta: "hm" },
    { type: "REASONING_MESSAGE_END", messageId: "p" },
    { type: "REASONING_END", messageId: "p" },
  ];
  const [events, rules] = within(said);
  const opened: Event = { type: "REASONING_MESSAGE_START", messageId: "p", role: "reasoning" };
  expect(events).toStrictEqual([said[0], opened, ...said.slice(1)]);
  expect(rules).toStrictEqual(["not-open"]);
});

test("text after its end goes on under a new id, and what follows means that one", () => {
  const sealed = { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "m", encryptedValue: "x" } as const;
  const [events, rules] = within([
    text("m"),
    says("m", "a"),
    calls("c1", "m"),
    called("c1"),
    ends("m"),
    result("c1", "r1"),
    says("m", "b"),
    says("m", "c"),
    calls("c2", "m"),
    called("c2"),
    sealed,
    ends("m"),
    says("m", "d"),
    ends("m"),
  ]);
  expect(events).toStrictEqual([
    text("m"),
    says("m", "a"),
    calls("c1", "m"),
    called("c1"),
    ends("m"),
    result("c1", "r1"),
    text("m-2"),
    says("m-2", "b"),
    says("m-2", "c"),
    calls("c2", "m-2"),
    called("c2"),
    { ...sealed, entityId: "m-2" },
    ends("m-2"),
    text("m-3"),
    says("m-3", "d"),
    ends("m-3"),
  ]);
  expect(rules).toStrictEqual(["not-open", "not-open"]);
});

test("a new id is none that anything else has, before or after", () => {
  const [events, rules] = within([
    text("m"),
    ends("m"),
    text("m-2"),
    ends("m-2"),
    says("m", "x"),
    text("m-3"),
    ends("m-3"),
  ]);
  expect(events.slice(4)).toStrictEqual([text("m-3"), says("m-3", "x"), text("m-3-2"), ends("m-3-2"), ends("m-3")]);
  expect(rules).toStrictEqual(["not-open", "id-taken", "open-at-finish"]);
});

test("text never goes into a message of history, and keeps its speaker", () => {
  const user = { id: "u", role: "user", content: "hello" } as const;
  const opened: Event = { ...started, input: { threadId: "t", runId: "r", messages: [user] } };
  expect(run([opened, says("u", "hi"), ends("u"), finished])[0].slice(1, 3)).toStrictEqual([
    text("u-2"),
    says("u-2", "hi"),
  ]);
  const system: Event = { type: "TEXT_MESSAGE_START", messageId: "m", role: "system", name: "ops" };
  expect(within([system, ends("m"), says("m", "x"), ends("m")])[0][2]).toStrictEqual({ ...system, messageId: "m-2" });
});

test("a snapshot of the messages speaks of the agent's ids again", () => {
  const snapshot: Event = { type: "MESSAGES_SNAPSHOT", messages: [{ id: "m", role: "assistant", content: "ab" }] };
  const [events, rules] = within([text("m"), ends("m"), says("m", "b"), snapshot, says("m", "c"), ends("m")]);
  expect(events.slice(2)).toStrictEqual([
    text("m-2"),
    says("m-2", "b"),
    ends("m-2"),
    snapshot,
    text("m-3"),
    says("m-3", "c"),
    ends("m-3"),
  ]);
  expect(rules).toStrictEqual(["not-open", "not-open"]);
});

test("a message that a snapshot restates may be opened again", () => {
  const snapshot: Event = { type: "MESSAGES_SNAPSHOT", messages: [{ id: "m", role: "assistant", content: "ab" }] };
  const [events] = within([text("m"), ends("m"), says("m", "b"), ends("m"), snapshot, text("m"), ends("m")]);
  expect(events.slice(-2)).toStrictEqual([text("m"), ends("m")]);
});

test("text after a call that made its own message stands behind it", () => {
  const [events] = within([calls("c", "p"), called("c"), says("p", "x"), ends("p")]);
  expect(events.slice(2)).toStrictEqual([text("p-2"), says("p-2", "x"), ends("p-2")]);
});

test("reasoning that is opened belongs to the owner of the span of its id", () => {
  const said: Event = { type: "REASONING_MESSAGE_CONTENT", messageId: "p", delta: "hm", subagentRunId: "s2" };
  const [events] = within([
    { type: "REASONING_START", messageId: "p", subagentRunId: "s1" },
    said,
    { type: "REASONING_MESSAGE_END", messageId: "p" },
    { type: "REASONING_END", messageId: "p" },
  ]);
  expect(events.slice(1, 3)).toStrictEqual([
    { type: "REASONING_MESSAGE_START", messageId: "p", role: "reasoning", subagentRunId: "s1" },
    { ...said, subagentRunId: "s1" },
  ]);
});

test("arguments of an unknown call are dropped, for no tool is named", () => {
  expect(within([args("c", "{}"), called("c")])).toStrictEqual([[], ["not-open", "not-open"]]);
});

test("arguments after the end open their call again, until it is answered", () => {
  const [events, rules] = within([
    calls("c", "m"),
    called("c"),
    args("c", "{}"),
    called("c"),
    result("c", "r1"),
    args("c", "!"),
  ]);
  expect(events).toStrictEqual([
    calls("c", "m"),
    called("c"),
    calls("c", "m"),
    args("c", "{}"),
    called("c"),
    result("c", "r1"),
  ]);
  expect(rules).toStrictEqual(["not-open", "not-open"]);
});

test("arguments of a call that history knows open it again", () => {
  const call = { id: "c", type: "function", function: { name: "search", arguments: "" } } as const;
  const [events, rules] = within([args("c", "{}"), called("c")], {
    messages: [{ id: "m", role: "assistant", toolCalls: [call] }],
  });
  expect(events).toStrictEqual([calls("c", "m"), args("c", "{}"), called("c")]);
  expect(rules).toStrictEqual(["not-open"]);
});

test("strays and repeats are dropped", () => {
  const [events, rules] = within([
    ends("x"),
    called("x"),
    stepped("x"),
    text("m"),
    text("m"),
    step("a"),
    step("a"),
    stepped("a"),
    ends("m"),
    ends("m"),
  ]);
  expect(events).toStrictEqual([text("m"), step("a"), stepped("a"), ends("m")]);
  expect(rules).toStrictEqual([
    "not-open",
    "not-open",
    "step-not-open",
    "already-open",
    "step-already-open",
    "not-open",
  ]);
});

test("whoever opened an item owns it", () => {
  const [events, rules] = within([
    { ...text("m"), subagentRunId: "s1" } as Event,
    { ...says("m", "a"), subagentRunId: "s2" } as Event,
    { ...ends("m"), subagentRunId: "s2" } as Event,
    text("n"),
    { ...says("n", "b"), subagentRunId: "s2" } as Event,
    ends("n"),
  ]);
  expect(events).toStrictEqual([
    { ...text("m"), subagentRunId: "s1" },
    { ...says("m", "a"), subagentRunId: "s1" },
    { ...ends("m"), subagentRunId: "s1" },
    text("n"),
    says("n", "b"),
    ends("n"),
  ]);
  expect(rules).toStrictEqual(["owner-mismatch", "owner-mismatch", "owner-mismatch"]);
});

test("a call belongs to the owner of the message that carries it", () => {
  const tagged = { ...calls("c", "m"), subagentRunId: "s2" } as Event;
  const [events, rules] = within([{ ...text("m"), subagentRunId: "s1" } as Event, tagged, called("c"), ends("m")]);
  expect(events[1]).toStrictEqual({ ...tagged, subagentRunId: "s1" });
  expect(rules).toStrictEqual(["call-owner"]);
});

test("a call that is opened again under a message of another owner stays where it is", () => {
  const [events, rules] = within([
    { ...text("m"), subagentRunId: "s1" } as Event,
    ends("m"),
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "search" },
    called("c"),
    calls("c", "m"),
    called("c"),
  ]);
  expect(events[4]).toStrictEqual({ type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "search" });
  expect(rules).toStrictEqual(["call-owner"]);
});

test("a step is finished under the owner that began it", () => {
  const opened: Event = { type: "STEP_STARTED", stepName: "a", subagentRunId: "s" };
  expect(within([opened, stepped("a")])).toStrictEqual([
    [opened, { type: "STEP_FINISHED", stepName: "a", subagentRunId: "s" }],
    ["owner-mismatch"],
  ]);
});

test("the end of a step that two owners have open is dropped, for either may be meant", () => {
  const opened = ["s1", "s2"].map((owner): Event => ({ type: "STEP_STARTED", stepName: "a", subagentRunId: owner }));
  const [events, rules] = within([...opened, stepped("a")]);
  expect(events.slice(2)).toStrictEqual([
    { type: "STEP_FINISHED", stepName: "a", subagentRunId: "s2" },
    { type: "STEP_FINISHED", stepName: "a", subagentRunId: "s1" },
  ]);
  expect(rules).toStrictEqual(["step-not-open", "open-at-finish", "open-at-finish"]);
});

test("names of subagents and answers to calls are those of one run", () => {
  const again = [
    { ...started, runId: "r2" },
    begins("s"),
    done("s"),
    calls("c", "m"),
    called("c"),
    result("c", "r1"),
    { ...finished, runId: "r2" },
  ];
  const first = [
    started,
    begins("s"),
    done("s"),
    begins("s"),
    done("s"),
    calls("c", "m"),
    called("c"),
    result("c", "r1"),
  ];
  const [events, rules] = run([...first, finished, ...again]);
  expect(events.slice(-again.length)).toStrictEqual(again);
  expect(rules).toStrictEqual(["subagent-reused"]);
});

test("the end of a subagent that is not active is dropped", () => {
  const [events, rules] = within([done("x"), begins("s"), begins("s"), done("s"), done("s")]);
  expect(events).toStrictEqual([begins("s"), done("s")]);
  expect(rules).toStrictEqual(["subagent-not-active", "subagent-active", "subagent-not-active"]);
});

test("a second invocation under one id gets its own, and what follows means that one", () => {
  const tagged = { ...text("m"), subagentRunId: "s" } as Event;
  const child: Event = { type: "SUBAGENT_STARTED", subagentRunId: "k", name: "child", parentSubagentRunId: "s" };
  const [events, rules] = within([begins("s"), done("s"), begins("s"), tagged, ends("m"), child, done("k"), done("s")]);
  expect(events).toStrictEqual([
    begins("s"),
    done("s"),
    begins("s-2"),
    { ...tagged, subagentRunId: "s-2" },
    ends("m"),
    { ...child, parentSubagentRunId: "s-2" },
    done("k"),
    done("s-2"),
  ]);
  expect(rules).toStrictEqual(["subagent-reused"]);
});

test("an unknown parent of a subagent is left out", () => {
  const [events, rules] = within([{ ...begins("s"), parentSubagentRunId: "x" } as Event, done("s")]);
  expect(events).toStrictEqual([begins("s"), done("s")]);
  expect(rules).toStrictEqual(["subagent-parent"]);
});

test("an answer that repeats one is dropped, another one and one to nothing stay with a report", () => {
  const call = [calls("c", "m"), called("c"), result("c", "r1", "x")];
  expect(within([...call, result("c", "r2", "x"), result("c", "r1", "y")])).toStrictEqual([
    call,
    ["result-duplicate", "result-duplicate"],
  ]);
  expect(within([...call, result("c", "r2", "y")])).toStrictEqual([
    [...call, result("c", "r2", "y")],
    ["result-duplicate"],
  ]);
  expect(within([result("z", "r9")])).toStrictEqual([[result("z", "r9")], ["result-orphan"]]);
});

test("chunks are expanded; one that cannot be is dropped", () => {
  const chunk: Event = { type: "TEXT_MESSAGE_CHUNK", messageId: "m", delta: "hi" };
  const [events, rules] = within([chunk, { type: "TOOL_CALL_CHUNK", delta: "{}" }]);
  expect(events).toStrictEqual([text("m"), says("m", "hi"), ends("m")]);
  expect(rules).toStrictEqual(["chunk-first"]);
});
