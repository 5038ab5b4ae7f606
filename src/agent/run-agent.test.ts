import { expect, test, vi } from "vitest";
import { HeddleError } from "../protocol/index.ts";
import type { Event, RunAgentInput } from "../protocol/index.ts";
import { ROOM_EVENTS } from "./event-queue.ts";
import { defineAgent, isAgent, runAgent } from "./index.ts";
import type { Agent, RunOptions, TextWriter } from "./index.ts";

const input: RunAgentInput = { threadId: "t1", runId: "r1", messages: [] };

const agentOf = (run: Agent["run"]): Agent => defineAgent({ name: "test", run });

async function eventsOf(run: Agent["run"], options?: RunOptions): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of runAgent(agentOf(run), input, options)) events.push(event);
  return events;
}

const typesOf = (events: readonly Event[]): string[] => events.map(({ type }) => type);

const textOf = (events: readonly Event[]): string =>
  events.map((event) => (event.type === "TEXT_MESSAGE_CONTENT" ? event.delta : "")).join("");

/** A promise that never settles: an agent that hangs. */
const never = new Promise<void>(() => {});

test("a run has its frame, its version and integer timestamps", async () => {
  const events = await eventsOf(async ({ emit }) => {
    const reply = emit.text();
    await reply.write("Hel");
    await reply.write("lo");
  });
  const messageId = expect.stringMatching(/^msg_[0-9a-f]{32}$/);
  const timestamp = expect.any(Number);
  expect(events).toEqual([
    { type: "RUN_STARTED", threadId: "t1", runId: "r1", protocolVersion: "1.0", timestamp },
    { type: "TEXT_MESSAGE_START", messageId, role: "assistant", timestamp },
    { type: "TEXT_MESSAGE_CONTENT", messageId, delta: "Hel", timestamp },
    { type: "TEXT_MESSAGE_CONTENT", messageId, delta: "lo", timestamp },
    { type: "TEXT_MESSAGE_END", messageId, timestamp },
    { type: "RUN_FINISHED", threadId: "t1", runId: "r1", timestamp },
  ]);
  for (const event of events) expect(Number.isInteger(event.timestamp)).toBe(true);
});

test("the agent starts only after RUN_STARTED was taken", async () => {
  const run = vi.fn<Agent["run"]>();
  const events = runAgent(agentOf(run), input);
  await events.next();
  expect(run).not.toHaveBeenCalled();
  await events.next();
  expect(run).toHaveBeenCalledOnce();
});

test("a writer that is never written to, or only with nothing, opens no message", async () => {
  const events = await eventsOf(async ({ emit }) => {
    emit.text();
    await emit.text().write("");
  });
  expect(typesOf(events)).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
});

test("two writers are two messages, and both are closed", async () => {
  const events = await eventsOf(({ emit }) => {
    const first = emit.text();
    const second = emit.text();
    void first.write("a");
    void second.write("b");
    void first.write("c");
  });
  const ids = events.flatMap((event) => (event.type === "TEXT_MESSAGE_START" ? [event.messageId] : []));
  expect(new Set(ids).size).toBe(2);
  expect(events.flatMap((event) => (event.type === "TEXT_MESSAGE_END" ? [event.messageId] : []))).toEqual(
    ids.toReversed(),
  );
});

test("a throw closes what is open and fails the run", async () => {
  const onError = vi.fn<(error: unknown) => void>();
  const boom = new Error("model is down");
  const events = await eventsOf(
    async ({ emit }) => {
      await emit.text().write("half");
      throw boom;
    },
    { onError },
  );
  expect(typesOf(events).slice(-2)).toEqual(["TEXT_MESSAGE_END", "RUN_ERROR"]);
  expect(events.at(-1)).toMatchObject({ message: "model is down", code: "agent-failed" });
  expect(onError).toHaveBeenCalledExactlyOnceWith(boom);
});

test.each([
  ["an error of ours keeps its code", new HeddleError("json-invalid", "Not JSON.", {}), "json-invalid", "Not JSON."],
  ["a thrown text is the message", "just text", "agent-failed", "just text"],
  ["an error without a message gets one", new Error(""), "agent-failed", "The agent failed."],
])("%s", async (_, thrown, code, message) => {
  const events = await eventsOf(() => {
    throw thrown;
  });
  expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", code, message });
});

test("something that is no text is refused before a message opens", async () => {
  const events = await eventsOf(async ({ emit }) => {
    const write: (value: never) => unknown = emit.text().write;
    await Reflect.apply(write, undefined, [7]);
  });
  expect(typesOf(events)).toEqual(["RUN_STARTED", "RUN_ERROR"]);
  expect(events.at(-1)).toMatchObject({ code: "event-invalid" });
});

test("an abort closes what is open and ends as cancelled", async () => {
  const stop = new AbortController();
  const onError = vi.fn<(error: unknown) => void>();
  const events = await eventsOf(
    async ({ emit, signal }) => {
      await emit.text().write("half");
      stop.abort();
      signal.throwIfAborted();
    },
    { signal: stop.signal, onError },
  );
  expect(typesOf(events).slice(-2)).toEqual(["TEXT_MESSAGE_END", "RUN_FINISHED"]);
  expect(events.at(-1)).toMatchObject({ outcome: { type: "cancelled" } });
  expect(onError).not.toHaveBeenCalled();
});

test("a real failure during a stop is reported, and the run is still cancelled", async () => {
  const stop = new AbortController();
  const onError = vi.fn<(error: unknown) => void>();
  const events = await eventsOf(
    () => {
      stop.abort();
      throw new Error("cleaning up failed");
    },
    { signal: stop.signal, onError },
  );
  expect(events.at(-1)).toMatchObject({ outcome: { type: "cancelled" } });
  expect(onError).toHaveBeenCalledOnce();
});

test("an agent that ignores the signal is left behind after its grace, and its writes are refused", async () => {
  const stop = new AbortController();
  let late: TextWriter | undefined;
  const events = await eventsOf(
    async ({ emit }) => {
      late = emit.text();
      await late.write("half");
      stop.abort();
      await never;
    },
    { signal: stop.signal, graceMs: 1 },
  );
  expect(events.at(-1)).toMatchObject({ outcome: { type: "cancelled" } });
  await expect(late?.write("more")).rejects.toBe(stop.signal.reason);
});

test("a run that is stopped before it starts never calls its agent", async () => {
  const run = vi.fn<Agent["run"]>();
  const events = await eventsOf(run, { signal: AbortSignal.abort() });
  expect(typesOf(events)).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
  expect(events.at(-1)).toMatchObject({ outcome: { type: "cancelled" } });
  expect(run).not.toHaveBeenCalled();
});

test("an agent that awaits its writes is never far ahead of its reader", async () => {
  let written = 0;
  let taken = 0;
  const agent = agentOf(async ({ emit }) => {
    const reply = emit.text();
    for (; written < 1000; written++) await reply.write("x");
  });
  let furthest = 0;
  for await (const _ of runAgent(agent, input)) {
    taken++;
    furthest = Math.max(furthest, written - taken);
  }
  expect(taken).toBe(1000 + 4);
  expect(furthest).toBeLessThanOrEqual(ROOM_EVENTS);
  expect(furthest).toBeGreaterThan(1);
});

test("an agent that does not await its writes loses nothing", async () => {
  const events = await eventsOf(({ emit }) => {
    const reply = emit.text();
    for (let index = 0; index < 20_000; index++) void reply.write(`${index} `);
  });
  expect(textOf(events)).toBe(Array.from({ length: 20_000 }, (_, index) => `${index} `).join(""));
});

test("an agent that outruns its reader without waiting fails its run instead of filling the memory", async () => {
  let refused = 0;
  let aborted = false;
  const events = await eventsOf(async ({ emit, signal }) => {
    const reply = emit.text();
    const mebibyte = "x".repeat(1024 * 1024);
    const writes = Array.from({ length: 40 }, () => reply.write(mebibyte));
    for (const { status } of await Promise.allSettled(writes)) if (status === "rejected") refused++;
    aborted = signal.aborted;
  });
  expect(textOf(events).length).toBeLessThanOrEqual(17 * 1024 * 1024);
  expect(typesOf(events).slice(-2)).toEqual(["TEXT_MESSAGE_END", "RUN_ERROR"]);
  expect(events.at(-1)).toMatchObject({ code: "limit-exceeded" });
  expect(refused).toBeGreaterThanOrEqual(23);
  expect(aborted).toBe(true);
});

test("what is written after the end goes nowhere, and says so to whoever awaits it", async () => {
  let late: TextWriter | undefined;
  const events = await eventsOf(({ emit }) => {
    late = emit.text();
  });
  expect(typesOf(events)).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
  // Not awaited: an unhandled rejection would fail this file.
  void late?.write("dropped");
  await expect(late?.write("dropped")).rejects.toMatchObject({ code: "run-ended" });
});

test("leaving the loop stops the agent", async () => {
  const stopped = Promise.withResolvers<void>();
  const agent = agentOf(async ({ emit, signal }) => {
    signal.addEventListener("abort", () => stopped.resolve());
    const reply = emit.text();
    for (;;) await reply.write("x");
  });
  for await (const { type } of runAgent(agent, input)) if (type === "TEXT_MESSAGE_CONTENT") break;
  await expect(stopped.promise).resolves.toBeUndefined();
});

test.each(["", "a b", "a/b", "../a", "-a", "x".repeat(101)])("%j is no name for an agent", (name) => {
  expect(() => defineAgent({ name, run: () => {} })).toThrow(expect.objectContaining({ code: "config-invalid" }));
});

test("agents are recognised, and nothing else is", () => {
  expect(isAgent(agentOf(() => {}))).toBe(true);
  for (const other of [undefined, null, "agent", {}, { name: "test", run: () => {} }])
    expect(isAgent(other)).toBe(false);
});
