/** An agent behind a WebSocket, on real sockets: what an old server of the seed's kind says becomes AG-UI. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { oldSessionServer } from "../../../../test/old-session-server.ts";
import type { OldConnection, OldServer } from "../../../../test/old-session-server.ts";
import type { Event, RunAgentInput, Warning } from "../../../protocol/index.ts";
import { reduceAll, throughArray, verifying } from "../../../stream/index.ts";
import { runAgent } from "../../index.ts";
import type { RunOptions } from "../../index.ts";
import { sessionAgent } from "./index.ts";
import type { SessionAgentOptions } from "./index.ts";
import { runSession } from "./run-session.ts";

const INPUT: RunAgentInput = { threadId: "t1", runId: "r1", messages: [{ id: "u1", role: "user", content: "Hello?" }] };

async function runOf(
  { url, ...options }: Partial<SessionAgentOptions> & Pick<OldServer, "url">,
  run: RunOptions = {},
  input = INPUT,
): Promise<readonly Event[]> {
  const agent = sessionAgent({ name: "old", url, onWarning: () => undefined, ...pick(options) });
  const events: Event[] = [];
  for await (const event of runAgent(agent, input, run)) events.push(event);
  return throughArray(verifying(), events);
}

/** A server is passed as it is; what is not an option of the agent is left out. */
function pick(options: object): Partial<SessionAgentOptions> {
  return Object.fromEntries(Object.entries(options).filter(([name]) => name !== "requests" && name !== "open"));
}

/** What the code and the details of a failed run are. */
async function failureOf(
  options: Partial<SessionAgentOptions> & Pick<OldServer, "url">,
): Promise<{ readonly code: string | undefined; readonly message: string; readonly details: unknown }> {
  const thrown: unknown[] = [];
  const last = (await runOf(options, { onError: (error) => thrown.push(error) })).at(-1);
  const [error] = thrown;
  const details = error instanceof Error && "details" in error ? error.details : undefined;
  if (last?.type !== "RUN_ERROR") throw new Error(`The run ended with ${last?.type}.`);
  return { code: last.code, message: last.message, details };
}

const hello = ({ say }: OldConnection): void => {
  say("text-chunk", { text: "Hel", role: "assistant", isComplete: false }, "g1");
  say("text-chunk", { text: "lo.", role: "assistant", isComplete: false }, "g1");
  say("text-message-complete", {}, "g1");
  say("agent-response-complete", {}, "g1");
};

describe("an old server of the seed's kind", () => {
  test("PROTO-SESS-6: answers with text; the request has the seed's form, and the socket is closed", async () => {
    let closed: Promise<number> | undefined;
    await using server = await oldSessionServer((connection) => {
      closed = connection.closed;
      hello(connection);
    });
    const options = { modelId: "openai/gpt-4", temperature: 0.7, maxTokens: 2048 };
    const events = await runOf(server, {}, { ...INPUT, forwardedProps: { options } });
    expect(events.map(({ type }) => type)).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "RUN_FINISHED",
    ]);
    expect(events[2]).toMatchObject({ messageId: "g1", delta: "Hel", timestamp: Date.UTC(2025, 0, 2, 3, 4, 5, 678) });
    expect(server.requests).toEqual([
      { type: "run-agent", data: { messages: [{ role: "user", id: "u1", content: "Hello?" }], options } },
    ]);
    expect(await closed).toBe(1000);
  });

  test("thinks, calls two tools at once, gets a failure of one, spends tokens, and answers", async () => {
    await using server = await oldSessionServer(({ say }) => {
      const call = (toolCallId: string, city: string): void =>
        say("tool-call-chunk", { toolCallId, toolName: "weather", arguments: { city }, isComplete: false }, "g1");
      const result = (toolCallId: string, text: string, isError: boolean): void =>
        say("tool-result-chunk", { toolCallId, result: text, isError, isComplete: false }, "g1");
      say("thought-chunk", { thought: "Two cities.", isComplete: false }, "g1");
      say("thought-complete", {}, "g1");
      call("c1", "Oslo");
      call("c2", "Rome");
      say("tool-call-complete", {}, "g1");
      result("c2", "sunny", false);
      result("c1", "no such city", true);
      say("tool-result-complete", {}, "g1");
      say("metadata-update", { usage: { promptTokens: 7, completionTokens: 5, totalTokens: 12 } }, "g1");
      say("text-chunk", { text: "Rome is sunny.", role: "assistant", isComplete: false }, "g2");
      say("metadata-update", { usage: { promptTokens: 9, completionTokens: 4, totalTokens: 13 } }, "g2");
      say("agent-response-complete", {}, "g2");
    });
    const events = await runOf(server);
    const { messages, run } = reduceAll([...events]);
    expect(messages).toMatchObject([
      { role: "reasoning", content: "Two cities." },
      {
        role: "assistant",
        toolCalls: [
          { id: "c1", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
          { id: "c2", function: { name: "weather", arguments: '{"city":"Rome"}' } },
        ],
      },
      { role: "tool", toolCallId: "c2", content: "sunny" },
      { role: "tool", toolCallId: "c1", content: "no such city", metadata: { heddle: { error: true } } },
      { role: "assistant", id: "g2", content: "Rome is sunny." },
    ]);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(5);
    expect(run).toMatchObject({ status: "finished", usage: [{ inputTokens: 16, outputTokens: 9, totalTokens: 25 }] });
  });

  test("fails with agent-error: its code and words are the run's, and what it had said stays", async () => {
    await using server = await oldSessionServer(({ say }) => {
      say("text-chunk", { text: "Half", role: "assistant", isComplete: false }, "g1");
      say("agent-error", { error: { code: "AGENT_EXECUTION_ERROR", message: "No.", details: { at: 1 } } }, "g1");
    });
    const events = await runOf(server);
    expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "AGENT_EXECUTION_ERROR", message: "No." });
    expect(reduceAll([...events]).messages).toMatchObject([{ content: "Half" }]);
  });

  test.each([true, false])(
    "refuses the request with session-error (fatal: %s): the run fails with it",
    async (isFatal) => {
      await using server = await oldSessionServer(({ say }) =>
        say("session-error", { error: { code: "INVALID_INPUT", message: "No messages.", isFatal } }),
      );
      expect(await failureOf(server)).toMatchObject({ code: "INVALID_INPUT", message: "No messages." });
    },
  );

  test("sends what the seed leaves open in a form of its own, and types that nobody knows", async () => {
    const onWarning = vi.fn<(warning: Warning) => void>();
    await using server = await oldSessionServer(({ say, raw }) => {
      say("status-update", { status: "thinking", percent: 10 });
      say("progress-update", { progress: 0.5 });
      say("heartbeat");
      raw('{"type":"text-chunk","messageId":"g1","data":{"text":"Hi","role":"assistant","isComplete":true}}');
      say("agent-response-complete", { finishReason: "stop", outcome: "COMPLETED" });
    });
    const events = await runOf({ ...server, onWarning });
    expect(events.filter(({ type }) => type === "CUSTOM")).toMatchObject([
      { name: "heddle.status-update", value: { status: "thinking", percent: 10 } },
      { name: "heddle.progress-update", value: { progress: 0.5 } },
    ]);
    expect(reduceAll([...events])).toMatchObject({ messages: [{ content: "Hi" }], run: { status: "finished" } });
    expect(onWarning.mock.calls).toMatchObject([[{ code: "unknown-event" }]]);
  });

  test("is not believed where it uses the id of a message that is there already", async () => {
    await using server = await oldSessionServer(({ say }) => {
      say("text-chunk", { text: "Hi", role: "assistant", isComplete: true }, "u1");
      say("agent-response-complete");
    });
    const { messages } = reduceAll([...(await runOf(server))], { messages: INPUT.messages });
    expect(messages).toMatchObject([INPUT.messages[0], { role: "assistant", content: "Hi" }]);
  });

  test("gets headers, and a session of its own unless told which", async () => {
    const seen: unknown[] = [];
    await using server = await oldSessionServer((connection) => {
      seen.push([connection.headers.authorization, connection.request.sessionId]);
      hello(connection);
    });
    await runOf({ url: server.url, headers: { authorization: "Bearer one" } });
    await runOf({
      url: server.url,
      headers: () => ({ authorization: "Bearer two" }),
      sessionId: (input) => input.threadId,
    });
    expect(seen).toEqual([
      ["Bearer one", undefined],
      ["Bearer two", "t1"],
    ]);
  });

  test("is read no faster than its events are taken, and nothing of it is lost", async () => {
    const text = "x".repeat(65_536);
    const chunk = JSON.stringify({
      type: "text-chunk",
      messageId: "g1",
      data: { text, role: "user", isComplete: false },
    });
    const total = 800;
    let written = 0;
    const stalled = Promise.withResolvers<void>();
    await using server = await oldSessionServer(async ({ say, socket }) => {
      for (; written < total; written++) {
        const timer = setTimeout(() => stalled.resolve(), 200);
        await new Promise((resolve) => socket.send(chunk, resolve));
        clearTimeout(timer);
      }
      say("agent-response-complete");
    });
    const settings = { name: "old", url: new URL(server.url), headers: new Headers() };
    const run = runSession(settings, INPUT, new AbortController().signal);
    await run.next();
    await stalled.promise;
    expect(written).toBeLessThan(total / 2);
    let length = 0;
    for await (const event of run) if (event.type === "TEXT_MESSAGE_CONTENT") length += event.delta.length;
    expect(length).toBe(total * text.length);
  });
});

describe("what goes wrong has a code", () => {
  test("nobody listens", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, "close");
    expect(await failureOf({ url: `ws://127.0.0.1:${port}/` })).toMatchObject({
      code: "agent-unreachable",
      details: { reason: "ECONNREFUSED" },
    });
  });

  test.each([
    [401, "check the headers"],
    [404, "check its address"],
    [503, "it failed"],
  ])("the socket is refused with %s", async (status, advice) => {
    await using server = await oldSessionServer(() => undefined, {
      refuse: { status, body: "go away with your secret-token" },
    });
    const failure = await failureOf({ url: server.url, headers: { authorization: "Bearer secret-token" } });
    expect(failure).toMatchObject({ code: "agent-unreachable", details: { reason: "http", status } });
    expect(failure.message).toContain(advice);
    expect(JSON.stringify(failure)).not.toContain("secret-token");
  });

  test("no greeting in time", async () => {
    await using server = await oldSessionServer(() => undefined, { onConnect: () => undefined });
    expect(await failureOf({ url: server.url, responseTimeoutMs: 50 })).toMatchObject({
      code: "agent-unreachable",
      details: { reason: "timeout" },
    });
  });

  test("silence in the middle; pings are sound", async () => {
    let pinged = 0;
    await using server = await oldSessionServer(({ say, socket }) => {
      say("text-chunk", { text: "Half", role: "assistant", isComplete: false }, "g1");
      const timer = setInterval(() => {
        if (++pinged === 12) clearInterval(timer);
        socket.ping();
      }, 50);
    });
    const failure = await failureOf({ url: server.url, idleTimeoutMs: 400 });
    expect(failure).toMatchObject({ code: "agent-stream-cut", details: { reason: "idle" } });
    expect(pinged).toBe(12);
  });

  test.each([
    ["closes", ({ socket }: OldConnection) => socket.close(1011), { reason: "ended", closeCode: 1011 }],
    ["is cut off", ({ socket }: OldConnection) => socket.terminate(), { reason: "ended", closeCode: 1006 }],
  ])("the server %s early: what it had said stays", async (_, leave, details) => {
    await using server = await oldSessionServer((connection) => {
      connection.say("text-chunk", { text: "Half", role: "assistant", isComplete: false }, "g1");
      leave(connection);
    });
    expect(await failureOf(server)).toMatchObject({ code: "agent-stream-cut", details });
  });

  test("the session ends before the response is complete", async () => {
    await using server = await oldSessionServer(({ say }) => say("session-ended", { reason: "idle" }));
    expect(await failureOf(server)).toMatchObject({ code: "agent-stream-cut" });
  });

  test.each([
    ["no JSON", "{", "json-invalid"],
    ["no object", "[]", "session-invalid"],
    ["no type", "{}", "session-invalid"],
    ["a wrong field", '{"type":"text-chunk","data":{"text":5,"role":"assistant"}}', "session-invalid"],
  ])("an event that is malformed: %s", async (_, text, reason) => {
    await using server = await oldSessionServer(({ raw }) => raw(text));
    expect(await failureOf(server)).toMatchObject({ code: "agent-response-invalid", details: { reason } });
  });

  test("a message that is too large", async () => {
    await using server = await oldSessionServer(({ raw }) => raw(" ".repeat(5000)));
    const details = { reason: "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH" };
    expect(await failureOf({ url: server.url, maxFrameBytes: 4096 })).toMatchObject({
      code: "agent-response-invalid",
      details,
    });
  });

  test("more events than are read, also where each is dropped", async () => {
    await using server = await oldSessionServer(({ say }) => {
      for (let index = 0; index < 20; index++) say("heartbeat");
    });
    expect(await failureOf({ url: server.url, maxEvents: 10 })).toMatchObject({ code: "limit-exceeded" });
  });

  test.each([
    ["http://x/", "a URL of http:"],
    ["ws://name:secret@x/", "a URL with credentials"],
    ["nowhere", "no URL"],
  ])("an address that cannot be used: %s", (url, received) => {
    expect(() => sessionAgent({ name: "old", url })).toThrow(
      expect.objectContaining({ code: "config-invalid", details: expect.objectContaining({ received }) }),
    );
  });
});

describe("stopping the run", () => {
  test("closes the socket, in the middle of an answer", async () => {
    const stop = new AbortController();
    const gone = Promise.withResolvers<number>();
    await using server = await oldSessionServer(({ say, closed }) => {
      void closed.then(gone.resolve);
      say("text-chunk", { text: "Half", role: "assistant", isComplete: false }, "g1");
    });
    const agent = sessionAgent({ name: "old", url: server.url });
    const events: Event[] = [];
    for await (const event of runAgent(agent, INPUT, { signal: stop.signal })) {
      events.push(event);
      if (event.type === "TEXT_MESSAGE_CONTENT") stop.abort();
    }
    expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
    expect(await gone.promise).toBe(1000);
  });

  test("ends a socket that is still connecting", async () => {
    const stop = new AbortController();
    await using server = await deafServer(() => stop.abort());
    expect((await runOf({ url: server.url }, { signal: stop.signal })).at(-1)).toMatchObject({
      type: "RUN_FINISHED",
      outcome: { type: "cancelled" },
    });
    await server.gone;
  });

  test("ends the socket of a server that does not close its side", async () => {
    await using server = await deafServer((socket, head) => {
      const [, key = ""] = /sec-websocket-key: (.*)\r/i.exec(head) ?? [];
      const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      const upgrade = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
      socket.write(`${upgrade}Sec-WebSocket-Accept: ${accept}\r\n\r\n`);
      for (const type of ["session-started", "agent-response-complete"]) socket.write(frame(JSON.stringify({ type })));
    });
    expect((await runOf({ url: server.url, closeTimeoutMs: 20 })).at(-1)).toMatchObject({ type: "RUN_FINISHED" });
    await server.gone;
  });
});

/** A short text in a WebSocket frame. */
const frame = (text: string): Buffer => Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]);

/** A server that reads and says nothing by itself; `gone` resolves when its first connection is. */
async function deafServer(
  onHead: (socket: Socket, head: string) => void,
): Promise<AsyncDisposable & { readonly url: string; readonly gone: Promise<void> }> {
  const gone = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.once("data", (head) => onHead(socket, String(head)));
    socket.on("data", () => undefined).on("error", () => undefined);
    socket.on("close", () => gone.resolve());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    gone: gone.promise,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}
