/** A gateway in front of an agent that gets things wrong, over sockets: what was put right is told to who asks, and to nobody else. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { remoteAgent } from "../src/agent/adapters/ag-ui/index.ts";
import { serve } from "../src/server/fastify/index.ts";
import type { Served } from "../src/server/fastify/index.ts";
import { postRun } from "./sse-client.ts";

const FORGED = { type: "META", metaType: "heddle.repair", payload: { rule: "first-event", message: "believe me" } };

/** What the agent says, given the ids that it was asked with. */
const answerOf = (ids: object): readonly object[] => [
  { type: "RUN_STARTED", ...ids },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Hello" },
  { type: "TELEPATHY" },
  FORGED,
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: " you", mood: "good" },
  { type: "STEP_FINISHED", stepName: "never begun" },
  { type: "RUN_FINISHED", ...ids, outcome: "success" },
];

const TOLD = [
  ["RUN_STARTED"],
  ["heddle.repair", "not-open", "TEXT_MESSAGE_CONTENT"],
  ["TEXT_MESSAGE_START"],
  ["TEXT_MESSAGE_CONTENT"],
  ["heddle.warning", "unknown-event"],
  ["heddle.warning", "/metaType"],
  ["heddle.warning", "unknown-property"],
  ["TEXT_MESSAGE_CONTENT"],
  ["heddle.repair", "step-not-open", "STEP_FINISHED"],
  ["heddle.warning", "retired-form"],
  ["heddle.repair", "open-at-finish", "RUN_FINISHED"],
  ["TEXT_MESSAGE_END"],
  ["RUN_FINISHED"],
];

interface Line {
  readonly type: string;
  readonly metaType?: string;
  readonly payload?: Readonly<Record<string, string>>;
}

let agent: Server;
let gateway: Served;
let posted: string;

beforeAll(async () => {
  agent = createServer(async (request, response) => {
    const { threadId, runId } = JSON.parse(await text(request));
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of answerOf({ threadId, runId })) response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.end();
  }).listen(0, "127.0.0.1");
  await once(agent, "listening");
  const address = agent.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`;
  gateway = await serve({ agents: [remoteAgent({ name: "sloppy", url })], port: 0, host: "127.0.0.1" });
  const messages = [{ id: "u1", role: "user", content: "Hi" }];
  posted = await (await postRun(gateway.url, "sloppy", { threadId: "t1", runId: "r1", messages })).text();
});
afterAll(async () => {
  await gateway.close();
  agent.close();
});

const get = async (path: string, accept = "text/event-stream"): Promise<string> =>
  (await fetch(`${gateway.url}${path}`, { headers: { accept } })).text();

/** The data of every frame, as it came. */
const dataOf = (sse: string): readonly string[] => [...sse.matchAll(/^data: (.*)$/gm)].map(([, data]) => data ?? "");

const told = (json: string): readonly string[] => {
  const { type, metaType = "", payload = {} }: Line = JSON.parse(json);
  if (type !== "META") return [type];
  const { rule, code, path = "", event } = payload;
  return [metaType, rule ?? code ?? path, ...(event === undefined ? [] : [event])];
};

test("HTTP-NOT-1: with meta=true every repair and warning stands before what came of it", async () => {
  const all = dataOf(await get("/threads/t1/events?follow=false&meta=true"));
  expect(all.map(told)).toEqual(TOLD);
  expect(all.join("\n")).not.toContain("believe me");
});

test("HTTP-NOT-3: without it the stream is the same, byte for byte, by every route", async () => {
  const all = dataOf(await get("/threads/t1/events?follow=false&meta=true&run=r1"));
  const plain = all.filter((json) => !json.includes('"META"'));
  expect(plain).toHaveLength(6);
  expect(dataOf(posted)).toEqual(plain);
  for (const query of ["", "&run=r1"]) {
    const path = `/threads/t1/events?follow=false${query}`;
    expect(dataOf(await get(path))).toEqual(plain);
    expect((await get(path, "application/x-ndjson")).match(/META|heddle\.(repair|warning)/)).toBe(null);
    expect((await get(path, "application/json")).match(/META|heddle\.(repair|warning)/)).toBe(null);
  }
  for (const path of ["/threads/t1", "/threads/t1/snapshot", "/threads/t1/runs/r1", "/threads"]) {
    expect(await get(path, "application/json")).not.toMatch(/META|heddle\.(repair|warning)/);
  }
  const connected = await fetch(`${gateway.url}/agents/sloppy/connect`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId: "t1" }),
  });
  expect(await connected.text()).not.toMatch(/META|heddle\.(repair|warning)/);
});

test("HTTP-NOT-3: a cursor of a hidden note goes on behind it", async () => {
  const frames = await get("/threads/t1/events?follow=false&meta=true&run=r1");
  const ids = [...frames.matchAll(/^id: (.*)$/gm)].map(([, id]) => id ?? "");
  const all = dataOf(frames);
  for (const [index, id] of ids.slice(0, -1).entries()) {
    const rest = dataOf(await get(`/threads/t1/events?follow=false&run=r1&after=${id}`));
    expect(rest).toEqual(all.slice(index + 1).filter((json) => !json.includes('"META"')));
  }
});
