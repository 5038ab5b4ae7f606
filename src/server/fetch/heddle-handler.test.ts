/** Heddle as a function from Request to Response, with real ones, and behind a bridge to `node:http`. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { HttpAgent } from "@ag-ui/client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { defineAgent } from "../../agent/index.ts";
import { memoryStore } from "../../store/index.ts";
import { createHeddle } from "../index.ts";
import type { Heddle } from "../index.ts";
import { forwardedHeaders, heddleHandler } from "./index.ts";
import type { HeddleHandler, HeddleHandlerOptions } from "./index.ts";

const echo = defineAgent({ name: "echo", run: ({ emit }) => void emit.text().write("hello") });

/** Says a word, and then nothing until it is stopped. */
const waiting = defineAgent({
  name: "waiting",
  run: async ({ emit, signal }) => {
    emit.text().write("so far");
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  },
});

const BASE = "http://heddle.test";
const input = (fields: object = {}): string =>
  JSON.stringify({
    threadId: "t1",
    runId: "r1",
    messages: [],
    protocolVersion: "1.0",
    forwardedProps: { go: 1 },
    ...fields,
  });
const post = (path: string, body: string | undefined = input(), headers: Record<string, string> = {}): Request =>
  new Request(`${BASE}${path}`, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
const get = (path: string, headers: Record<string, string> = {}): Request => new Request(`${BASE}${path}`, { headers });

const head = (path: string): Promise<Response> => handle(new Request(`${BASE}${path}`, { method: "HEAD" }));
const judged = (options: HeddleHandlerOptions, request: Request): Promise<Response> =>
  heddleHandler(heddle, options)(request);

let heddle: Heddle;
let handle: HeddleHandler;

beforeEach(() => {
  heddle = createHeddle({ agents: [echo, waiting] });
  handle = heddleHandler(heddle);
});

afterEach(async () => {
  vi.useRealTimers();
  await heddle.close();
});

/** Reads until a text has come. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, wanted: string): Promise<string> {
  const utf8 = new TextDecoder();
  let read = "";
  while (!read.includes(wanted)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`ended after ${read}`);
    read += utf8.decode(value, { stream: true });
  }
  return read;
}

const readerOf = ({ body }: Response): ReadableStreamDefaultReader<Uint8Array> => {
  if (body === null) throw new Error("no body");
  return body.getReader();
};

describe("routes", () => {
  test("a run is started, answered as events, and named", async () => {
    const response = await handle(post("/agents/echo"));
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
      "content-location": "/threads/t1/runs/r1",
    });
    expect(await response.text()).toMatch(/^id: \S+\ndata: \{"type":"RUN_STARTED"[^]*"RUN_FINISHED"[^\n]*\n\n$/);
  });

  test("a thread is read again in each form, from wherever one was", async () => {
    const live = await (await handle(post("/agents/echo"))).text();
    const all = await (await handle(get("/threads/t1/events?run=r1"))).text();
    expect(all).toBe(live);
    const [first = "", ...rest] = live.split("\n\n");
    const cursor = first.slice(4, first.indexOf("\n"));
    const tail = await handle(get("/threads/t1/events?run=r1", { "last-event-id": cursor }));
    expect(await tail.text()).toBe(rest.join("\n\n"));
    const document = await handle(get("/threads/t1/events", { accept: "application/json" }));
    expect(await document.json()).toMatchObject({ events: [{ id: cursor, runId: "r1" }, {}, {}, {}, {}] });
    const lines = await handle(get("/threads/t1/events?follow=false", { accept: "application/x-ndjson" }));
    expect((await lines.text()).trimEnd().split("\n")).toHaveLength(rest.length);
  });

  test("nothing after the cursor of a finished run is 204", async () => {
    const live = await (await handle(post("/agents/echo"))).text();
    const last = [...live.matchAll(/^id: (\S+)$/gm)].at(-1)?.[1] ?? "";
    const response = await handle(get(`/threads/t1/events?run=r1&after=${last}`));
    expect([response.status, response.body]).toEqual([204, null]);
  });

  test("a prefix stands in every path that is told, and nothing beside it answers", async () => {
    const mounted = heddleHandler(heddle, { prefix: "/api/heddle/" });
    const response = await mounted(post("/api/heddle/agents/echo"));
    expect(response.headers.get("content-location")).toBe("/api/heddle/threads/t1/runs/r1");
    expect(await (await mounted(get("/api/heddle/agents"))).json()).toMatchObject({
      agents: [{ url: "/api/heddle/agents/echo" }, {}],
    });
    expect((await mounted(get("/api/heddle"))).headers.get("content-type")).toContain("text/html");
    for (const path of ["/agents", "/api/heddleagents", "/", "/api"]) {
      expect((await mounted(get(path))).status).toBe(404);
    }
  });

  test("HEAD is answered without a body, and not where there is a stream", async () => {
    const response = await head("/healthz");
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect((await head("/threads/t1/events")).status).toBe(404);
  });
});

describe("PROTO-ERR-2: every failure is JSON with a code", () => {
  test.each<[string, () => Request, number, string]>([
    ["nowhere", () => get("/nowhere"), 404, "route-unknown"],
    ["a method that nothing answers", () => new Request(`${BASE}/agents`, { method: "DELETE" }), 404, "route-unknown"],
    ["an agent that is not here", () => post("/agents/nobody"), 404, "agent-unknown"],
    ["a thread that is not there", () => get("/threads/t9/events"), 404, "thread-unknown"],
    ["a path that cannot be decoded", () => get("/threads/%zz/events"), 400, "request-invalid"],
    ["a body that is no JSON", () => post("/agents/echo", "{"), 400, "json-invalid"],
    ["an empty body", () => post("/agents/echo", ""), 400, "json-invalid"],
    ["no body", () => new Request(`${BASE}/agents/echo`, { method: "POST" }), 400, "input-invalid"],
    ["a packed body", () => post("/agents/echo", "x", { "content-encoding": "gzip" }), 415, "media-type-unsupported"],
    ["a form", () => post("/agents/echo", "a=b", { "content-type": "text/plain" }), 415, "media-type-unsupported"],
    [
      "a body that says nothing about itself",
      () => new Request(`${BASE}/agents/echo`, { method: "POST", body: new TextEncoder().encode(input()) }),
      415,
      "media-type-unsupported",
    ],
    ["too much", () => post("/agents/echo", " ".repeat(16 * 1024 * 1024 + 1)), 413, "limit-exceeded"],
    [
      "too much, by its own word",
      () => post("/agents/echo", "{}", { "content-length": "16777217" }),
      413,
      "limit-exceeded",
    ],
    ["a parameter twice", () => get("/threads/t1/events?run=a&run=b"), 400, "query-invalid"],
  ])("%s", async (_, request, status, code) => {
    const response = await handle(request());
    expect(await response.json()).toEqual({
      error: { code, message: expect.any(String), details: expect.any(Object) },
    });
    expect(response.status).toBe(status);
  });

  test("a body that says nothing of its length is read as far as the limit", async () => {
    let made = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        made += 1024 * 1024;
        if (made > 64 * 1024 * 1024) return controller.close();
        controller.enqueue(new Uint8Array(1024 * 1024).fill(32));
      },
    });
    const init = { method: "POST", body, duplex: "half", headers: { "content-type": "application/json" } };
    const response = await handle(new Request(`${BASE}/agents/echo`, init));
    expect([response.status, await response.json()]).toMatchObject([413, { error: { details: { limit: "body" } } }]);
    expect(made).toBeLessThan(20 * 1024 * 1024);
  });

  test("a fault of ours has a reference, which the log has too", async () => {
    const store = { ...memoryStore(), thread: () => Promise.reject(new Error("secret path")) };
    const broken = createHeddle({ agents: [echo], store });
    const faults: [unknown, string][] = [];
    const handler = heddleHandler(broken, { onFault: (error, reference) => void faults.push([error, reference]) });
    const response = await handler(post("/agents/echo"));
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(text).not.toContain("secret");
    expect(faults).toEqual([[expect.objectContaining({ message: "secret path" }), expect.any(String)]]);
    expect(JSON.parse(text)).toMatchObject({
      error: { code: "internal-error", details: { reference: faults[0]?.[1] } },
    });
    await broken.close();
  });

  test("a busy thread says when to try again", async () => {
    const first = readerOf(await handle(post("/agents/waiting")));
    await readUntil(first, "so far");
    const second = await handle(post("/agents/echo", input({ runId: "r2" })));
    expect([second.status, second.headers.get("retry-after")]).toEqual([409, "1"]);
    await first.cancel();
  });
});

describe("streams", () => {
  test("HTTP-RUN-3: a reader that cancels leaves, and the run goes on", async () => {
    const reader = readerOf(await handle(post("/agents/waiting")));
    await readUntil(reader, "so far");
    await reader.cancel();
    const log = readerOf(await handle(get("/threads/t1/events?run=r1")));
    await readUntil(log, "so far");
    const cancelled = heddle.cancel("t1", "r1");
    expect(await readUntil(log, "RUN_FINISHED")).toContain('"cancelled"');
    expect((await log.read()).done).toBe(true);
    await cancelled;
  });

  test("a run that asked for it stops when its reader cancels", async () => {
    const reader = readerOf(await handle(post("/agents/waiting?on_disconnect=cancel")));
    await readUntil(reader, "so far");
    await reader.cancel();
    const log = await (await handle(get("/threads/t1/events?run=r1"))).text();
    expect(log).toContain('"outcome":{"type":"cancelled"}');
  });

  test("a request that is aborted ends its stream", async () => {
    const gone = new AbortController();
    const response = await handle(new Request(post("/agents/waiting"), { signal: gone.signal }));
    const reader = readerOf(response);
    await readUntil(reader, "so far");
    const end = reader.read();
    gone.abort();
    expect((await end).done).toBe(true);
  });

  test("nothing is made before it is asked for", async () => {
    const chatty = defineAgent({
      name: "chatty",
      run: ({ emit }) => {
        const text = emit.text();
        for (let word = 0; word < 50_000; word++) text.write(`word ${word} `);
      },
    });
    const own = createHeddle({ agents: [chatty] });
    const response = await heddleHandler(own)(post("/agents/chatty"));
    const reader = readerOf(response);
    const { value } = await reader.read();
    expect(value?.length).toBeLessThan(128 * 1024);
    let length = value?.length ?? 0;
    for (let read = await reader.read(); !read.done; read = await reader.read()) length += read.value.length;
    expect(length).toBeGreaterThan(50_000 * 50);
    await own.close();
  });

  test("an idle stream gets a comment, one at a time, and a reader that leaves something lying is cut", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const beating = heddleHandler(heddle, { keepAliveMs: 1000, stallMs: 5000 });
    const reader = readerOf(await beating(post("/agents/waiting")));
    await readUntil(reader, "so far");
    const idle = reader.read();
    vi.advanceTimersByTime(3000);
    expect(new TextDecoder().decode((await idle).value)).toBe(":\n\n");
    // Two more beats came: one is held for the reader, and none behind it.
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(":\n\n");
    const next = reader.read();
    await heddle.cancel("t1", "r1");
    expect(new TextDecoder().decode((await next).value)).toMatch(/^id: /);
    await reader.cancel();
    const stalled = await beating(get("/threads/t1/events?run=r1"));
    vi.advanceTimersByTime(6000);
    await expect(stalled.text()).rejects.toThrow("stalls");
  });
});

describe("who may call", () => {
  test("a listed origin is answered with CORS, on streams too, and preflights are", async () => {
    const origins = ["https://app.example"];
    const stream = await judged({ origins }, post("/agents/echo", input(), { origin: "https://app.example" }));
    expect(stream.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(stream.headers.get("access-control-expose-headers")).toContain("content-location");
    await stream.text();
    const asked = { origin: "https://app.example", "access-control-request-method": "POST" };
    const preflight = await judged(
      { origins },
      new Request(`${BASE}/agents/echo`, { method: "OPTIONS", headers: asked }),
    );
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-methods")).toContain("POST");
    const foreign = await judged({ origins }, post("/agents/echo", input(), { origin: "https://evil.example" }));
    expect(foreign.status).toBe(403);
    expect(foreign.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("a host that is not ours is refused", async () => {
    expect((await judged({ hosts: ["heddle.test"] }, get("/agents"))).status).toBe(200);
    expect((await judged({ hosts: ["localhost"] }, get("/agents"))).status).toBe(403);
  });
});

test("chosen headers of the request reach the agent, and no others", async () => {
  const seen: unknown[] = [];
  const curious = defineAgent({
    name: "curious",
    async run() {
      seen.push(forwardedHeaders());
      await Promise.resolve();
      seen.push(forwardedHeaders());
    },
  });
  const own = createHeddle({ agents: [curious] });
  const handler = heddleHandler(own, { forwardHeaders: ["X-User"] });
  await (await handler(post("/agents/curious", input(), { "x-user": "ada", cookie: "secret" }))).text();
  expect(seen).toEqual([{ "x-user": "ada" }, { "x-user": "ada" }]);
  expect(forwardedHeaders()).toEqual({});
  await own.close();
});

/** As small as a bridge can be: what Hono, Next.js and others do for Node. */
async function bridge(handler: HeddleHandler): Promise<AsyncDisposable & { readonly url: string }> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const { method = "GET", url = "/", headers } = request;
    const body = method === "GET" ? null : new Response(Readable.toWeb(request) as ReadableStream).body;
    const asked = new Request(`http://${headers.host}${url}`, {
      method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      body,
      signal: gone.signal,
      ...(body === null ? {} : { duplex: "half" }),
    });
    const answered = await handler(asked);
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    await pipeline(answered.body ?? [], response).catch(() => {});
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("behind a bridge to node:http", () => {
  test("the stock client runs an agent", async () => {
    await using server = await bridge(handle);
    const agent = new HttpAgent({ url: `${server.url}/agents/echo`, threadId: "t1" });
    const { newMessages } = await agent.runAgent({ runId: "r1" });
    expect(newMessages).toMatchObject([{ role: "assistant", content: "hello" }]);
  });

  test("HTTP-RUN-3: a client that hangs up leaves, and the run goes on", async () => {
    await using server = await bridge(handle);
    const gone = new AbortController();
    const init = { method: "POST", body: input(), headers: { "content-type": "application/json" } };
    const response = await fetch(`${server.url}/agents/waiting`, { ...init, signal: gone.signal });
    await readUntil(readerOf(response), "so far");
    gone.abort();
    const again = await fetch(`${server.url}/threads/t1/events`);
    const reader = readerOf(again);
    await readUntil(reader, "so far");
    await heddle.cancel("t1", "r1");
    expect(await readUntil(reader, "RUN_FINISHED")).toContain("cancelled");
    const closing = heddle.stop();
    expect(await readUntil(reader, "retry: ")).toContain("retry: 1000\n\n");
    await closing;
  });
});
