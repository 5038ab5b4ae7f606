/** The routes over real sockets: what they answer, in which form, and to whom. */
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { HttpAgent } from "@ag-ui/client";
import { fastify } from "fastify";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { defineAgent } from "../../agent/index.ts";
import type { Agent } from "../../agent/index.ts";
import { BINARY_MEDIA_TYPE, decodeBinary } from "../../protocol/binary/index.ts";
import { memoryStore } from "../../store/index.ts";
import { forwardedHeaders, heddlePlugin, serve } from "./index.ts";
import type { Served } from "./index.ts";

const echo = defineAgent({ name: "echo", run: ({ emit }) => void emit.text().write("hello") });

/** Says a word, waits until it is let go or stopped, and says another. */
function gated(): { readonly agent: Agent; readonly open: () => void; readonly stopped: Promise<void> } {
  const gate = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const agent = defineAgent({
    name: "gated",
    run: async ({ emit, signal }) => {
      signal.addEventListener("abort", () => {
        stopped.resolve();
        gate.reject(signal.reason);
      });
      const reply = emit.text();
      await reply.write("first ");
      await gate.promise;
      await reply.write("second");
    },
  });
  return { agent, open: gate.resolve, stopped: stopped.promise };
}

const JSON_TYPE = { "content-type": "application/json" };
const bodyOf = (fields: object = {}): string =>
  JSON.stringify({
    threadId: "t1",
    runId: "r1",
    messages: [],
    protocolVersion: "1.0",
    forwardedProps: { go: 1 },
    ...fields,
  });
const posted = (fields: object = {}, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { ...JSON_TYPE, ...headers },
  body: bodyOf(fields),
});

let gate: ReturnType<typeof gated>;
let server: Served;

beforeEach(async () => {
  gate = gated();
  server = await serve({ agents: [echo, gate.agent], port: 0, host: "127.0.0.1" });
});

afterEach(() => server.close());

const call = (path: string, init?: RequestInit): Promise<Response> => fetch(`${server.url}${path}`, init);
const jsonOf = async (path: string, init?: RequestInit): Promise<unknown> => (await call(path, init)).json();
const typesIn = (stream: string): readonly string[] =>
  [...stream.matchAll(/"type":"([A-Z_]+)"/g)].map(([, type = ""]) => type);

const log = (query: string, headers: Record<string, string> = {}): Promise<Response> =>
  call(`/threads/t1/events?follow=false${query}`, { headers });

/** With headers that `fetch` sets by itself. */
async function raw(path: string, headers: Record<string, string>, method = "GET") {
  const sent = request(`${server.url}${path}`, { method, headers, setHost: headers["host"] === undefined });
  sent.end(method === "POST" ? bodyOf() : undefined);
  const [answer]: IncomingMessage[] = await once(sent, "response");
  if (answer === undefined) throw new Error("no answer");
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
}

/** Reads a stream until a text has come. */
async function readUntil(response: Response, wanted: string) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) throw new Error("no body");
  let read = "";
  while (!read.includes(wanted)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`ended after ${read}`);
    read += value;
  }
  const rest = async (): Promise<string> => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) read += next.value;
    return read;
  };
  return { read, rest };
}

describe("runs", () => {
  test("HTTP-ATT-4: protobuf where Accept names it, and nowhere else", async () => {
    const binary = await call("/agents/echo", posted({}, { accept: `${BINARY_MEDIA_TYPE}, text/event-stream;q=0.9` }));
    expect(binary.headers.get("content-type")).toBe(BINARY_MEDIA_TYPE);
    const types: unknown[] = [];
    for await (const frame of decodeBinary(binary.body ?? [])) if ("value" in frame) types.push(frame.value);
    expect(types).toMatchObject([
      { type: "RUN_STARTED" },
      { type: "TEXT_MESSAGE_START" },
      { delta: "hello" },
      {},
      { type: "RUN_FINISHED" },
    ]);
    for (const accept of [
      "*/*",
      `${BINARY_MEDIA_TYPE};q=0`,
      "application/*",
      `${BINARY_MEDIA_TYPE};q=0.1, text/event-stream`,
    ]) {
      const plain = await call("/agents/echo", posted({ runId: `r ${accept}` }, { accept }));
      expect([accept, plain.headers.get("content-type")]).toEqual([accept, "text/event-stream"]);
      await plain.text();
    }
  });

  test("HTTP-RUN-8, HTTP-RUN-9: how a run stands, and that stopping it stops it from any connection", async () => {
    const watching = await readUntil(await call("/agents/gated", posted()), "first");
    expect(await jsonOf("/threads/t1/runs/r1")).toEqual({
      threadId: "t1",
      runId: "r1",
      agent: "gated",
      status: "running",
      startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    const answer = await jsonOf("/threads/t1/runs/r1/cancel", { method: "POST" });
    const ended = { status: "cancelled", endedAt: expect.any(String), durationMs: expect.any(Number), interrupts: [] };
    expect(answer).toMatchObject(ended);
    await gate.stopped;
    expect(await watching.rest()).toContain('"outcome":{"type":"cancelled"}');
    expect(await jsonOf("/threads/t1/runs/r1")).toEqual(answer);
    expect(await jsonOf("/threads/t1/runs/r1/cancel", { method: "POST" })).toEqual(answer);
  });

  test("a run that asked for it stops when its reader is gone", async () => {
    const gone = new AbortController();
    const response = await call("/agents/gated?on_disconnect=cancel", { ...posted(), signal: gone.signal });
    await readUntil(response, "first");
    gone.abort();
    await gate.stopped;
    const log = await (await call("/threads/t1/events?run=r1")).text();
    expect(log).toContain('"outcome":{"type":"cancelled"}');
  });

  test("who joins a run gets what was said as a snapshot, and then the rest", async () => {
    await readUntil(await call("/agents/gated", posted()), "first");
    const joined = await readUntil(await call("/agents/gated", posted()), "MESSAGES_SNAPSHOT");
    gate.open();
    const stream = await joined.rest();
    expect(typesIn(stream)[0]).toBe("RUN_STARTED");
    expect(stream.match(/first /g)).toHaveLength(1);
    expect(stream).toContain('"delta":"second"');
    expect(stream).toMatch(/"RUN_FINISHED"[^\n]*\n\n$/);
  });

  test("the stock client that posts again joins: the exact text, once", async () => {
    const url = `${server.url}/agents/gated`;
    const message = { id: "u1", role: "user" as const, content: "Hi" };
    const first = new HttpAgent({ url, threadId: "t1", initialMessages: [message] });
    const firstText = Promise.withResolvers<void>();
    const running = first.runAgent({ runId: "r1" }, { onTextMessageContentEvent: () => firstText.resolve() });
    await firstText.promise;
    const second = new HttpAgent({ url, threadId: "t1", initialMessages: [message] });
    const seen = Promise.withResolvers<void>();
    const joining = second.runAgent({ runId: "r1" }, { onMessagesSnapshotEvent: () => seen.resolve() });
    await seen.promise;
    gate.open();
    await Promise.all([running, joining]);
    const texts = second.messages.map(({ role, content }) => [role, content]);
    expect(texts).toEqual([
      ["user", "Hi"],
      ["assistant", "first second"],
    ]);
    expect(first.messages.map(({ role, content }) => [role, content])).toEqual(texts);
  });
});

describe("HTTP-CON-1: connecting", () => {
  test("to a running thread: snapshots, then live to the end", async () => {
    await readUntil(await call("/agents/gated", posted()), "first");
    const connected = await readUntil(await call("/agents/gated/connect", posted()), "MESSAGES_SNAPSHOT");
    gate.open();
    expect(await connected.rest()).toMatch(/"delta":"second"[^]*"RUN_FINISHED"[^\n]*\n\n$/);
  });

  test("to an idle thread: a closed run; to one that is not there: nothing", async () => {
    await (await call("/agents/echo", posted())).text();
    const idle = await (await call("/agents/echo/connect", posted({ runId: undefined }))).text();
    expect(typesIn(idle)).toEqual(expect.arrayContaining(["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]));
    const nothing = await call("/agents/echo/connect", posted({ threadId: "t9" }));
    expect([nothing.status, nothing.headers.get("content-type"), await nothing.text()]).toEqual([
      200,
      "text/event-stream",
      "",
    ]);
  });
});

describe("the log", () => {
  beforeEach(async () => {
    await (await call("/agents/echo", posted())).text();
    await (await call("/agents/echo", posted({ runId: "r2" }))).text();
  });

  test("HTTP-ATT-4: SSE, lines and a document say the same", async () => {
    const sse = await (await log("")).text();
    const ids = [...sse.matchAll(/^id: (\S+)$/gm)].map(([, id]) => id);
    const lines = await log("", { accept: "application/x-ndjson" });
    expect(lines.headers.get("content-type")).toBe("application/x-ndjson");
    const entries: { readonly id: string; readonly runId: string; readonly event: { readonly type: string } }[] = (
      await lines.text()
    )
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(entries.map(({ id }) => id)).toEqual(ids);
    expect(entries.map(({ event }) => event.type)).toEqual(typesIn(sse).filter((type) => type !== "text"));
    expect([...new Set(entries.map(({ runId }) => runId))]).toEqual(["r1", "r2"]);
    const document = await call("/threads/t1/events", { headers: { accept: "text/html;q=0.9, application/json" } });
    expect(document.headers.get("content-type")).toBe("application/json");
    expect(await document.json()).toEqual({ events: entries });
  });

  test("a document may be empty", async () => {
    const sse = await (await log("")).text();
    const last = [...sse.matchAll(/^id: (\S+)$/gm)].at(-1)?.[1] ?? "";
    expect(await (await log(`&after=${last}`, { accept: "application/json" })).json()).toEqual({ events: [] });
  });

  test("HTTP-ATT-2: a cursor of another log gives a prelude, and says so", async () => {
    const reset = await log("&run=r2", { "last-event-id": "aaaaaaaa_0000000000000002" });
    expect(reset.headers.get("agui-resume")).toBe("reset");
    expect(typesIn(await reset.text())).toContain("MESSAGES_SNAPSHOT");
    const fine = await log("&run=r2");
    expect(fine.headers.get("agui-resume")).toBeNull();
    await fine.text();
  });

  test("HTTP-VER-1: an older reader is asked for by its version", async () => {
    expect(await (await log("&run=r1")).text()).toContain("protocolVersion");
    expect(await (await log("&run=r1&protocol=0.0.57")).text()).not.toContain("protocolVersion");
  });

  test("HTTP-ATT-1: one branch, one run, or all with their names", async () => {
    expect(await (await log("&head=r1")).text()).not.toContain('"runId":"r2"');
    expect(await (await log("&run=r2")).text()).not.toContain('"runId":"r1"');
    expect(await (await log("&all=true")).text()).toMatch(/"TEXT_MESSAGE_CONTENT"[^\n]*"heddle":\{[^\n]*"runId":"r2"/);
  });

  test("raw events stay here unless they are asked for", async () => {
    const leaky = defineAgent({
      name: "leaky",
      run: async function* () {
        yield { type: "RAW", event: { prompt: "system secret" } };
      },
    });
    const own = await serve({ agents: [leaky], port: 0, host: "127.0.0.1" });
    const live = await (await fetch(`${own.url}/agents/leaky`, posted())).text();
    expect(live).not.toContain("secret");
    expect(await (await fetch(`${own.url}/threads/t1/events?run=r1&raw=true`)).text()).toContain("system secret");
    await own.close();
  });
});

describe("what is here", () => {
  test("what an agent can do", async () => {
    expect(await jsonOf("/agents/echo/capabilities")).toEqual({
      identity: { name: "echo" },
      transport: { streaming: true, resumable: true },
    });
  });

  test("HTTP-SRV-4: a description of every route, whose references lead somewhere", async () => {
    const description: {
      readonly openapi: string;
      readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>;
      readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
    } = JSON.parse(await (await call("/openapi.json")).text());
    expect(description.openapi).toBe("3.1.0");
    expect(Object.entries(description.paths).map(([path, operations]) => [path, Object.keys(operations)])).toEqual([
      ["/", ["get"]],
      ["/healthz", ["get"]],
      ["/readyz", ["get"]],
      ["/metrics", ["get"]],
      ["/status", ["get"]],
      ["/agents", ["get"]],
      ["/agents/{agent}/capabilities", ["get"]],
      ["/agents/{agent}", ["post"]],
      ["/agents/{agent}/connect", ["post"]],
      ["/threads/{thread}/runs/{run}", ["get"]],
      ["/threads/{thread}/runs/{run}/cancel", ["post"]],
      ["/threads", ["get"]],
      ["/threads/{thread}", ["get", "patch", "delete"]],
      ["/threads/{thread}/snapshot", ["get"]],
      ["/threads/{thread}/export", ["get"]],
      ["/threads/import", ["post"]],
      ["/threads/{thread}/events", ["get"]],
      ["/threads/{thread}/annotations", ["post"]],
      ["/threads/{thread}/tool-calls/{call}/claim", ["post"]],
      ["/threads/{thread}/members/{user}", ["put", "delete"]],
      ["/tickets", ["post"]],
      ["/me", ["get"]],
      ["/checks", ["post"]],
      ["/openapi.json", ["get"]],
      ["/ws", ["get"]],
    ]);
    const references = [...JSON.stringify(description).matchAll(/"\$ref":"([^"]+)"/g)].map(([, target = ""]) => target);
    const known = Object.keys(description.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(references.filter((target) => !known.includes(target))).toEqual([]);
    expect(references.length).toBeGreaterThan(20);
    expect(description.paths["/agents/{agent}"]?.["post"]?.responses).toMatchObject({
      200: { content: { "text/event-stream": {} } },
      409: { description: "answers-missing, run-conflict, thread-busy" },
    });
  });

  test("readiness is refused while the store is away", async () => {
    const store = memoryStore();
    const own = await serve({ agents: [echo], store, port: 0, host: "127.0.0.1" });
    expect((await fetch(`${own.url}/readyz`)).status).toBe(200);
    await store.close();
    const answer = await fetch(`${own.url}/readyz`);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await answer.json()).toMatchObject({ error: { code: "store-unavailable" } });
    expect((await fetch(`${own.url}/healthz`)).status).toBe(200);
    await own.close();
  });
});

describe("HTTP-SRV-2: who may call", () => {
  test.each(["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.0.1", ""])(
    "a server of this machine is not called by %j",
    async (host) => {
      const { status, body } = await raw("/agents", { host });
      expect([status, JSON.parse(body)]).toMatchObject([403, { error: { details: { reason: "host" } } }]);
    },
  );

  test.each(["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:5000"])("it is called by %j", async (host) => {
    expect((await raw("/agents", { host })).status).toBe(200);
  });

  test.each(["https://evil.example", "null", "http://localhost.evil.example", "file://"])(
    "a page of %j reaches nothing",
    async (origin) => {
      const run = await raw("/agents/echo", { ...JSON_TYPE, origin }, "POST");
      expect([run.status, JSON.parse(run.body)]).toMatchObject([403, { error: { details: { reason: "origin" } } }]);
      expect(run.headers["access-control-allow-origin"]).toBeUndefined();
      expect((await raw("/threads/t1/runs/r1/cancel", { origin }, "POST")).status).toBe(403);
      expect((await raw("/threads/t1/runs/r1", {})).status).toBe(404);
      const asked = { origin, "access-control-request-method": "POST" };
      expect((await raw("/agents/echo", asked, "OPTIONS")).status).toBe(403);
    },
  );

  test("a page of this machine may, and streams carry CORS too", async () => {
    const origin = "http://localhost:3000";
    const asked = {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type,last-event-id",
    };
    const preflight = await raw("/agents/echo", asked, "OPTIONS");
    expect(preflight.status).toBe(204);
    expect(preflight.headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-headers": "content-type,last-event-id",
      vary: "Origin",
    });
    const run = await raw("/agents/echo", { ...JSON_TYPE, origin }, "POST");
    expect(run.headers).toMatchObject({
      "content-type": "text/event-stream",
      "access-control-allow-origin": origin,
      "access-control-expose-headers": expect.stringContaining("content-location"),
    });
    const refused = await raw("/threads/t9/events", { origin });
    expect([refused.status, refused.headers["access-control-allow-origin"]]).toEqual([404, origin]);
  });

  test("the list of origins is the one that is set", async () => {
    const own = await serve({ agents: [echo], port: 0, host: "127.0.0.1", origins: ["https://app.example"] });
    const from = (origin: string): Promise<Response> => fetch(`${own.url}/agents`, { headers: { origin } });
    expect((await from("https://app.example")).headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect((await from("http://localhost:3000")).status).toBe(403);
    expect((await from(own.url)).status).toBe(200);
    await own.close();
  });
});

describe("in an application of somebody else's", () => {
  let app: FastifyInstance;
  let url = "";

  beforeEach(async () => {
    app = fastify();
    app.addHook(
      "onRequest",
      async (_, reply) => void reply.header("access-control-allow-origin", "https://host.example"),
    );
    app.get("/", async () => "the host's own page");
    app.post("/echo", async (asked) => ({ got: asked.body }));
    await app.register(heddlePlugin, { agents: [echo, gate.agent], prefix: "/ai/v1" });
    url = await app.listen({ port: 0, host: "127.0.0.1" });
  });

  afterEach(() => app.close());

  test("its routes, parsers and errors stay its own, and every path that is told has the prefix", async () => {
    expect(await (await fetch(`${url}/`)).text()).toBe("the host's own page");
    const host = await fetch(`${url}/echo`, { method: "POST", body: "{", headers: JSON_TYPE });
    expect([host.status, await host.json()]).toMatchObject([400, { code: "FST_ERR_CTP_INVALID_JSON_BODY" }]);
    expect(await (await fetch(`${url}/nowhere`)).json()).toMatchObject({ statusCode: 404 });
    expect(await (await fetch(`${url}/ai/v1/nowhere`)).json()).toMatchObject({ error: { code: "route-unknown" } });
    expect(await (await fetch(`${url}/ai/v1/openapi.json`)).json()).toMatchObject({ servers: [{ url: "/ai/v1" }] });
    const run = await fetch(`${url}/ai/v1/agents/echo`, posted());
    expect(run.headers.get("content-location")).toBe("/ai/v1/threads/t1/runs/r1");
    await run.text();
    const location = `${url}${run.headers.get("content-location")}`;
    expect(await (await fetch(location)).json()).toMatchObject({ status: "finished" });
  });

  test("its CORS counts, also on streams", async () => {
    const run = await fetch(`${url}/ai/v1/agents/echo`, posted({}, { origin: "https://host.example" }));
    expect(run.headers.get("content-type")).toBe("text/event-stream");
    expect(run.headers.get("access-control-allow-origin")).toBe("https://host.example");
    await run.text();
  });

  test("what a page can send without asking first changes nothing", async () => {
    await readUntil(await fetch(`${url}/ai/v1/agents/gated`, posted()), "first");
    const cancel = `${url}/ai/v1/threads/t1/runs/r1/cancel`;
    const sneaky = await fetch(cancel, { method: "POST", headers: { origin: "https://evil.example" } });
    expect(sneaky.status).toBe(415);
    expect(await (await fetch(cancel.replace("/cancel", ""))).json()).toMatchObject({ status: "running" });
  });

  test("HTTP-RUN-10: who follows a thread is told to come back when the application closes", async () => {
    await readUntil(await fetch(`${url}/ai/v1/agents/gated`, posted()), "first");
    const following = await readUntil(await fetch(`${url}/ai/v1/threads/t1/events`), "first");
    await app.close();
    expect(await following.rest()).toMatch(/"server-closing"[^\n]*\n\nretry: \d+\n\n$/);
  });
});

describe("an agent at a path of its own", () => {
  test("answers there as it does at its name", async () => {
    const own = await serve({
      agents: [echo],
      port: 0,
      host: "127.0.0.1",
      mounts: { "/": "echo", "/api/agui": "echo" },
    });
    for (const [index, path] of ["/", "/api/agui", "/agents/echo"].entries()) {
      const run = await fetch(`${own.url}${path}`, posted({ threadId: `t${index}` }));
      expect(run.headers.get("content-location")).toBe(`/threads/t${index}/runs/r1`);
      expect(await run.text()).toContain("hello");
    }
    const { paths }: { paths: object } = JSON.parse(await (await fetch(`${own.url}/openapi.json`)).text());
    expect(paths).toMatchObject({ "/": { get: {}, post: {} }, "/api/agui": { post: {} } });
    await own.close();
  });

  test.each([
    ["agui", "echo"],
    ["/{agent}", "echo"],
    ["/agui", "nobody"],
  ])("%s is refused for %s", async (path, agent) => {
    const starting = serve({ agents: [echo], port: 0, mounts: { [path]: agent } });
    await expect(starting).rejects.toMatchObject({ code: "config-invalid", details: { setting: `mounts ${path}` } });
  });
});

test("HTTP-SRV-3: an agent reads the chosen headers of the request that started it, and no others", async () => {
  const seen = vi.fn<(headers: unknown) => void>();
  const curious = defineAgent({
    name: "curious",
    async run({ emit }) {
      await emit.text().write("so");
      seen(forwardedHeaders());
    },
  });
  const own = await serve({
    agents: [curious],
    port: 0,
    host: "127.0.0.1",
    forwardHeaders: ["X-Tenant", "authorization"],
  });
  const runs = ["a", "b"].map(async (name) => {
    const headers = { "x-tenant": name, authorization: `Bearer ${name}`, cookie: "secret" };
    await (await fetch(`${own.url}/agents/curious`, posted({ threadId: name }, headers))).text();
  });
  await Promise.all(runs);
  const told = seen.mock.calls.map(([headers]) => JSON.stringify(headers)).toSorted();
  expect(told).toEqual(['{"x-tenant":"a","authorization":"Bearer a"}', '{"x-tenant":"b","authorization":"Bearer b"}']);
  await own.close();
});
