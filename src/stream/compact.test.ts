import { describe, expect, it } from "vitest";
import type { Event, Message } from "../protocol/index.ts";
import { compact, compactWithRanges } from "./compact.ts";
import { reduceAll } from "./stage.ts";

const STARTED: Event = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const FINISHED: Event = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const FAILED: Event = { type: "RUN_ERROR", message: "no" };

const run = (...body: readonly Event[]): readonly Event[] => [STARTED, ...body, FINISHED];
const start = (messageId: string): Event => ({ type: "TEXT_MESSAGE_START", messageId, role: "assistant" });
const say = (messageId: string, delta: string): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta });
const end = (messageId: string): Event => ({ type: "TEXT_MESSAGE_END", messageId });
const call = (toolCallId: string, parentMessageId = "m"): Event => {
  return { type: "TOOL_CALL_START", toolCallId, toolCallName: "look", parentMessageId };
};
const args = (toolCallId: string, delta: string): Event => ({ type: "TOOL_CALL_ARGS", toolCallId, delta });
const called = (toolCallId: string): Event => ({ type: "TOOL_CALL_END", toolCallId });
const answer = (toolCallId: string): Event => {
  return { type: "TOOL_CALL_RESULT", messageId: `r-${toolCallId}`, toolCallId, content: "done" };
};
const set = (snapshot: unknown): Event => ({ type: "STATE_SNAPSHOT", snapshot });
const change = (path: string, value: unknown): Event => ({ type: "STATE_DELTA", delta: [{ op: "add", path, value }] });
const think = (delta: string): Event => ({ type: "REASONING_MESSAGE_CONTENT", messageId: "m", delta });
const show = (content: Readonly<Record<string, unknown>>, more = {}): Event => {
  return { type: "ACTIVITY_SNAPSHOT", messageId: "a", activityType: "PLAN", content, ...more };
};
const alter = (path: string, value: unknown, activityType = "PLAN"): Event => {
  return { type: "ACTIVITY_DELTA", messageId: "a", activityType, patch: [{ op: "add", path, value }] };
};
const told = (...messages: readonly Message[]): Event => ({ type: "MESSAGES_SNAPSHOT", messages });

const events = (list: readonly Event[], options = {}): readonly Event[] =>
  compact(list, { mode: "events", ...options });
const snapshot = (list: readonly Event[], options = {}): readonly Event[] =>
  compact(list, { mode: "snapshot", ...options });

describe("mode events", () => {
  it("joins the text of each message, and what its parts said with it", () => {
    const first = { ...say("m", "a"), timestamp: 1, metadata: { k: 1, l: 1 }, rawEvent: 1 };
    const second = { ...say("m", "b"), timestamp: 2, metadata: { k: 2 }, rawEvent: 2, subagentRunId: "s" };
    const joined = { ...say("m", "ab"), timestamp: 1, metadata: { k: 2, l: 1 }, subagentRunId: "s" };
    expect(events(run(start("m"), first, second, end("m")))).toEqual(run(start("m"), joined, end("m")));
  });

  it("keeps a raw event where there is one, if asked", () => {
    const raw = { ...say("m", "b"), rawEvent: { from: "model" } };
    expect(events([start("m"), say("m", "a"), raw, say("m", "c")], { keepRawEvents: true })).toEqual([
      start("m"),
      { ...say("m", "abc"), rawEvent: { from: "model" } },
    ]);
    expect(events([raw, raw], { keepRawEvents: true })).toEqual([say("m", "bb")]);
    expect(events([raw])).toEqual([raw]);
  });

  it("joins long rows, and what some of their parts say beside the text", () => {
    const row = (...deltas: readonly string[]): readonly Event[] => deltas.map((delta) => say("m", delta));
    const told = { ...say("m", "d"), metadata: { k: 1 }, subagentRunId: "s", rawEvent: 1 };
    const log = [...row("a", "b", "c"), told, ...row("e", "f"), { ...say("m", "g"), metadata: { l: 2 } }, ...row("h")];
    const joined = { ...say("m", "abcdefgh"), metadata: { k: 1, l: 2 }, subagentRunId: "s" };
    expect(events(run(start("m"), ...log, end("m")))).toEqual(run(start("m"), joined, end("m")));
    expect(events([start("m"), ...log], { keepRawEvents: true })).toEqual([start("m"), { ...joined, rawEvent: 1 }]);
    expect(events([start("m"), ...log, told], { keepRawEvents: true })[1]).toEqual({ ...joined, delta: "abcdefghd" });
  });

  it("joins rows of parallel items, each to its own", () => {
    const rows = ["1", "2", "3"].flatMap((part) => [
      ...["a", "b", "c"].map((delta) => args("c1", delta + part)),
      ...["x", "y", "z"].map((delta) => args("c2", delta + part)),
      ...["o", "p", "q"].map((delta) => say("c1", delta + part)),
    ]);
    const joined = [
      args("c1", "a1b1c1a2b2c2a3b3c3"),
      args("c2", "x1y1z1x2y2z2x3y3z3"),
      say("c1", "o1p1q1o2p2q2o3p3q3"),
    ];
    const opened = [start("c1"), call("c1"), call("c2")];
    expect(events([...opened, ...rows])).toEqual([...opened, ...joined]);
  });

  it("keeps a call inside of an open message there, and parallel calls in order", () => {
    const log = run(
      start("m"),
      say("m", "a"),
      call("c1"),
      args("c1", "{"),
      call("c2"),
      args("c2", "["),
      args("c1", "}"),
      say("m", "b"),
      called("c1"),
      args("c2", "]"),
      called("c2"),
      end("m"),
    );
    const wanted = [
      start("m"),
      say("m", "ab"),
      call("c1"),
      args("c1", "{}"),
      call("c2"),
      args("c2", "[]"),
      called("c1"),
      called("c2"),
      end("m"),
    ];
    expect(events(log)).toEqual(run(...wanted));
  });

  it("joins nothing over a restated conversation", () => {
    const restated: Event = { type: "MESSAGES_SNAPSHOT", messages: [{ id: "m", role: "assistant", content: "x" }] };
    const log = run(start("m"), say("m", "a"), say("m", "b"), restated, say("m", "c"), say("m", "d"), end("m"));
    expect(events(log)).toEqual(run(start("m"), say("m", "ab"), restated, say("m", "cd"), end("m")));
  });

  it("keeps only the latest of conversations that restate the same messages, with nothing between that touches one", () => {
    const first = { ...told({ id: "a", role: "user", content: "1" }, { id: "b", role: "assistant" }), timestamp: 5 };
    const second = told({ id: "a", role: "user", content: "2" }, { id: "b", role: "assistant" });
    const custom: Event = { type: "CUSTOM", name: "n", value: 1 };
    const log = run(first, custom, second, second);
    expect(events(log)).toEqual(run({ ...second, timestamp: 5 }, custom));
    expect(reduceAll(events(log))).toEqual(reduceAll(log));
    expect(compactWithRanges(log, { mode: "events" }).ranges).toEqual([
      [0, 0],
      [1, 4],
      [2, 2],
      [5, 5],
    ]);
    const raw = { ...second, rawEvent: 1, metadata: { k: 1 } };
    expect(events(run(first, raw, second), { keepRawEvents: true })).toEqual(run({ ...raw, timestamp: 5 }));
    expect(events(run(raw, raw, raw), { keepRawEvents: true })).toEqual(run({ ...second, metadata: { k: 1 } }));
    expect(events(run(first, raw))).toEqual(run({ ...second, timestamp: 5, metadata: { k: 1 } }));
  });

  it("keeps restated conversations that differ in their messages or have something between them", () => {
    const ab = told({ id: "a", role: "user", content: "1" }, { id: "b", role: "assistant" });
    const ba = told({ id: "b", role: "assistant" }, { id: "a", role: "user", content: "1" });
    const other = told({ id: "a", role: "assistant" }, { id: "b", role: "assistant" });
    for (const log of [run(ab, ba), run(ab, other), run(ab, start("m"), ab, end("m")), [...run(ab), ...run(ab)]]) {
      expect(events(log)).toEqual(log);
    }
  });

  it("parts text where something may have made its message anew", () => {
    const gone: Event = { type: "MESSAGES_SNAPSHOT", messages: [] };
    const log = run(start("m"), gone, say("m", "a"), say("m", "b"), call("c"), say("m", "c"), end("m"), called("c"));
    expect(events(log)).toEqual(run(start("m"), gone, say("m", "ab"), call("c"), say("m", "c"), end("m"), called("c")));
    expect(reduceAll(events(log)).messages).toEqual(reduceAll(log).messages);
  });

  it("parts text and reasoning that speak into one message", () => {
    const log = [start("m"), say("m", "a"), think("b"), say("m", "c")];
    expect(events(log)).toEqual(log);
    const rows = [start("m"), ...log.slice(1).flatMap((event) => [event, event])];
    expect(events(rows)).toEqual([start("m"), say("m", "aa"), think("bb"), say("m", "cc")]);
  });

  it("leaves a message that is opened again in two parts", () => {
    const log = run(start("m"), say("m", "a"), end("m"), start("m"), say("m", "b"), end("m"));
    expect(events(log)).toEqual(log);
  });

  it("leaves what a failed run left open in its run", () => {
    const log = [
      STARTED,
      start("m"),
      say("m", "a"),
      say("m", "b"),
      FAILED,
      ...run(start("m"), say("m", "c"), end("m")),
    ];
    expect(events(log)).toEqual([
      STARTED,
      start("m"),
      say("m", "ab"),
      FAILED,
      ...run(start("m"), say("m", "c"), end("m")),
    ]);
  });

  it("joins nothing over the end of a run, whatever follows", () => {
    const log = [say("m", "a"), change("/a", 1), set({}), FAILED, say("m", "b"), change("/a", 1)];
    expect(events(log)).toEqual([say("m", "a"), set({}), FAILED, say("m", "b"), change("/a", 1)]);
  });

  it("expands chunks first", () => {
    const chunk: Event = { type: "TEXT_MESSAGE_CHUNK", messageId: "m", delta: "a" };
    const more: Event = { type: "TEXT_MESSAGE_CHUNK", delta: "b" };
    const { events: out, ranges } = compactWithRanges(run(chunk, more), { mode: "events" });
    expect(out).toEqual(run(start("m"), say("m", "ab"), end("m")));
    expect(ranges).toEqual([
      [0, 0],
      [1, 1],
      [1, 2],
      [3, 3],
      [3, 3],
    ]);
  });

  it("says of a row where it ends, whatever follows", () => {
    const log = [
      start("m"),
      say("m", "a"),
      say("m", "b"),
      say("m", "c"),
      set({}),
      change("/a", 1),
      set({}),
      start("n"),
    ];
    expect(compactWithRanges(log, { mode: "events" }).ranges).toEqual([
      [0, 0],
      [1, 3],
      [4, 6],
      [7, 7],
    ]);
  });

  it("says which events each one stands for", () => {
    const log = run(start("m"), say("m", "a"), set({}), say("m", "b"), end("m"), change("/a", 1));
    const { events: out, ranges } = compactWithRanges(log, { mode: "events" });
    expect(out).toEqual(run(start("m"), say("m", "ab"), set({ a: 1 }), end("m")));
    expect(ranges).toEqual([
      [0, 0],
      [1, 1],
      [2, 4],
      [3, 6],
      [5, 5],
      [7, 7],
    ]);
  });
});

describe("mode events, state", () => {
  it("keeps the newest snapshot, with the changes behind it", () => {
    const log = run(change("/lost", 1), set({ a: 1 }), set({ b: 1 }), change("/c", 2), change("/no/parent", 3));
    expect(events(log)).toEqual(run(set({ b: 1, c: 2 })));
  });

  it("folds changes where it knows what they change", () => {
    const deltas = [change("/a", 1), change("/b", 2)];
    const input = { threadId: "t", runId: "r", messages: [], state: { z: 0 } };
    const told: Event = { type: "RUN_STARTED", threadId: "t", runId: "r", input };
    expect(events(run(...deltas))).toEqual(run(...deltas));
    expect(events(run(...deltas), { state: { z: 0 } })).toEqual(run(set({ z: 0, a: 1, b: 2 })));
    expect(events([told, ...deltas, FINISHED])).toEqual([told, set({ z: 0, a: 1, b: 2 }), FINISHED]);
    expect(events([...run(set({ z: 0 })), ...run(...deltas)])).toEqual([
      ...run(set({ z: 0 })),
      ...run(set({ z: 0, a: 1, b: 2 })),
    ]);
    // What an input says does not count once something has changed a state that nobody said.
    expect(events([...run(...deltas), told, ...deltas, FINISHED])).toEqual([
      ...run(...deltas),
      told,
      ...deltas,
      FINISHED,
    ]);
  });

  it("takes null for a state, and leaves a single change as it is", () => {
    const log = [...run(set(null)), ...run(change("", { a: 1 }))];
    expect(events(log)).toEqual(log);
    expect(events([...log, ...run(change("/b", 1), change("/c", 1))]).slice(-2)).toEqual([
      set({ a: 1, b: 1, c: 1 }),
      FINISHED,
    ]);
  });

  it("keeps the time of the first, the owner of the last and all metadata", () => {
    const first = { ...set({}), timestamp: 1, metadata: { k: 1 } };
    const last = { ...change("/a", 1), timestamp: 2, metadata: { l: 2 }, subagentRunId: "s" };
    const wanted = { ...set({ a: 1 }), timestamp: 1, metadata: { k: 1, l: 2 }, subagentRunId: "s" };
    expect(events([first, last])).toEqual([wanted]);
  });
});

describe("mode events, activities", () => {
  it("folds changes into the snapshot, where it stood", () => {
    const log = run(show({ x: 1 }), start("m"), alter("/y", 2, "SEARCH"), alter("", 5, "BAD"), end("m"));
    expect(events(log)).toEqual(run(show({ x: 1, y: 2 }, { activityType: "SEARCH" }), start("m"), end("m")));
  });

  it("lets a later snapshot take over, but not its metadata away", () => {
    const log = [
      show({ x: 1 }, { metadata: { k: 1 }, timestamp: 1, rawEvent: 1 }),
      show({ y: 2 }, { subagentRunId: "s" }),
    ];
    expect(events(log)).toEqual([show({ y: 2 }, { metadata: { k: 1 }, timestamp: 1, subagentRunId: "s" })]);
  });

  it("leaves changes alone where a snapshot may not have counted", () => {
    const kept = show({ x: 1 }, { replace: false });
    expect(events([kept, kept, alter("/y", 2), alter("/z", 3)])).toEqual([kept, alter("/y", 2), alter("/z", 3)]);
    expect(events([kept, show({ y: 2 })])).toEqual([show({ y: 2 })]);
    expect(events([alter("/y", 2)])).toEqual([alter("/y", 2)]);
  });
});

describe("mode snapshot", () => {
  it("gives the seed's results for fragments", () => {
    const hello = [
      { type: "TEXT_MESSAGE_START", messageId: "msg1", role: "user" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "msg1", delta: "Hello " },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "msg1", delta: "world" },
      { type: "TEXT_MESSAGE_END", messageId: "msg1" },
    ] as const;
    const counts = [
      { type: "STATE_DELTA", delta: [{ op: "add", path: "/count", value: 1 }] },
      { type: "STATE_DELTA", delta: [{ op: "replace", path: "/count", value: 2 }] },
    ] as const;
    const message = { id: "msg1", role: "user", content: "Hello world" } as const;
    expect(snapshot(hello)).toEqual([{ type: "MESSAGES_SNAPSHOT", messages: [message] }]);
    expect(snapshot([...hello, ...counts])).toEqual([
      { type: "MESSAGES_SNAPSHOT", messages: [message] },
      { type: "STATE_SNAPSHOT", snapshot: { count: 2 } },
    ]);
    expect(snapshot([call("c", "m"), args("c", "{}"), called("c")])).toEqual([
      told({
        id: "m",
        role: "assistant",
        toolCalls: [{ id: "c", type: "function", function: { name: "look", arguments: "{}" } }],
      }),
    ]);
  });

  it("tells all that there is in each run, and calls that wait", () => {
    const calls = [{ id: "c", type: "function", function: { name: "look", arguments: "{}" } }] as const;
    const a = { id: "a", role: "assistant", content: "one" } as const;
    const m = { id: "m", role: "assistant", toolCalls: calls } as const;
    const note: Event = { type: "CUSTOM", name: "n", value: 1 };
    const log = [
      ...run(start("a"), say("a", "one"), end("a"), { type: "STEP_STARTED", stepName: "s" }),
      ...run(note, call("c"), args("c", "{}"), called("c"), set({ a: 1 })),
      STARTED,
      start("p"),
      say("p", "part"),
      FAILED,
    ];
    expect(snapshot(log)).toEqual([
      ...run(told(a)),
      ...run(
        told(a, m),
        set({ a: 1 }),
        { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "look" },
        called("c"),
        note,
      ),
      STARTED,
      told(a, m, { id: "p", role: "assistant", content: "part" }),
      FAILED,
    ]);
    expect(snapshot(run(start("a"), end("a")), { messages: [m], state: 1 })[1]).toEqual(told(m, { ...a, content: "" }));
  });

  it("keeps the order that an answer to an old call makes", () => {
    const activity: Event = { type: "ACTIVITY_SNAPSHOT", messageId: "x", activityType: "P", content: { a: 1 } };
    const log = [...run(call("c"), called("c"), activity, start("m2"), end("m2")), ...run(answer("c"))];
    const out = snapshot(log);
    expect(reduceAll(out)).toEqual(reduceAll(log));
    expect(reduceAll(out).messages.map(({ id }) => id)).toEqual(["m", "r-c", "x", "m2"]);
    expect(snapshot(out)).toEqual(out);
  });

  it("takes away what only another of its kind would", () => {
    const activity = { id: "x", role: "activity", activityType: "P", content: {} } as const;
    const changed = told({ id: "x", role: "user", content: "" });
    const log = [...run(told(activity)), ...run(changed, told())];
    expect(reduceAll(log).messages).toEqual([]);
    expect(reduceAll(snapshot(log))).toEqual(reduceAll(log));
  });

  it("joins a run that has not ended, and leaves it open", () => {
    const log = [
      ...run(change("/a", 1)),
      STARTED,
      start("m"),
      say("m", "a"),
      say("m", "b"),
      change("/b", 1),
      change("/c", 1),
    ];
    expect(snapshot(log)).toEqual([
      ...run(set({ a: 1 })),
      STARTED,
      start("m"),
      say("m", "ab"),
      set({ a: 1, b: 1, c: 1 }),
    ]);
  });

  it("keeps the time of what it restates, and says which events that is", () => {
    const log = run({ type: "RAW", event: 1 }, { ...start("m"), timestamp: 5 }, { ...end("m"), timestamp: 6 });
    const { events: out, ranges } = compactWithRanges(log, { mode: "snapshot" });
    expect(out).toEqual(run({ ...told({ id: "m", role: "assistant", content: "" }), timestamp: 5 }));
    expect(ranges).toEqual([
      [0, 0],
      [1, 3],
      [4, 4],
    ]);
    expect(compactWithRanges(run({ type: "RAW", event: 1 }), { mode: "snapshot" }).ranges).toEqual([
      [0, 1],
      [2, 2],
    ]);
  });
});
