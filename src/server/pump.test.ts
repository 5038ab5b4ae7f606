import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Event } from "../protocol/index.ts";
import { Committer, memoryStore } from "../store/index.ts";
import type { RunListener, RunWriter, Store } from "../store/index.ts";
import { createPreludeState, createVerifyState, stepPrelude, verify, verifyEnd } from "../stream/index.ts";
import { pump } from "./pump.ts";

const KEY = { tenant: "acme", threadId: "t1", runId: "r1" };
const STARTED: Event = { type: "RUN_STARTED", threadId: "t1", runId: "r1" };
const FINISHED: Event = { type: "RUN_FINISHED", threadId: "t1", runId: "r1" };
const TEXT: readonly Event[] = [
  { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "a" },
];

async function writerOf(store: Store, listener?: RunListener): Promise<RunWriter> {
  const claim = await store.claim({ ...KEY, agent: "test", leaseMs: 60_000, events: [JSON.stringify(STARTED)] });
  if (claim.type !== "claimed") throw new Error(claim.type);
  const state = createPreludeState();
  stepPrelude(state, STARTED);
  return new Committer(store).writer(claim.lease, state, listener);
}

async function* saying(events: readonly Event[], failure?: Error): AsyncGenerator<Event, void, undefined> {
  yield* events;
  if (failure !== undefined) throw failure;
}

/** Pumps what an agent says; returns what the log has then, and what was reported. */
async function pumped(events: AsyncIterable<Event>): Promise<{ logged: readonly Event[]; faults: unknown[] }> {
  const store = memoryStore();
  const faults: unknown[] = [];
  await pump(await writerOf(store), events, (error) => faults.push(error));
  const page = await store.read(KEY, { limit: Infinity });
  const logged = page.events.map(({ json }): Event => JSON.parse(json));
  const state = createVerifyState();
  for (const event of logged) verify(state, event);
  verifyEnd(state);
  return { logged, faults };
}

describe("what an agent says is logged", () => {
  test("as it is", async () => {
    const end: Event = { type: "TEXT_MESSAGE_END", messageId: "m1" };
    const { logged, faults } = await pumped(saying([...TEXT, end, FINISHED]));
    expect(logged).toEqual([STARTED, ...TEXT, end, FINISHED]);
    expect(faults).toEqual([]);
  });

  test.each<[string, readonly Event[], Error | undefined, string]>([
    ["breaks the order", [{ type: "TEXT_MESSAGE_END", messageId: "m9" }], undefined, "sequence-violation"],
    ["starts twice", [STARTED], undefined, "sequence-violation"],
    ["stops without an end", [], undefined, "agent-stream-cut"],
    ["throws", [], new Error("boom"), "agent-failed"],
  ])("and closed honestly where it %s", async (_, more, failure, code) => {
    const { logged, faults } = await pumped(saying([...TEXT, ...more], failure));
    expect(logged.map(({ type }) => type)).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "RUN_ERROR",
    ]);
    expect(logged.at(-1)).toMatchObject({ code, message: expect.stringMatching(/.{4,}/) });
    expect(faults).toHaveLength(1);
  });

  test("and closed in the name of whoever opened it, also where a message of that id is another's", async () => {
    const events: readonly Event[] = [
      { type: "TOOL_CALL_START", toolCallId: "m1", toolCallName: "f", subagentRunId: "s1" },
      { type: "TOOL_CALL_END", toolCallId: "m1", subagentRunId: "s1" },
      { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant", subagentRunId: "s2" },
    ];
    const { logged } = await pumped(saying(events, new Error("boom")));
    expect(logged.slice(-2)).toMatchObject([
      { type: "TEXT_MESSAGE_END", messageId: "m1", subagentRunId: "s2" },
      { type: "RUN_ERROR", message: "boom", code: "agent-failed" },
    ]);
  });

  test("up to its end, whatever it says afterwards", async () => {
    const { logged, faults } = await pumped(saying([FINISHED, ...TEXT]));
    expect(logged).toEqual([STARTED, FINISHED]);
    expect(faults).toMatchObject([{ code: "run-ended" }]);
  });
});

test("where the run is lost it says so, and leaves the log alone", async () => {
  const store = memoryStore();
  const writer = await writerOf(store);
  await store.takeOver({ run: KEY, leaseMs: 60_000 });
  const faults: unknown[] = [];
  await expect(pump(writer, saying([...TEXT, FINISHED]), (error) => faults.push(error))).rejects.toMatchObject({
    code: "run-fenced",
  });
  expect((await store.read(KEY)).tail).toBe(1);
  expect(faults).toEqual([]);
});

test("an agent that is faster than the log waits for it", async () => {
  const inner = memoryStore();
  const gate = Promise.withResolvers<void>();
  const append: Store["append"] = async (batches) => {
    await gate.promise;
    return inner.append(batches);
  };
  let said = 0;
  async function* flood(): AsyncGenerator<Event, void, undefined> {
    yield { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" };
    for (; said < 4000; said++) yield { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "x".repeat(1000) };
    yield { type: "TEXT_MESSAGE_END", messageId: "m1" };
    yield FINISHED;
  }
  const done = pump(await writerOf({ ...inner, append }), flood(), () => undefined);
  // Four times as many turns of the process as the agent would need to say it all.
  for (let turn = 0; turn < 250; turn++) await nextTurn();
  expect(said).toBeGreaterThan(500);
  expect(said).toBeLessThan(2000);
  gate.resolve();
  await done;
  expect((await inner.read(KEY)).tail).toBe(4004);
});
