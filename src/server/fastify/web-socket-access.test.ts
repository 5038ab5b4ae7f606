/** Who gets a socket, and what they may do on it. */
import { once } from "node:events";
import { connect } from "node:net";
import { fastify } from "fastify";
import { WebSocket } from "ws";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { defineAgent } from "../../agent/index.ts";
import { pacedAgent } from "../../../test/paced-agent.ts";
import { openSocket } from "../../../test/ws-client.ts";
import type { ServerFrame, TestSocket } from "../../../test/ws-client.ts";
import type { Principal } from "../index.ts";
import { heddlePlugin, serve } from "./index.ts";
import type { Served } from "./index.ts";

const paced = pacedAgent();
/** Thinks, keeps secrets in its state, and ends with what an observer does not see. */
const keeper = defineAgent<{ account?: string; shown?: number }>({
  name: "keeper",
  run: async ({ emit }) => {
    await emit.reasoning().write("secret thought");
    await emit.state.set({ account: "secret account", shown: 1 });
    await emit.text().write("Hello.");
    await emit.state.patch([{ op: "replace", path: "/account", value: "secret account 2" }]);
  },
});

/** A token says itself whose it is. */
const tokenOf = (principal: Partial<Principal> & { user: string }): string =>
  Buffer.from(JSON.stringify({ tenant: "acme", roles: [], ...principal })).toString("base64url");
const bearer = (principal: Partial<Principal> & { user: string }): Record<string, string> => ({
  authorization: `Bearer ${tokenOf(principal)}`,
});
const [alice, watcher, mallory] = [{ user: "alice" }, { user: "watcher" }, { user: "mallory", tenant: "other" }];

let server: Served;
beforeAll(async () => {
  server = await serve({
    agents: [paced.agent, keeper],
    port: 0,
    host: "127.0.0.1",
    cancelGraceMs: 50,
    views: { observer: { reasoning: false, hiddenState: ["/account"] } },
    auth: (request) => {
      const [, token] = request.header("authorization")?.split(" ") ?? [];
      return token === undefined || token === "wrong"
        ? undefined
        : JSON.parse(Buffer.from(token, "base64url").toString());
    },
  });
});
afterAll(() => server.close());

async function open(headers: Record<string, string>, path?: string): Promise<TestSocket> {
  const socket = await openSocket(server.url, headers, path);
  onTestFinished(() => socket.socket.terminate());
  return socket;
}

/** How an upgrade is answered. */
async function upgrade(
  url: string,
  { headers = {}, protocols = ["heddle.v1"] }: { headers?: Record<string, string>; protocols?: string[] } = {},
): Promise<{
  readonly status: number;
  readonly code?: string;
  readonly protocol?: string;
  readonly extensions?: string;
}> {
  const socket = new WebSocket(url.replace(/^http/, "ws"), protocols, { headers, perMessageDeflate: true });
  onTestFinished(() => socket.terminate());
  socket.on("error", () => undefined);
  const refused = once(socket, "unexpected-response").then(async ([, response]) => {
    let body = "";
    for await (const chunk of response) body += String(chunk);
    return { status: Number(response.statusCode), code: String(JSON.parse(body).error.code) };
  });
  const opened = once(socket, "open").then(() => {
    const { protocol, extensions } = socket;
    return { status: 101, protocol, extensions };
  });
  refused.catch(() => undefined);
  opened.catch(() => undefined);
  return Promise.race([refused, opened]);
}

const inputOf = (threadId: string, runId = "r1"): object => ({
  threadId,
  runId,
  messages: [],
  forwardedProps: { go: 1 },
  protocolVersion: "1.0",
});
const isOf =
  (type: string, thread: string) =>
  (frame: ServerFrame): boolean =>
    frame.type === type && frame["thread"] === thread;
const member = (thread: string, user: string, role?: string): Promise<Response> =>
  fetch(`${server.url}/threads/${thread}/members/${user}`, {
    method: role === undefined ? "DELETE" : "PUT",
    headers: { ...bearer(alice), ...(role !== undefined && { "content-type": "application/json" }) },
    ...(role !== undefined && { body: JSON.stringify({ role }) }),
  });

/** A thread of Alice's with a run under way that has said something. */
async function begin(thread: string): Promise<TestSocket> {
  const owner = await open(bearer(alice));
  paced.in(thread).say("one");
  await owner.ask({ type: "run", agent: "paced", input: inputOf(thread) });
  await owner.next((frame) => Object(frame["event"]).type === "TEXT_MESSAGE_END");
  return owner;
}

describe("the upgrade", () => {
  test("WS-OPN-1: the subprotocol is chosen whatever else is offered, and nothing is compressed", async () => {
    const headers = bearer(alice);
    const chosen = { status: 101, protocol: "heddle.v1", extensions: "" };
    expect(await upgrade(`${server.url}/ws`, { headers, protocols: ["other", "heddle.v1"] })).toEqual(chosen);
    const refused = { status: 400, code: "request-invalid" };
    expect(await upgrade(`${server.url}/ws`, { headers, protocols: ["other"] })).toEqual(refused);
    expect(await upgrade(`${server.url}/ws`, { headers, protocols: [] })).toEqual(refused);
    const plain = await fetch(`${server.url}/ws`, { headers: { ...headers, "sec-websocket-protocol": "heddle.v1" } });
    expect([plain.status, await plain.json()]).toMatchObject([
      400,
      { error: { code: "request-invalid", message: expect.stringContaining("WebSocket") } },
    ]);
    expect((await fetch(`${server.url}/ws`, { method: "HEAD", headers })).status).toBe(404);
  });

  test("WS-OPN-2: who is not known gets 401 before the upgrade, and a ticket opens one socket", async () => {
    const refused = { status: 401, code: "unauthenticated" };
    expect(await upgrade(`${server.url}/ws`)).toEqual(refused);
    expect(await upgrade(`${server.url}/ws`, { headers: { authorization: "Bearer wrong" } })).toEqual(refused);
    expect(await upgrade(`${server.url}/ws?ticket=${"x".repeat(43)}`)).toEqual(refused);
    expect((await fetch(`${server.url}/ws`)).status).toBe(401);
    const asked = await fetch(`${server.url}/tickets`, { method: "POST", headers: bearer(alice) });
    const { ticket }: { ticket: string } = await asked.json();
    const socket = await open({}, `/ws?ticket=${ticket}`);
    const owner = await begin("opn-2");
    // It is Alice's socket.
    expect(await socket.ask({ type: "attach", thread: "opn-2" })).toMatchObject({ type: "ok" });
    expect(await upgrade(`${server.url}/ws?ticket=${ticket}`)).toEqual(refused);
    await owner.ask({ type: "cancel", thread: "opn-2", run: "r1" });
  });

  test("WS-OPN-2: requests of one principal are counted with those over HTTP", async () => {
    const own = await serve({
      agents: [],
      port: 0,
      host: "127.0.0.1",
      rateLimits: { perPrincipal: { requests: 2, perMs: 60_000 } },
    });
    onTestFinished(() => own.close());
    expect((await fetch(`${own.url}/agents`)).status).toBe(200);
    expect(await upgrade(`${own.url}/ws`)).toMatchObject({ status: 101 });
    expect(await upgrade(`${own.url}/ws`)).toEqual({ status: 429, code: "rate-limited" });
  });

  test("WS-OPN-3: a page of an origin that is not on the list gets 403, without a list every other origin", async () => {
    const refused = { status: 403, code: "origin-refused" };
    const from = (origin: string): Record<string, string> => ({ ...bearer(alice), origin });
    expect(await upgrade(`${server.url}/ws`, { headers: from("https://evil.example") })).toEqual(refused);
    expect(await upgrade(`${server.url}/ws`, { headers: from("http://localhost:3000") })).toMatchObject({
      status: 101,
    });
    expect(await upgrade(`${server.url}/ws`, { headers: { ...bearer(alice), host: "evil.example" } })).toEqual(refused);
    const app = fastify();
    onTestFinished(() => app.close());
    await app.register(heddlePlugin, { agents: [], prefix: "/ai" });
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    expect(await upgrade(`${url}/ai/ws`, { headers: { origin: "https://evil.example" } })).toEqual(refused);
    expect(await upgrade(`${url}/ai/ws`, { headers: { origin: url } })).toMatchObject({ status: 101 });
    expect(await upgrade(`${url}/ai/ws`)).toMatchObject({ status: 101 });
  });

  test("WS-OPN-4: another upgrade is not taken, and the request is answered as it is", async () => {
    const socket = connect(server.port, "127.0.0.1");
    const body = JSON.stringify(inputOf("opn-4"));
    socket.write(
      `POST /agents/keeper HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${bearer(alice)["authorization"]}\r\n` +
        `Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    let text = "";
    for await (const chunk of socket) {
      text += String(chunk);
      if (text.includes("RUN_FINISHED")) break;
    }
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  test("WS-OPN-1: a host that has the library keeps its own, with sockets of its own beside", async () => {
    const { fastifyWebsocket } = await import("@fastify/websocket");
    const app = fastify();
    onTestFinished(() => app.close());
    await app.register(fastifyWebsocket);
    app.get("/echo", { websocket: true }, (socket) => void socket.on("message", (data) => socket.send(String(data))));
    await app.register(heddlePlugin, { agents: [keeper], maxBodyBytes: 1000 });
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    const echo = new WebSocket(`${url.replace("http", "ws")}/echo`);
    await once(echo, "open");
    echo.send("here");
    expect(String((await once(echo, "message"))[0])).toBe("here");
    echo.close();
    const socket = await openSocket(url);
    await socket.ask({ type: "run", agent: "keeper", input: inputOf("host") });
    expect(await socket.next(isOf("ended", "host"))).toMatchObject({ run: "r1" });
    socket.send({ type: "ping", more: "x".repeat(1000) });
    expect(await socket.closed).toMatchObject([4413, expect.any(String)]);
  });
});

describe("WS-AUT-1: roles", () => {
  test("an observer watches, and is refused everything else; a stranger finds nothing", async () => {
    const owner = await begin("aut-1");
    await member("aut-1", "watcher", "observer");
    const [seeing, stranger, bob] = [
      await open(bearer(watcher)),
      await open(bearer(mallory)),
      await open(bearer({ user: "bob" })),
    ];
    expect(await seeing.ask({ type: "attach", thread: "aut-1" })).toMatchObject({ type: "ok" });
    await seeing.next(isOf("caught-up", "aut-1"));
    const asks = [
      { type: "run", agent: "paced", input: inputOf("aut-1", "r2") },
      { type: "answer", agent: "paced", thread: "aut-1", resume: [] },
      { type: "cancel", thread: "aut-1", run: "r1" },
      { type: "claim", thread: "aut-1", call: "c1", holder: "tab" },
      { type: "attach", thread: "aut-1", raw: true },
    ];
    for (const frame of asks) {
      expect(await seeing.ask(frame)).toMatchObject({ type: "error", error: { code: "role-missing" } });
      expect(await bob.ask(frame)).toMatchObject({ type: "error", error: { code: "thread-unknown" } });
    }
    // What is another tenant's, what is another user's and what is nobody's is the same.
    for (const frame of asks.slice(2)) {
      const { error } = await stranger.ask(frame);
      expect(error).toMatchObject({ code: "thread-unknown", details: { threadId: "aut-1" } });
      expect((await bob.ask(frame))["error"]).toEqual(error);
      const nowhere = await stranger.ask({ ...frame, thread: "aut-9" });
      expect(JSON.stringify(nowhere["error"])).toBe(JSON.stringify(error).replaceAll("aut-1", "aut-9"));
    }
    // Whatever was refused, the attachment goes on.
    paced.in("aut-1").end();
    await seeing.next((frame) => Object(frame["event"]).type === "RUN_FINISHED");
    await owner.next(isOf("ended", "aut-1"));
  });

  test("views hide over a socket what they hide over SSE, with the same cursors", async () => {
    const owner = await open(bearer(alice));
    await owner.ask({ type: "run", agent: "keeper", input: inputOf("aut-2") });
    await owner.next(isOf("ended", "aut-2"));
    await member("aut-2", "watcher", "observer");
    const seen: string[] = [];
    for (const who of [alice, watcher]) {
      const answer = await fetch(`${server.url}/threads/aut-2/events?follow=false`, { headers: bearer(who) });
      const text = await answer.text();
      const sse = text.split("\n\n").flatMap((frame) => {
        const [, id] = /^id: (.*)$/m.exec(frame) ?? [];
        const [, data] = /^data: (.*)$/m.exec(frame) ?? [];
        return id === undefined ? [] : [{ id, event: data === undefined ? undefined : JSON.parse(data) }];
      });
      const socket = await open(bearer(who));
      await socket.ask({ type: "attach", thread: "aut-2", follow: false });
      await socket.next(isOf("ended", "aut-2"));
      const frames = socket.frames.filter(({ type }) => type === "event" || type === "moved");
      expect(frames.map(({ id, event }) => ({ id, event }))).toEqual(sse);
      seen.push(JSON.stringify(frames));
    }
    expect(seen[0]).toContain("secret");
    expect(seen[1]).toContain("Hello.");
    expect(seen[1]).not.toContain("secret");
  });

  test("an attachment ends when its role does, and the others of the socket go on", async () => {
    const owner = await begin("aut-3");
    await begin("aut-4");
    for (const thread of ["aut-3", "aut-4"]) await member(thread, "watcher", "observer");
    const seeing = await open(bearer(watcher));
    for (const thread of ["aut-3", "aut-4"]) {
      await seeing.ask({ type: "attach", thread });
      await seeing.next(isOf("caught-up", thread));
    }
    await member("aut-3", "watcher");
    expect(await seeing.next(isOf("ended", "aut-3"))).toEqual({ type: "ended", thread: "aut-3" });
    paced.in("aut-3").say("secret");
    await owner.next((frame) => Object(frame["event"]).delta === "secret");
    expect(await seeing.ask({ type: "attach", thread: "aut-3" })).toMatchObject({ error: { code: "thread-unknown" } });
    paced.in("aut-4").say("two");
    await seeing.next((frame) => Object(frame["event"]).delta === "two");
    expect(JSON.stringify(seeing.frames)).not.toContain("secret");
    for (const thread of ["aut-3", "aut-4"]) paced.in(thread).end();
  });
});

describe("WS-AUT-2: tokens", () => {
  test("a token that expires closes with 4001, a newer one of the same principal prolongs", async () => {
    const owner = await begin("tok-1");
    const expiresAtMs = Date.now() + 400;
    const [kept, control] = [
      await open(bearer({ ...alice, expiresAtMs })),
      await open(bearer({ ...alice, expiresAtMs })),
    ];
    for (const socket of [kept, control]) await socket.ask({ type: "attach", thread: "tok-1" });
    for (const token of [
      tokenOf({ user: "bob" }),
      tokenOf({ ...alice, tenant: "other" }),
      "wrong",
      tokenOf({ ...alice, expiresAtMs: 1 }),
    ]) {
      expect(await kept.ask({ type: "auth", token })).toMatchObject({ error: { code: "unauthenticated" } });
    }
    const later = Date.now() + 60_000;
    expect(await kept.ask({ type: "auth", token: tokenOf({ ...alice, expiresAtMs: later }) })).toMatchObject({
      type: "ok",
      expiresAt: new Date(later).toISOString(),
    });
    expect(await control.closed).toEqual([4001, "token expired"]);
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAtMs);
    // What was followed is followed on, under the same attachment.
    paced.in("tok-1").say("after");
    await kept.next((frame) => Object(frame["event"]).delta === "after");
    expect(kept.frames.filter(isOf("ended", "tok-1"))).toEqual([]);
    // A shorter one counts too.
    await kept.ask({ type: "auth", token: tokenOf({ ...alice, expiresAtMs: Date.now() + 50 }) });
    expect(await kept.closed).toMatchObject([4001, expect.any(String)]);
    paced.in("tok-1").end();
    await owner.next(isOf("ended", "tok-1"));
  });

  test("a token with other roles ends what was followed, and counts from then on", async () => {
    const owner = await begin("tok-2");
    const auditor = { user: "auditor", roles: ["observer"] } as const;
    const socket = await open(bearer(auditor));
    await socket.ask({ type: "attach", thread: "tok-2" });
    expect(await socket.ask({ type: "auth", token: tokenOf(auditor) })).toEqual({
      type: "ok",
      ref: expect.any(String),
    });
    expect(socket.frames.filter(isOf("ended", "tok-2"))).toEqual([]);
    const answer = await socket.ask({ type: "auth", token: tokenOf({ user: "auditor" }) });
    expect(socket.frames.slice(-2)).toEqual([{ type: "ended", thread: "tok-2" }, answer]);
    expect(await socket.ask({ type: "attach", thread: "tok-2" })).toMatchObject({ error: { code: "thread-unknown" } });
    await owner.ask({ type: "cancel", thread: "tok-2", run: "r1" });
  });

  test("where nobody is asked who they are, a token changes nothing", async () => {
    const own = await serve({ agents: [], port: 0, host: "127.0.0.1" });
    onTestFinished(() => own.close());
    const socket = await openSocket(own.url);
    expect(await socket.ask({ type: "auth", token: "any" })).toEqual({ type: "ok", ref: "1" });
  });
});
