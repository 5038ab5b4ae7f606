import { describe, expect, test, vi } from "vitest";
import { agentOf, bodyOf, runToEnd, served, sourceOf } from "../../test/served.ts";
import { runAgent } from "../agent/index.ts";
import type { Event } from "../protocol/index.ts";
import { foldBranch } from "../store/index.ts";
import { view } from "../stream/index.ts";
import { DEFAULT_TENANT } from "./index.ts";
import type { RepairReporter } from "./index.ts";
import { ingesting } from "./ingest.ts";
import { DEFAULT_LIMITS } from "./run-limits.ts";
import { RunNotes } from "./run-notes.ts";

const FRAME = { threadId: "theirs", runId: "theirs" };
const STARTED = { type: "RUN_STARTED", ...FRAME };
const FINISHED = { type: "RUN_FINISHED", ...FRAME };
const OPEN = { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" };
const SAY = { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "hello" };
const CLOSE = { type: "TEXT_MESSAGE_END", messageId: "m1" };

const typesOf = (events: readonly Event[]): readonly string[] => events.map(({ type }) => type);

const foldOf = async (heddle: ReturnType<typeof served>, runId = "r1") =>
  view((await foldBranch(heddle.store, { tenant: DEFAULT_TENANT, threadId: "t1", runId })).state.reduce);

describe("HTTP-RUN-5: what an agent brings from elsewhere", () => {
  test("is logged as it is, in our frame", async () => {
    const [started, ...events] = await runToEnd(served(sourceOf(STARTED, OPEN, SAY, CLOSE, FINISHED)));
    expect(started).toMatchObject({ type: "RUN_STARTED", threadId: "t1", runId: "r1" });
    expect(events.slice(0, -1)).toEqual([OPEN, SAY, CLOSE]);
    expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", threadId: "t1", runId: "r1" });
  });

  test("is translated from older forms", async () => {
    const thinking = [
      { type: "THINKING_START" },
      { type: "THINKING_TEXT_MESSAGE_START" },
      { type: "THINKING_TEXT_MESSAGE_CONTENT", delta: "hm" },
      { type: "THINKING_TEXT_MESSAGE_END" },
      { type: "THINKING_END" },
    ];
    const events = await runToEnd(
      served(sourceOf({ ...STARTED, timestamp: "2026-01-01T00:00:00Z" }, ...thinking, FINISHED)),
    );
    expect(typesOf(events).slice(1, -1)).toEqual([
      "REASONING_START",
      "REASONING_MESSAGE_START",
      "REASONING_MESSAGE_CONTENT",
      "REASONING_MESSAGE_END",
      "REASONING_END",
    ]);
  });

  test.each<[string, unknown, string]>([
    ["malformed", { type: "TEXT_MESSAGE_CONTENT", messageId: 7, delta: "x" }, "event-invalid"],
    ["no object", "hello", "event-invalid"],
    ["no JSON", { type: "CUSTOM", name: "n", value: 5n }, "event-invalid"],
    ["nothing", undefined, "event-invalid"],
    ["too large", { ...SAY, delta: "x".repeat(1024 * 1024) }, "limit-exceeded"],
    ["too large inside", { type: "CUSTOM", name: "n", value: ["é".repeat(600_000)] }, "limit-exceeded"],
  ])("ends the run where a value is %s, with everything closed", async (_, value, code) => {
    const events = await runToEnd(served(sourceOf(STARTED, OPEN, value, SAY)));
    expect(typesOf(events)).toEqual(["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "RUN_ERROR"]);
    expect(events.at(-1)).toMatchObject({ code });
  });

  test("may be as large as it is allowed to be, and no larger", async () => {
    const say = { ...SAY, delta: "ü".repeat(300) };
    const size = Buffer.byteLength(JSON.stringify(say));
    const codeAt = async (maxEventBytes: number): Promise<unknown> =>
      (await runToEnd(served(sourceOf(OPEN, say), { maxEventBytes }))).at(-1);
    expect(await codeAt(size)).toMatchObject({ type: "RUN_FINISHED" });
    expect(await codeAt(size - 1)).toMatchObject({ type: "RUN_ERROR", code: "limit-exceeded" });
  });

  test("is what it was when it was sent, whatever becomes of it later", async () => {
    const shared = { count: 1 };
    const heddle = served(
      agentOf(async function* () {
        yield { type: "STATE_SNAPSHOT", snapshot: shared };
        shared.count = 2;
        yield {
          type: "STATE_DELTA",
          delta: [
            { op: "test", path: "/count", value: 1 },
            { op: "add", path: "/b", value: 1 },
          ],
        };
      }),
    );
    await runToEnd(heddle);
    expect((await foldOf(heddle)).state).toEqual({ count: 1, b: 1 });
  });

  test("is put right where it breaks the order, and that is reported and counted", async () => {
    const onRepair = vi.fn<RepairReporter>();
    const sloppy = [
      STARTED,
      OPEN,
      SAY,
      { type: "STEP_STARTED", stepName: "s" },
      { type: "STEP_STARTED", stepName: "s" },
    ];
    const heddle = served(sourceOf(...sloppy, FINISHED, SAY), { onRepair });
    await runToEnd(heddle);
    expect(new Set(onRepair.mock.calls.map(([{ rule }]) => rule))).toEqual(
      new Set(["step-already-open", "open-at-finish", "after-finish"]),
    );
    expect(onRepair.mock.calls[0]?.[1].input.runId).toBe("r1");
    expect((await heddle.health()).repairs).toBe(onRepair.mock.calls.length);
    expect((await foldOf(heddle)).messages).toMatchObject([{ id: "m1", content: "hello" }]);
  });

  test("by emit is put right too, and reported", async () => {
    const onRepair = vi.fn<RepairReporter>();
    const agent = agentOf(async ({ emit, log }) => {
      await emit.forward({ type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "x" });
      log.warn("nothing to do with it", { rule: "of thumb" });
    });
    await runToEnd(served(agent, { onRepair }));
    expect(onRepair.mock.calls.map(([{ rule }]) => rule)).toEqual(["not-open"]);
  });

  test("needs no frame, and having none is no fault", async () => {
    const onRepair = vi.fn<RepairReporter>();
    await runToEnd(served(sourceOf(OPEN, SAY, CLOSE), { onRepair }));
    expect(onRepair).not.toHaveBeenCalled();
    expect((await runToEnd(served(sourceOf(OPEN, SAY, CLOSE), { strict: true }))).at(-1)?.type).toBe("RUN_FINISHED");
  });

  test("ends a strict run where it breaks the order", async () => {
    const events = await runToEnd(served(sourceOf(STARTED, OPEN, SAY, OPEN, CLOSE, FINISHED), { strict: true }));
    expect(typesOf(events).slice(1)).toEqual([OPEN.type, SAY.type, CLOSE.type, "RUN_ERROR"]);
    expect(events.at(-1)).toMatchObject({ code: "sequence-violation" });
    const valid = await runToEnd(served(sourceOf(STARTED, OPEN, SAY, CLOSE, FINISHED), { strict: true }));
    expect(valid.at(-1)?.type).toBe("RUN_FINISHED");
  });
});

describe("the end", () => {
  test("is a failure where a RUN_ERROR comes after all", async () => {
    const late = { type: "RUN_ERROR", message: "after all", code: "x" };
    const events = await runToEnd(served(sourceOf(STARTED, FINISHED, late)));
    expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", message: "after all", code: "x" });
  });

  test("is a cut where a source that had begun a run just stops", async () => {
    const events = await runToEnd(served(sourceOf(STARTED, OPEN, SAY)));
    expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "agent-stream-cut" });
    expect(typesOf(events)).toContain("TEXT_MESSAGE_END");
  });

  test("is not held up by a source that stays open behind it, or that cannot be left", async () => {
    const never = new Promise<never>(() => undefined);
    for (const last of [FINISHED, { type: "RUN_ERROR", message: "no" }]) {
      const agent = agentOf(
        () =>
          ({
            [Symbol.asyncIterator]: () => {
              const values = [STARTED, last];
              return {
                next: () => (values.length > 0 ? Promise.resolve({ value: values.shift() }) : never),
                return: () => never,
              };
            },
          }) as unknown as AsyncIterable<Event>,
      );
      const options = {
        strict: false,
        limits: DEFAULT_LIMITS,
        lateMs: 5,
        onRepair: () => undefined,
        notes: new RunNotes(),
      };
      const types: string[] = [];
      for await (const { type } of runAgent(ingesting(agent, options), { threadId: "t", runId: "r", messages: [] })) {
        types.push(type);
      }
      expect(types).toEqual(["RUN_STARTED", last.type]);
    }
  });

  test.each<[string, object]>([
    ["says more than it may", { maxEventsPerRun: 100 }],
    ["opens more than it may", { maxOpenItems: 50 }],
    ["says more in all than it may", { maxRunChars: 5000 }],
  ])("comes to an agent that %s", async (_, limits) => {
    let stopped = false;
    const endless = agentOf(async function* () {
      try {
        for (let index = 0; ; index++) yield { type: "TEXT_MESSAGE_START", messageId: `m${index}`, role: "assistant" };
      } finally {
        stopped = true;
      }
    });
    const heddle = served(endless, limits);
    const events = await runToEnd(heddle);
    expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "limit-exceeded" });
    expect(events.length).toBeLessThan(250);
    await vi.waitFor(() => expect(stopped).toBe(true), { timeout: 20_000 });
  });

  test("comes to an agent that has ended its run, and does not stop", async () => {
    const endless = agentOf(async function* () {
      for (;;) yield { type: "RUN_FINISHED", threadId: "t", runId: "r" };
    });
    const events = await runToEnd(served(endless, { maxEventsPerRun: 1000 }));
    expect(typesOf(events)).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
  });

  test("comes to an agent that says nothing that counts, and does not stop", async () => {
    const endless = agentOf(async function* () {
      for (;;) yield { type: "NOT_KNOWN" } as never;
    });
    const events = await runToEnd(served(endless, { maxEventsPerRun: 1000 }));
    expect(typesOf(events)).toEqual(["RUN_STARTED", "RUN_ERROR"]);
  });

  test("of what an author says by emit has the same limits", async () => {
    const agent = agentOf(({ emit }) => void emit.custom("big", "x".repeat(2000)));
    expect((await runToEnd(served(agent, { maxEventBytes: 1000 }))).at(-1)).toMatchObject({ code: "limit-exceeded" });
  });
});

describe("what the conversation holds already", () => {
  const messages = [
    { id: "u1", role: "user", content: "hi" },
    {
      id: "a1",
      role: "assistant",
      toolCalls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }],
    },
    { id: "x1", role: "tool", toolCallId: "c1", content: "42" },
  ];

  test("is not said again: echoes are dropped, borrowed ids replaced", async () => {
    const onRepair = vi.fn<RepairReporter>();
    const echo = [
      { type: "TEXT_MESSAGE_START", messageId: "u1", role: "user" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "u1", delta: "hi" },
      { type: "TEXT_MESSAGE_END", messageId: "u1" },
      { type: "TOOL_CALL_RESULT", messageId: "x1", toolCallId: "c1", content: "42" },
      { type: "TEXT_MESSAGE_CHUNK", messageId: "x1", delta: "so it is" },
    ];
    const heddle = served(sourceOf(...echo), { onRepair });
    const events = await runToEnd(heddle, bodyOf("r1", { messages }));
    expect(typesOf(events)).not.toContain("TOOL_CALL_RESULT");
    expect((await foldOf(heddle)).messages).toEqual([
      ...messages,
      { id: "x1-reply", role: "assistant", content: "so it is" },
    ]);
    expect(onRepair.mock.calls.map(([{ rule }]) => rule)).toEqual(["id-taken", "id-taken", "id-taken"]);
  });

  test("may be continued where it is the agent's own", async () => {
    const more = { type: "TEXT_MESSAGE_CHUNK", messageId: "a1", delta: "go on" };
    const heddle = served(sourceOf(more));
    await runToEnd(heddle, bodyOf("r1", { messages }));
    expect((await foldOf(heddle)).messages[1]).toMatchObject({ id: "a1", content: "go on" });
  });
});
