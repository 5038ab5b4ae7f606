/** Seed 003, how long a session lives and what is left of it: timeouts, drops, restarts, queues, memory, who may enter. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { fastify } from "fastify";
import { defineAgent } from "heddle/agent";
import type { Agent } from "heddle/agent";
import { forwardedHeaders, heddlePlugin, serve } from "heddle/server/fastify";
import type { HeddlePluginOptions } from "heddle/server/fastify";
import type { Sessions } from "heddle/server/session";
import { sqliteStore } from "heddle/store/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { serveAgents } from "./serve-agents.ts";
import { openSession } from "./session-client.ts";
import type { SessionClientEvent } from "./session-client.ts";
import { JWT, tokenFor } from "./tokens.ts";

/** Says how many messages it was given, and waits for its gate where the last of them names one. */
function counting(gates: Readonly<Record<string, Promise<void>>> = {}): Agent {
  return defineAgent({
    name: "echo",
    async run({ input, emit }) {
      const said = String(input.messages.at(-1)?.content);
      const reply = emit.text();
      await reply.write(`${said} ${input.messages.length}`);
      await gates[said];
      await reply.write(".");
    },
  });
}

const texts = (events: readonly SessionClientEvent[]): readonly string[] =>
  events.flatMap(({ type, data }) => (type === "text-chunk" ? [data.text] : []));

/** An application with the plugin, its sessions, and what it logs. */
async function hosted(
  options: HeddlePluginOptions,
): Promise<{ readonly url: string; readonly sessions: Sessions; readonly lines: readonly Record<string, unknown>[] }> {
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const app = fastify({ logger: { level: "info", stream } });
  onTestFinished(async () => void (await app.close()));
  await app.register(heddlePlugin, options);
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const sessions = app.heddleSessions;
  if (sessions === undefined) throw new Error("no sessions");
  return { url, sessions, lines };
}

/** Headers of a user. */
const bearer = async (user: string, roles: readonly string[] = []): Promise<Record<string, string>> => ({
  authorization: `Bearer ${await tokenFor({ user, roles })}`,
});

/** After how long a session is idle: longer than a busy machine stands still between two requests. */
const IDLE_MS = 3000;

/** Lets everybody in, for a moment. */
const soonOver = (): Promise<{ tenant: string; user: string; roles: []; expiresAtMs: number }> =>
  Promise.resolve({ tenant: "acme", user: "alice", roles: [], expiresAtMs: Date.now() + 4000 });

/** Resolves when as many sessions live. */
async function living(sessions: Sessions, count: number): Promise<void> {
  while (sessions.size !== count) await new Promise((resolve) => setImmediate(resolve));
}

test("SES-END-2, 003 REQ-SM-4.2, REQ-SM-4.3, REQ-SM-4.4, REQ-SM-1.3, perf/session-memory.1: after the configured time without activity session-ended is sent, and the session is gone", async () => {
  const { url, sessions } = await hosted({ agents: [counting()], sessions: { timeoutMs: IDLE_MS } });
  const client = await openSession(url, "/api/ag-ui/echo");
  const openedMs = performance.now();
  let lastMs = openedMs;
  // Activity for longer than the time: each request begins it anew.
  while (lastMs - openedMs < IDLE_MS * 1.2) {
    await client.ask("Hello");
    lastMs = performance.now();
  }
  expect((await client.closed)[0]).toBe(4009);
  expect(performance.now() - lastMs).toBeGreaterThan(IDLE_MS * 0.9);
  expect(client.events.at(-1)).toMatchObject({ type: "session-ended", data: { reason: "timeout" } });
  expect(sessions.size).toBe(0);
  // The thread stays.
  expect(await sessions.conversationHistory(client.sessionId)).not.toHaveLength(0);
});

test("SES-END-2, 003 REQ-SM-4.3: a session whose agent is at work is not idle, however long that takes", async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { url } = await hosted({ agents: [counting({ wait: gate })], sessions: { timeoutMs: IDLE_MS } });
  const busy = await openSession(url, "/api/ag-ui/echo");
  busy.say("wait");
  await busy.next("text-chunk");
  // One that came later, and did nothing, is gone before.
  const idle = await openSession(url, "/api/ag-ui/echo");
  await idle.closed;
  expect(busy.socket.readyState).toBe(busy.socket.OPEN);
  open();
  await busy.next("agent-response-complete");
  await busy.closed;
  expect(busy.events.at(-1)?.data).toEqual({ reason: "timeout" });
});

test("HTTP-SRV-3: chosen headers of the upgrade reach the agents of its requests, and no others do", async () => {
  const agent = defineAgent({
    name: "reader",
    run: ({ emit }) => void emit.text().write(JSON.stringify(forwardedHeaders())),
  });
  const url = await serveAgents({ agents: [agent], forwardHeaders: ["X-User"] });
  const client = await openSession(url, "/api/ag-ui/reader", { "x-user": "alice", "x-secret": "s" });
  expect(texts(await client.ask("Who am I?"))).toEqual(['{"x-user":"alice"}']);
  await client.close();
});

test("003 REQ-5.2: a connection stays open until one side closes it, through silences that are longer than a heartbeat", async () => {
  const url = await serveAgents({ agents: [counting()], keepAliveMs: 600 });
  const client = await openSession(url, "/api/ag-ui/echo");
  for (let beats = 0; beats < 2; beats++) await once(client.socket, "ping");
  expect(texts(await client.ask("Hello"))).toEqual(["Hello 1", "."]);
  await client.close();
});

test("SES-CON-4, SES-END-3, 003 REQ-5.4, REQ-AC-2.4, REQ-PR-3.4, ws/terminate.2, ws/terminate.4, REQ-SM-4.5: a close or a drop frees the session, while the run goes on and can be found again", async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { url, sessions } = await hosted({ agents: [counting({ wait: gate })] });
  const client = await openSession(url, "/api/ag-ui/echo");
  client.say("wait");
  await client.next("text-chunk");
  client.say("waiting in the queue");
  await client.next("status-update");
  expect(sessions.size).toBe(1);
  client.socket.terminate();
  await living(sessions, 0);
  // Back again: the run that is under way is told from its beginning.
  const again = await openSession(url, `/api/ag-ui/echo?sessionId=${client.sessionId}`);
  expect(again.events[0]).toMatchObject({ sessionId: client.sessionId, data: { isResumed: true } });
  expect((await again.next("text-chunk")).data.text).toBe("wait 1");
  open();
  await again.next("agent-response-complete");
  // What waited went with the socket: it was never said.
  expect(texts(await again.ask("next"))).toEqual(["next 3", "."]);
  await again.close();
  await living(sessions, 0);
  // A socket that closes in good order leaves nothing either.
  const calm = await openSession(url, "/api/ag-ui/echo");
  expect(sessions.size).toBe(1);
  await calm.close();
  await living(sessions, 0);
});

test("SES-CON-4, SES-REQ-3, 003 ws/run-agent.2, REQ-SM-1.4, REQ-PR-3.5: a session is continued by its id, on another socket and after a restart of the server", async () => {
  const folder = mkdtempSync(join(tmpdir(), "heddle-session-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const agents = [counting()];
  const first = sqliteStore(join(folder, "log.db"));
  const before = await serve({ agents, store: first, port: 0 });
  const client = await openSession(before.url, "/api/ag-ui/echo");
  expect(texts(await client.ask("one"))).toEqual(["one 1", "."]);
  const other = await openSession(before.url, "/api/ag-ui/echo");
  expect(texts(await other.ask("two", { sessionId: client.sessionId }))).toEqual(["two 3", "."]);
  // The socket stands in that session now, and was told so.
  expect(other.events.filter(({ type }) => type === "session-started")).toMatchObject([
    { sessionId: other.sessionId },
    { sessionId: client.sessionId, data: { isResumed: true, session: { sessionId: client.sessionId } } },
  ]);
  expect(texts(await other.ask("three"))).toEqual(["three 5", "."]);
  await before.close();
  await first.close();
  const second = sqliteStore(join(folder, "log.db"));
  const after = await serve({ agents, store: second, port: 0 });
  onTestFinished(async () => {
    await after.close();
    await second.close();
  });
  const late = await openSession(after.url, "/api/ag-ui/echo");
  expect(texts(await late.ask("four", { sessionId: client.sessionId }))).toEqual(["four 7", "."]);
  // One that never was is not continued, and the socket's own goes on.
  late.say("five", { sessionId: "none" });
  expect((await late.next("session-error")).data.error).toMatchObject({ code: "thread-unknown", isFatal: false });
  expect(texts(await late.ask("five"))).toEqual(["five 9", "."]);
});

test("SES-REQ-4, 003 REQ-AC-3.5: requests are queued in their order, as many as may wait; or run side by side where configured", async () => {
  const gates = { first: Promise.withResolvers<void>(), left: Promise.withResolvers<void>() };
  const agents = [counting({ first: gates.first.promise, left: gates.left.promise })];
  const endpoints = {
    queue: { agent: "echo", maxQueued: 2 },
    beside: { agent: "echo", maxQueued: 1, concurrency: "concurrent" },
  } as const;
  const url = await serveAgents({ agents, sessions: { endpoints } });
  const queue = await openSession(url, "/api/ag-ui/queue");
  for (const said of ["first", "second", "third", "fourth"]) queue.say(said);
  const { data } = await queue.next("session-error");
  expect(data.error).toMatchObject({ code: "queue-full", isFatal: false, details: { limit: 2 } });
  expect(queue.events.filter(({ type }) => type === "status-update")).toMatchObject([
    { data: { subject: "run", status: "queued" } },
    { data: { subject: "run", status: "queued" } },
  ]);
  gates.first.resolve();
  for (const _ of [1, 2, 3]) await queue.next("agent-response-complete");
  expect(texts(queue.events)).toEqual(["first 1", ".", "second 3", ".", "third 5", "."]);
  await queue.close();
  const beside = await openSession(url, "/api/ag-ui/beside");
  beside.say("left");
  expect((await beside.next("text-chunk")).data.text).toBe("left 1");
  expect(texts(await beside.ask("right"))).toEqual(["right 1", "."]);
  gates.left.resolve();
  await beside.next("agent-response-complete");
  await beside.close();
});

test("SES-END-1, SES-END-4, 003 ws/terminate.1, ws/terminate.3: a server that closes tells the rest, then session-ended, and then closes the socket", async () => {
  const server = await serve({
    agents: [counting({ wait: new Promise(() => undefined) })],
    port: 0,
    shutdownGraceMs: 10,
    onError: () => undefined,
  });
  const [idle, busy] = [
    await openSession(server.url, "/api/ag-ui/echo"),
    await openSession(server.url, "/api/ag-ui/echo"),
  ];
  busy.say("wait");
  await busy.next("text-chunk");
  await server.close();
  expect(await idle.closed).toEqual([4000, "shutdown"]);
  expect(idle.events.at(-1)).toMatchObject({ type: "session-ended", data: { reason: "shutdown" } });
  await busy.closed;
  expect(busy.events.slice(-2)).toMatchObject([
    { type: "agent-error", data: { error: { code: "server-closing" } } },
    { type: "session-ended", data: { reason: "shutdown" } },
  ]);
});

test("SES-END-5, 003 perf/session-memory.3, perf/session-memory.4: above the memory limit the oldest idle sessions go first", async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  // By our own count an idle session is 16 kB: room for three.
  const { url, sessions } = await hosted({
    agents: [counting({ wait: gate })],
    sessions: { memoryLimitBytes: 3 * 16 * 1024 },
  });
  const busy = await openSession(url, "/api/ag-ui/echo");
  busy.say("wait");
  await busy.next("text-chunk");
  const older = await openSession(url, "/api/ag-ui/echo");
  const newer = await openSession(url, "/api/ag-ui/echo");
  await older.ask("I was here last");
  const newest = await openSession(url, "/api/ag-ui/echo");
  await newer.closed;
  expect(newer.events.at(-1)?.data).toMatchObject({ reason: "timeout", error: { code: "limit-exceeded" } });
  expect(sessions.size).toBe(3);
  open();
  await busy.next("agent-response-complete");
  for (const client of [busy, older, newest]) {
    expect(await client.ask("still here")).not.toHaveLength(0);
    await client.close();
  }
});

test("SES-END-6, 003 perf/buffers: a client that reads nothing is let go, and others are undisturbed", async () => {
  const flood = defineAgent({
    name: "flood",
    async run({ emit }) {
      const reply = emit.text();
      for (let index = 0; index < 200; index++) await reply.write("x".repeat(100_000));
    },
  });
  const { url, sessions } = await hosted({ agents: [flood, counting()], stallMs: 3000, keepAliveMs: 5000 });
  const stalled = await openSession(url, "/api/ag-ui/flood");
  stalled.socket.pause();
  stalled.say("Go");
  const other = await openSession(url, "/api/ag-ui/flood");
  expect(texts(await other.ask("Go")).join("")).toHaveLength(20_000_000);
  await living(sessions, 1);
  stalled.socket.terminate();
  await other.close();
});

test("SES-CON-2, 003 sec/auth.1, sec/auth.2, REQ-AC-6.2: who may not is refused before there is a session: 401, 403 and 404 as answers of HTTP", async () => {
  const { url, sessions } = await hosted({
    agents: [counting()],
    auth: { jwt: JWT },
    origins: ["https://app.example"],
  });
  const path = "/api/ag-ui/echo";
  await expect(openSession(url, path)).rejects.toThrow("refused with 401");
  await expect(openSession(url, path, { authorization: "Bearer x" })).rejects.toThrow("refused with 401");
  await expect(openSession(url, path, await bearer("eve", ["observer"]))).rejects.toThrow("refused with 403");
  const alice = await bearer("alice");
  await expect(openSession(url, path, { ...alice, origin: "https://evil.example" })).rejects.toThrow(
    "refused with 403",
  );
  const client = await openSession(url, path, { ...alice, origin: "https://app.example" });
  await client.ask("mine");
  const theirs = `${path}?sessionId=${client.sessionId}`;
  await expect(openSession(url, theirs, await bearer("bob"))).rejects.toThrow("refused with 404");
  const bob = await openSession(url, path, await bearer("bob"));
  bob.say("let me in", { sessionId: client.sessionId });
  expect((await bob.next("session-error")).data.error.code).toBe("thread-unknown");
  expect(sessions.size).toBe(2);
  // A browser cannot send headers: a ticket stands in for them, once.
  const issued = await fetch(`${url}/tickets`, {
    method: "POST",
    headers: alice,
  });
  const { ticket }: { ticket: string } = await issued.json();
  const byTicket = await openSession(url, `${theirs}&ticket=${encodeURIComponent(ticket)}`);
  expect(byTicket.sessionId).toBe(client.sessionId);
  await expect(openSession(url, `${path}?ticket=${encodeURIComponent(ticket)}`)).rejects.toThrow("refused with 401");
  for (const each of [client, bob, byTicket]) await each.close();
});

test("SES-ERR-2, 003 sec/auth.1: when the token ends, so does the session, with a fatal error", async () => {
  const url = await serveAgents({ agents: [counting()], auth: soonOver });
  const client = await openSession(url, "/api/ag-ui/echo");
  await client.ask("Hello");
  expect(await client.closed).toEqual([4001, "unauthenticated"]);
  expect(client.events.slice(-2)).toMatchObject([
    { type: "session-error", data: { error: { code: "unauthenticated", isFatal: true } } },
    { type: "session-ended", data: { reason: "error" } },
  ]);
});

test("SES-ERR-2, 003 sec/auth: when the role in a session is taken away, the session ends", async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { url } = await hosted({ agents: [counting({ wait: gate })], auth: { jwt: JWT } });
  const headers = await bearer("alice");
  const client = await openSession(url, "/api/ag-ui/echo", headers);
  await client.ask("mine");
  const member = `${url}/threads/${client.sessionId}/members/bob`;
  const json = { ...headers, "content-type": "application/json" };
  await fetch(member, { method: "PUT", headers: json, body: JSON.stringify({ role: "collaborator" }) });
  const bob = await openSession(url, `/api/ag-ui/echo?sessionId=${client.sessionId}`, await bearer("bob"));
  bob.say("wait");
  await bob.next("text-chunk");
  await fetch(member, { method: "DELETE", headers });
  expect((await bob.closed)[0]).toBe(4404);
  expect(bob.events.slice(-2)).toMatchObject([
    { type: "session-error", data: { error: { code: "thread-unknown", isFatal: true } } },
    { type: "session-ended", data: { reason: "error" } },
  ]);
  open();
  await client.close();
});

test("003 log.3: the start and the end of a session are logged, a refusal with its code, and none of what was said", async () => {
  const { url, lines } = await hosted({ agents: [counting()], sessions: { endAfterResponse: true } });
  const client = await openSession(url, "/api/ag-ui/echo");
  client.send('{"secret');
  await client.next("session-error");
  client.say("secret");
  await client.closed;
  const about = { sessionId: client.sessionId, endpoint: "echo" };
  expect(lines.filter(({ msg }) => String(msg).includes("session"))).toMatchObject([
    { level: 30, msg: "a session started", tenant: "default", ...about },
    {
      level: 30,
      msg: "a request of a session was refused",
      err: { code: "json-invalid", stack: expect.any(String) },
      ...about,
    },
    { level: 30, msg: "a session ended", reason: "completed", ...about },
  ]);
  expect(JSON.stringify(lines)).not.toContain("secret");
});

test("SES-EVT-3, 003 REQ-AC-3.3: a question of the agent is part of the response, and its answer is part of a request", async () => {
  const asking = defineAgent({
    name: "asking",
    async run({ emit }) {
      const answer = await emit.interrupt<string>({ id: "q1", reason: "confirm", message: "Sure?" });
      await emit.text().write(JSON.stringify(answer));
    },
  });
  const url = await serveAgents({ agents: [asking] });
  const client = await openSession(url, "/api/ag-ui/asking");
  const [end] = await client.ask("Do it");
  expect(end?.data).toMatchObject({ outcome: "interrupt", interrupts: [{ id: "q1", message: "Sure?" }] });
  // A plain message is no answer.
  client.say("What?");
  expect((await client.next("session-error")).data.error).toMatchObject({ code: "answers-missing", isFatal: false });
  const resume = [{ interruptId: "q1", status: "resolved", payload: "yes" }];
  client.send({ type: "run-agent", data: { messages: [], resume } });
  expect((await client.next("text-chunk")).data.text).toBe('{"status":"resolved","payload":"yes"}');
  await client.close();
});

test("SES-HIS-1, 003 api/AddAgUi.option-history, perf/session-memory.2: the agent is given the newest messages, and the log keeps all", async () => {
  const { url, sessions } = await hosted({ agents: [counting()], sessions: { history: 3 } });
  const client = await openSession(url, "/api/ag-ui/echo");
  for (const said of ["one 1", "two 3", "three 3"]) {
    expect(texts(await client.ask(said.slice(0, -2)))[0]).toBe(said);
  }
  expect(await sessions.conversationHistory(client.sessionId)).toHaveLength(6);
  await client.close();
});

test("SES-EVT-2, 003 REQ-4.4: where reasoning is switched off, or hidden from a role, there are no thought events", async () => {
  const thinking = defineAgent({
    name: "thinking",
    async run({ emit }) {
      const thought = emit.reasoning();
      await thought.write("hm");
      await thought.end();
      await emit.text().write("so");
    },
  });
  const endpoints = { open: { agent: "thinking" }, closed: { agent: "thinking", reasoning: false } };
  const url = await serveAgents({ agents: [thinking], sessions: { endpoints } });
  const hidden = await serveAgents({
    agents: [thinking],
    sessions: { endpoints },
    views: { operator: { reasoning: false } },
  });
  const typesAt = async (endpoint: string, at = url): Promise<readonly string[]> => {
    const client = await openSession(at, `/api/ag-ui/${endpoint}`);
    const events = await client.ask("Go");
    await client.close();
    return events.map(({ type }) => type);
  };
  const answer = ["text-chunk", "text-message-complete", "agent-response-complete"];
  expect(await typesAt("open")).toEqual(["thought-chunk", "thought-complete", ...answer]);
  expect(await typesAt("closed")).toEqual(answer);
  expect(await typesAt("open", hidden)).toEqual(answer);
});
