import { expect, test } from "vitest";
import { questionsOf, runToEnd } from "../../test/run-to-end.ts";
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { defineAgent, modelUsage } from "./index.ts";
import type { Agent } from "./index.ts";

const yielding = (...events: readonly Event[]): Agent =>
  defineAgent({
    name: "test",
    async *run() {
      yield* events;
    },
  });

const started: Event = { type: "RUN_STARTED", threadId: "elsewhere", runId: "other" };
const finished: Event = { type: "RUN_FINISHED", threadId: "elsewhere", runId: "other" };

test("a generator's own frame is absorbed, and its valid events pass as they are", async () => {
  const body: readonly Event[] = [
    { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "hi" },
    { type: "TEXT_MESSAGE_END", messageId: "m" },
  ];
  const { events, lines } = await runToEnd(yielding(started, ...body, finished), { runId: "mine" });
  expect(events.slice(1, -1)).toEqual(body);
  expect(events.slice(1, -1).every((event, index) => event === body[index])).toBe(true);
  expect(events[0]).toMatchObject({ threadId: "thread", runId: "mine" });
  expect(events.at(-1)).toMatchObject({ threadId: "thread", runId: "mine" });
  expect(lines).toEqual([]);
});

test("chunks are expanded, and what is wrong in sequence is put right and logged", async () => {
  const { types, lines, text } = await runToEnd(
    yielding(
      { type: "TEXT_MESSAGE_CHUNK", messageId: "m", delta: "a" },
      { type: "TEXT_MESSAGE_CHUNK", delta: "b" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "other", delta: "c" },
      { type: "STEP_FINISHED", stepName: "never" },
    ),
  );
  expect(text).toBe("abc");
  expect(types).toEqual([
    "RUN_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "RUN_FINISHED",
  ]);
  expect(lines).toHaveLength(2);
});

test("a run may also return an iterable, and yield beside its emit", async () => {
  const agent = defineAgent({
    name: "test",
    async run({ emit }) {
      await emit.text({ id: "first" }).write("a");
      return (async function* (): AsyncGenerator<Event> {
        yield { type: "TEXT_MESSAGE_CHUNK", messageId: "second", delta: "b" };
        await emit.text({ id: "third" }).write("c");
      })();
    },
  });
  const { text, view } = await runToEnd(agent);
  expect(text).toBe("abc");
  expect(view.messages.map(({ id }) => id)).toEqual(["first", "second", "third"]);
});

test("a yielded RUN_ERROR ends the run as an error, with its code, and what follows is not asked for", async () => {
  let asked = 0;
  const agent = defineAgent({
    name: "test",
    async *run() {
      yield { type: "TEXT_MESSAGE_CHUNK", messageId: "m", delta: "half" } as const;
      yield { type: "RUN_ERROR", message: "quota", code: "native-code", usage: [{ outputTokens: 1 }] } as const;
      asked++;
    },
  });
  const { types, last } = await runToEnd(agent);
  expect(types.slice(-2)).toEqual(["TEXT_MESSAGE_END", "RUN_ERROR"]);
  expect(last).toMatchObject({ message: "quota", code: "native-code", usage: [{ outputTokens: 1 }] });
  expect(asked).toBe(0);
});

test("what a yielded RUN_FINISHED says of the end is kept: result, usage, cancelled", async () => {
  const usage = [{ model: "m", inputTokens: 2 }];
  const done = await runToEnd(yielding({ ...finished, result: { ok: true }, usage }));
  expect(done.last).toMatchObject({ type: "RUN_FINISHED", result: { ok: true }, usage });
  const stopped = await runToEnd(yielding({ ...finished, outcome: { type: "cancelled" }, result: 1 }));
  expect(stopped.last).toMatchObject({ outcome: { type: "cancelled" } });
  expect(stopped.last).not.toHaveProperty("result");
});

test("questions of a yielded run are questions of the run", async () => {
  const interrupts = [{ id: "q", reason: "why", message: "?" }];
  const run = await runToEnd(yielding(started, { ...finished, outcome: { type: "interrupt", interrupts } }));
  expect(questionsOf(run)).toEqual(interrupts);
});

test("replayed runs before the last one are not taken for its end", async () => {
  const { last, text } = await runToEnd(
    yielding(
      started,
      { ...finished, outcome: { type: "cancelled" } },
      { ...started, runId: "second" },
      { type: "TEXT_MESSAGE_CHUNK", messageId: "m", delta: "now" },
      { ...finished, runId: "second" },
      { type: "TEXT_MESSAGE_CHUNK", messageId: "n", delta: "too late" },
    ),
  );
  expect(text).toBe("now");
  expect(last).not.toHaveProperty("outcome");
});

test("a malformed value fails the run, an unknown one is dropped with a warning", async () => {
  const agent = defineAgent({
    name: "test",
    async *run() {
      yield { type: "FUTURE" } as never;
      yield { type: "TEXT_MESSAGE_START", messageId: 7 } as never;
    },
  });
  const { last, lines } = await runToEnd(agent);
  expect(last).toMatchObject({ type: "RUN_ERROR", code: "event-invalid" });
  expect(lines).toEqual([expect.stringContaining("FUTURE")]);
});

test("usage that a model says becomes the run's, and does not leave as an event", async () => {
  const { last, types } = await runToEnd(yielding(modelUsage({ model: "m", outputTokens: 1 })));
  expect(types).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
  expect(last).toMatchObject({ usage: [{ model: "m", outputTokens: 1 }] });
});

test("emit.forward throws on RUN_ERROR, and a subagent's events carry its name", async () => {
  const agent = defineAgent({
    name: "test",
    async run({ emit }) {
      const sub = emit.subagent("inner", { id: "s" });
      await sub.emit.forward(started);
      await sub.emit.forward({ type: "TEXT_MESSAGE_CHUNK", messageId: "m", delta: "hi" });
      await sub.emit.forward({ type: "SUBAGENT_STARTED", subagentRunId: "s2", name: "deeper" });
      const failing = async () => sub.emit.forward({ type: "RUN_ERROR", message: "inner failed", code: "x" });
      await expect(failing()).rejects.toThrow(HeddleError);
      await sub.fail(new Error("inner failed"));
    },
  });
  const { events, last } = await runToEnd(agent);
  expect(events.slice(1, -1).map((event) => [event.type, Reflect.get(event, "subagentRunId")])).toEqual([
    ["SUBAGENT_STARTED", "s"],
    ["TEXT_MESSAGE_START", "s"],
    ["TEXT_MESSAGE_CONTENT", "s"],
    ["SUBAGENT_STARTED", "s2"],
    ["SUBAGENT_ERROR", "s2"],
    ["TEXT_MESSAGE_END", "s"],
    ["SUBAGENT_ERROR", "s"],
  ]);
  expect(last).toMatchObject({ type: "RUN_FINISHED" });
});

test("what was closed by an event from elsewhere is not written to any more", async () => {
  const agent = defineAgent({
    name: "test",
    async run({ emit }) {
      const text = emit.text({ id: "m" });
      await text.write("a");
      await emit.forward({ type: "TEXT_MESSAGE_END", messageId: "m" });
      expect(() => text.write("b")).toThrow(expect.objectContaining({ code: "sequence-violation" }));
    },
  });
  expect((await runToEnd(agent)).types.slice(1, -1)).toEqual([
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
  ]);
});

test("a generator that is stopped is told, and its cleaning up is run", async () => {
  const stop = new AbortController();
  const cleaned = Promise.withResolvers<void>();
  const agent = defineAgent({
    name: "test",
    async *run({ signal }) {
      try {
        for (let index = 0; ; index++) {
          yield { type: "TEXT_MESSAGE_CHUNK", messageId: "m", delta: `${index}` } as const;
          if (index === 3) stop.abort();
          signal.throwIfAborted();
        }
      } finally {
        cleaned.resolve();
      }
    },
  });
  const { last, text } = await runToEnd(agent, {}, { signal: stop.signal });
  expect(last).toMatchObject({ outcome: { type: "cancelled" } });
  expect(text).toBe("0123");
  await expect(cleaned.promise).resolves.toBeUndefined();
});
