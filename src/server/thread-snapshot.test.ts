/** Threads at one moment: told the same whether runs are live, settled or trimmed, and with the times of their events. */
import { describe, expect, test } from "vitest";
import { beginRun, goOn, said, wholeRun } from "../../test/stored-thread.ts";
import type { Event } from "../protocol/index.ts";
import { formatCursor, memoryStore, settleLeftovers } from "../store/index.ts";
import type { Store } from "../store/index.ts";
import { threadSnapshot } from "./thread-snapshot.ts";
import type { SnapshotOptions, ThreadSnapshot } from "./thread-snapshot.ts";

const KEY = { tenant: "default", threadId: "t1" };

const at = <E extends Event>(timestamp: number, event: E): E => ({ ...event, timestamp });
const called = (ms: number, id: string, name: string, args = "{}"): readonly Event[] => [
  at(ms, { type: "TOOL_CALL_START", toolCallId: id, toolCallName: name }),
  at(ms + 1, { type: "TOOL_CALL_ARGS", toolCallId: id, delta: args }),
  at(ms + 2, { type: "TOOL_CALL_END", toolCallId: id }),
];
const result = (ms: number, id: string, content: string, metadata?: Event["metadata"]): Event =>
  at(ms, { type: "TOOL_CALL_RESULT", messageId: `of-${id}`, toolCallId: id, content, ...(metadata && { metadata }) });
const finished = (runId: string, more: object = {}): Event => ({
  type: "RUN_FINISHED",
  threadId: "t1",
  runId,
  ...more,
});

/** Two calls at the same time, one of which fails, and one that is left to the client, which answers it in the next run. */
async function withCalls(store: Store): Promise<void> {
  await wholeRun(
    store,
    KEY,
    "r1",
    {},
    [
      at(10, { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" }),
      at(11, { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Let me see." }),
      at(12, { type: "TEXT_MESSAGE_END", messageId: "m1" }),
      ...called(100, "c1", "weave", '{"warp":1}'),
      ...called(200, "c2", "spin"),
      result(900, "c2", "Error", { heddle: { error: "The wheel broke." } }),
      result(1100, "c1", "woven"),
      ...called(1200, "c3", "ask_user"),
      at(1300, { type: "STATE_SNAPSHOT", snapshot: { woven: 1 } }),
    ],
    at(1400, finished("r1", { outcome: { type: "success", pendingToolCallIds: ["c3"] } })),
  );
}

async function answered(store: Store): Promise<void> {
  const place = { parentRunId: "r1", kind: "continue" } as const;
  const messages = [{ id: "of-c3", role: "tool", toolCallId: "c3", content: "yes" } as const];
  const input = { threadId: "t1", runId: "r2", messages, tools: [], context: [] };
  const started = at(5000, { type: "RUN_STARTED", threadId: "t1", runId: "r2", input });
  const lease = await beginRun(store, KEY, "r2", place, [JSON.stringify(started)]);
  await goOn(store, lease, 1, [...said("m2", "Done."), finished("r2")]);
}

const idsIn = ({ messages }: ThreadSnapshot): readonly string[] => messages.map(({ id }) => id);

/** The calls in short: id, status, start, end. */
const callsIn = ({ toolCalls }: ThreadSnapshot): readonly unknown[] =>
  toolCalls.map(({ id, status, startedAtMs, endedAtMs }) => [id, status, startedAtMs, endedAtMs]);

const look = (store: Store, options: SnapshotOptions = {}): Promise<ThreadSnapshot> =>
  threadSnapshot(store, KEY, options);

describe("tool calls", () => {
  test("HTTP-THR-7: each with its own times, result and failure, whether or not its run is settled or trimmed", async () => {
    const store = memoryStore();
    await withCalls(store);
    const before = await look(store);
    expect(before.toolCalls).toEqual([
      {
        id: "c1",
        name: "weave",
        arguments: '{"warp":1}',
        status: "completed",
        startedAtMs: 100,
        endedAtMs: 1100,
        result: "woven",
        error: undefined,
      },
      {
        id: "c2",
        name: "spin",
        arguments: "{}",
        status: "failed",
        startedAtMs: 200,
        endedAtMs: 900,
        result: "Error",
        error: "The wheel broke.",
      },
      {
        id: "c3",
        name: "ask_user",
        arguments: "{}",
        status: "pending",
        startedAtMs: 1200,
        endedAtMs: undefined,
        result: undefined,
        error: undefined,
      },
    ]);
    expect([before.pendingToolCallIds, before.interrupts, before.state]).toEqual([["c3"], [], { woven: 1 }]);
    expect(before.messageTimesMs.get("m1")).toBe(10);

    await settleLeftovers(store);
    expect(await look(store)).toEqual(before);
    await store.trim(Infinity);
    expect((await store.thread(KEY))?.floor).toBeGreaterThan(0);
    expect(await look(store)).toEqual(before);
  });

  test("one that the client answers ends when the answer comes", async () => {
    const store = memoryStore();
    await withCalls(store);
    await answered(store);
    const now = await look(store);
    expect(callsIn(now)[2]).toEqual(["c3", "completed", 1200, 5000]);
    expect([now.runId, now.pendingToolCallIds]).toEqual(["r2", []]);
    expect(now.messageTimesMs.get("of-c3")).toBe(5000);
    // What carries no timestamp has no time.
    expect(now.messageTimesMs.has("m2")).toBe(false);
    await settleLeftovers(store);
    expect(await look(store)).toEqual(now);
  });

  test.each<[string, Event, string]>([
    ["fails", at(700, { type: "RUN_ERROR", message: "It broke." }), "It broke."],
    ["is stopped", at(700, finished("r1", { outcome: { type: "cancelled" } })), "stopped before the call had returned"],
  ])("one whose run %s before there is a result has failed", async (_, ending, why) => {
    const store = memoryStore();
    await wholeRun(
      store,
      KEY,
      "r1",
      {},
      [...called(100, "c1", "weave"), result(200, "c1", "woven"), ...called(300, "c2", "spin")],
      ending,
    );
    const { toolCalls } = await look(store);
    expect(toolCalls).toMatchObject([
      { id: "c1", status: "completed", endedAtMs: 200 },
      { id: "c2", status: "failed", startedAtMs: 300, endedAtMs: 700, error: expect.stringContaining(why) },
    ]);
  });

  test("an answer that is restated later came when it came first", async () => {
    const store = memoryStore();
    await wholeRun(store, KEY, "r1", {}, [...called(100, "c1", "weave"), result(200, "c1", "woven")]);
    const { messages } = await look(store);
    const restated = at(900, { type: "MESSAGES_SNAPSHOT", messages });
    await wholeRun(store, KEY, "r2", { parentRunId: "r1", kind: "continue" }, [restated, result(950, "c1", "rewoven")]);
    const again = await look(store);
    expect(callsIn(again)).toEqual([["c1", "completed", 100, 200]]);
    expect(again.messageTimesMs.get("of-c1")).toBe(200);
  });

  test("one that came with posted history has no times", async () => {
    const store = memoryStore();
    const messages = [
      {
        id: "a1",
        role: "assistant",
        toolCalls: [{ id: "c1", type: "function", function: { name: "weave", arguments: "{}" } }],
      },
      { id: "x1", role: "tool", toolCallId: "c1", content: "no", error: "It broke." },
    ] as const;
    const input = { threadId: "t1", runId: "r1", messages, tools: [], context: [] };
    const started = at(50, { type: "RUN_STARTED", threadId: "t1", runId: "r1", input });
    const lease = await beginRun(store, KEY, "r1", {}, [JSON.stringify(started)]);
    await goOn(store, lease, 1, [finished("r1")]);
    expect((await look(store)).toolCalls).toMatchObject([
      { id: "c1", status: "failed", result: "no", error: "It broke.", startedAtMs: undefined, endedAtMs: undefined },
    ]);
  });
});

describe("moments", () => {
  test("HTTP-THR-6: at a run, and at every event, a snapshot is what was said up to there on that branch", async () => {
    const store = memoryStore();
    await withCalls(store);
    await answered(store);
    const other = { parentRunId: "r1", kind: "branch" } as const;
    await wholeRun(store, KEY, "r3", other, said("m3", "Or else."));
    const logId = (await store.thread(KEY))?.logId ?? "";

    expect((await look(store)).runId).toBe("r3");
    const branches = [await look(store, { at: "r2" }), await look(store, { at: "r3" })];
    expect(branches.map((each) => idsIn(each).at(-1))).toEqual(["m2", "m3"]);
    expect(branches.map(({ runId }) => runId)).toEqual(["r2", "r3"]);

    for (const run of await store.runs(KEY)) {
      const end = await look(store, { at: run.runId });
      expect(end.cursor).toBe(formatCursor(logId, run.lastSeq));
      expect(await look(store, { at: end.cursor })).toEqual(end);
    }
    // In the middle of a run nothing counts as open, and calls stand as they stood.
    const middle = await look(store, { at: formatCursor(logId, 11) });
    expect(middle).toMatchObject({ runId: "r1", pendingToolCallIds: [], interrupts: [] });
    expect(callsIn(middle)).toEqual([
      ["c1", "pending", 100, undefined],
      ["c2", "failed", 200, 900],
    ]);
    await settleLeftovers(store);
    expect(await look(store, { at: formatCursor(logId, 11) })).toEqual(middle);
  });

  test("open questions are those that the run left", async () => {
    const store = memoryStore();
    const interrupts = [{ id: "q1", reason: "approval" }];
    await wholeRun(
      store,
      KEY,
      "r1",
      {},
      said("m1", "May I?"),
      finished("r1", { outcome: { type: "interrupt", interrupts } }),
    );
    expect((await look(store)).interrupts).toEqual(interrupts);
    await wholeRun(store, KEY, "r2", { parentRunId: "r1", kind: "continue" }, said("m2", "Well."));
    expect((await look(store)).interrupts).toEqual([]);
    expect((await look(store, { at: "r1" })).interrupts).toEqual(interrupts);
  });

  test("instructions to the model are for who asks for them", async () => {
    const store = memoryStore();
    const messages = [
      { id: "s1", role: "system", content: "Be kind." },
      { id: "d1", role: "developer", content: "Be brief." },
      { id: "u1", role: "user", content: "Hi" },
    ] as const;
    const input = { threadId: "t1", runId: "r1", messages, tools: [], context: [] };
    const started = at(50, { type: "RUN_STARTED", threadId: "t1", runId: "r1", input });
    const lease = await beginRun(store, KEY, "r1", {}, [JSON.stringify(started)]);
    await goOn(store, lease, 1, [finished("r1")]);
    const plain = await look(store);
    expect(plain.messages).toEqual([messages[2]]);
    expect([...plain.messageTimesMs]).toEqual([["u1", 50]]);
    expect((await look(store, { raw: true })).messages).toEqual(messages);
  });

  test.each([
    ["a run that is not there", "r9", "run-unknown"],
    ["a cursor of another log", formatCursor("abcdefghijkl", 1), "cursor-invalid"],
    ["a cursor beyond the end", undefined, "cursor-invalid"],
  ])("%s is refused", async (_, asked, code) => {
    const store = memoryStore();
    await withCalls(store);
    const logId = (await store.thread(KEY))?.logId ?? "";
    await expect(look(store, { at: asked ?? formatCursor(logId, 999) })).rejects.toMatchObject({ code });
  });

  test("an event that retention has dropped cannot be shown; the end of its run can", async () => {
    const store = memoryStore();
    await withCalls(store);
    await answered(store);
    const end = await look(store, { at: "r1" });
    await settleLeftovers(store);
    await store.trim(Infinity);
    const { logId = "", floor = 0 } = (await store.thread(KEY)) ?? {};
    expect(end.cursor < formatCursor(logId, floor)).toBe(true);
    expect(await look(store, { at: end.cursor })).toEqual(end);
    await expect(look(store, { at: formatCursor(logId, 3) })).rejects.toMatchObject({ code: "cursor-trimmed" });
  });
});
