/** Seed 003, its error protocol over real sockets: what is fatal, what is not, and what goes on. */
import { WebSocket } from "ws";
import { defineAgent, defineTool, toolLoop } from "heddle/agent";
import type { Model } from "heddle/agent";
import { HeddleError } from "heddle/protocol";
import { memoryStore } from "heddle/store";
import { expect, test } from "vitest";
import { serveAgents } from "./serve-agents.ts";
import { openSession } from "./session-client.ts";

const echo = defineAgent({
  name: "echo",
  run: ({ input, emit }) => void emit.text().write(String(input.messages.at(-1)?.content)),
});
const failing = defineAgent({
  name: "failing",
  async run({ emit }) {
    await emit.text().write("almost");
    throw new HeddleError("model-overloaded", "The model has no capacity.", { model: "loom-1" });
  },
});
/** Calls the slow tool, once. */
const model: Model = async function* ({ messages }) {
  if (messages.some(({ role }) => role === "tool")) return;
  yield { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "slow" };
  yield { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: "{}" };
  yield { type: "TOOL_CALL_END", toolCallId: "c1" };
};

const code = { code: expect.any(String), message: expect.any(String) };

test("SES-ERR-1, 003 err/session.1, err/session.4, REQ-PR-6.3, sec/validation.2: what cannot be read is answered with session-error, and the session goes on", async () => {
  const url = await serveAgents({ agents: [echo], sessions: { maxMessageBytes: 2000 } });
  const client = await openSession(url, "/api/ag-ui/echo");
  const refusals: readonly (readonly [object | string, object])[] = [
    ["{", { code: "json-invalid" }],
    ["", { code: "json-invalid" }],
    ["[]", { code: "session-invalid" }],
    [{ type: "stop" }, { code: "session-invalid", details: { path: "/type" } }],
    [{ type: "run-agent" }, { code: "session-invalid", details: { path: "/data" } }],
    [{ type: "run-agent", data: { messages: [{ role: "user" }] } }, { details: { path: "/data/messages/0/content" } }],
    [{ type: "run-agent", data: { messages: [{ role: "cook", content: "x" }] } }, { code: "session-invalid" }],
    ["x".repeat(2001), { code: "limit-exceeded", details: { allowed: 2000, actual: 2001 } }],
  ];
  for (const [message, error] of refusals) {
    client.send(message);
    expect(await client.next("session-error")).toEqual({
      type: "session-error",
      sessionId: client.sessionId,
      timestamp: expect.any(String),
      data: { error: expect.objectContaining({ ...code, isFatal: false }) },
    });
    expect(client.events.at(-1)?.data.error).toMatchObject(error);
  }
  expect(await client.ask("Still here")).toMatchObject([{ data: { text: "Still here" } }, {}, {}]);
  await client.close();
});

test("SES-ERR-2, 003 err/session.2, err/session.3, REQ-PR-6.5, REQ-AC-2.5: a fatal error is followed by session-ended in error, and a close in good order", async () => {
  const store = memoryStore();
  const url = await serveAgents({ agents: [echo], store });
  const client = await openSession(url, "/api/ag-ui/echo");
  await client.ask("Hello");
  store.snapshot = () => Promise.reject(new Error("the disk is on fire"));
  store.thread = () => Promise.reject(new Error("the disk is on fire"));
  client.say("Again");
  const [closeCode, reason] = await client.closed;
  expect([closeCode, reason]).toEqual([4500, "internal-error"]);
  expect(client.events.slice(-2)).toMatchObject([
    {
      type: "session-error",
      data: { error: { code: "internal-error", message: expect.not.stringContaining("fire"), isFatal: true } },
    },
    { type: "session-ended", data: { reason: "error", error: { code: "internal-error" } } },
  ]);
});

test("SES-ERR-3, 003 err/agent, REQ-PR-1.5, REQ-PR-6.1, ws/exchange.5: an agent's failure is agent-error with its code, and the session goes on", async () => {
  const url = await serveAgents({ agents: [failing] });
  const client = await openSession(url, "/api/ag-ui/failing");
  for (const _ of [1, 2]) {
    const events = await client.ask("Go");
    expect(events.map(({ type }) => type)).toEqual(["text-chunk", "text-message-complete", "agent-error"]);
    expect(events[2]).toEqual({
      type: "agent-error",
      sessionId: client.sessionId,
      messageId: events[0]?.messageId,
      timestamp: expect.any(String),
      data: { error: { code: "model-overloaded", message: "The model has no capacity." } },
    });
  }
  await client.close();
});

test("SES-ERR-3, 003 err/agent.4: where it is configured so, the session ends after the agent's error", async () => {
  const url = await serveAgents({
    agents: [failing],
    sessions: { endpoints: { strict: { agent: "failing", onAgentError: "end" } } },
  });
  const client = await openSession(url, "/api/ag-ui/strict");
  client.say("Go");
  expect((await client.closed)[1]).toBe("model-overloaded");
  expect(client.events.slice(-2)).toMatchObject([
    { type: "agent-error" },
    { type: "session-ended", data: { reason: "error", error: { code: "model-overloaded" } } },
  ]);
});

test("003 REQ-PR-6.2: a tool's failure is a tool-result-chunk that says so, also one that took too long", async () => {
  const slow = defineTool({
    name: "slow",
    description: "Takes its time.",
    parameters: { type: "object" },
    timeoutMs: 20,
    execute: (_: unknown, { signal }) =>
      new Promise<string>((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
  });
  const agent = defineAgent({
    name: "tools",
    tools: [slow],
    run: (context) => toolLoop({ ...context, model }),
  });
  const client = await openSession(await serveAgents({ agents: [agent] }), "/api/ag-ui/tools");
  const events = await client.ask("Go");
  expect(events.find(({ type }) => type === "tool-result-chunk")?.data).toMatchObject({
    toolCallId: "c1",
    isError: true,
    error: expect.any(String),
  });
  await client.close();
});

test("SES-ERR-1, 003 sec/rate-limit: more requests than a session may send are refused with how long to wait, those of another session are not", async () => {
  const rateLimit = { requests: 2, perMs: 60_000 };
  const url = await serveAgents({ agents: [echo], sessions: { rateLimit } });
  const client = await openSession(url, "/api/ag-ui/echo");
  await client.ask("one");
  await client.ask("two");
  client.say("three");
  const { error } = (await client.next("session-error")).data;
  expect(error).toMatchObject({
    code: "rate-limited",
    isFatal: false,
    details: { limit: "session", retryAfterMs: expect.any(Number) },
  });
  // Coming back does not help.
  await client.close();
  const again = await openSession(url, `/api/ag-ui/echo?sessionId=${client.sessionId}`);
  again.say("four");
  expect((await again.next("session-error")).data.error.code).toBe("rate-limited");
  const other = await openSession(url, "/api/ag-ui/echo");
  expect(await other.ask("one")).toHaveLength(3);
  await again.close();
  await other.close();
});

test("003 sec/rate-limit.4: a limit for all counts sessions together, and each is told", async () => {
  // Opening the two sockets counts too.
  const url = await serveAgents({ agents: [echo], rateLimits: { global: { requests: 3, perMs: 60_000 } } });
  const [one, two] = [await openSession(url, "/api/ag-ui/echo"), await openSession(url, "/api/ag-ui/echo")];
  await one.ask("one");
  two.say("two");
  expect((await two.next("session-error")).data.error).toMatchObject({
    code: "rate-limited",
    details: { limit: "global" },
  });
  await one.close();
  await two.close();
});

test("SES-ERR-1, SES-ERR-2: a frame that is no text, and one that is far too large, end the socket", async () => {
  const url = await serveAgents({ agents: [echo], maxBodyBytes: 5000 });
  const binary = await openSession(url, "/api/ag-ui/echo");
  binary.socket.send(new Uint8Array([1, 2, 3]));
  expect(await binary.closed).toEqual([4400, "frame-invalid"]);
  expect(binary.events.slice(-2)).toMatchObject([
    { type: "session-error", data: { error: { isFatal: true } } },
    { type: "session-ended" },
  ]);
  const large = await openSession(url, "/api/ag-ui/echo");
  large.send("x".repeat(6000));
  expect((await large.closed)[0]).toBe(4413);
});

test("10,000 malformed messages are each refused, and others are undisturbed", async () => {
  const url = await serveAgents({ agents: [echo] });
  const [bad, good] = [await openSession(url, "/api/ag-ui/echo"), await openSession(url, "/api/ag-ui/echo")];
  for (let index = 0; index < 10_000; index++) bad.send(`{"type":${index}`);
  expect(await good.ask("Hello")).toHaveLength(3);
  expect(await bad.ask("Hello")).toHaveLength(10_003);
  expect(bad.socket.readyState).toBe(WebSocket.OPEN);
  await bad.close();
  await good.close();
});
