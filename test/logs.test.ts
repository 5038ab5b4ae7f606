/** What a server logs: who, what and how long; and of what people, models and tools say, nothing. */
import { Writable } from "node:stream";
import { fastify } from "fastify";
import { defineAgent, defineTool, toolLoop } from "heddle/agent";
import type { Agent } from "heddle/agent";
import type { Event } from "heddle/protocol";
import { heddlePlugin } from "heddle/server/fastify";
import type { HeddlePluginOptions } from "heddle/server/fastify";
import { expect, test } from "vitest";
import { eventsOf, post } from "./serve-agents.ts";

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [name: string]: unknown;
}

const [INFO, ERROR] = [30, 50];

/** The lines of an application at the level debug, from its start to its end. */
async function linesOf(options: HeddlePluginOptions, visit: (url: string) => Promise<void>): Promise<readonly Line[]> {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const app = fastify({ logger: { level: "debug", stream } });
  await app.register(heddlePlugin, options);
  await visit(await app.listen({ port: 0, host: "127.0.0.1" }));
  await app.close();
  return lines.map((line) => JSON.parse(line));
}

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const traced = { "content-type": "application/json", traceparent: `00-${TRACE}-b7ad6b7169203331-01` };

const looker = defineAgent({
  name: "looker",
  async run({ emit, log }) {
    log.debug("about to look", { hall: 3 });
    const call = emit.toolCall("look");
    await emit.toolResult(call.id, "42");
    const broken = emit.toolCall("weave");
    await emit.toolResult(broken.id, "no yarn", { error: "no yarn" });
    emit.usage({ model: "loom-1", inputTokens: 30, outputTokens: 12 });
  },
});

const failing = defineAgent({ name: "failing", run: () => Promise.reject(new Error("out of yarn")) });

test("003 log.3, log.4: the start and the end of a run are logged, and each tool call, with how long they took", async () => {
  let events = 0;
  const lines = await linesOf({ agents: [looker, failing] }, async (url) => {
    events = (await eventsOf(post(`${url}/agents/looker`, {}, { headers: traced }))).length;
    await eventsOf(post(`${url}/agents/failing`, { threadId: "t2" }));
  });
  const about = { agent: "looker", tenant: "default", threadId: "t1", runId: "r1", traceId: TRACE };
  const durationMs = expect.any(Number);
  expect(lines.filter(({ agent }) => agent === "looker")).toMatchObject([
    { level: INFO, msg: "run started", ...about },
    { msg: "about to look", hall: 3, ...about },
    { level: INFO, msg: "tool call ended", tool: "look", outcome: "completed", durationMs, ...about },
    { level: INFO, msg: "tool call ended", tool: "weave", outcome: "failed", durationMs, ...about },
    {
      level: INFO,
      msg: "run ended",
      status: "finished",
      durationMs,
      events,
      usage: { inputTokens: 30, outputTokens: 12, totalTokens: 42 },
      ...about,
    },
  ]);
  const failed = lines.filter(({ agent }) => agent === "failing");
  expect(failed).toMatchObject([
    { msg: "run started" },
    {
      level: ERROR,
      msg: "a run failed",
      err: { type: "Error", message: "out of yarn", stack: expect.stringContaining("logs.test") },
    },
    { level: INFO, msg: "run ended", status: "failed", code: "agent-failed" },
  ]);
  expect(failed.every((line) => !("traceId" in line))).toBe(true);
});

const SECRET = "hunter22";

/** Everything that it says is secret, and some of it wrong. */
function chatty(name: string, events: readonly unknown[]): Agent {
  return defineAgent({
    name,
    async *run() {
      for (const event of events) yield event as Event;
    },
  });
}

const loose = defineTool({
  name: "open_door",
  description: "Opens a door.",
  parameters: { type: "object", required: ["code"], properties: { code: { type: "number" } } },
  execute: () => SECRET,
});

/** Calls a tool with whatever arguments, as a model would, and answers. */
const caller = (name: string, args: string): Agent =>
  defineAgent({
    name,
    tools: [loose],
    async run(context) {
      let asked = 0;
      async function* model(): AsyncGenerator<Event> {
        if (asked++ > 0) return yield* said("m2", SECRET);
        yield { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "open_door" };
        yield { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: args };
        yield { type: "TOOL_CALL_END", toolCallId: "c1" };
      }
      await toolLoop({ ...context, model });
    },
  });

function* said(messageId: string, delta: string): Generator<Event> {
  yield { type: "TEXT_MESSAGE_START", messageId, role: "assistant" };
  yield { type: "TEXT_MESSAGE_CONTENT", messageId, delta };
  yield { type: "TEXT_MESSAGE_END", messageId };
}

const AGENTS: readonly Agent[] = [
  chatty("out-of-order", [
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: SECRET },
    { type: "STATE_DELTA", delta: [{ op: "replace", path: "/nowhere", value: SECRET }] },
    { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: SECRET },
  ]),
  chatty("malformed", [{ type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: [SECRET] }]),
  chatty("misspelt", [{ type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant", contents: SECRET }]),
  chatty("unknown", [{ type: "WHISPER", value: SECRET }]),
  chatty("no-object", [SECRET]),
  caller("good-call", `{"code":1,"why":"${SECRET}"}`),
  caller("no-json", `${SECRET}{`),
  caller("no-number", `{"code":"${SECRET}"}`),
];

const body = {
  messages: [
    { id: "s1", role: "system", content: SECRET },
    { id: "u1", role: "user", content: SECRET, mood: SECRET },
  ],
  state: { password: SECRET },
  context: [{ description: "key", value: SECRET }],
  forwardedProps: { key: SECRET },
  colour: SECRET,
};

test.each([
  ["lenient", false],
  ["strict", true],
] as const)(
  "HTTP-OPS-5: nothing that people, models or tools say, no header and no ticket is in any line (%s)",
  async (_, strict) => {
    const lines = await linesOf({ agents: AGENTS, strict, forwardHeaders: ["x-key"] }, async (url) => {
      const headers = { ...traced, authorization: `Bearer ${SECRET}`, "x-key": SECRET, cookie: `session=${SECRET}` };
      for (const { name } of AGENTS) {
        const query = `?ticket=${SECRET}`;
        const answer = await post(`${url}/agents/${name}${query}`, { threadId: name, ...body }, { headers });
        await eventsOf(answer);
        await fetch(`${url}/threads/${name}/events?follow=false&ticket=${SECRET}`, { headers });
        const meta = JSON.stringify({ metaType: "note", payload: { text: SECRET } });
        await fetch(`${url}/threads/${name}/annotations?ticket=${SECRET}`, { method: "POST", headers, body: meta });
        await fetch(`${url}/threads/${name}/annotations`, { method: "POST", headers, body: `{"${SECRET}` });
        await post(`${url}/agents/${name}`, { runId: "r2", messages: SECRET }, { headers });
      }
    });
    expect(lines.filter(({ msg }) => msg === "run ended")).toHaveLength(AGENTS.length);
    expect(lines.filter(({ msg }) => msg === "incoming request").length).toBeGreaterThan(AGENTS.length * 4);
    expect(lines.filter((line) => JSON.stringify(line).includes(SECRET))).toEqual([]);
  },
);
