/**
 * The walking skeleton over real sockets and on a SQLite file: the stock client, viewers that come late, leave early or
 * stall, and the end of the server.
 */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:http";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HttpAgent } from "@ag-ui/client";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { fastify } from "fastify";
import { defineAgent } from "heddle/agent";
import type { Agent } from "heddle/agent";
import type { Event, Message } from "heddle/protocol";
import { parseEvent } from "heddle/protocol";
import { heddlePlugin, serve } from "heddle/server/fastify";
import type { HeddlePluginOptions } from "heddle/server/fastify";
import { memoryStore } from "heddle/store";
import type { Store } from "heddle/store";
import { sqliteStore } from "heddle/store/sqlite";
import { reduceAll } from "heddle/stream";
import { afterEach, expect, test, vi } from "vitest";
import { load } from "../examples/agents/load.ts";

interface Frame {
  readonly id: string | undefined;
  readonly event: Event;
}

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

/** A log in a file of its own. Is cleaned up after what is cleaned up before. */
async function fileStore(): Promise<{ readonly store: Store; readonly remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-skeleton-"));
  const store = sqliteStore(join(folder, "heddle.db"));
  const remove = async (): Promise<void> => {
    await store.close();
    await rm(folder, { recursive: true });
  };
  return { store, remove };
}

/** Serves agents on a free port; returns the URL. */
async function start(...agents: Agent[]): Promise<string> {
  const { store, remove } = await fileStore();
  const server = await serve({ agents, store, port: 0, host: "127.0.0.1" });
  cleanups.push(() => server.close(), remove);
  return server.url;
}

/** The plugin in an application of ours, whose sockets we can see. */
async function startApp(options: HeddlePluginOptions) {
  const { store, remove } = await fileStore();
  // fetch may open a connection on which it asks nothing: an application that does not force it would wait for its end.
  const app = fastify({ forceCloseConnections: true });
  const sockets: Socket[] = [];
  app.server.on("connection", (socket: Socket) => sockets.push(socket));
  app.addHook("onRequest", async (_, reply) => void reply.header("x-host-app", "kept"));
  await app.register(heddlePlugin, { store, ...options });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  // Closing twice is closing once.
  const close = async (): Promise<void> => void (await app.close());
  cleanups.push(close, remove);
  return { url, sockets, close };
}

/** An agent that writes `a`, waits for the gate, and writes `b`. */
function gated() {
  const gate = Promise.withResolvers<void>();
  const run = vi.fn<Agent["run"]>(async ({ emit, signal }) => {
    signal.addEventListener("abort", () => gate.reject(signal.reason));
    const reply = emit.text();
    await reply.write("a");
    await gate.promise;
    await reply.write("b");
  });
  return { agent: defineAgent({ name: "gated", run }), run, open: () => gate.resolve() };
}

const inputOf = (fields: object = {}): string =>
  JSON.stringify({
    threadId: "t1",
    runId: "r1",
    messages: [],
    protocolVersion: "1.0",
    forwardedProps: { go: 1 },
    ...fields,
  });

const post = (url: string, agent: string, fields?: object, init?: RequestInit): Promise<Response> =>
  fetch(`${url}/agents/${agent}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: inputOf(fields),
    ...init,
  });

async function* framesOf(response: Response): AsyncGenerator<Frame, void, undefined> {
  expect(response.status).toBe(200);
  if (response.body === null) throw new Error("no body");
  const decoded = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const { id, data } of decoded) {
    const { value } = parseEvent(JSON.parse(data));
    if (value === undefined) throw new Error(`not an event: ${data}`);
    yield { id, event: value };
  }
}

async function readAll(response: Response | Promise<Response>): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of framesOf(await response)) frames.push(frame);
  return frames;
}

/** Reads until a text delta has come. */
async function readText(frames: AsyncGenerator<Frame>): Promise<Frame[]> {
  const seen: Frame[] = [];
  while (seen.at(-1)?.event.type !== "TEXT_MESSAGE_CONTENT") {
    const { value } = await frames.next();
    if (value === undefined) throw new Error("the stream ended before there was text");
    seen.push(value);
  }
  return seen;
}

const textOf = (frames: readonly Frame[]): string =>
  frames.map(({ event }) => (event.type === "TEXT_MESSAGE_CONTENT" ? event.delta : "")).join("");

const messagesOf = (frames: readonly Frame[]): readonly Message[] =>
  reduceAll(frames.map(({ event }) => event)).messages;

const wordsTo = (count: number): string => Array.from({ length: count }, (_, index) => `t${index + 1}`).join(" ");

test("the stock HttpAgent gets the exact text of 500 tokens", async () => {
  const agent = new HttpAgent({ url: `${await start(load)}/agents/load`, threadId: "t1" });
  const { newMessages } = await agent.runAgent({ runId: "r1", forwardedProps: { tokens: 500 } });
  expect(newMessages).toMatchObject([{ role: "assistant", content: wordsTo(500) }]);
});

test("HTTP-RUN-1, HTTP-SSE-1: every event has a cursor, and the answer the headers of an event stream", async () => {
  const url = await start(load);
  const response = await post(url, "load", { threadId: "t/1 é", forwardedProps: { tokens: 3 } });
  const { headers } = response;
  expect(headers.get("content-type")).toBe("text/event-stream");
  expect(headers.get("cache-control")).toBe("no-store, no-transform");
  expect(headers.get("x-accel-buffering")).toBe("no");
  expect(headers.get("content-location")).toBe("/threads/t%2F1%20%C3%A9/runs/r1");
  const frames = await readAll(response);
  const logId = frames[0]?.id?.split("_")[0];
  expect(frames.map(({ id }) => id)).toEqual(frames.map((_, index) => `${logId}_000000000000000${index + 1}`));
  expect(await readAll(fetch(`${url}/threads/t%2F1%20%C3%A9/events?run=r1`))).toEqual(frames);
});

test("HTTP-ATT-1, HTTP-ATT-3: attaching at any event gives exactly the rest", async () => {
  const url = await start(load);
  const frames = await readAll(post(url, "load", { forwardedProps: { tokens: 6 } }));
  for (const [index, { id = "" }] of frames.slice(0, -1).entries()) {
    const rest = frames.slice(index + 1);
    expect(await readAll(fetch(`${url}/threads/t1/events?run=r1&after=${id}`))).toEqual(rest);
    expect(await readAll(fetch(`${url}/threads/t1/events?follow=false&after=${id}`))).toEqual(rest);
    // What a reconnecting EventSource does: the old URL, and the newer place in the header.
    const headers = { "last-event-id": id };
    expect(await readAll(fetch(`${url}/threads/t1/events?run=r1&after=${frames[0]?.id}`, { headers }))).toEqual(rest);
  }
  expect(await readAll(fetch(`${url}/threads/t1/events?follow=false&after=${frames.at(-1)?.id}`))).toEqual([]);
  const done = await fetch(`${url}/threads/t1/events?run=r1&after=${frames.at(-1)?.id}`);
  expect([done.status, await done.text()]).toEqual([204, ""]);
});

test("two viewers of a running run see the same, and a thread's viewer goes on with the next run", async () => {
  const { agent, open } = gated();
  const url = await start(agent);
  const starter = framesOf(await post(url, "gated"));
  const early = await readText(starter);
  const watcher = readAll(fetch(`${url}/threads/t1/events?run=r1`));
  const thread = framesOf(await fetch(`${url}/threads/t1/events`));
  open();
  const first = [...early];
  for await (const frame of starter) first.push(frame);
  expect(textOf(first)).toBe("ab");
  expect(await watcher).toEqual(first);
  const messages = messagesOf(first);
  const second = await readAll(post(url, "gated", { runId: "r2", messages }));
  for (const frame of [...first, ...second]) expect((await thread.next()).value).toEqual(frame);
  await thread.return();
});

test("HTTP-RUN-4: the same thread and run id joins the run instead of starting another", async () => {
  const { agent, run, open } = gated();
  const url = await start(agent);
  const answers = await Promise.all([post(url, "gated"), post(url, "gated")]);
  open();
  const [one, two] = await Promise.all(answers.map(readAll));
  expect(messagesOf(one ?? [])).toMatchObject([{ role: "assistant", content: "ab" }]);
  // One of them started it, and the other may have been told the beginning as a snapshot.
  for (const frames of [two ?? [], await readAll(post(url, "gated"))]) {
    expect(messagesOf(frames)).toEqual(messagesOf(one ?? []));
    expect(frames.at(-1)).toEqual(one?.at(-1));
  }
  expect(run).toHaveBeenCalledOnce();
});

test("HTTP-RUN-3: a client that goes away does not stop the run", async () => {
  const { agent, open } = gated();
  const { url, sockets } = await startApp({ agents: [agent] });
  const leaving = new AbortController();
  const response = await post(url, "gated", {}, { signal: leaving.signal });
  const [socket] = sockets;
  if (socket === undefined) throw new Error("no connection");
  await readText(framesOf(response));
  leaving.abort();
  await once(socket, "close");
  open();
  const frames = await readAll(fetch(`${url}/threads/t1/events?run=r1`));
  expect(textOf(frames)).toBe("ab");
  expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED" });
  expect(frames.at(-1)?.event).not.toHaveProperty("outcome");
});

test("a client that leaves before its stream opens leaves nothing behind", async () => {
  const inner = memoryStore();
  const [reached, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const claim: Store["claim"] = async (request) => {
    reached.resolve();
    await commit.promise;
    return inner.claim(request);
  };
  const { url, sockets, close } = await startApp({ agents: [load], store: { ...inner, claim } });
  const leaving = new AbortController();
  const answer = post(url, "load", {}, { signal: leaving.signal });
  await reached.promise;
  leaving.abort();
  await expect(answer).rejects.toThrow("aborted");
  if (sockets[0]?.closed === false) await once(sockets[0], "close");
  commit.resolve();
  // A stream that is still counted as open would hold up the end.
  await expect(close()).resolves.toBeUndefined();
  const { events } = await inner.read({ tenant: "default", threadId: "t1" });
  expect(JSON.parse(events.at(-1)?.json ?? "")).toMatchObject({ type: "RUN_FINISHED" });
});

test("a reader that stalls neither holds up the run nor fills the server's memory", async () => {
  const kilobyte = "x".repeat(1024);
  const agent = defineAgent({
    name: "flood",
    async run({ emit }) {
      const reply = emit.text();
      for (let index = 0; index < 20_000; index++) await reply.write(kilobyte);
    },
  });
  const { url, sockets } = await startApp({ agents: [agent] });
  const stalled = request(`${url}/agents/flood`, { method: "POST", headers: { "content-type": "application/json" } });
  stalled.end(inputOf());
  const [answer]: IncomingMessage[] = await once(stalled, "response");
  answer?.pause();
  const frames = await readAll(fetch(`${url}/threads/t1/events?run=r1`));
  expect(frames).toHaveLength(20_000 + 4);
  // The whole run is logged and read by another, and for the stalled one no more waits than a socket's buffer.
  expect(sockets[0]?.writableLength).toBeLessThan(65 * 1024);
  let bytes = 0;
  answer?.on("data", (chunk: Buffer) => (bytes += chunk.length));
  if (answer !== undefined) await once(answer.resume(), "end");
  expect(bytes).toBeGreaterThan(20_000 * 1024);
});

test("HTTP-SSE-1: one timer sends heartbeats to all, and a host's own headers are kept", async () => {
  const { agent, open } = gated();
  const timers = vi.spyOn(globalThis, "setInterval");
  const { url } = await startApp({ agents: [agent], keepAliveMs: 7 });
  const responses = [await post(url, "gated"), await fetch(`${url}/threads/t1/events`)];
  for (const response of responses) {
    expect(response.headers.get("x-host-app")).toBe("kept");
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (text.includes("\n\n:\n\n:\n\n")) break;
    }
    // A comment carries no cursor.
    expect(text).not.toMatch(/id:[^\n]*\n:/);
  }
  expect(timers.mock.calls.filter(([, delay]) => delay === 7)).toHaveLength(1);
  timers.mockRestore();
  open();
});

test("HTTP-SSE-1: the heartbeat comes every 10 seconds", async () => {
  const timers = vi.spyOn(globalThis, "setInterval");
  const { url } = await startApp({ agents: [load] });
  await readAll(post(url, "load", { forwardedProps: { tokens: 1 } }));
  expect(timers.mock.calls.map(([, delayMs]) => delayMs)).toContain(10_000);
  timers.mockRestore();
});

test("closing the server fails what does not end in time, and ends every stream", async () => {
  const { agent } = gated();
  const { url, close } = await startApp({ agents: [agent, load], shutdownGraceMs: 10 });
  const run = framesOf(await post(url, "gated"));
  await readText(run);
  await readAll(post(url, "load", { threadId: "t2", forwardedProps: { tokens: 1 } }));
  const idle = readAll(await fetch(`${url}/threads/t2/events`));
  await close();
  const rest: Frame[] = [];
  for await (const frame of run) rest.push(frame);
  expect(rest.at(-1)?.event).toMatchObject({ type: "RUN_ERROR", code: "server-closing" });
  expect(textOf(await idle)).toBe("t1");
  await expect(fetch(`${url}/readyz`)).rejects.toThrow("fetch failed");
});

test("a server that is closing says so to whoever still reaches it, and lets a run finish", async () => {
  const [running, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const agent = defineAgent({
    name: "nearly-done",
    async run() {
      running.resolve();
      await gate.promise;
    },
  });
  const { url, close } = await serve({ agents: [agent], port: 0, host: "127.0.0.1" });
  const run = readAll(post(url, "nearly-done"));
  await running.promise;
  const closed = close();
  const answer = await fetch(`${url}/readyz`);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ error: { code: "server-closing" } });
  gate.resolve();
  await closed;
  const last = (await run).at(-1)?.event;
  expect(last).toMatchObject({ type: "RUN_FINISHED" });
  expect(last).not.toHaveProperty("outcome");
});

test("closing does not wait for a reader that stalls", async () => {
  const agent = defineAgent({
    name: "flood",
    async run({ emit }) {
      for (const reply = emit.text(); ;) await reply.write("x".repeat(65_536));
    },
  });
  const { url, close } = await startApp({ agents: [agent], shutdownGraceMs: 10 });
  const stalled = request(`${url}/agents/flood`, { method: "POST", headers: { "content-type": "application/json" } });
  stalled.end(inputOf());
  const [answer]: IncomingMessage[] = await once(stalled, "response");
  if (answer === undefined) throw new Error("no answer");
  const cut = once(answer, "error");
  await close();
  answer.resume();
  expect(await cut).toMatchObject([{ code: "ECONNRESET" }]);
});

test.each([
  [{ tokens: "many" }, "/forwardedProps/tokens"],
  [{ tokens: -1 }, "/forwardedProps/tokens"],
  [{ tokens: 1.5 }, "/forwardedProps/tokens"],
  [{ intervalMs: 1e9 }, "/forwardedProps/intervalMs"],
  ["fast", "/forwardedProps"],
])("the agent load refuses %j clearly", async (forwardedProps, path) => {
  const frames = await readAll(post(await start(load), "load", { forwardedProps }));
  expect(frames.map(({ event }) => event.type)).toEqual(["RUN_STARTED", "RUN_ERROR"]);
  expect(frames.at(-1)?.event).toMatchObject({ code: "input-invalid", message: expect.stringContaining(path) });
});

test("the agent load says 20 tokens where it is not asked for a number, and can be paced", async () => {
  const url = await start(load);
  expect(textOf(await readAll(post(url, "load", { forwardedProps: { intervalMs: 1 } })))).toBe(wordsTo(20));
  expect(textOf(await readAll(post(url, "load", { runId: "r2", forwardedProps: { tokens: 0 } })))).toBe("");
});
