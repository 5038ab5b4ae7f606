/** What the events of a log belong to: groups by id, as they are read, and which of them a filter and the rows show. */
import { expect, test } from "vitest";
import type { LogEntry } from "../../inspector/log/thread-log.ts";
import { TimelineFilter } from "../../inspector/pages/timeline/timeline-filter.ts";
import type { FilterSpec } from "../../inspector/pages/timeline/timeline-filter.ts";
import { entriesIn } from "../../inspector/pages/timeline/timeline-group.ts";
import type { Group } from "../../inspector/pages/timeline/timeline-group.ts";
import { TimelineIndex } from "../../inspector/pages/timeline/timeline-index.ts";
import { jumpText, jumpTo, rowOf } from "../../inspector/pages/timeline/timeline-address.ts";
import { rowsOf } from "../../inspector/pages/timeline/timeline-rows.ts";
import type { Event } from "../../src/protocol/index.ts";
import { largeThreadLines } from "./large-thread.ts";

/** A log of one run, the events a given time after each other. */
function logOf(events: readonly Event[], { runId = "r1", waitMs = 10 } = {}): LogEntry[] {
  return events.map((event, place) => {
    const atMs = event.timestamp ?? 1000 + place * waitMs;
    return { seq: place + 1, id: `log_${String(place + 1).padStart(16, "0")}`, runId, event, atMs };
  });
}

function indexOf(entries: readonly LogEntry[]): TimelineIndex {
  const index = new TimelineIndex(entries);
  index.advance(entries.length);
  return index;
}

/** A group and what is in it, as words. */
const outline = (group: Group): unknown[] => [
  `${group.kind} ${group.name} ${group.status} ${group.count}`,
  ...group.items.map((item) => (typeof item === "number" ? item : outline(item))),
];

const NONE: FilterSpec = { kinds: [], runId: "", subagent: "", text: "", problems: false };

const started: Event = { type: "RUN_STARTED", threadId: "t", runId: "r1" };
const finished: Event = { type: "RUN_FINISHED", threadId: "t", runId: "r1", outcome: { type: "success" } };
const repair: Event = {
  type: "META",
  metaType: "heddle.repair",
  payload: {
    rule: "not-open",
    message: "A part of a message that is not open was left out.",
    event: "TEXT_MESSAGE_END",
  },
};

const WOVEN: readonly Event[] = [
  started,
  { type: "STEP_STARTED", stepName: "look" },
  { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "search" },
  { type: "SUBAGENT_STARTED", subagentRunId: "s1", name: "writer" },
  { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant", subagentRunId: "s1" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '{"q":' },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "hel", subagentRunId: "s1" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: "1}" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "lo wörld", subagentRunId: "s1" },
  { type: "TOOL_CALL_END", toolCallId: "c1" },
  { type: "TEXT_MESSAGE_END", messageId: "m1", subagentRunId: "s1" },
  repair,
  { type: "SUBAGENT_ERROR", subagentRunId: "s1", message: "gone" },
  { type: "REASONING_START", messageId: "span" },
  { type: "REASONING_MESSAGE_START", messageId: "thought", role: "reasoning" },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "thought", delta: "hm" },
  { type: "REASONING_MESSAGE_END", messageId: "thought" },
  { type: "REASONING_END", messageId: "span" },
  { type: "TOOL_CALL_RESULT", messageId: "m2", toolCallId: "c1", content: "found" },
  { type: "STEP_FINISHED", stepName: "look" },
  { type: "ACTIVITY_SNAPSHOT", messageId: "a1", activityType: "PLAN", content: { done: 0 } },
  {
    type: "ACTIVITY_DELTA",
    messageId: "a1",
    activityType: "PLAN",
    patch: [{ op: "replace", path: "/done", value: 1 }],
  },
  finished,
];

test("events that are woven into each other find their run, subagent, step, message, call, thought and activity", () => {
  const index = indexOf(logOf(WOVEN));
  expect(index.runs.map(outline)).toEqual([
    [
      "run r1 done 23",
      0,
      [
        "step look done 19",
        1,
        ["call search done 5", 2, 5, 7, 9, 18],
        ["subagent writer failed 7", 3, ["message assistant done 4", 4, 6, 8, 10], 11, 12],
        ["reasoning Reasoning done 5", 13, 14, 15, 16, 17],
        19,
      ],
      ["activity PLAN done 2", 20, 21],
      22,
    ],
  ]);
});

test("a group knows its parts, text, times, silences and problems, and so does what it is in", () => {
  const late = WOVEN.map((event, place): Event => ({ ...event, timestamp: place < 18 ? place : 3000 + place }));
  const index = indexOf(logOf(late));
  const run = index.run("r1");
  const call = index.find(["call"], "c1");
  expect(run).toMatchObject({ startMs: 0, endMs: 3022, durationMs: 3022, repairs: 1, warnings: 0, errors: 1 });
  expect(run?.gaps).toEqual([{ fromMs: 17, untilMs: 3018 }]);
  expect(call).toMatchObject({ parts: 2, textBytes: 7, preview: '{"q":1}', longestGapMs: 3018 - 9, repairs: 0 });
  expect(index.find(["message"], "m1")).toMatchObject({ parts: 2, textBytes: 12, preview: "hello wörld" });
  expect(index.waits[18]).toBe(3001);
  expect(index.counts).toMatchObject({ run: 2, text: 4, tools: 5, thoughts: 5, warning: 1, activity: 2 });
});

test.each([
  [{ type: "interrupt", interrupts: [{ id: "i", reason: "approval" }] }, "waiting"],
  [{ type: "cancelled" }, "cancelled"],
  [{ type: "success" }, "done"],
] as const)("a run that ends with %o is %s", (outcome, status) => {
  const usage = [{ inputTokens: 3, outputTokens: 4 }, { totalTokens: 5 }];
  const index = indexOf(logOf([started, { type: "RUN_FINISHED", threadId: "t", runId: "r1", outcome, usage }]));
  expect(index.run("r1")).toMatchObject({ status, tokens: 12 });
});

test("whatever the portions that a log is read in, it comes to the same", () => {
  const entries = logOf(WOVEN);
  const whole = indexOf(entries);
  const byOne = new TimelineIndex(entries);
  for (let count = 1; count <= entries.length; count++) byOne.advance(count);
  expect(byOne.runs).toEqual(whole.runs);
});

test("rows show what is open: runs, subagents and steps at first; by run and flat, each event once", () => {
  const index = indexOf(logOf(WOVEN));
  const message = index.find(["message"], "m1");
  const nested = rowsOf(index, "nested", new Map(), undefined);
  expect(nested.filter((row) => typeof row !== "number").length).toBe(7);
  expect(nested.filter((row) => typeof row === "number")).toEqual([0, 1, 3, 11, 12, 19, 22]);
  const opened = message === undefined ? new Map() : new Map([[message, true]]);
  expect(rowsOf(index, "nested", opened, undefined).length).toBe(nested.length + 4);
  expect(rowsOf(index, "flat", new Map(), undefined)).toEqual(WOVEN.map((_, place) => place));
  expect(rowsOf(index, "run", new Map(), undefined).slice(1)).toEqual(WOVEN.map((_, place) => place));
});

test("a filter finds kinds, subagents, problems and text, also text that was said in two parts", () => {
  const index = indexOf(logOf(WOVEN));
  const found = (spec: Partial<FilterSpec>): readonly number[] => {
    const filter = new TimelineFilter(index, { ...NONE, ...spec });
    expect(filter.advance()).toBe(true);
    return filter.places();
  };
  expect(found({ kinds: ["text"] })).toEqual([4, 6, 8, 10]);
  expect(found({ subagent: "writer" })).toEqual([3, 4, 6, 8, 10, 11, 12]);
  expect(found({ problems: true })).toEqual([11, 12]);
  expect(found({ text: "HELLO" })).toEqual([8]);
  expect(found({ text: "toolcallid" })).toEqual([2, 5, 7, 9, 18]);
  expect(found({ text: "m1", kinds: ["text"] })).toEqual([4, 6, 8, 10]);
  expect(found({ runId: "another" })).toEqual([]);
});

test("a filter finds text as people write it, and nothing that is not shown", () => {
  const metadata = { heddle: { runId: "r1" } };
  const said: readonly Event[] = [
    { ...started, input: { threadId: "t", runId: "r1", messages: [{ id: "u", role: "user", content: 'Say "Hi"' }] } },
    { type: "TOOL_CALL_RESULT", messageId: "m", toolCallId: "c", content: '{"path":"C:\\\\temp"}', role: "tool" },
    { type: "STATE_SNAPSHOT", snapshot: { path: "C:\\temp" } },
  ];
  const index = indexOf(logOf(said.map((event) => ({ ...event, metadata }))));
  const found = (text: string): readonly number[] => {
    const filter = new TimelineFilter(index, { ...NONE, text });
    filter.advance();
    return filter.places();
  };
  expect(found('say "hi"')).toEqual([0]);
  expect(found('"path":"C:')).toEqual([1, 2]);
  expect(found("C:\\temp")).toEqual([2]);
  expect(found("metadata")).toEqual([]);
});

test("a filter goes from match to match, around the ends, and shows groups that hold one", () => {
  const index = indexOf(logOf(WOVEN));
  const filter = new TimelineFilter(index, { ...NONE, text: "c1" });
  filter.advance();
  expect(filter.next(-1, 1)).toEqual({ place: 2, number: 1 });
  expect(filter.next(2, 1)).toEqual({ place: 5, number: 2 });
  expect(filter.next(18, 1)).toEqual({ place: 2, number: 1 });
  expect(filter.next(2, -1)).toEqual({ place: 18, number: 5 });
  const rows = rowsOf(index, "nested", new Map(), filter);
  expect(rows.map((row) => (typeof row === "number" ? row : row.kind))).toEqual(["run", "step", "call"]);
});

test("a filter looks at events in slices, and goes on with what is read later", () => {
  const entries = logOf(Array.from({ length: 5000 }, () => started));
  const index = new TimelineIndex(entries);
  index.advance(4000);
  const filter = new TimelineFilter(index, { ...NONE, text: "run_started" });
  expect(filter.advance(-1)).toBe(false);
  expect(filter.advance()).toBe(true);
  expect(filter.hits).toBe(4000);
  index.advance(5000);
  expect([filter.advance(), filter.hits]).toEqual([true, 5000]);
});

test("the address names any row, and leads back to it", () => {
  const index = indexOf(logOf(WOVEN));
  for (const row of rowsOf(index, "nested", new Map(), undefined)) {
    const jump = jumpText(Object.fromEntries(Object.entries(jumpTo(row, index))));
    expect([jump, rowOf(jump, index) === row]).toEqual([jump, true]);
  }
  expect(rowOf(`event=${"log_"}${"19".padStart(16, "0")}`, index)).toBe(18);
  expect(rowOf("message=m2", index)).toBe(18);
  expect([rowOf("event=99", index), rowOf("call=none", index)]).toEqual([undefined, undefined]);
});

test("100,000 events are read and put into rows; every event is in exactly one group", () => {
  const lines = largeThreadLines().filter((line) => line.startsWith('{"type":"event"'));
  const entries = lines.map((line): LogEntry => {
    const { seq, runId, event } = JSON.parse(line);
    return { seq, id: `log_${String(seq).padStart(16, "0")}`, runId, event, atMs: event.timestamp };
  });
  const index = indexOf(entries);
  const places = index.runs.flatMap(entriesIn).toSorted((one, other) => one - other);
  expect(places).toEqual(entries.map((_, place) => place));
  expect(rowsOf(index, "flat", new Map(), undefined).length).toBe(entries.length);
  expect(index.runs.every(({ count, durationMs = 0 }) => count > 500 && durationMs > 5000)).toBe(true);
});
