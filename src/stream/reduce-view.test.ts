/** What a reader of views may rely on: how the run stands, and values that never change once they are handed out. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitrarySoup, arbitraryStream } from "../../test/arbitrary-stream.ts";
import type { Event, Message } from "../protocol/index.ts";
import { createExpandState, expand } from "./expand.ts";
import { createReduceState, reduce, view } from "./reduce.ts";
import { reduceAll } from "./stage.ts";

const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);

const start: Event = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const finish: Event = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const fail: Event = { type: "RUN_ERROR", message: "no", code: "x" };
const usage = [{ model: "m", inputTokens: 3 }];
const interrupts = [{ id: "i1", reason: "approval" }];
const callStart: Event = { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "f" };
const result: Event = { type: "TOOL_CALL_RESULT", messageId: "r1", toolCallId: "c1", content: "ok" };
const running = { threadId: "t", runId: "r", usage: [] };

describe("the run", () => {
  it.each([
    ["none", [], { status: "none", usage: [] }],
    ["running", [start], { ...running, status: "running" }],
    ["finished", [start, { ...finish, result: 1, usage }], { ...running, status: "finished", result: 1, usage }],
    ["finished, said so", [start, { ...finish, outcome: { type: "success" } }], { ...running, status: "finished" }],
    [
      "interrupted",
      [start, { ...finish, outcome: { type: "interrupt", interrupts } }],
      { ...running, status: "interrupted" },
    ],
    ["cancelled", [start, { ...finish, outcome: { type: "cancelled" } }], { ...running, status: "cancelled" }],
    [
      "failed",
      [start, { ...fail, usage }],
      { ...running, status: "failed", error: { message: "no", code: "x" }, usage },
    ],
    [
      "failed at once",
      [{ type: "RUN_ERROR", message: "no" }],
      { status: "failed", error: { message: "no" }, usage: [] },
    ],
    [
      "running again, with nothing left of the last run",
      [start, { ...finish, result: 1, usage }, fail, { ...start, runId: "r2" }],
      { status: "running", threadId: "t", runId: "r2", usage: [] },
    ],
  ] as readonly (readonly [string, readonly Event[], unknown])[])("is %s", (_, events, run) => {
    expect(reduceAll(events).run).toEqual(run);
  });

  it("that fails late is failed, and what it returned and spent is still known", () => {
    expect(reduceAll([start, { ...finish, result: 1, usage }, fail]).run).toEqual({
      ...running,
      status: "failed",
      error: { message: "no", code: "x" },
      result: 1,
      usage,
    });
  });

  it("echoes messages: those that are not held come to the end, those that are stay as they are", () => {
    const held: Message = { id: "u1", role: "user", content: "held" };
    const fresh: Message = { id: "u2", role: "user", content: "new" };
    const input = { threadId: "t", runId: "r", messages: [fresh, { ...held, content: "other" }] };
    expect(reduceAll([{ ...start, input }], { messages: [held] }).messages).toEqual([held, fresh]);
  });
});

describe("what belongs to the run", () => {
  const s1 = { subagentRunId: "s1" };

  it("calls that wait: started, not answered, in order, of this run", () => {
    const second: Event = { ...callStart, toolCallId: "c2" };
    expect(reduceAll([start, callStart, second, callStart]).pendingToolCallIds).toEqual(["c1", "c2"]);
    expect(reduceAll([start, callStart, second, result, finish]).pendingToolCallIds).toEqual(["c2"]);
    expect(reduceAll([start, callStart, finish, start]).pendingToolCallIds).toEqual([]);
    const wrong = { type: "success", pendingToolCallIds: ["c9"] } as const;
    expect(reduceAll([start, callStart, { ...finish, outcome: wrong }]).pendingToolCallIds).toEqual(["c1"]);
  });

  it("questions: open until a run finishes without any; a failure leaves them open", () => {
    const asked: Event = { ...finish, outcome: { type: "interrupt", interrupts } };
    expect(reduceAll([start, asked]).interrupts).toEqual(interrupts);
    expect(reduceAll([start, asked, start, fail]).interrupts).toEqual(interrupts);
    expect(reduceAll([start, asked, start, finish]).interrupts).toEqual([]);
    expect(reduceAll([start, asked, start, { ...finish, outcome: { type: "cancelled" } }]).interrupts).toEqual([]);
  });

  it("steps, by name and owner, none after the run", () => {
    const plan: Event = { type: "STEP_STARTED", stepName: "plan" };
    const open = [start, plan, { ...plan, ...s1 }, { type: "STEP_FINISHED", stepName: "plan" }] as readonly Event[];
    expect(reduceAll(open).steps).toEqual([{ name: "plan", ...s1 }]);
    expect(reduceAll([...open, fail]).steps).toEqual([]);
    expect(reduceAll([...open, start]).steps).toEqual([]);
  });

  it.each([
    ["running", []],
    ["finished", [{ type: "SUBAGENT_FINISHED", ...s1 }]],
    ["finished", [{ type: "SUBAGENT_FINISHED", ...s1, outcome: { type: "success" } }]],
    ["suspended", [{ type: "SUBAGENT_FINISHED", ...s1, outcome: { type: "suspended" } }]],
    ["failed", [{ type: "SUBAGENT_ERROR", ...s1, message: "no" }]],
    ["abandoned", [fail]],
  ] as readonly (readonly [string, readonly Event[]])[])("subagents: %s", (status, events) => {
    const other: Event = { type: "SUBAGENT_STARTED", subagentRunId: "s0", name: "zero" };
    const done: Event = { type: "SUBAGENT_FINISHED", subagentRunId: "s0" };
    const announced: Event = { type: "SUBAGENT_STARTED", name: "one", ...s1 };
    expect(reduceAll([start, other, announced, done, ...events]).subagents).toEqual([
      { subagentRunId: "s0", name: "zero", status: "finished" },
      { ...s1, name: "one", status },
    ]);
    expect(reduceAll([start, announced, ...events, start]).subagents).toEqual([]);
  });

  it("nothing: RAW, CUSTOM, META and the ends of spans", () => {
    const events: readonly Event[] = [
      { type: "RAW", event: 1, metadata: { k: 1 } },
      { type: "CUSTOM", name: "x", value: 1 },
      { type: "META", metaType: "x", payload: {} },
      { type: "REASONING_START", messageId: "t1" },
    ];
    expect(reduceAll([start, ...events])).toEqual(reduceAll([start]));
  });

  it("no chunks: they are skipped with a warning", () => {
    const state = createReduceState();
    expect(reduce(state, { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta: "x" })).toHaveLength(1);
    expect(view(state).messages).toEqual([]);
  });
});

/** Freezes a value through and through. */
function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

const streams = fc.oneof(
  arbitraryStream({ chunks: false }),
  arbitraryStream({ chunks: true }),
  arbitrarySoup({ chunks: false }),
);
const expanded = (events: readonly Event[]): readonly Event[] => {
  const lanes = createExpandState();
  return events.flatMap((event) => expand(lanes, event));
};

describe("views", () => {
  it("never change: with each one and each event frozen, later events neither fail nor show in it", () => {
    const property = fc.property(streams, (events) => {
      const state = createReduceState();
      const views = expanded(events).map((event) => {
        reduce(state, deepFreeze(structuredClone(event)));
        const now = deepFreeze(view(state));
        return [now, JSON.stringify(now)] as const;
      });
      for (const [then, text] of views) expect(JSON.stringify(then)).toBe(text);
    });
    fc.assert(property, { numRuns: Math.round(2000 * SCALE) });
  });

  it("are the same whether one looks after each event or once at the end, or starts from an earlier view", () => {
    const property = fc.property(streams, fc.nat(40), (events, at) => {
      const all = expanded(events);
      const watched = createReduceState();
      for (const event of all) {
        reduce(watched, event);
        view(watched);
      }
      const whole = reduceAll(all);
      expect(view(watched)).toEqual(whole);
      const { messages } = reduceAll(all.slice(0, at));
      expect(reduceAll(all.slice(at), { messages }).messages).toEqual(whole.messages);
    });
    fc.assert(property, { numRuns: Math.round(2000 * SCALE) });
  });

  it("are the same object until the next event", () => {
    const state = createReduceState();
    expect(view(state)).toBe(view(state));
    reduce(state, start);
    const now = view(state);
    expect(view(state)).toBe(now);
    reduce(state, callStart);
    expect(view(state)).not.toBe(now);
  });

  it("share all that an event does not touch", () => {
    const state = createReduceState({ messages: [{ id: "u1", role: "user", content: "" }], state: { a: { b: 1 } } });
    for (const event of [start, callStart, { type: "STEP_STARTED", stepName: "plan" } as const]) reduce(state, event);
    const before = view(state);
    reduce(state, { type: "CUSTOM", name: "x", value: 1 });
    const after = view(state);
    for (const part of ["messages", "state", "run", "steps", "subagents", "interrupts"] as const) {
      expect(after[part]).toBe(before[part]);
    }
    reduce(state, { type: "STATE_DELTA", delta: [{ op: "add", path: "/c", value: 1 }] });
    expect(view(state).messages).toBe(before.messages);
    expect((view(state).state as { a: unknown }).a).toBe((before.state as { a: unknown }).a);
  });
});

/** Positions whose message is another object. */
const replaced = (before: readonly Message[], after: readonly Message[]): readonly number[] =>
  after.flatMap((message, index) => (message === before[index] ? [] : [index]));

describe("one delta between two views", () => {
  const held = Array.from({ length: 2000 }, (_, index): Message => {
    const id = `m${index}`;
    if (index % 4 === 0) return { id, role: "user", content: "" };
    if (index % 4 === 1) return { id, role: "activity", activityType: "PLAN", content: { n: 0 } };
    if (index % 4 === 2) return { id, role: "reasoning", content: "" };
    return {
      id,
      role: "assistant",
      toolCalls: ["a", "b"].map((name) => ({
        id: `${name}${index}`,
        type: "function",
        function: { name, arguments: "" },
      })),
    };
  });

  it.each([
    ["text", { type: "TEXT_MESSAGE_CONTENT", messageId: "m1000", delta: "x" }, 1000],
    ["reasoning", { type: "REASONING_MESSAGE_CONTENT", messageId: "m1002", delta: "x" }, 1002],
    ["arguments", { type: "TOOL_CALL_ARGS", toolCallId: "b1003", delta: "x" }, 1003],
    [
      "an activity",
      {
        type: "ACTIVITY_DELTA",
        messageId: "m1001",
        activityType: "PLAN",
        patch: [{ op: "add", path: "/n", value: 1 }],
      },
      1001,
    ],
  ] as readonly (readonly [string, Event, number])[])(
    "of %s replaces exactly one of 2,000 messages",
    (_, event, place) => {
      const state = createReduceState({ messages: held });
      const before = view(state).messages;
      reduce(state, event);
      const after = view(state).messages;
      expect(replaced(before, after)).toEqual([place]);
      reduce(state, event);
      expect(replaced(after, view(state).messages)).toEqual([place]);
      expect(before).toEqual(held);
    },
  );

  it("of arguments leaves the other calls of the message as they are", () => {
    const state = createReduceState({ messages: held });
    reduce(state, { type: "TOOL_CALL_ARGS", toolCallId: "b1003", delta: "x" });
    const [before, after] = [held[1003], view(state).messages[1003]] as readonly Extract<
      Message,
      { role: "assistant" }
    >[];
    expect(after?.toolCalls?.[0]).toBe(before?.toolCalls?.[0]);
    expect(after?.toolCalls?.[1]?.function.arguments).toBe("x");
  });

  it("of text replaces nothing but messages, in any stream", () => {
    const property = fc.property(streams, (events) => {
      const state = createReduceState();
      for (const event of expanded(events)) {
        const before = view(state);
        reduce(state, event);
        if (event.type !== "TEXT_MESSAGE_CONTENT" && event.type !== "REASONING_MESSAGE_CONTENT") continue;
        const { messages: _, ...after } = view(state);
        const others = Object.entries(after).filter(([key, value]) => value !== Reflect.get(before, key));
        expect(others).toEqual([]);
      }
    });
    fc.assert(property, { numRuns: Math.round(300 * SCALE) });
  });

  it("replaces at most one message, in any stream", () => {
    const property = fc.property(streams, (events) => {
      const state = createReduceState();
      for (const event of expanded(events)) {
        const before = view(state).messages;
        reduce(state, event);
        const after = view(state).messages;
        const most = /_(CONTENT|ARGS|DELTA)$/.test(event.type) ? 1 : Infinity;
        expect(replaced(before, after).length).toBeLessThanOrEqual(most);
      }
    });
    fc.assert(property, { numRuns: Math.round(1000 * SCALE) });
  });
});
