import { describe, expect, test } from "vitest";
import { agentOf, bodyOf, collect, framesOf, runToEnd, served } from "../../test/served.ts";
import type { Event, RunAgentInput } from "../protocol/index.ts";
import { reduceAll } from "../stream/index.ts";
import { SSE } from "./encoding.ts";
import type { Heddle } from "./create-heddle.ts";

const KEY = { tenant: "default", threadId: "t1" };
const user = (id: string) => ({ id, role: "user", content: `said ${id}` });

/** A server whose agent asks as many questions as it is told to, and remembers what it was called with. */
function asking(questions = 1) {
  const calls: RunAgentInput[] = [];
  const agent = agentOf(async ({ input, emit }) => {
    calls.push(input);
    for (let each = 1; each <= questions; each++) await emit.interrupt({ id: `q${each}`, reason: "sure?" });
    await emit.text({ id: `a${calls.length}` }).write("done");
  });
  return { heddle: served(agent), calls };
}

const answer = (interruptId: string, payload: unknown = "yes") => ({ interruptId, status: "resolved", payload });

/** What whoever posts this gets. */
async function post(heddle: Heddle, body: object): Promise<{ joined: boolean; runId: string; events: Event[] }> {
  const { run, runId: runAs, joined } = await heddle.start("test", body);
  const seen = await collect(heddle, { runId: run.runId, runAs, prelude: joined });
  return { joined, runId: run.runId, events: seen.map(({ event }) => event) };
}

describe("HTTP-RUN-6: nothing new on a thread that exists asks for what is there", () => {
  const nothing = bodyOf("look", { messages: [], forwardedProps: {} });

  test("messages, state and open questions come under the id that was asked for, and nothing is started or logged", async () => {
    const { heddle, calls } = asking();
    await runToEnd(heddle, bodyOf("r1", { messages: [user("u1")], state: { a: 1 } }));
    const before = await heddle.store.thread(KEY);
    const { joined, events } = await post(heddle, nothing);
    expect(joined).toBe(true);
    expect(calls).toHaveLength(1);
    expect(await heddle.store.thread(KEY)).toEqual(before);
    expect(events[0]).toMatchObject({ type: "RUN_STARTED", runId: "look", threadId: "t1" });
    expect(events.at(-1)).toMatchObject({ runId: "look", outcome: { type: "interrupt", interrupts: [{ id: "q1" }] } });
    expect(reduceAll(events)).toMatchObject({ messages: [user("u1")], state: { a: 1 } });
  });

  test.each<[string, object, number]>([
    ["a message", { messages: [user("u2")] }, 0],
    ["a forwarded property", { forwardedProps: { go: 1 } }, 0],
    ["an answer", { resume: [answer("q1")] }, 1],
  ])("but %s starts a run", async (_, more, questions) => {
    const { heddle, calls } = asking(questions);
    await runToEnd(heddle, bodyOf("r1"));
    await runToEnd(heddle, bodyOf("r2", { messages: [], forwardedProps: {}, ...more }));
    expect(calls).toHaveLength(2);
  });

  test("a thread that does not exist begins", async () => {
    const { heddle, calls } = asking(0);
    await runToEnd(heddle, nothing);
    expect(calls).toHaveLength(1);
  });

  test("another branch is asked for by its newest run", async () => {
    const { heddle } = asking(0);
    await runToEnd(heddle, bodyOf("r1", { messages: [user("u1")] }));
    await runToEnd(heddle, bodyOf("r2", { messages: [user("u2")] }));
    await runToEnd(heddle, bodyOf("r3", { messages: [user("u3")], parentRunId: "r1" }));
    const { runId, events } = await post(heddle, { ...nothing, parentRunId: "r2" });
    expect(runId).toBe("r2");
    expect(reduceAll(events).messages.map(({ id }) => id)).toEqual(["u1", "a1", "u2", "a2"]);
  });
});

describe("HTTP-RUN-7: answers under the id of the run that asked", () => {
  test("are a new run, shown under that id; the same answers again are the same run", async () => {
    const { heddle, calls } = asking();
    await runToEnd(heddle, bodyOf("r1"));
    const body = bodyOf("r1", { resume: [answer("q1")] });
    const first = await post(heddle, body);
    expect(first).toMatchObject({ joined: false, runId: "r1~1" });
    expect(first.events[0]).toMatchObject({ type: "RUN_STARTED", runId: "r1", input: { runId: "r1" } });
    expect(first.events.at(-1)).toMatchObject({ type: "RUN_FINISHED", runId: "r1" });
    expect(await heddle.store.run({ ...KEY, runId: "r1~1" })).toMatchObject({ parentRunId: "r1", kind: "continue" });
    expect(await post(heddle, body)).toMatchObject({ joined: true, runId: "r1~1" });
    expect(calls.map(({ runId }) => runId)).toEqual(["r1", "r1~1"]);
  });

  test("one question after the other", async () => {
    const { heddle, calls } = asking(2);
    await runToEnd(heddle, bodyOf("r1"));
    await post(heddle, bodyOf("r1", { resume: [answer("q1")] }));
    const last = await post(heddle, bodyOf("r1", { resume: [answer("q2")] }));
    expect(last).toMatchObject({ joined: false, runId: "r1~2" });
    expect(calls).toHaveLength(3);
  });

  test("answers to what nobody asked are refused", async () => {
    const { heddle, calls } = asking();
    await runToEnd(heddle, bodyOf("r1"));
    await expect(post(heddle, bodyOf("r1", { resume: [answer("q9")] }))).rejects.toMatchObject({
      code: "run-conflict",
    });
    expect(calls).toHaveLength(1);
  });

  test("frames say the id that was asked for, and nothing else of them changes", async () => {
    const { heddle } = asking(0);
    await runToEnd(heddle, bodyOf("r1"));
    const plain = await framesOf(heddle, SSE, { runId: "r1" });
    const renamed = await framesOf(heddle, SSE, { runId: "r1", runAs: "mine" });
    expect(renamed).not.toBe(plain);
    expect(renamed.replaceAll('"runId":"mine"', '"runId":"r1"')).toBe(plain);
  });
});
