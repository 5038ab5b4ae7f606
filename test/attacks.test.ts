/**
 * What somebody tries who means harm, each against a server that listens: refused, with nothing changed. What is tried
 * with tokens and tickets is beside their source; strangers with good tokens are in `isolation.test.ts`.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineAgent } from "../src/agent/index.ts";
import { serve } from "../src/server/fastify/index.ts";
import type { Served } from "../src/server/fastify/index.ts";
import { memoryStore } from "../src/store/index.ts";
import { postRun } from "./sse-client.ts";

let started = 0;
const INJECTED = 'one\r\nset-cookie: stolen=1\r\n\r\ndata: {"type":"RUN_FINISHED"}\n\nid: forged\u2028';
const agent = defineAgent({
  name: "talker",
  run: ({ emit, input }) => {
    started += 1;
    emit.text().write(INJECTED);
    emit.custom("note", input.forwardedProps);
  },
});

const KEY = "a-key-that-is-long-enough";
const store = memoryStore();
let open: Served;
let guarded: Served;
beforeAll(async () => {
  open = await serve({ agents: [agent], store, port: 0 });
  guarded = await serve({ agents: [agent], port: 0, auth: { keys: { alice: { key: KEY } } } });
});
afterAll(async () => {
  await open.close();
  await guarded.close();
});

/** Writes bytes to the server, and gives all that comes back until it closes. */
async function raw(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let received = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (received += chunk));
  socket.write(bytes);
  await once(socket, "close");
  return received;
}

const request = (method: string, path: string, headers: Readonly<Record<string, string>>, body = ""): string =>
  [
    `${method} ${path} HTTP/1.1`,
    ...Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)), connection: "close" }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    "",
    body,
  ].join("\r\n");

const INPUT = JSON.stringify({ threadId: "attacked", runId: "r1", messages: [], forwardedProps: { go: 1 } });
const JSON_TYPE = { "content-type": "application/json" };

describe("a page elsewhere", () => {
  test.each([
    ["a name of its own that points here", { host: "evil.test:5000" }],
    ["a name that begins as ours", { host: "localhost.evil.test" }],
    ["a name with ours in front of an @", { host: "localhost@evil.test" }],
    ["no name", { host: "" }],
  ])("does not reach the server by %s (DNS rebinding)", async (_, headers) => {
    for (const [method, path] of [
      ["GET", "/threads"],
      ["POST", "/agents/talker"],
    ] as const) {
      const answer = await raw(
        open.url,
        request(method, path, { ...headers, ...JSON_TYPE }, method === "POST" ? INPUT : ""),
      );
      expect(answer).toMatch(/^HTTP\/1\.1 (400|403) /);
    }
    expect(started).toBe(0);
  });

  test.each([
    ["a form", { origin: "https://evil.test", "content-type": "application/x-www-form-urlencoded" }],
    ["text that is JSON", { origin: "https://evil.test", "content-type": "text/plain" }],
    ["JSON", { origin: "https://evil.test", ...JSON_TYPE }],
    ["a sandboxed frame", { origin: "null", ...JSON_TYPE }],
    ["an origin that begins as ours", { origin: "http://localhost.evil.test", ...JSON_TYPE }],
  ])("cannot post %s (cross-site request)", async (_, headers) => {
    const answer = await raw(
      open.url,
      request("POST", "/agents/talker", { host: new URL(open.url).host, ...headers }, INPUT),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    expect(answer).not.toContain("access-control-allow-origin");
    expect(started).toBe(0);
  });

  test("gets no leave in advance", async () => {
    const asks = { "access-control-request-method": "POST", "access-control-request-headers": "authorization" };
    const answer = await fetch(`${open.url}/agents/talker`, {
      method: "OPTIONS",
      headers: { origin: "https://evil.test", ...asks },
    });
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("bodies", () => {
  test("a stranger's body is not read: the answer comes before it", async () => {
    const head = `POST /agents/talker HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 16000000\r\n\r\n`;
    const socket = connect(Number(new URL(guarded.url).port), "127.0.0.1");
    socket.write(head);
    const [first]: Buffer[] = (await once(socket, "data")) as Buffer[];
    expect(String(first)).toMatch(/^HTTP\/1\.1 401 /);
    socket.destroy();
  });

  test("one that is too large is refused by its length, and by its bytes where it lies", async () => {
    const huge = await postRun(open.url, "talker", {
      threadId: "big",
      runId: "r1",
      forwardedProps: "x".repeat(17 * 2 ** 20),
    });
    expect([huge.status, await huge.json()]).toMatchObject([413, { error: { code: "limit-exceeded" } }]);
  });

  test("one that is nested too deeply is refused, and the server goes on", async () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const body = `{"threadId":"deep","runId":"r1","messages":[],"state":${deep}}`;
    const answer = await fetch(`${open.url}/agents/talker`, { method: "POST", headers: JSON_TYPE, body });
    expect([answer.status, await answer.json()]).toMatchObject([413, { error: { code: "limit-exceeded" } }]);
    expect((await fetch(`${open.url}/healthz`)).status).toBe(200);
  });

  test("names of prototypes are names like any other", async () => {
    const body = `{"threadId":"polluted","runId":"r1","messages":[],"state":{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}},"forwardedProps":{"__proto__":{"isAdmin":true}}}`;
    const answer = await fetch(`${open.url}/agents/talker`, { method: "POST", headers: JSON_TYPE, body });
    await answer.text();
    expect(Reflect.get({}, "isAdmin")).toBeUndefined();
    expect(Reflect.get(Object.prototype, "isAdmin")).toBeUndefined();
    const patched = await fetch(`${open.url}/threads/polluted`, {
      method: "PATCH",
      headers: JSON_TYPE,
      body: '{"metadata":{"__proto__":{"isAdmin":true}}}',
    });
    await patched.text();
    expect(Reflect.get({}, "isAdmin")).toBeUndefined();
  });
});

describe("headers", () => {
  test("what an agent says never becomes a header or a frame of its own", async () => {
    const answer = await postRun(open.url, "talker", { threadId: "injected", runId: "r1", forwardedProps: { go: 1 } });
    expect(answer.headers.get("set-cookie")).toBeNull();
    const text = await answer.text();
    const lines = text.split("\n");
    const types = lines.flatMap((line) => (line.startsWith("data:") ? [JSON.parse(line.slice(5)).type] : []));
    expect(types.filter((type) => type === "RUN_FINISHED")).toHaveLength(1);
    expect(lines.some((line) => line.startsWith("set-cookie") || line === "id: forged")).toBe(false);
    expect(text).not.toContain("\r");
  });

  test("an id with line breaks stays in its place", async () => {
    const runId = "r\r\nset-cookie: stolen=1";
    const answer = await postRun(open.url, "talker", { threadId: "t\r\nx: y", runId, forwardedProps: { go: 1 } });
    expect(answer.headers.get("set-cookie")).toBeNull();
    expect(answer.headers.get("x")).toBeNull();
    await answer.text();
  });

  test("every answer tells browsers to run nothing and to guess nothing", async () => {
    const answers = [
      await fetch(`${open.url}/`),
      await fetch(`${open.url}/agents`),
      await fetch(`${open.url}/nowhere`),
      await fetch(`${guarded.url}/agents`),
      await postRun(open.url, "talker", { threadId: "safe", runId: "r1", forwardedProps: { go: 1 } }),
    ];
    for (const { headers, body } of answers) {
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'.*frame-ancestors 'none'/);
      expect(headers.get("content-security-policy")).not.toContain("script-src 'unsafe");
      await body?.cancel();
    }
  });
});

test(
  "a request that trickles in is cut off, and others are served meanwhile (slow loris)",
  { timeout: 30_000 },
  async () => {
    const slow = await serve({ agents: [agent], port: 0, requestTimeoutMs: 500 });
    const sockets = Array.from({ length: 50 }, () => connect(Number(new URL(slow.url).port), "127.0.0.1"));
    const closed = Promise.all(sockets.map((socket) => once(socket.on("error", () => undefined).resume(), "close")));
    for (const socket of sockets) socket.write("POST /agents/talker HTTP/1.1\r\nhost: localhost\r\nx-a: ");
    const drip = setInterval(() => sockets.forEach((socket) => socket.writable && socket.write("b")), 50);
    const served = await fetch(`${slow.url}/agents`);
    expect(served.status).toBe(200);
    await closed;
    clearInterval(drip);
    await slow.close();
  },
);
