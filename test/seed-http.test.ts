/** The examples of seed 002 (workflow, branching, normalised input, restoring a branch) and the interrupt flow of seed 000, over HTTP. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent } from "heddle/agent";
import type { Event, Message, RunAgentInput } from "heddle/protocol";
import { parseEvent } from "heddle/protocol";
import { serve } from "heddle/server/fastify";
import { sqliteStore } from "heddle/store/sqlite";
import { compact, reduceAll } from "heddle/stream";
import { expect, onTestFinished, test } from "vitest";
import { eventsOf, post, serveAgents } from "./serve-agents.ts";

const user = (id: string, content: string): Message => ({ id, role: "user", content });

/** An agent that answers `About <what was asked>`, and keeps what it was given. */
function guide() {
  const inputs: RunAgentInput[] = [];
  const agent = defineAgent({
    name: "guide",
    async run({ input, emit }) {
      inputs.push(input);
      await emit.text({ id: `re-${input.runId}` }).write(`About ${String(input.messages.at(-1)?.content)}`);
    },
  });
  return { agent, inputs };
}

const saidIn = (messages: readonly Message[]): readonly unknown[] => messages.map(({ content }) => content);

const logOf = async (url: string, query = ""): Promise<readonly Event[]> =>
  (await eventsOf(fetch(`${url}/threads/t1/events?follow=false${query}`))).flatMap((event) => {
    const { value } = parseEvent(event);
    return value === undefined ? [] : [value];
  });

const startOf = (events: readonly Event[], runId: string): Event | undefined =>
  events.find((event) => event.type === "RUN_STARTED" && event.runId === runId);

test("002 workflow: a session is saved while it happens, the browser closes, the session is restored whole and compacted, and goes on", async () => {
  const folder = await mkdtemp(join(tmpdir(), "heddle-seed-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { agent, inputs } = guide();
  const open = async () => {
    const store = sqliteStore(join(folder, "log.db"));
    const server = await serve({ agents: [agent], store, port: 0, host: "127.0.0.1" });
    return { url: server.url, close: () => server.close().then(() => store.close()) };
  };
  const first = await open();
  await (await post(`${first.url}/agents/guide`, { runId: "run1", messages: [user("msg1", "Hello")] })).body?.cancel();
  await expect.poll(async () => (await logOf(first.url)).at(-1)?.type).toBe("RUN_FINISHED");
  await first.close();

  const second = await open();
  const events = await logOf(second.url);
  const restored = reduceAll(events);
  expect(saidIn(restored.messages)).toEqual(["Hello", "About Hello"]);
  expect(reduceAll(compact(events, { mode: "events" }))).toEqual(restored);
  const body = { runId: "run2", parentRunId: "run1", messages: [user("msg2", "How are you?")] };
  await eventsOf(post(`${second.url}/agents/guide`, body));
  expect(saidIn(inputs.at(-1)?.messages ?? [])).toEqual(["Hello", "About Hello", "How are you?"]);
  await second.close();
});

test("002 lineage: branches from a run and from branches, each intact, each restored by its newest run", async () => {
  const { agent, inputs } = guide();
  const url = await serveAgents({ agents: [agent] });
  const ask = async (runId: string, place: string | undefined, about: string): Promise<void> => {
    const parent = place === undefined ? {} : { parentRunId: place };
    await eventsOf(post(`${url}/agents/guide`, { runId, ...parent, messages: [user(`u-${runId}`, about)] }));
  };
  await ask("run1", undefined, "Paris");
  await ask("run2", "run1", "London");
  await ask("run3", "run1", "Tokyo");
  await ask("run4", "run2", "the Thames");
  await ask("run5", "run3", "Shibuya");
  const branch = async (head: string): Promise<readonly unknown[]> =>
    saidIn(reduceAll(await logOf(url, `&head=${head}`)).messages).filter((each) => !String(each).startsWith("About"));
  expect(await branch("run4")).toEqual(["Paris", "London", "the Thames"]);
  expect(await branch("run5")).toEqual(["Paris", "Tokyo", "Shibuya"]);
  expect(await branch("run2")).toEqual(["Paris", "London"]);
  expect(saidIn(inputs.at(-1)?.messages ?? [])).toEqual(["Paris", "About Paris", "Tokyo", "About Tokyo", "Shibuya"]);
  // The log itself keeps everything, and each run's input is only what its branch did not hold.
  const all = await logOf(url, "&all=true");
  for (const [runId, about] of [
    ["run1", "Paris"],
    ["run2", "London"],
    ["run3", "Tokyo"],
    ["run4", "the Thames"],
    ["run5", "Shibuya"],
  ] as const) {
    expect(startOf(all, runId)).toMatchObject({ input: { messages: [{ content: about }] } });
  }
});

test("002 normalised input: what a client repeats of its history is stored once, and restoring walks the parents", async () => {
  const { agent, inputs } = guide();
  const url = await serveAgents({ agents: [agent] });
  await eventsOf(post(`${url}/agents/guide`, { runId: "run1", messages: [user("msg1", "Hello")] }));
  const whole = [user("msg1", "Hello"), { id: "re-run1", role: "assistant", content: "About Hello" }];
  await eventsOf(post(`${url}/agents/guide`, { runId: "run2", messages: [...whole, user("msg2", "How are you?")] }));
  expect(startOf(await logOf(url), "run2")).toMatchObject({ input: { messages: [{ id: "msg2" }] } });
  expect(inputs.at(-1)?.messages).toHaveLength(3);
  const snapshot = JSON.parse(await (await fetch(`${url}/threads/t1/snapshot?at=run1`)).text());
  expect(saidIn(snapshot.messages)).toEqual(["Hello", "About Hello"]);
});

test("000 interrupts: an approval in the seed's own forms, asked, answered once, and executed once", async () => {
  const executed: unknown[] = [];
  const agent = defineAgent({
    name: "clerk",
    async *run({ input }) {
      const [answer] = input.resume ?? [];
      const payload: { approved?: boolean } = Object(answer?.status === "resolved" ? answer.payload : undefined);
      const { threadId, runId } = input;
      yield { type: "RUN_STARTED", threadId, runId } as Event;
      if (payload.approved === true) executed.push(answer?.interruptId);
      const asks = answer === undefined;
      // The seed's form: the outcome is a word, and the question stands beside it.
      const question = { id: "call_abc123", payload: { type: "function_approval", functionName: "delete_file" } };
      yield {
        type: "RUN_FINISHED",
        threadId,
        runId,
        ...(asks && { outcome: "interrupt", interrupt: question }),
      } as unknown as Event;
    },
  });
  const url = await serveAgents({ agents: [agent] });
  const asked = await eventsOf(post(`${url}/agents/clerk`, { runId: "run1", messages: [user("u1", "Delete it")] }));
  expect(asked.at(-1)).toMatchObject({
    type: "RUN_FINISHED",
    outcome: { type: "interrupt", interrupts: [{ id: "call_abc123" }] },
  });
  const answer = { messages: [], resume: { interruptId: "call_abc123", payload: { approved: true } } };
  for (const runId of ["run2", "run2", "run3"]) {
    const answered = await eventsOf(post(`${url}/agents/clerk`, { ...answer, runId }));
    expect(answered.at(-1)).toMatchObject({ type: "RUN_FINISHED", runId });
  }
  expect(executed).toEqual(["call_abc123"]);
  const other = { ...answer, resume: { ...answer.resume, payload: { approved: false } }, runId: "run4" };
  expect((await post(`${url}/agents/clerk`, other)).status).toBe(409);
});
