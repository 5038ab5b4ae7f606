/** Agents that are tried, each a real server on this machine. */
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createSocketServer } from "node:net";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { encodeBinary, BINARY_MEDIA_TYPE } from "../protocol/binary/index.ts";
import { checkAgent } from "./check-agent.ts";
import type { CheckOptions } from "./check-agent.ts";

const FRAME = { threadId: "t", runId: "r" };
const STARTED = { type: "RUN_STARTED", ...FRAME } as const;
const OPEN = { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" } as const;
const SAY = { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Hello you" } as const;
const CLOSE = { type: "TEXT_MESSAGE_END", messageId: "m" } as const;
const FINISHED = { type: "RUN_FINISHED", ...FRAME } as const;
const GOOD = [STARTED, OPEN, SAY, CLOSE, FINISHED] as const;

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/agent`;
}

const frame = (event: unknown): string => `data: ${JSON.stringify(event)}\n\n`;

function stream(response: ServerResponse, ...events: readonly unknown[]): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream", "x-secret": "inner" });
  for (const event of events) response.write(frame(event));
  return response;
}

/** Talk without end. */
function* endless(): Generator<string> {
  for (;;) yield frame({ ...SAY, delta: "x".repeat(1000) });
}

/** Lists in lists. */
const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const deep = (levels: number) => ({ type: "CUSTOM", name: "n", value: JSON.parse(nested(levels)) });

/** An agent that answers with these events. */
const saying = (...events: readonly unknown[]): Promise<string> =>
  listen((_, response) => void stream(response, ...events).end());

async function checked(url: string, options: CheckOptions = {}) {
  const check = await checkAgent(url, options);
  // A finding says where, in words that end.
  for (const { message } of check.findings) expect(message).toMatch(/[.…]$/);
  expect(check.sentence).toMatch(/\.$/);
  return check;
}

describe("HTTP-CHK-1: a good agent", () => {
  test("is told by its events, text and times", async () => {
    const seen: unknown[] = [];
    const url = await listen(async (request: IncomingMessage, response) => {
      const { method, headers } = request;
      seen.push({ method, key: headers["x-key"], body: JSON.parse(await text(request)) });
      stream(response, ...GOOD).end();
    });
    const check = await checked(url, { headers: { "X-Key": "k-123456" }, message: "Are you there?" });
    expect(check).toEqual({
      ok: true,
      reached: true,
      sentence: expect.stringMatching(/^The agent works: 5 events in \d+ ms\.$/),
      url,
      status: 200,
      contentType: "text/event-stream",
      firstEventMs: expect.any(Number),
      totalMs: expect.any(Number),
      events: 5,
      types: {
        RUN_STARTED: 1,
        TEXT_MESSAGE_START: 1,
        TEXT_MESSAGE_CONTENT: 1,
        TEXT_MESSAGE_END: 1,
        RUN_FINISHED: 1,
      },
      outcome: "success",
      text: "Hello you",
      findings: [],
      sample: GOOD,
    });
    expect(seen).toMatchObject([
      {
        method: "POST",
        key: "k-123456",
        body: {
          messages: [{ role: "user", content: "Are you there?" }],
          tools: [],
          context: [],
          protocolVersion: "1.0",
        },
      },
    ]);
  });

  test("may answer in protobuf, by a redirect of its own, and ask", async () => {
    const url = await listen((request, response) => {
      if (request.url === "/agent") return void response.writeHead(307, { location: "/there" }).end();
      response.writeHead(200, { "content-type": BINARY_MEDIA_TYPE });
      const asking = { ...FINISHED, outcome: { type: "interrupt", interrupts: [{ id: "i", reason: "ok?" }] } } as const;
      response.end(Buffer.concat([STARTED, asking].map((event) => encodeBinary(event))));
    });
    expect(await checked(url)).toMatchObject({
      ok: true,
      events: 2,
      outcome: "interrupt",
      contentType: BINARY_MEDIA_TYPE,
    });
  });

  test("may use older forms and words of its own, with warnings", async () => {
    const check = await checked(await saying(STARTED, { ...OPEN, mood: 1 }, CLOSE, { type: "TELEPATHY" }, FINISHED));
    expect(check).toMatchObject({ ok: true, sentence: expect.stringMatching(/warnings/) });
    expect(check.findings).toMatchObject([
      { kind: "warning", rule: "unknown-property", at: 1 },
      { kind: "warning", rule: "unknown-event", at: 3 },
    ]);
  });
});

describe("HTTP-CHK-1: a bad agent", () => {
  test("nests deeper than anybody can write", async () => {
    const url = await listen((_, response) => {
      const odd = `data: {"type":"CUSTOM","name":"n","value":${nested(20_000)}}\n\n`;
      stream(response, STARTED).end(odd + frame(FINISHED));
    });
    const check = await checked(url);
    expect(check).toMatchObject({ ok: false, sentence: expect.stringMatching(/^The event is malformed/) });
    expect(check.findings).toMatchObject([{ kind: "error", rule: "event-invalid", at: 1 }]);
  });

  test.each<[string, readonly unknown[], object]>([
    ["begins without RUN_STARTED", [OPEN, SAY, CLOSE, FINISHED], { kind: "repair", rule: "first-event", at: 0 }],
    ["leaves a message open", [STARTED, OPEN, SAY, FINISHED], { kind: "repair", rule: "open-at-finish", at: 3 }],
    ["talks into nothing", [STARTED, SAY, CLOSE, FINISHED], { kind: "repair", rule: "not-open", at: 1 }],
    ["ends twice", [...GOOD, FINISHED], { kind: "repair", rule: "after-finish", at: 5 }],
    ["talks behind its end", [...GOOD, SAY], { kind: "repair", rule: "after-finish", at: 5 }],
  ])("%s", async (_, events, finding) => {
    const check = await checked(await saying(...events));
    expect(check).toMatchObject({
      ok: false,
      reached: true,
      outcome: "success",
      sentence: expect.stringMatching(/breaks AG-UI's rules/),
    });
    expect(check.findings[0]).toMatchObject(finding);
  });

  test.each<[string, readonly unknown[], object, RegExp]>([
    ["has no end", [STARTED, OPEN, SAY, CLOSE], { rule: "agent-stream-cut", at: 3 }, /RUN_FINISHED or RUN_ERROR: send/],
    ["says nothing", [], { rule: "agent-stream-cut" }, /without a single event: send RUN_STARTED first/],
    ["sends a malformed event", [STARTED, { ...SAY, delta: 7 }, FINISHED], { rule: "event-invalid", at: 1 }, /\/delta/],
    ["nests too deep", [STARTED, deep(600), FINISHED], { rule: "agent-response-invalid", at: 1 }, /depth/],
    [
      "sends too much at once",
      [STARTED, { ...SAY, delta: "x".repeat(1.5 * 1024 * 1024) }],
      { at: 1 },
      /bytes.*send less/,
    ],
    ["fails", [STARTED, { type: "RUN_ERROR", message: "No key.", code: "auth" }], { rule: "auth", at: 1 }, /No key/],
  ])("%s", async (_, events, finding, sentence) => {
    const check = await checked(await saying(...events));
    expect(check).toMatchObject({ ok: false, reached: true, status: 200 });
    expect(check.sentence).toMatch(sentence);
    expect(check.findings.at(-1)).toMatchObject({ kind: "error", ...finding });
  });

  test("sends what is no JSON", async () => {
    const url = await listen((_, response) => void stream(response, STARTED).end("data: hello\n\n"));
    const check = await checked(url);
    expect(check.sentence).toMatch(/^A frame of the stream cannot be read: .*data: line/);
    expect(check.sentence).not.toContain("checked");
  });

  test.each<[number, string, RegExp]>([
    [404, "text/html", /HTTP 404.*path of the AG-UI endpoint/],
    [401, "application/json", /HTTP 401.*Authorization/],
    [405, "text/plain", /does not take POST/],
    [422, "application/json", /RunAgentInput.*HTTP 422/],
    [503, "text/plain", /HTTP 503.*log/],
    [200, "text/html; charset=utf-8", /web page.*AG-UI endpoint/],
    [200, "application/json", /application\/json, not an event stream: answer with text\/event-stream/],
  ])("answers %i with %s, of which nothing is passed on", async (status, type, sentence) => {
    const url = await listen((_, response) => {
      response.writeHead(status, { "content-type": type, "x-secret": "inner" }).end('{"inner":"secret"}');
    });
    const check = await checked(url);
    expect(check).toMatchObject({
      ok: false,
      reached: true,
      status,
      contentType: type,
      events: 0,
      sample: [],
      text: "",
    });
    expect(check.sentence).toMatch(sentence);
    expect(JSON.stringify(check)).not.toMatch(/inner|secret/);
  });

  test("is not there", async () => {
    const gone = createServer().listen(0, "127.0.0.1");
    await once(gone, "listening");
    const address = gone.address();
    await new Promise((resolve) => gone.close(resolve));
    const check = await checked(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`);
    expect(check).toMatchObject({
      ok: false,
      reached: false,
      events: 0,
      sentence: expect.stringMatching(/ECONNREFUSED.*host and port/),
    });
    expect(check).not.toHaveProperty("status");
  });

  test("speaks another language than the address says", async () => {
    const secure = await checked((await listen(() => {})).replace("http:", "https:"));
    expect(secure).toMatchObject({ reached: false, sentence: expect.stringMatching(/does not speak https.*use http/) });
    const shell = createSocketServer((socket) => socket.once("data", () => socket.end("SSH-2.0-OpenSSH_9.9\r\n")));
    onTestFinished(() => void shell.close());
    await once(shell.listen(0, "127.0.0.1"), "listening");
    const address = shell.address();
    const check = await checked(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`);
    expect(check).toMatchObject({ reached: false, sentence: expect.stringMatching(/does not speak HTTP.*port/) });
  });

  test("sends binary frames that are none: nothing is said of lines of text", async () => {
    const url = await listen((_, response) => {
      response.writeHead(200, { "content-type": BINARY_MEDIA_TYPE }).end(Buffer.from([0, 0, 0, 4, 8, 1, 2, 3]));
    });
    const { sentence } = await checked(url);
    expect(sentence).toMatch(/^A frame of the stream cannot be read: /);
    expect(sentence).not.toContain("data: line");
  });

  test("is silent, or never ends", async () => {
    const mute = await checked(await listen(() => {}), { timeoutMs: 100 });
    expect(mute).toMatchObject({
      ok: false,
      reached: false,
      sentence: expect.stringMatching(/Nothing answered in time/),
    });
    const slow = await checked(await listen((_, response) => void stream(response, STARTED)), { timeoutMs: 300 });
    expect(slow).toMatchObject({
      ok: false,
      reached: true,
      events: 1,
      sentence: expect.stringMatching(/not ended after 0.3 seconds/),
    });
  });
});

describe("HTTP-CHK-2: what a check may do", () => {
  test.each([
    ["file:///etc/passwd"],
    ["ftp://h/"],
    ["http://user:secret@127.0.0.1/"],
    ["agent"],
    [`http://h/${"x".repeat(3000)}`],
  ])("%s is no address to try", async (url) => {
    const refusal = await checkAgent(url).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "input-invalid", details: { path: "/url" } });
    expect(JSON.stringify(refusal)).not.toMatch(/secret|passwd/);
    expect(String(refusal)).not.toContain("::");
  });

  test.each([{ Host: "other" }, { "transfer-encoding": "chunked" }, { "a b": "c" }, { a: "b\nc" }])(
    "%j cannot be sent",
    async (headers) => {
      const refusal = checkAgent("http://127.0.0.1:1/", { headers });
      await expect(refusal).rejects.toMatchObject({ code: "input-invalid", details: { path: "/headers" } });
    },
  );

  test("another host is not called, whoever sends the run there", async () => {
    const called = vi.fn<RequestListener>((_, response) => void stream(response, ...GOOD).end());
    const other = await listen(called);
    const url = await listen((_, response) => void response.writeHead(307, { location: other }).end());
    expect(await checked(url)).toMatchObject({
      ok: false,
      reached: true,
      status: 307,
      sentence: expect.stringMatching(/another address/),
    });
    expect(called).not.toHaveBeenCalled();
  });

  test("no more is read than it may, and the request ends", async () => {
    const closed = Promise.withResolvers<void>();
    const url = await listen((request, response) => {
      request.socket.once("close", () => closed.resolve());
      Readable.from(endless()).pipe(stream(response, STARTED, OPEN));
    });
    const long = await checked(url, { maxBytes: 50_000 });
    expect(long).toMatchObject({ ok: false, sentence: expect.stringMatching(/longer than 50000 bytes/) });
    await closed.promise;
    expect(await checked(url, { maxEvents: 20 })).toMatchObject({
      ok: false,
      events: 20,
      sentence: expect.stringMatching(/20 events/),
    });
    const { sample, text: said } = await checked(url, { maxBytes: 2_000_000 });
    expect(sample).toHaveLength(50);
    expect(said).toHaveLength(20_000);
  });

  test("what is wrong without end is listed to a bound", async () => {
    const { findings } = await checked(await saying(STARTED, ...Array.from({ length: 500 }, () => CLOSE), FINISHED));
    expect(findings).toHaveLength(201);
  });

  test("whoever leaves ends it", async () => {
    const stop = new AbortController();
    const url = await listen(() => stop.abort(new Error("gone")));
    await expect(checkAgent(url, { signal: stop.signal })).rejects.toThrow("gone");
  });
});
