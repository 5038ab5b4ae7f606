import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fastify } from "fastify";
import type { FastifyBaseLogger } from "fastify";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { defineAgent } from "../../agent/index.ts";
import { memoryStore } from "../../store/index.ts";
import { heddlePlugin, isLoopback, serve } from "./index.ts";
import type { Served } from "./index.ts";

const echo = defineAgent({ name: "echo", run: ({ emit }) => void emit.text().write("hello") });

const json = { "content-type": "application/json" };
const input = JSON.stringify({ threadId: "t1", runId: "r1", messages: [] });

let server: Served;
let cursor = "";

beforeAll(async () => {
  server = await serve({ agents: [echo], port: 0, host: "127.0.0.1" });
  const response = await fetch(`${server.url}/agents/echo`, { method: "POST", headers: json, body: input });
  cursor = /id: (\S+)/.exec(await response.text())?.[1] ?? "";
});

afterAll(() => server.close());

const run = (body: string, headers: Record<string, string> = json): RequestInit => ({
  method: "POST",
  headers,
  body,
});
const post = (fields: object): RequestInit =>
  run(JSON.stringify({ messages: [], threadId: "t1", runId: "r1", ...fields }));

/** Sends only a part of a request, and reads the answer to it. */
async function answerTo(headers: Record<string, string>, part?: Buffer): Promise<{ status?: number; body: unknown }> {
  const sent = request(`${server.url}/agents/echo`, { method: "POST", headers: { ...json, ...headers } });
  // The server answers and hangs up while we are still sending: only the answer counts.
  sent.on("error", () => {});
  if (part === undefined) sent.flushHeaders();
  else sent.write(part);
  const [answer]: IncomingMessage[] = await once(sent, "response");
  if (answer === undefined) throw new Error("no answer");
  const body: unknown = JSON.parse(await text(answer));
  sent.destroy();
  return { ...(answer.statusCode === undefined ? {} : { status: answer.statusCode }), body };
}

describe("PROTO-ERR-2: every failure is JSON with a code", () => {
  test.each<[string, RequestInit | undefined, number, string]>([
    ["/nowhere", undefined, 404, "route-unknown"],
    ["/agents/echo", undefined, 404, "route-unknown"],
    ["/agents/nobody", run(input), 404, "agent-unknown"],
    ["/agents/echo", run("{"), 400, "json-invalid"],
    ["/agents/echo", run(""), 400, "json-invalid"],
    ["/agents/echo", run("[".repeat(2000) + "]".repeat(2000)), 413, "limit-exceeded"],
    ["/agents/echo", { method: "POST" }, 400, "input-invalid"],
    ["/agents/echo", run("[]"), 400, "input-invalid"],
    ["/agents/echo", post({ threadId: 7 }), 400, "input-invalid"],
    ["/agents/echo", post({ runId: ".." }), 400, "input-invalid"],
    ["/agents/echo", run(input, { "content-type": "text/plain" }), 415, "media-type-unsupported"],
    ["/agents/echo", run(input, { ...json, "content-encoding": "gzip" }), 415, "media-type-unsupported"],
    [
      "/agents/echo",
      run(input, { "content-type": "application/x-www-form-urlencoded" }),
      415,
      "media-type-unsupported",
    ],
    ["/agents/echo", run(input, { "content-type": "nonsense" }), 415, "media-type-unsupported"],
    ["/threads/t9/events", undefined, 404, "thread-unknown"],
    ["/threads/t1/events?run=r9", undefined, 404, "run-unknown"],
    ["/threads/t1/events?after=7", undefined, 400, "cursor-invalid"],
    ["/threads/t1/events?after=aaaaaaaa_0000000000000001&on_gap=error", undefined, 410, "cursor-trimmed"],
    ["/threads/t1/events?on_gap=hole", undefined, 400, "query-invalid"],
    ["/threads/t1/events?head=r9", undefined, 404, "run-unknown"],
    ["/agents/nobody/capabilities", undefined, 404, "agent-unknown"],
    ["/agents/nobody/connect", run(input), 404, "agent-unknown"],
    ["/agents/echo/connect", run("{}"), 400, "input-invalid"],
    ["/agents/echo?on_disconnect=maybe", run(input), 400, "query-invalid"],
    ["/threads/t1/runs/r9", undefined, 404, "run-unknown"],
    ["/threads/t9/runs/r1", undefined, 404, "thread-unknown"],
    ["/threads/t1/runs/r9/cancel", { method: "POST" }, 404, "run-unknown"],
    ["/threads/t1/runs/r1/cancel", run("a=b", { "content-type": "text/plain" }), 415, "media-type-unsupported"],
    ["/threads/t1/events", { headers: { "last-event-id": "7" } }, 400, "cursor-invalid"],
    ["/threads/t1/events?follow=maybe", undefined, 400, "query-invalid"],
    ["/threads/t1/events?run=r1&run=r2", undefined, 400, "query-invalid"],
    ["/threads/%zz/events", undefined, 400, "request-invalid"],
    [`/threads/${"x".repeat(4000)}/events`, undefined, 400, "request-invalid"],
  ])("%s", async (path, init, status, code) => {
    const response = await fetch(`${server.url}${path}`, init);
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    const body: unknown = await response.json();
    expect(body).toEqual({ error: { code, message: expect.any(String), details: expect.any(Object) } });
    expect(response.status).toBe(status);
  });

  test("a body over 16 MiB, by what it declares or by what comes", async () => {
    const allowed = 16 * 1024 * 1024;
    const tooLarge = (actual: number): object => ({
      status: 413,
      body: { error: { code: "limit-exceeded", details: { limit: "body", allowed, actual } } },
    });
    expect(await answerTo({ "content-length": String(allowed + 5) })).toMatchObject(tooLarge(allowed + 5));
    expect(await answerTo({}, Buffer.alloc(allowed + 1, " "))).toMatchObject(tooLarge(allowed + 1));
  });

  test("and a body of 15 MiB is none", async () => {
    const content = "x".repeat(15 * 1024 * 1024);
    const messages = [{ id: "m1", role: "user", content }];
    const response = await fetch(`${server.url}/agents/echo`, post({ runId: "large", messages }));
    expect(await response.text()).toContain('"type":"RUN_FINISHED"');
  });

  test("bytes that are not HTTP", async () => {
    const socket = connect(server.port, "127.0.0.1").end("nonsense\r\n\r\n");
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[^]*"code":"request-invalid"/);
  });

  test("a fault of ours, which is logged and not shown", async () => {
    const app = fastify();
    const store = { ...memoryStore(), thread: () => Promise.reject(new Error("secret path")) };
    await app.register(heddlePlugin, { agents: [echo], store });
    const logged = vi.spyOn(app.log, "error");
    const response = await app.inject({ method: "POST", url: "/agents/echo", headers: json, payload: input });
    expect(response.statusCode).toBe(500);
    expect(response.json()).toMatchObject({ error: { code: "internal-error" } });
    expect(response.body).not.toContain("secret");
    expect(logged).toHaveBeenCalled();
    await app.close();
  });
});

const get = async (path: string): Promise<unknown> => (await fetch(`${server.url}${path}`)).json();

describe("what is there", () => {
  test("health, readiness and agents", async () => {
    expect(await get("/healthz")).toEqual({ status: "ok" });
    expect(await get("/readyz")).toEqual({ status: "ready" });
    expect(await get("/agents")).toEqual({
      agents: [
        {
          name: "echo",
          url: "/agents/echo",
          capabilities: { identity: { name: "echo" }, transport: { streaming: true, resumable: true } },
        },
      ],
    });
  });

  test("the inspector, which loads nothing from elsewhere; without it, a page that loads nothing at all", async () => {
    const inspector = await fetch(`${server.url}/`);
    expect(inspector.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
    expect(await inspector.text()).not.toMatch(/(?:src|href)="(?!\.\/)/);
    const plain = await serve({ agents: [echo], port: 0, host: "127.0.0.1", inspector: false });
    const response = await fetch(`${plain.url}/`);
    const page = await response.text();
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(page).toContain(`curl -N ${plain.url}/agents/echo`);
    await plain.close();
    expect(page).not.toMatch(/<(script|link|img|iframe)|src=|@import|url\(/);
  });

  test("a prefix of the host application stands in every path that is told", async () => {
    const app = fastify();
    await app.register(heddlePlugin, { agents: [echo], prefix: "/ai" });
    const run = await app.inject({ method: "POST", url: "/ai/agents/echo", headers: json, payload: input });
    expect(run.headers["content-location"]).toBe("/ai/threads/t1/runs/r1");
    expect((await app.inject("/ai/agents")).json()).toMatchObject({ agents: [{ url: "/ai/agents/echo" }] });
    expect((await app.inject({ url: "/ai", headers: { host: "<b>" } })).body).not.toContain("<b>");
    await app.close();
  });

  test("a thread's events are not answered to HEAD, which would never end", async () => {
    const response = await fetch(`${server.url}/threads/t1/events?after=${cursor}`, { method: "HEAD" });
    expect(response.status).toBe(404);
  });
});

describe("closing", () => {
  test("does not wait for connections on which nothing was ever asked", async () => {
    const own = await serve({ agents: [echo], port: 0, host: "127.0.0.1" });
    const socket = connect(own.port, "127.0.0.1");
    await once(socket, "connect");
    // Answered on another connection: by then the server has taken the silent one too.
    await (await fetch(`${own.url}/healthz`)).text();
    const closed = once(socket.resume(), "close");
    await own.close();
    await closed;
    expect(socket.destroyed).toBe(true);
  });
});

describe("where it listens", () => {
  test("a port that is taken and asked for is refused", async () => {
    const options = { agents: [echo], port: server.port, host: "127.0.0.1" };
    await expect(serve(options)).rejects.toMatchObject({ code: "address-unavailable" });
  });

  test("localhost counts as taken where any of its addresses is", async () => {
    for (const { address } of await lookup("localhost", { all: true })) {
      const taken = createServer().listen(0, address);
      await once(taken, "listening");
      const { port }: AddressInfo = Object(taken.address());
      await expect(serve({ agents: [], port })).rejects.toMatchObject({ code: "address-unavailable" });
      taken.close();
    }
  });

  test("a host that cannot be resolved is refused with the reason", async () => {
    const options = { agents: [], host: "no-such-host.invalid", noAuth: true, port: 0 };
    await expect(serve(options)).rejects.toMatchObject({ code: "address-unavailable" });
  });

  test("HTTP-SRV-1: without authentication only this machine is served, unless that is meant", async () => {
    await expect(serve({ agents: [], host: "0.0.0.0", port: 0 })).rejects.toMatchObject({ code: "config-invalid" });
    const open = await serve({ agents: [], host: "0.0.0.0", port: 0, noAuth: true });
    expect(open.url).toBe(`http://localhost:${open.port}`);
    await open.close();
  });

  test.each([
    ["localhost", true],
    ["127.0.0.1", true],
    ["127.9.9.9", true],
    ["::1", true],
    ["0.0.0.0", false],
    ["::", false],
    ["192.168.1.2", false],
    ["127.0.0.1.example.org", false],
  ])("%s is loopback: %s", (host, expected) => {
    expect(isLoopback(host)).toBe(expected);
  });

  test("a logger of the caller's is used", async () => {
    const { log } = fastify();
    const logger: FastifyBaseLogger = log;
    const logged = vi.spyOn(logger, "error");
    const failing = defineAgent({ name: "failing", run: () => Promise.reject(new Error("boom")) });
    const own = await serve({ agents: [failing], port: 0, host: "127.0.0.1", logger });
    const response = await fetch(`${own.url}/agents/failing`, { method: "POST", headers: json, body: input });
    expect(await response.text()).toContain('"code":"agent-failed"');
    expect(logged).toHaveBeenCalledWith(expect.objectContaining({ agent: "failing" }), "a run failed");
    await own.close();
  });
});
