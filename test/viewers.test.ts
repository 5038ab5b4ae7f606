/**
 * Viewers over real sockets: cut anywhere and attached again, too slow, stalled, gone. What they get is the log, exactly,
 * and what they leave behind is nothing.
 */
import { once } from "node:events";
import { request } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fastify } from "fastify";
import { defineAgent } from "heddle/agent";
import type { Agent } from "heddle/agent";
import { heddlePlugin, serve } from "heddle/server/fastify";
import type { ServeOptions, Served } from "heddle/server/fastify";
import type { Event, Message } from "heddle/protocol";
import { memoryStore } from "heddle/store";
import type { Store } from "heddle/store";
import { reduceAll } from "heddle/stream";
import { afterEach, expect, test } from "vitest";

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function start(options: ServeOptions): Promise<Served> {
  const server = await serve({ port: 0, host: "127.0.0.1", ...options });
  cleanups.push(() => server.close());
  return server;
}

/** Says numbered words, each of some size, and lets the rest of the process have a turn in between. */
const counting = (count: number, size = 8): Agent =>
  defineAgent({
    name: "counting",
    async run({ emit }) {
      const reply = emit.text();
      for (let index = 0; index < count; index++) {
        await reply.write(`${index} `.padEnd(size, "·"));
        if (index % 16 === 0) await nextTurn();
      }
    },
  });

const INPUT = JSON.stringify({ threadId: "t1", runId: "r1", messages: [], protocolVersion: "1.0" });

function post(url: string): ClientRequest {
  const headers = { "content-type": "application/json" };
  return request(`${url}/agents/counting`, { method: "POST", headers, agent: false }).end(INPUT);
}

function get(url: string, lastEventId?: string, query = "?run=r1"): ClientRequest {
  const headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
  return request(`${url}/threads/t1/events${query}`, { headers, agent: false }).end();
}

const messagesIn = (frames: readonly string[]): readonly Message[] =>
  reduceAll(frames.map((frame): Event => JSON.parse(frame.slice(frame.indexOf("{"))))).messages;

async function answerTo(sent: ClientRequest): Promise<IncomingMessage> {
  const [answer]: IncomingMessage[] = await once(sent, "response");
  if (answer === undefined) throw new Error("no answer");
  return answer.setEncoding("utf8");
}

/** The whole frames of a text, without heartbeats. */
const framesIn = (text: string): readonly string[] =>
  text
    .slice(0, text.lastIndexOf("\n\n") + 2)
    .split("\n\n")
    .filter((frame) => /^(id|data): /.test(frame));

const cursorOf = (frame: string | undefined): string | undefined => /^id: (\S+)/.exec(frame ?? "")?.[1];

async function readAll(sent: ClientRequest): Promise<readonly string[]> {
  let text = "";
  for await (const chunk of await answerTo(sent)) text += String(chunk);
  return framesIn(text);
}

/** Reads about so many characters and hangs up. Says whether the stream had ended by itself. */
async function readSome(sent: ClientRequest, chars: number): Promise<{ frames: readonly string[]; ended: boolean }> {
  const answer = await answerTo(sent);
  if (answer.statusCode === 204) return { frames: [], ended: true };
  let text = "";
  for await (const chunk of answer) {
    text += String(chunk).slice(0, chars - text.length);
    if (text.length >= chars) {
      sent.destroy();
      return { frames: framesIn(text), ended: false };
    }
  }
  return { frames: framesIn(text), ended: true };
}

test("cut at any byte and attached again, from the first event to the last, it is the same stream", async () => {
  const { url } = await start({ agents: [counting(3000)] });
  const uncut = readAll(post(url));
  const joined: string[] = [];
  // Lengths that hit every part of a frame; the run goes on meanwhile.
  for (let attempt = 0, ended = false; !ended; attempt++) {
    const part = await readSome(get(url, cursorOf(joined.at(-1))), 200 + ((attempt * 7919) % 40_000));
    joined.push(...part.frames);
    ended = part.ended;
  }
  expect(joined).toEqual(await uncut);
  expect(joined).toHaveLength(3004);
});

test("HTTP-ATT-2: a cursor that is malformed, of another log, or ahead of this one is refused, and nothing is sent", async () => {
  const { url } = await start({ agents: [counting(3)] });
  const frames = await readAll(post(url));
  const [logId = ""] = cursorOf(frames[0])?.split("_") ?? [];
  for (const [cursor, reason, status, code] of [
    ["7", "malformed", 400, "cursor-invalid"],
    [`${logId}_7`, "malformed", 400, "cursor-invalid"],
    [`${logId}_00000000000000070`, "malformed", 400, "cursor-invalid"],
    [`${logId}x_0000000000000001`, "foreign", 410, "cursor-trimmed"],
    [`${logId}_0000000000000008`, "ahead", 400, "cursor-invalid"],
  ] as const) {
    for (const query of ["?on_gap=error", "?on_gap=error&run=r1", "?on_gap=error&follow=false"]) {
      const answer = await fetch(`${url}/threads/t1/events${query}`, { headers: { "last-event-id": cursor } });
      expect([answer.status, await answer.json()]).toMatchObject([
        status,
        { error: { code, details: { cursor, reason } } },
      ]);
    }
  }
  expect(await readAll(get(url, `${logId}_0000000000000007`, "?follow=false"))).toEqual([]);
  expect(await readAll(get(url, `${logId}_0000000000000000`, "?follow=false"))).toEqual(frames);
});

test("a reader that is slower than the run reads the rest from the store, and misses nothing", async () => {
  const inner = memoryStore();
  let reads = 0;
  const read: Store["read"] = (...wanted) => {
    reads += 1;
    return inner.read(...wanted);
  };
  const { url } = await start({ agents: [counting(6000, 1000)], store: { ...inner, read } });
  const slow = await answerTo(post(url));
  slow.pause();
  const quick = await readAll(get(url));
  expect(quick).toHaveLength(6004);
  const before = reads;
  let text = "";
  for await (const chunk of slow) text += String(chunk);
  expect(framesIn(text)).toEqual(quick);
  // 6 MB by reads of about 64 KiB: what it missed was kept nowhere else.
  expect(reads - before).toBeGreaterThan(20);
});

test("a reader that takes nothing is cut after a while, and goes on where it was", async () => {
  const store = memoryStore();
  // The others read from a server that is more patient.
  const patient = await start({ agents: [], store });
  const app = fastify();
  await app.register(heddlePlugin, { agents: [counting(20_000, 1000)], store, keepAliveMs: 20, stallMs: 100 });
  cleanups.push(async () => void (await app.close()));
  const connected = once(app.server, "connection");
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const stalled = await answerTo(post(url));
  stalled.pause();
  const [socket]: Socket[] = await connected;
  if (socket === undefined) throw new Error("no connection");
  await once(socket, "close");
  const whole = await readAll(get(patient.url));
  expect(whole).toHaveLength(20_004);
  const broken = once(stalled, "error");
  let text = "";
  stalled.on("data", (chunk: string) => (text += chunk)).resume();
  expect(await broken).toMatchObject([{ code: "ECONNRESET" }]);
  // What was under way to it arrived; the rest is where it always was.
  const frames = framesIn(text);
  expect(frames.length).toBeLessThan(whole.length);
  const rest = await readAll(get(patient.url, cursorOf(frames.at(-1))));
  expect([...frames, ...rest]).toEqual(whole);
});

test("viewers that leave take everything with them", async () => {
  const inner = memoryStore();
  let watching = 0;
  let noneLeft = Promise.withResolvers<void>();
  const watch: Store["watch"] = (key, watcher) => {
    if (watching++ === 0) noneLeft = Promise.withResolvers();
    const stop = inner.watch(key, watcher);
    return () => {
      stop();
      if (--watching === 0) noneLeft.resolve();
    };
  };
  const { url } = await start({ agents: [counting(20_000, 1000)], store: { ...inner, watch } });
  const whole = await readAll(post(url));
  await noneLeft.promise;
  // Some wait for more, some are behind and stall, all of them in the middle of something.
  const waiting = Array.from({ length: 10 }, () => get(url, cursorOf(whole.at(-5)), ""));
  for (const viewer of waiting) await once(await answerTo(viewer), "data");
  const stalling = Array.from({ length: 10 }, (_, index) => get(url, cursorOf(whole[index]), ""));
  for (const viewer of stalling) (await answerTo(viewer)).pause();
  const viewers = [...waiting, ...stalling];
  expect(watching).toBe(1);
  for (const viewer of viewers) viewer.destroy();
  await noneLeft.promise;
  expect(watching).toBe(0);
});

test("servers on one log show the same bytes, also where hints are lost", async () => {
  const store = memoryStore();
  const deaf: Store = { ...store, watch: () => () => undefined };
  const agents = [counting(2000)];
  const one = await start({ agents, store });
  const two = await start({ agents, store: deaf, pollMs: 8 });
  const first = post(one.url);
  const answer = await answerTo(first);
  const [there, again] = await Promise.all([readAll(get(two.url)), readAll(post(two.url))]);
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  expect(there).toEqual(framesIn(text));
  // Whoever joins gets what was said before as a snapshot: the same in the end, from the same events on.
  expect(messagesIn(again)).toEqual(messagesIn(there));
  expect(again.at(-1)).toBe(there.at(-1));
  expect(there).toHaveLength(2004);
});
