/** Real HTTP servers on loopback, good and bad, and what a run of theirs becomes. */
import { createServer } from "node:http";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { EventEncoder } from "@ag-ui/encoder";
import type { BaseEvent } from "@ag-ui/core";
import { expect, test, vi } from "vitest";
import { HeddleError } from "../../../protocol/index.ts";
import type { Event, RunAgentInput, Warning } from "../../../protocol/index.ts";
import { BINARY_MEDIA_TYPE } from "../../../protocol/binary/index.ts";
import { runRemotely } from "./run-remotely.ts";
import type { RemoteRun } from "./run-remotely.ts";

const input: RunAgentInput = {
  threadId: "t1",
  runId: "r1",
  messages: [
    { id: "u1", role: "user", content: "Hello" },
    { id: "a1", role: "activity", activityType: "PLAN", content: {} },
  ],
};

const STARTED = { type: "RUN_STARTED", threadId: "t1", runId: "r1", protocolVersion: "1.0" } as const;
const FINISHED = { type: "RUN_FINISHED", threadId: "t1", runId: "r1" } as const;
const START = { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" } as const;
const CONTENT = { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Grüße 🧶" } as const;
const END = { type: "TEXT_MESSAGE_END", messageId: "m1" } as const;
const RUN: readonly Event[] = [
  STARTED,
  { type: "STEP_STARTED", stepName: "s" },
  START,
  CONTENT,
  END,
  { type: "REASONING_START", messageId: "s1" },
  { type: "REASONING_MESSAGE_START", messageId: "s1", role: "reasoning" },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "s1", delta: "hm" },
  { type: "REASONING_MESSAGE_END", messageId: "s1" },
  { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "s1", encryptedValue: "abc" },
  { type: "REASONING_END", messageId: "s1" },
  { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "weather" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '{"a":1}' },
  { type: "TOOL_CALL_END", toolCallId: "c1" },
  { type: "TOOL_CALL_RESULT", toolCallId: "c1", messageId: "m2", content: "sunny" },
  { type: "STATE_SNAPSHOT", snapshot: { n: 1 } },
  { type: "STATE_DELTA", delta: [{ op: "replace", path: "/n", value: 2 }] },
  { type: "CUSTOM", name: "x.y", value: null },
  { type: "STEP_FINISHED", stepName: "s" },
  { ...FINISHED, outcome: { type: "success" } },
];

interface Listening extends AsyncDisposable {
  readonly url: URL;
}

async function listen(handle: RequestListener): Promise<Listening> {
  const server = createServer(handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/agent`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const frame = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;

const sse = (response: ServerResponse, ...events: readonly object[]): ServerResponse => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(events.map(frame).join(""));
  return response;
};

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
  return body;
}

interface Outcome {
  readonly events: readonly Event[];
  readonly error: unknown;
}

type Options = Partial<RemoteRun> & Pick<RemoteRun, "url">;

const start = (options: Options, given = input, signal = new AbortController().signal) =>
  runRemotely({ name: "far", headers: new Headers(), ...options }, given, signal);

async function collect(options: Options, given?: RunAgentInput, signal?: AbortSignal): Promise<Outcome> {
  const events: Event[] = [];
  try {
    for await (const event of start(options, given, signal)) events.push(event);
  } catch (error) {
    return { events, error };
  }
  return { events, error: undefined };
}

async function failureOf(options: Options): Promise<HeddleError> {
  const { error } = await collect(options);
  if (!(error instanceof HeddleError)) throw new Error("The run did not fail as it should.", { cause: error });
  return error;
}

test.each([
  ["SSE", "0.0.59", "text/event-stream"],
  ["protobuf", "1.0", BINARY_MEDIA_TYPE],
])("events of the stock encoder arrive as they are, by %s", async (_, version, contentType) => {
  await using server = await listen((request, response) => {
    const encoder = new EventEncoder({ accept: request.headers.accept ?? "" });
    expect(encoder.getContentType()).toBe(contentType);
    response.writeHead(200, { "content-type": encoder.getContentType() });
    for (const event of RUN) response.write(encoder.encodeBinary({ ...event } as BaseEvent));
    response.end();
  });
  expect(await collect({ url: server.url, peer: { version } })).toEqual({ events: RUN, error: undefined });
});

test("the input is posted as JSON, declares our version, and leaves activities at home", async () => {
  const asked = Promise.withResolvers<{ request: IncomingMessage; body: unknown }>();
  await using server = await listen(async (request, response) => {
    asked.resolve({ request, body: JSON.parse(await bodyOf(request)) });
    sse(response, STARTED, FINISHED).end();
  });
  const headers = new Headers({ Authorization: "Bearer s3cr3t-token", Accept: "*/*" });
  const old = { ...input, protocolVersion: "0.9", forwardedProps: { url: "http://127.0.0.1:1/", deep: [null] } };
  await collect({ url: server.url, headers }, old);
  const { request, body } = await asked.promise;
  expect(request.method).toBe("POST");
  expect(request.headers).toMatchObject({
    authorization: "Bearer s3cr3t-token",
    "content-type": "application/json",
    accept: `text/event-stream, ${BINARY_MEDIA_TYPE}`,
  });
  expect(body).toEqual({ ...old, protocolVersion: "1.0", messages: [input.messages[0]] });
});

test("a run is posted on a connection of its own: one that was kept may be closed just then", async () => {
  const used = new WeakSet<object>();
  await using server = await listen(async (request, response) => {
    if (used.has(request.socket)) return void request.socket.resetAndDestroy();
    used.add(request.socket);
    await bodyOf(request);
    sse(response, STARTED, FINISHED).end();
  });
  for (let run = 0; run < 3; run++) expect(await collect({ url: server.url })).toMatchObject({ error: undefined });
});

test("a peer before 1.0 gets its own form, and what it cannot read is told", async () => {
  const asked = Promise.withResolvers<{ accept: string | undefined; body: unknown }>();
  await using server = await listen(async (request, response) => {
    asked.resolve({ accept: request.headers.accept, body: JSON.parse(await bodyOf(request)) });
    sse(response, STARTED, FINISHED).end();
  });
  const onWarning = vi.fn<(warning: Warning) => void>();
  await collect({ url: server.url, peer: { version: "0.0.39" }, onWarning }, { ...input, parentRunId: "r0" });
  const messages = [input.messages[0]];
  const body = { threadId: "t1", runId: "r1", messages, state: {}, tools: [], context: [], forwardedProps: {} };
  expect(await asked.promise).toEqual({ accept: "text/event-stream", body });
  expect(onWarning).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ code: "lossy-projection", path: "/parentRunId" }),
  );
});

test("retired forms are translated and unknown material is dropped, each with a warning", async () => {
  await using server = await listen((_, response) => {
    sse(
      response,
      { ...STARTED, parentRunId: null },
      { type: "THINKING_START" },
      { type: "THINKING_TEXT_MESSAGE_START" },
      { type: "THINKING_TEXT_MESSAGE_CONTENT", delta: "hm" },
      { type: "THINKING_TEXT_MESSAGE_END" },
      { type: "THINKING_END" },
      { type: "FROM_THE_FUTURE" },
      { ...FINISHED, outcome: "success" },
    ).end();
  });
  const onWarning = vi.fn<(warning: Warning) => void>();
  const { events, error } = await collect({ url: server.url, onWarning });
  expect(error).toBeUndefined();
  expect(events.map(({ type }) => type)).toEqual([
    "RUN_STARTED",
    "REASONING_START",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "REASONING_END",
    "RUN_FINISHED",
  ]);
  expect(events.at(-1)).toMatchObject({ outcome: { type: "success" } });
  expect(new Set(onWarning.mock.calls.map(([{ code }]) => code))).toEqual(new Set(["retired-form", "unknown-event"]));
});

test("CRLF, comments, cursors and a byte order mark do not matter", async () => {
  await using server = await listen((_, response) => {
    response.writeHead(200, { "content-type": "Text/Event-Stream; charset=utf-8" });
    const frames = RUN.map((event, at) => `: beat\r\nid: ${at}\r\nevent: x\r\ndata: ${JSON.stringify(event)}\r\n\r\n`);
    response.end(`\ufeff${frames.join("")}`);
  });
  expect(await collect({ url: server.url })).toEqual({ events: RUN, error: undefined });
});

test("a refused connection says so", async () => {
  const gone = await listen(() => {});
  await gone[Symbol.asyncDispose]();
  const error = await failureOf({ url: gone.url });
  expect(error).toMatchObject({ code: "agent-unreachable", details: { reason: "ECONNREFUSED" } });
  expect(error.message).toContain("ECONNREFUSED");
  expect(error.message).not.toContain("127.0.0.1");
});

test("a host that hangs up without an answer is unreachable", async () => {
  await using server = await listen((request) => request.socket.destroy());
  expect(await failureOf({ url: server.url })).toMatchObject({ code: "agent-unreachable" });
});

test.each([[401], [404], [422], [429], [500], [503], [303]])(
  "status %i: the status is told, its body only in the details, and no secret anywhere",
  async (status) => {
    await using server = await listen((request, response) => {
      response.writeHead(status, { "content-type": "application/json" });
      const seen = `${request.headers.authorization} ${request.headers["x-key"]} ${request.url}`;
      response.end(JSON.stringify({ detail: "no such model", seen, more: "x".repeat(10_000) }));
    });
    const url = new URL("?key=query-secret", server.url);
    const headers = new Headers({ Authorization: "Bearer s3cr3t-token", "X-Key": "other-secret" });
    const error = await failureOf({ url, headers });
    expect(error).toMatchObject({ code: "agent-unreachable", details: { reason: "http", status } });
    expect(error.message).toContain(String(status));
    const shown = JSON.stringify(error);
    expect(shown).toContain("no such model");
    expect(shown).not.toMatch(/s3cr3t-token|other-secret|query-secret|127\.0\.0\.1:\d+\/agent\?/);
    expect(shown.length).toBeLessThan(1_200);
  },
);

test("an error status whose body never ends is reported all the same, and the request is ended", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = await listen((request, response) => {
    request.socket.once("close", () => closed.resolve());
    response.writeHead(500).write("half of the reason");
  });
  const error = await failureOf({ url: server.url });
  expect(error).toMatchObject({ details: { status: 500, body: "half of the reason" } });
  await closed.promise;
});

test.each([
  ["text/html", "<html>Log in</html>"],
  ["application/json", '{"ok":true}'],
])("%s is no event stream", async (contentType, body) => {
  await using server = await listen((_, response) => {
    response.writeHead(200, { "content-type": contentType }).end(body);
  });
  expect(await failureOf({ url: server.url })).toMatchObject({
    code: "agent-response-invalid",
    details: { reason: "content-type", contentType, body },
  });
});

test.each([
  ["text that is no JSON", "data: {oops\n\n", "json-invalid"],
  ["a frame above the limit", `data: "${"x".repeat(1_000_000)}"\n\n`, "limit-exceeded"],
  ["a line that never ends", "x".repeat(1_000_000), "limit-exceeded"],
])("%s is no AG-UI; what came before it stays", async (_, garbage, reason) => {
  await using server = await listen((_, response) => sse(response, STARTED, START, CONTENT).end(garbage));
  const { events, error } = await collect({ url: server.url, maxFrameBytes: 2_000 });
  expect(events).toEqual([STARTED, START, CONTENT]);
  expect(error).toMatchObject({ code: "agent-response-invalid", details: { reason } });
});

test("a protobuf frame that claims gigabytes is refused before they are awaited", async () => {
  await using server = await listen((_, response) => {
    response.writeHead(200, { "content-type": `${BINARY_MEDIA_TYPE}; v=1` }).write(Uint8Array.of(255, 255, 255, 255));
  });
  const error = await failureOf({ url: server.url });
  expect(error).toMatchObject({ code: "agent-response-invalid", details: { reason: "limit-exceeded" } });
});

test("an event with a malformed field is refused by its path", async () => {
  await using server = await listen((_, response) => sse(response, STARTED, { ...CONTENT, delta: 7 }).end());
  const { events, error } = await collect({ url: server.url });
  expect(events).toEqual([STARTED]);
  expect(error).toMatchObject({ code: "event-invalid", details: { path: "/delta" } });
});

test.each([
  ["ended", (response: ServerResponse) => response.end()],
  ["broken", (response: ServerResponse) => response.write("", () => response.destroy())],
] as const)("a stream that is %s before its run has is cut, never a success", async (reason, cut) => {
  await using server = await listen((_, response) => cut(sse(response, STARTED, START, CONTENT)));
  const { events, error } = await collect({ url: server.url });
  expect(events).toEqual([STARTED, START, CONTENT]);
  expect(error).toMatchObject({ code: "agent-stream-cut", details: { reason } });
});

test("an empty answer is cut as well", async () => {
  await using server = await listen((_, response) => sse(response).end());
  expect(await failureOf({ url: server.url })).toMatchObject({ code: "agent-stream-cut" });
});

test("an agent that falls silent is cut, one that only beats is not", async () => {
  const silent = Promise.withResolvers<void>();
  await using server = await listen((request, response) => {
    sse(response, STARTED);
    request.socket.once("close", () => silent.resolve());
  });
  const { events, error } = await collect({ url: server.url, idleTimeoutMs: 50 });
  expect(events).toEqual([STARTED]);
  expect(error).toMatchObject({ code: "agent-stream-cut", details: { reason: "idle" } });
  await silent.promise;

  await using beating = await listen((_, response) => {
    sse(response, STARTED);
    let beats = 0;
    const timer = setInterval(() => {
      response.write(": beat\n\n");
      if (++beats < 24) return;
      clearInterval(timer);
      response.end(frame(FINISHED));
    }, 50);
  });
  expect(await collect({ url: beating.url, idleTimeoutMs: 1_000 })).toMatchObject({ error: undefined });
});

test("an agent that does not begin to answer is given up", async () => {
  await using server = await listen(() => {});
  const error = await failureOf({ url: server.url, responseTimeoutMs: 50 });
  expect(error).toMatchObject({ code: "agent-unreachable", details: { reason: "timeout", timeoutMs: 50 } });
});

test("a stop ends the request at once, also before the answer", async () => {
  const asked = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  await using server = await listen((request) => {
    request.socket.once("close", () => closed.resolve());
    asked.resolve();
  });
  const stop = new AbortController();
  const run = collect({ url: server.url }, input, stop.signal);
  await asked.promise;
  stop.abort(new Error("enough"));
  expect(await run).toEqual({ events: [], error: stop.signal.reason });
  await closed.promise;
});

test("a stop in the middle reaches the request's own signal before the next macrotask", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = await listen((request, response) => {
    request.socket.once("close", () => closed.resolve());
    sse(response, STARTED, START, CONTENT);
  });
  let requestSignal: AbortSignal | null | undefined;
  const spy: typeof fetch = (url, init) => {
    requestSignal = init?.signal;
    return fetch(url, init);
  };
  const stop = new AbortController();
  const run = start({ url: server.url, fetch: spy }, input, stop.signal);
  for (const expected of [STARTED, START, CONTENT]) expect((await run.next()).value).toEqual(expected);
  const next = run.next();
  stop.abort(new Error("enough"));
  expect(requestSignal?.aborted).toBe(true);
  await expect(next).rejects.toBe(stop.signal.reason);
  await closed.promise;
});

const deaf: typeof fetch = (url, init) => fetch(url, { ...init, signal: null });

test("a stop while the agent is silent ends the request, also where `fetch` does not hear the signal", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = await listen((request, response) => {
    request.socket.once("close", () => closed.resolve());
    sse(response, STARTED);
  });
  const stop = new AbortController();
  const run = start({ url: server.url, fetch: deaf }, input, stop.signal);
  await run.next();
  const next = run.next();
  await new Promise(setImmediate);
  stop.abort(new Error("enough"));
  await expect(next).rejects.toBe(stop.signal.reason);
  await closed.promise;
});

test("a reader who leaves ends the request", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = await listen((request, response) => {
    request.socket.once("close", () => closed.resolve());
    sse(response, STARTED, START, CONTENT);
  });
  for await (const event of start({ url: server.url })) {
    expect(event).toEqual(STARTED);
    break;
  }
  await closed.promise;
});

test("the agent is read no faster than its events are taken", async () => {
  const delta = "x".repeat(64 * 1024);
  const total = 1_000;
  let written = 0;
  const stalled = Promise.withResolvers<void>();
  await using server = await listen(async (_, response) => {
    sse(response, STARTED, START);
    for (; written < total; written++) {
      if (response.write(frame({ ...CONTENT, delta }))) continue;
      const drained = once(response, "drain");
      const timer = setTimeout(() => stalled.resolve(), 200);
      await drained;
      clearTimeout(timer);
    }
    response.end(frame(END) + frame(FINISHED));
  });
  const run = start({ url: server.url });
  await run.next();
  await stalled.promise;
  expect(written).toBeLessThan(total / 2);
  let taken = 1;
  for await (const _ of run) taken++;
  expect(taken).toBe(total + 4);
});

test("a redirect within the origin is followed with the whole request", async () => {
  const seen: unknown[] = [];
  await using server = await listen(async (request, response) => {
    const { method, url, headers } = request;
    seen.push([method, url, headers.authorization, JSON.parse(await bodyOf(request)).runId]);
    if (url === "/agent") response.writeHead(301, { location: "/moved/" }).end();
    else if (url === "/moved/") response.writeHead(307, { location: "../there?x=1" }).end("moved");
    else sse(response, STARTED, FINISHED).end();
  });
  const headers = new Headers({ Authorization: "Bearer s3cr3t-token" });
  expect(await collect({ url: server.url, headers })).toEqual({ events: [STARTED, FINISHED], error: undefined });
  expect(seen).toEqual([
    ["POST", "/agent", "Bearer s3cr3t-token", "r1"],
    ["POST", "/moved/", "Bearer s3cr3t-token", "r1"],
    ["POST", "/there?x=1", "Bearer s3cr3t-token", "r1"],
  ]);
});

test.each([[301], [302], [307], [308]])("a %i to another origin is refused and not called", async (status) => {
  const called = vi.fn<RequestListener>((_, response) => void response.end());
  await using other = await listen(called);
  await using server = await listen((_, response) => {
    response.writeHead(status, { location: `${other.url}?token=1` }).end();
  });
  const error = await failureOf({ url: server.url });
  expect(error).toMatchObject({ code: "address-refused", details: { target: other.url.origin } });
  expect(called).not.toHaveBeenCalled();
});

const following: typeof fetch = (url, init) => fetch(url, { ...init, redirect: "follow" });

test("a `fetch` that follows by itself cannot leave the origin unseen", async () => {
  await using other = await listen((_, response) => sse(response, STARTED, FINISHED).end());
  await using server = await listen((_, response) => {
    response.writeHead(307, { location: other.url.href }).end();
  });
  expect(await failureOf({ url: server.url, fetch: following })).toMatchObject({ code: "address-refused" });
});

test("a circle of redirects ends", async () => {
  let requests = 0;
  await using server = await listen((_, response) => {
    requests++;
    response.writeHead(308, { location: "/agent" }).end();
  });
  expect(await failureOf({ url: server.url })).toMatchObject({ code: "address-refused" });
  expect(requests).toBe(6);
});

test("addresses in the input are not called", async () => {
  const called = vi.fn<RequestListener>((_, response) => void response.end());
  await using other = await listen(called);
  await using server = await listen((_, response) => sse(response, STARTED, FINISHED).end());
  const url = other.url.href;
  const { error } = await collect(
    { url: server.url },
    { ...input, forwardedProps: { url, agentUrl: url, headers: { host: other.url.host } }, state: { url } },
  );
  expect(error).toBeUndefined();
  expect(called).not.toHaveBeenCalled();
});

test("a late RUN_ERROR takes the place of RUN_FINISHED", async () => {
  const failed = { type: "RUN_ERROR", message: "after all", code: "late" } as const;
  await using server = await listen((_, response) => sse(response, STARTED, FINISHED, failed).end());
  expect(await collect({ url: server.url })).toEqual({ events: [STARTED, failed], error: undefined });
});

test("a RUN_ERROR alone is a run", async () => {
  const failed = { type: "RUN_ERROR", message: "no" } as const;
  await using server = await listen((_, response) => sse(response, failed).end());
  expect(await collect({ url: server.url })).toEqual({ events: [failed], error: undefined });
});

test("earlier runs that are replayed become one run with the one that was asked for", async () => {
  const earlier = { ...STARTED, runId: "r0" };
  const snapshot = { type: "MESSAGES_SNAPSHOT", messages: [] } as const;
  const failed = { type: "RUN_ERROR", message: "no" } as const;
  const asked = { ...FINISHED, outcome: { type: "interrupt", interrupts: [{ id: "i", reason: "old" }] } };
  await using server = await listen((_, response) => {
    sse(response, earlier, snapshot, asked, earlier, failed, STARTED, START, END, FINISHED).end();
  });
  const events = [earlier, snapshot, START, END, FINISHED];
  expect(await collect({ url: server.url })).toEqual({ events, error: undefined });
});

test("a replay without the run that was asked for is cut", async () => {
  await using server = await listen((_, response) => sse(response, STARTED, FINISHED, STARTED, START).end());
  expect(await failureOf({ url: server.url })).toMatchObject({ code: "agent-stream-cut" });
});

test.each([
  ["is left open", (response: ServerResponse) => void response.flushHeaders()],
  ["breaks", (response: ServerResponse) => void response.write("", () => response.destroy())],
  ["closes with a frame of its own", (response: ServerResponse) => void response.end("data: [DONE]\n\n")],
])("a stream that %s behind its terminal event is a whole run", async (_, end) => {
  await using server = await listen((_, response) => end(sse(response, STARTED, FINISHED)));
  const { events, error } = await collect({ url: server.url, closeTimeoutMs: 50 });
  expect(error).toBeUndefined();
  expect(events).toEqual([STARTED, FINISHED]);
});

test("what follows a terminal event stays behind it, for others to judge", async () => {
  await using server = await listen((_, response) => sse(response, STARTED, FINISHED, START, END, FINISHED).end());
  const { events } = await collect({ url: server.url });
  expect(events).toEqual([STARTED, FINISHED, START, END, FINISHED]);
});
