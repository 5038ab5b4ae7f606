/** What a reader who holds a part of a thread is told: what follows, and nothing else. */
import { defineAgent } from "heddle/agent";
import { serve } from "heddle/server/fastify";
import type { Served } from "heddle/server/fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { framesOf, postRun } from "./sse-client.ts";

const echo = defineAgent({
  name: "echo",
  run: async ({ emit, input }) => {
    const text = emit.text();
    for (const word of String(input.messages.at(-1)?.content).split(" ")) await text.write(`${word} `);
  },
});

let server: Served;
beforeAll(async () => {
  server = await serve({ agents: [echo], port: 0 });
});
afterAll(() => server.close());

const said = (threadId: string, runId: string, content: string): object => ({
  threadId,
  runId,
  messages: [{ id: `u-${runId}`, role: "user", content }],
});

async function collect<T>(values: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

async function typesOf(response: Response): Promise<readonly string[]> {
  return (await collect(framesOf(response))).map(({ event }) => event.type);
}

const cursorOf = async (threadId: string): Promise<string> =>
  Object(await (await fetch(`${server.url}/threads/${threadId}`)).json()).lastEventId;

/** Posts a run with a query. */
const postWith = (query: string, input: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${server.url}/agents/echo?${query}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ protocolVersion: "1.0", ...input }),
  });

test("HTTP-RUN-12: who holds the branch is told the run alone, and goes on behind a cursor of it", async () => {
  await typesOf(await postRun(server.url, "echo", said("held", "r1", "one two")));
  expect(await typesOf(await postRun(server.url, "echo", said("held", "r2", "three")))).toContain("MESSAGES_SNAPSHOT");
  const after = await cursorOf("held");
  const frames = await collect(framesOf(await postWith(`after=${after}`, said("held", "r3", "four five"))));
  expect(frames.map(({ event }) => event.type)).toEqual([
    "RUN_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "RUN_FINISHED",
  ]);
  expect(frames.every(({ id }) => id !== undefined)).toBe(true);
  const again = await postWith(`after=${frames[2]?.id}`, said("held", "r3", "four five"));
  expect(await collect(framesOf(again))).toEqual(frames.slice(3));
});

test("HTTP-RUN-12: a cursor of another log gets a prelude", async () => {
  await typesOf(await postRun(server.url, "echo", said("log-a", "r1", "one")));
  await typesOf(await postRun(server.url, "echo", said("log-b", "r1", "one")));
  const foreign = await cursorOf("log-a");
  const types = await typesOf(await postWith(`after=${foreign}`, said("log-b", "r2", "two")));
  expect(types[0]).toBe("RUN_STARTED");
  expect(types).toContain("MESSAGES_SNAPSHOT");
  expect(types.at(-1)).toBe("RUN_FINISHED");
});

test("HTTP-RUN-11: a run is started without waiting, once", async () => {
  const prefer = { prefer: "respond-async" };
  const first = await postWith("", said("later", "r1", "one"), prefer);
  expect([first.status, await first.json()]).toEqual([202, { threadId: "later", runId: "r1", joined: false }]);
  expect(first.headers.get("content-location")).toBe("/threads/later/runs/r1");
  const second = await postWith("", said("later", "r1", "one"), prefer);
  expect([second.status, await second.json()]).toEqual([202, { threadId: "later", runId: "r1", joined: true }]);
  const events = await fetch(`${server.url}/threads/later/events?run=r1`, { headers: { accept: "text/event-stream" } });
  expect((await typesOf(events)).at(-1)).toBe("RUN_FINISHED");
});

test("HTTP-ATT-5, HTTP-ATT-6: a log may begin with what it comes to, and says when that was all", async () => {
  await typesOf(await postRun(server.url, "echo", said("whole", "r1", "one two")));
  const gone = new AbortController();
  const response = await fetch(`${server.url}/threads/whole/events?prelude=true`, {
    headers: { accept: "text/event-stream" },
    signal: gone.signal,
  });
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes("caught-up")) break;
  }
  gone.abort();
  const [prelude = "", rest] = text.split(": caught-up\n\n");
  const frames = prelude.trim().split("\n\n");
  expect(frames.map((frame) => /"type":"(\w+)"/.exec(frame)?.[1])).toEqual([
    "RUN_STARTED",
    "MESSAGES_SNAPSHOT",
    "RUN_FINISHED",
  ]);
  expect(frames.map((frame) => frame.startsWith("id: "))).toEqual([false, false, true]);
  expect(rest).toBe("");
});

test("HTTP-THR-6: a snapshot says in which run each message was first heard of", async () => {
  await typesOf(await postRun(server.url, "echo", said("runs", "r1", "one")));
  await typesOf(await postRun(server.url, "echo", said("runs", "r2", "two")));
  const { messages, messageRuns } = Object(await (await fetch(`${server.url}/threads/runs/snapshot`)).json());
  const runs = messages.map(({ id }: { readonly id: string }) => messageRuns[id]);
  expect(runs).toEqual(["r1", "r1", "r2", "r2"]);
});
