/** Seed 003, its WebSocket protocol end to end: real sockets, real runs, the three diagrams and each mapping. */
import { once } from "node:events";
import { WebSocket } from "ws";
import { fastify } from "fastify";
import { runStreamingAgent } from "heddle/adapters/messages";
import type { StreamMessage } from "heddle/adapters/messages";
import { defineAgent } from "heddle/agent";
import type { Agent } from "heddle/agent";
import { SESSION_EVENT_TYPES, decodeSessionEvent } from "heddle/protocol/session";
import { heddlePlugin, serve } from "heddle/server/fastify";
import type { Served } from "heddle/server/fastify";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { serveAgents } from "./serve-agents.ts";
import { openSession } from "./session-client.ts";
import type { SessionClientEvent } from "./session-client.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const WORLD = [{ role: "user", content: "Hello, how can you help me?" }];

/** An agent of the seed's library, which answers with these messages. */
const answering = (name: string, ...messages: readonly StreamMessage[]): Agent => {
  const source = {
    async *generateReplyStreaming() {
      yield* messages;
    },
  };
  return defineAgent({ name, run: ({ input, signal }) => runStreamingAgent(source, input, { signal }) });
};

const call = { callId: "call-1", functionName: "get_weather", functionArgs: '{"city":"Paris"}', index: 0 };
const second = { callId: "call-2", functionName: "add", functionArgs: "[1,2]", index: 1 };
const calls = { type: "tools-call", toolCalls: [call, second], generationId: "gen-1" } as const;
const results = {
  type: "tools-call-result",
  toolCallResults: [
    { callId: "call-1", result: "sunny" },
    { callId: "call-2", result: "no such tool", isError: true },
  ],
} as const;

const chat = defineAgent({
  name: "chat",
  run({ input, emit }) {
    emit.usage({ inputTokens: 3, outputTokens: 4, totalTokens: 7 });
    const said = input.messages.map(({ role, content }) => `${role}: ${String(content)}`);
    void emit.text().write(`${said.join(" | ")} ${JSON.stringify(input.forwardedProps ?? null)}`);
  },
});

const AGENTS = [
  chat,
  answering("text", { type: "text", text: "Bonjour", role: "assistant", fromAgent: "a", generationId: "gen-1" }),
  answering("calls", calls),
  answering("results", { type: "tools-call-aggregate", toolsCall: calls, toolsCallResult: results }),
  answering("thought", { type: "reasoning", reasoning: "Let me think.", generationId: "gen-1" }),
  answering("usage", { type: "usage", usage: { promptTokens: 10, completionTokens: 5, totalTokens: 15 } }),
  answering("composite", {
    type: "composite",
    messages: [
      { type: "text", text: "one", generationId: "gen-1" },
      { type: "composite", messages: [{ type: "reasoning", reasoning: "two", generationId: "gen-2" }] },
      { type: "text", text: "three", generationId: "gen-3" },
    ],
  }),
  answering(
    "mixed",
    { type: "text", text: "Looking", generationId: "gen-1" },
    {
      type: "tools-call-aggregate",
      toolsCall: { ...calls, toolCalls: [call] },
      toolsCallResult: { ...results, toolCallResults: [results.toolCallResults[0]] },
    },
    { type: "text", text: "It is sunny.", generationId: "gen-2" },
  ),
  defineAgent({
    name: "busy",
    async run({ emit }) {
      await emit.step("plan", async () => {
        const plan = emit.activity("PLAN", { done: 0 });
        await plan.update((draft) => void (draft.done = 1));
      });
      await emit.custom("shop.basket", { items: 2 });
    },
  }),
];

/** Why a server with these sessions does not start. */
const failure = (sessions: object): Promise<unknown> =>
  serve({ agents: [chat], port: 0, sessions }).then(
    (started) => started.close(),
    (error: unknown) => error,
  );

const text = (events: readonly SessionClientEvent[]): string =>
  events.flatMap(({ type, data }) => (type === "text-chunk" ? [data.text] : [])).join("");

const envelope = (sessionId: string, messageId: string): object => ({
  sessionId,
  messageId,
  timestamp: expect.stringMatching(ISO),
});

const typesOf = (events: readonly SessionClientEvent[]): readonly string[] => events.map(({ type }) => type);

let server: Served;
beforeAll(async () => {
  server = await serve({ agents: AGENTS, port: 0, host: "127.0.0.1" });
});
afterAll(() => server.close());

describe("003 ws: the three diagrams", () => {
  test("SES-CON-3, 003 ws/connect: handshake, 101 Switching Protocols, then session-started with the session's id", async () => {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/ag-ui/chat`);
    const order: string[] = [];
    const first = new Promise<SessionClientEvent>((resolve) => {
      socket.on("upgrade", ({ statusCode }) => order.push(`upgrade ${statusCode}`));
      socket.on("message", (data) => {
        const event: SessionClientEvent = JSON.parse(String(data));
        order.push(event.type);
        resolve(event);
      });
    });
    const started = await first;
    expect(order).toEqual(["upgrade 101", "session-started"]);
    expect(started).toEqual({
      type: "session-started",
      sessionId: expect.stringMatching(UUID),
      timestamp: expect.stringMatching(ISO),
      data: {
        session: {
          sessionId: started.sessionId,
          createdAt: expect.stringMatching(ISO),
          lastActivityAt: expect.stringMatching(ISO),
        },
      },
    });
    expect(socket.protocol).toBe("");
    socket.terminate();
    // A browser that offers some wants one of them back.
    const offering = new WebSocket(`${server.url.replace("http", "ws")}/api/ag-ui/chat`, ["chat.v1", "chat.v2"]);
    await once(offering, "open");
    expect(offering.protocol).toBe("chat.v1");
    offering.terminate();
  });

  test("SES-CON-1, 003 ws/connect.4: what cannot be connected to gets an HTTP error that says why", async () => {
    await expect(openSession(server.url, "/api/ag-ui/none")).rejects.toThrow("refused with 404");
    await expect(openSession(server.url, "/api/ag-ui/chat?sessionId=none")).rejects.toThrow("refused with 404");
    const plain = await fetch(`${server.url}/api/ag-ui/chat`);
    expect([plain.status, (await plain.json()).error]).toMatchObject([
      400,
      { code: "request-invalid", message: expect.stringContaining("WebSocket") },
    ]);
  });

  test("SES-EVT-1, SES-EVT-4, 003 ws/exchange: one request is answered with text, tool call, tool result and more text, then completion; then comes the next", async () => {
    const client = await openSession(server.url, "/api/ag-ui/mixed");
    const expected = [
      "text-chunk",
      "text-message-complete",
      "tool-call-chunk",
      "tool-call-complete",
      "tool-result-chunk",
      "tool-result-complete",
      "text-chunk",
      "text-message-complete",
      "agent-response-complete",
    ];
    expect(typesOf(await client.ask("Weather?"))).toEqual(expected);
    expect(typesOf(await client.ask("And now?"))).toContain("agent-response-complete");
    expect(client.socket.readyState).toBe(WebSocket.OPEN);
    await client.close();
  });

  test("SES-END-1, 003 ws/terminate: session-ended, then the close frame and its acknowledgement", async () => {
    const url = await serveAgents({ agents: AGENTS, sessions: { endAfterResponse: true } });
    const client = await openSession(url, "/api/ag-ui/text");
    const order: string[] = [];
    client.socket.on("message", (data) => order.push(JSON.parse(String(data)).type));
    client.socket.on("close", (code) => order.push(`close ${code}`));
    client.say("Hello");
    expect(await client.closed).toEqual([1000, "completed"]);
    expect(order).toEqual([
      "text-chunk",
      "text-message-complete",
      "agent-response-complete",
      "session-ended",
      "close 1000",
    ]);
    expect(client.events.at(-1)).toMatchObject({ sessionId: client.sessionId, data: { reason: "completed" } });
  });
});

describe("003 ws: mappings, field by field", () => {
  const anyId = expect.any(String);

  test.each<[string, string, (at: (messageId: string) => object) => readonly object[]]>([
    [
      "TextMessage",
      "text",
      (at) => [
        { type: "text-chunk", ...at("gen-1"), data: { text: "Bonjour", role: "assistant", isComplete: false } },
        { type: "text-message-complete", ...at("gen-1"), data: { role: "assistant", isComplete: true } },
      ],
    ],
    [
      "ToolsCallMessage",
      "calls",
      (at) => [
        {
          type: "tool-call-chunk",
          ...at("gen-1"),
          data: { toolCallId: "call-1", toolName: "get_weather", arguments: { city: "Paris" }, isComplete: false },
        },
        {
          type: "tool-call-chunk",
          ...at("gen-1"),
          data: { toolCallId: "call-2", toolName: "add", arguments: [1, 2], isComplete: false },
        },
        {
          type: "tool-call-complete",
          ...at("gen-1"),
          data: { toolCallIds: ["call-1", "call-2"], isComplete: true },
        },
      ],
    ],
    [
      "ToolsCallAggregateMessage",
      "results",
      (at) => [
        { type: "tool-call-chunk" },
        { type: "tool-call-chunk" },
        { type: "tool-call-complete" },
        {
          type: "tool-result-chunk",
          ...at(anyId),
          data: { toolCallId: "call-1", result: "sunny", isError: false, isComplete: false },
        },
        {
          type: "tool-result-chunk",
          ...at(anyId),
          data: { toolCallId: "call-2", result: "no such tool", isError: true, isComplete: false },
        },
        {
          type: "tool-result-complete",
          ...at(anyId),
          data: { toolCallIds: ["call-1", "call-2"], isComplete: true },
        },
      ],
    ],
    [
      "ReasoningMessage",
      "thought",
      (at) => [
        { type: "thought-chunk", ...at(anyId), data: { thought: "Let me think.", isComplete: false } },
        { type: "thought-complete", ...at(anyId), data: { isComplete: true } },
      ],
    ],
    [
      "UsageMessage",
      "usage",
      (at) => [
        {
          type: "metadata-update",
          ...at(anyId),
          data: { usage: { promptTokens: 10, completionTokens: 5, totalTokens: 15 } },
        },
      ],
    ],
    [
      "CompositeMessage",
      "composite",
      () => [
        { type: "text-chunk", data: { text: "one" } },
        { type: "text-message-complete" },
        { type: "thought-chunk", data: { thought: "two" } },
        { type: "thought-complete" },
        { type: "text-chunk", data: { text: "three" } },
        { type: "text-message-complete" },
      ],
    ],
  ])("003 mapping of %s", async (_, endpoint, expected) => {
    const client = await openSession(server.url, `/api/ag-ui/${endpoint}`);
    const events = await client.ask("Go");
    const end = { type: "agent-response-complete", ...envelope(client.sessionId, anyId), data: { outcome: "success" } };
    const all = [...expected((messageId) => envelope(client.sessionId, messageId)), end];
    expect(events).toMatchObject(all);
    expect(events).toHaveLength(all.length);
    await client.close();
  });

  test("003 REQ-2.1, REQ-3.1, REQ-3.2, REQ-3.4, REQ-4.1: text, calls, results, failures and thoughts are told as they come", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const held = defineAgent({
      name: "held",
      async run({ emit }) {
        await emit.reasoning().write("hm");
        const tool = emit.toolCall("look");
        await tool.end();
        await emit.toolResult(tool.id, "nothing there", { error: "nothing there" });
        await emit.text().write("so");
        await gate;
      },
    });
    const client = await openSession(await serveAgents({ agents: [held] }), "/api/ag-ui/held");
    client.say("Go");
    // The agent has not ended: nothing of this is held back until it has.
    await client.next("thought-chunk");
    await client.next("tool-call-chunk");
    expect((await client.next("tool-result-chunk")).data).toMatchObject({ isError: true, error: "nothing there" });
    expect((await client.next("text-chunk")).data.text).toBe("so");
    expect(typesOf(client.events)).not.toContain("agent-response-complete");
    open();
    await client.next("agent-response-complete");
    await client.close();
  });

  test("003 REQ-DO-1: steps, activities and events of one's own are status, progress and metadata", async () => {
    const client = await openSession(server.url, "/api/ag-ui/busy");
    expect(await client.ask("Go")).toMatchObject([
      { type: "status-update", data: { subject: "step", status: "started", name: "plan" } },
      { type: "progress-update", data: { activityType: "PLAN", content: { done: 0 } } },
      { type: "progress-update", data: { activityType: "PLAN", patch: [{ op: "replace", path: "/done", value: 1 }] } },
      { type: "status-update", data: { subject: "step", status: "finished", name: "plan" } },
      { type: "metadata-update", data: { custom: { name: "shop.basket", value: { items: 2 } } } },
      { type: "agent-response-complete" },
    ]);
    await client.close();
  });

  test("003 ws/event: every event has the fields of its type, one of sixteen, a time in ISO 8601, and is JSON", async () => {
    const texts: string[] = [];
    for (const { name } of AGENTS) {
      const client = await openSession(server.url, `/api/ag-ui/${name}`);
      client.socket.on("message", (data, isBinary) => texts.push(isBinary ? "binary" : String(data)));
      await client.ask("Go");
      client.send("{");
      await client.next("session-error");
      await client.close();
    }
    expect(texts.length).toBeGreaterThan(30);
    for (const text of texts) {
      const event = decodeSessionEvent(text);
      // Reading drops what is not known and throws where something is missing.
      expect(event).toEqual(JSON.parse(text));
      expect(SESSION_EVENT_TYPES).toContain(event.type);
      expect(event.timestamp).toMatch(ISO);
    }
  });
});

describe("003 ws: requests", () => {
  test("SES-REQ-1, 003 ws/run-agent: the seed's own message is understood, and its options reach the agent", async () => {
    const client = await openSession(server.url, "/api/ag-ui/chat");
    const options = { modelId: "openai/gpt-4", temperature: 0.7, maxTokens: 2048 };
    client.send({ type: "run-agent", sessionId: client.sessionId, data: { messages: WORLD, options } });
    const { data } = await client.next("text-chunk");
    expect(data.text).toBe(`user: Hello, how can you help me? ${JSON.stringify({ options })}`);
    expect((await client.next("metadata-update")).data).toEqual({
      usage: { promptTokens: 3, completionTokens: 4, totalTokens: 7 },
    });
    await client.close();
  });

  test("SES-REQ-2, 003 ws/run-agent.3: a history without ids is matched with what was said, and only what is new is added", async () => {
    const client = await openSession(server.url, "/api/ag-ui/chat");
    const first = text(await client.ask("Hello"));
    const history = [
      { role: "user", content: "Hello" },
      { role: "assistant", content: first },
      { role: "user", content: "Again" },
    ];
    client.send({ type: "run-agent", data: { messages: history } });
    expect((await client.next("text-chunk")).data.text).toBe(`user: Hello | assistant: ${first} | user: Again null`);
    await client.next("agent-response-complete");
    // The same word once more, alone, is said once more.
    expect(text(await client.ask("Hello"))).toMatch(/^user: Hello \| .* \| user: Hello null$/);
    const { messages }: { messages: unknown[] } = await (
      await fetch(`${server.url}/threads/${client.sessionId}/snapshot`)
    ).json();
    expect(messages).toHaveLength(6);
    await client.close();
  });
});

test("SES-REQ-5: an empty list of messages asks for the newest run once more, and calls no agent", async () => {
  const client = await openSession(server.url, "/api/ag-ui/chat");
  const events = await client.ask("Hello");
  client.send({ type: "run-agent", data: { messages: [] } });
  await client.next("agent-response-complete");
  expect(client.events.slice(1 + events.length)).toEqual(events);
  await client.close();
});

test("SES-REQ-2, 003 ws/run-agent.3: whatever of its answers a client repeats, nothing is said twice and nothing is lost", async () => {
  const client = await openSession(server.url, "/api/ag-ui/mixed");
  await client.ask("Weather?");
  const asked = { role: "user", content: "Weather?" };
  const said = { role: "assistant", content: "It is sunny." };
  const joined = { role: "assistant", content: "LookingIt is sunny." };
  const requests = [
    [asked, said, { role: "user", content: "two" }],
    [asked, joined, { role: "user", content: "two" }, { role: "user", content: "three" }],
    [asked, { role: "user", content: "two" }, { role: "user", content: "three" }, { role: "user", content: "four" }],
  ];
  for (const messages of requests) {
    client.send({ type: "run-agent", data: { messages } });
    await client.next("agent-response-complete");
  }
  const { messages }: { messages: { role: string; content: string }[] } = await (
    await fetch(`${server.url}/threads/${client.sessionId}/snapshot`)
  ).json();
  const users = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  expect(users).toEqual(["Weather?", "two", "three", "four"]);
  expect(messages.map(({ content }) => content)).toContain("sunny");
  await client.close();
});

describe("003 hosting", () => {
  test("SES-CON-1, 003 REQ-5.1, api/UseAgUi: registering the plugin serves WebSockets, at a path of one's own in place of /api/ag-ui", async () => {
    const app = fastify();
    onTestFinished(async () => void (await app.close()));
    const sessions = { path: "/talk", endpoints: { hello: { agent: "text" } } };
    await app.register(heddlePlugin, { agents: AGENTS, sessions });
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    const client = await openSession(url, "/talk/hello");
    expect(typesOf(await client.ask("Hi"))).toContain("agent-response-complete");
    // An endpoint that is not on the list is none, and nothing is left at the default path.
    await expect(openSession(url, "/talk/chat")).rejects.toThrow("refused with 404");
    await expect(openSession(url, "/api/ag-ui/hello")).rejects.toThrow("refused with 404");
    await client.close();
  });

  test("003 api/AddAgUi.4, api/UseAgUi.4: an endpoint without an agent fails at the start, with the path of the value", async () => {
    expect(await failure({ endpoints: { a: { agent: "none" } } })).toMatchObject({
      code: "config-invalid",
      message: 'sessions/endpoints/a/agent is "none": expected one of chat.',
    });
    expect(await failure({ endpoints: { a: {} } })).toMatchObject({
      details: { setting: "sessions/endpoints/a/agent", received: "not set" },
    });
    expect(await failure({ timeoutMs: "soon" })).toMatchObject({ details: { setting: "sessions/timeoutMs" } });
  });

  test("sessions can be switched off", async () => {
    const url = await serveAgents({ agents: [chat], sessions: false });
    await expect(openSession(url, "/api/ag-ui/chat")).rejects.toThrow("refused with 404");
  });

  test("003 REQ-AC-5.4: an agent that is made of the host's services answers at a session endpoint", async () => {
    const agents = [
      ({ greeting }: { readonly greeting: string }) =>
        defineAgent({ name: "made", run: ({ emit }) => void emit.text().write(greeting) }),
    ];
    const url = await serveAgents({ agents, services: { greeting: "Welcome" } });
    const client = await openSession(url, "/api/ag-ui/made");
    expect(text(await client.ask("Hi"))).toBe("Welcome");
    await client.close();
  });
});
