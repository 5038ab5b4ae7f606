/**
 * Broken sequences that users reported (reference/what-users-ask-for.md), each as the published client and the fold see
 * what repair makes of it.
 */
import { verifyEvents } from "@ag-ui/client";
import fc from "fast-check";
import { Subject } from "rxjs";
import { expect, test } from "vitest";
import { arbitrarySoup } from "../../../test/arbitrary-stream.ts";
import type { Event } from "../../protocol/index.ts";
import { repairing } from "./repair.ts";
import type { Repair, RepairOptions } from "./repair.ts";
import { reduceAll, throughArray } from "../stage.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

type PeerEvents = Parameters<ReturnType<typeof verifyEvents>>[0];

const IDS = { threadId: "t", runId: "r" };
const started: Event = { type: "RUN_STARTED", ...IDS };
const finished: Event = { type: "RUN_FINISHED", ...IDS };
const text = (messageId: string): Event => ({ type: "TEXT_MESSAGE_START", messageId });
const says = (messageId: string, delta: string): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta });
const ends = (messageId: string): Event => ({ type: "TEXT_MESSAGE_END", messageId });
const calls = (toolCallId: string, parentMessageId: string): readonly Event[] => [
  { type: "TOOL_CALL_START", toolCallId, toolCallName: "search", parentMessageId },
  { type: "TOOL_CALL_ARGS", toolCallId, delta: "{}" },
];

/** What the published client has against a stream, or nothing. */
function refusalOfPeer(events: readonly Event[]): unknown {
  const source = new Subject<unknown>();
  let refusal: unknown;
  verifyEvents()(source as unknown as PeerEvents).subscribe({ error: (error: unknown) => (refusal = error) });
  for (const event of events) source.next(event);
  return refusal;
}

function gateway(input: readonly Event[], options: RepairOptions = IDS) {
  const repairs: Repair[] = [];
  const stage = repairing({ ...options, onRepair: (each) => repairs.push(each) });
  const events = throughArray(stage, input);
  expect(refusalOfPeer(events)).toBeUndefined();
  return { events, rules: repairs.map(({ rule }) => rule), view: reduceAll(events, options) };
}

test("an adapter forgets TEXT_MESSAGE_END, repeats STEP_STARTED and talks after the end (want 4)", () => {
  const step: Event = { type: "STEP_STARTED", stepName: "think" };
  const { rules, view } = gateway([
    started,
    step,
    text("m1"),
    says("m1", "one"),
    step,
    text("m2"),
    says("m2", "two"),
    ends("m2"),
    says("m2", "three"),
    finished,
  ]);
  expect(view.messages).toMatchObject([{ content: "one" }, { content: "two" }, { content: "three" }]);
  expect(view.run.status).toBe("finished");
  expect(rules).toStrictEqual(["step-already-open", "not-open", "open-at-finish", "open-at-finish", "open-at-finish"]);
});

test("text, tool, text under one id stays in that order (want 14)", () => {
  const answered: Event = { type: "TOOL_CALL_RESULT", messageId: "r1", toolCallId: "c1", content: "42" };
  const { view } = gateway([
    started,
    text("m"),
    says("m", "Let me look."),
    ends("m"),
    ...calls("c1", "m"),
    { type: "TOOL_CALL_END", toolCallId: "c1" },
    answered,
    says("m", "It is 42."),
    ends("m"),
    finished,
  ]);
  expect(view.messages.map(({ role }) => role)).toStrictEqual(["assistant", "tool", "assistant"]);
  expect(view.messages[2]).toMatchObject({ content: "It is 42." });
});

test("RUN_ERROR followed by RUN_FINISHED stays a failure (agentscope-java#2642, want 20)", () => {
  const { view, rules } = gateway([started, { type: "RUN_ERROR", message: "401" }, finished]);
  expect(view.run).toMatchObject({ status: "failed", error: { message: "401" } });
  expect(rules).toStrictEqual(["after-error"]);
});

test("a failure after the end is kept (R-LIFE-24)", () => {
  const { view, rules } = gateway([started, finished, { type: "RUN_ERROR", message: "late" }]);
  expect(view.run.status).toBe("failed");
  expect(rules).toStrictEqual([]);
});

test("Stop in the middle of a call is cancelled with the call closed (CK#2972)", () => {
  const cancelled: Event = { ...finished, outcome: { type: "cancelled" } };
  const { events, view } = gateway([started, text("m"), ...calls("c1", "m"), cancelled]);
  expect(events.slice(-3)).toStrictEqual([ends("m"), { type: "TOOL_CALL_END", toolCallId: "c1" }, cancelled]);
  expect(view.run.status).toBe("cancelled");
});

test("a stream that never closes ends as truncated, with its partial text (mastra#24389)", () => {
  const { view } = gateway([started, text("m"), says("m", "half")]);
  expect(view.run).toMatchObject({ status: "failed", error: { code: "truncated" } });
  expect(view.messages).toMatchObject([{ content: "half" }]);
});

test("an agent that makes its own run id answers the run that was asked for", () => {
  const own = { threadId: "session-9", runId: "run_abc" };
  const { events } = gateway([
    { ...started, ...own },
    { ...finished, ...own },
  ]);
  expect(events).toStrictEqual([started, finished]);
});

test("first writes into an empty state apply (CK#4934, ag-ui#2242, want 21)", () => {
  const { view } = gateway([
    started,
    { type: "STATE_DELTA", delta: [{ op: "replace", path: "/status", value: "running" }] },
    { type: "STATE_DELTA", delta: [{ op: "add", path: "/files/-", value: "a" }] },
    { type: "STATE_SNAPSHOT", snapshot: { "src/app.ts": "old" } },
    { type: "STATE_DELTA", delta: [{ op: "replace", path: "/src/app.ts", value: "new" }] },
    finished,
  ]);
  expect(view.state).toStrictEqual({ "src/app.ts": "new" });
});

test("a delta that continues the state of an earlier run keeps it (CopilotKit faults 1 and 2)", () => {
  const delta: Event = { type: "STATE_DELTA", delta: [{ op: "replace", path: "/a", value: 2 }] };
  const { rules, view } = gateway([started, delta, finished], { ...IDS, state: { a: 1, b: 1 } });
  expect(view.state).toStrictEqual({ a: 2, b: 1 });
  expect(rules).toStrictEqual([]);
});

test("the published client accepts whatever comes out", () => {
  fc.assert(
    fc.property(arbitrarySoup(), (input) => {
      expect(refusalOfPeer(throughArray(repairing(), input))).toBeUndefined();
    }),
    { numRuns: Math.ceil(1000 * SCALE) },
  );
});
