/** Seed 003 on the server: what an agent streams, as a client gets it over a socket, in AG-UI's own form. */
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { runStreamingAgent, toAgUiEvents } from "heddle/adapters/messages";
import type { StreamMessage, StreamingAgent } from "heddle/adapters/messages";
import { defineAgent, defineTool, toolLoop } from "heddle/agent";
import type { Agent, Model } from "heddle/agent";
import type { RunAgentInput } from "heddle/protocol";
import { createHeddle } from "heddle/server";
import { heddleHandler } from "heddle/server/fetch";
import { expect, onTestFinished, test, vi } from "vitest";
import { reasoning } from "../examples/agents/reasoning.ts";
import { deltasOf, eventsOf, post, serveAgents, typesOf } from "./serve-agents.ts";
import { attachTo, framesOf } from "./sse-client.ts";

/** An agent around one that answers with a stream of messages. */
const around = (agent: StreamingAgent): Agent =>
  defineAgent({ name: "streaming", run: ({ input, signal }) => runStreamingAgent(agent, input, { signal }) });

/** As many gates as there are pieces: the agent says one piece more for each that is opened. */
function gates(count: number) {
  const all = Array.from({ length: count }, () => Promise.withResolvers<void>());
  onTestFinished(() => all.forEach(({ resolve }) => resolve()));
  return {
    passed: (index: number): Promise<void> => all[index]?.promise ?? Promise.resolve(),
    open: (index: number): void => all[index]?.resolve(),
  };
}

/** More than the log takes early, before it gathers what comes within `lingerMs`. */
const PIECES = Array.from({ length: 30 }, (_, index) => `piece ${index} `);

test("003 REQ-2.2: pieces are passed on one after the other, each while the agent is held before the next", async () => {
  const gate = gates(PIECES.length);
  const agent = defineAgent({
    name: "held",
    async run({ emit }) {
      const reply = emit.text();
      for (const [index, piece] of PIECES.entries()) {
        await reply.write(piece);
        await gate.passed(index);
      }
    },
  });
  const url = await serveAgents({ agents: [agent] });
  const seen: unknown[] = [];
  for await (const { event } of framesOf(await post(`${url}/agents/held`, {}))) {
    // The agent is let go only by what has arrived: a piece that was held back would leave both waiting.
    if (event.type === "TEXT_MESSAGE_CONTENT") gate.open(seen.push(event["delta"]) - 1);
  }
  expect(seen).toEqual(PIECES);
});

test("003 REQ-2.3: a reader on a slow network sees everything once and in order, however far behind it is", async () => {
  const count = 4000;
  const padding = "x".repeat(1000);
  const agent = defineAgent({
    name: "counting",
    async run({ emit }) {
      const reply = emit.text();
      for (let index = 0; index < count; index++) await reply.write(`${index} ${padding}`);
    },
  });
  const url = await serveAgents({ agents: [agent] });
  const slow = request(`${url}/agents/counting`, { method: "POST", headers: { "content-type": "application/json" } });
  slow.end(JSON.stringify({ threadId: "t1", runId: "r1", messages: [{ id: "u1", role: "user", content: "Count" }] }));
  const [answer]: IncomingMessage[] = await once(slow, "response");
  // Nothing is taken while the run goes on: 4 MB do not fit into the sockets in between.
  expect(await eventsOf(attachTo(url, "t1", "r1"))).toHaveLength(count + 4);
  let text = "";
  for await (const chunk of answer?.setEncoding("utf8") ?? []) text += chunk;
  const numbers = [...text.matchAll(/"delta":"(\d+) /g)].map(([, number]) => Number(number));
  expect(numbers).toEqual(Array.from({ length: count }, (_, index) => index));
  const cursors = [...text.matchAll(/^id: ?(.*)$/gm)].map(([, cursor]) => cursor);
  expect(cursors).toEqual([...new Set(cursors)].toSorted());
});

/** Calls both tools at once, with their arguments woven, and is done when they have answered. */
const callingBoth: Model = async function* ({ messages }) {
  if (messages.some(({ role }) => role === "tool"))
    return void (yield { type: "TEXT_MESSAGE_CHUNK", messageId: "m2", delta: "Done." });
  for (const name of ["left", "right"]) {
    yield { type: "TOOL_CALL_START", toolCallId: `call-${name}`, toolCallName: name };
  }
  for (const name of ["right", "left"]) {
    yield { type: "TOOL_CALL_ARGS", toolCallId: `call-${name}`, delta: `{"for":"${name}"}` };
    yield { type: "TOOL_CALL_END", toolCallId: `call-${name}` };
  }
};

test("003 REQ-3.3: tools that are called in parallel each get events of their own", async () => {
  const all = Promise.withResolvers<void>();
  let entered = 0;
  const toolNamed = (name: string) =>
    defineTool({
      name,
      description: "Returns only when the other one runs too.",
      parameters: { type: "object" },
      async execute() {
        if (++entered === 2) all.resolve();
        await all.promise;
        return `by ${name}`;
      },
    });
  const tools = [toolNamed("left"), toolNamed("right")];
  const agent = defineAgent({ name: "both", tools, run: (context) => toolLoop({ ...context, model: callingBoth }) });
  const url = await serveAgents({ agents: [agent] });
  const events = await eventsOf(post(`${url}/agents/both`, {}));
  for (const name of ["left", "right"]) {
    const own = events.filter(({ toolCallId }) => toolCallId === `call-${name}`);
    expect(typesOf(own)).toEqual(["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]);
    expect(own).toMatchObject([{ toolCallName: name }, { delta: `{"for":"${name}"}` }, {}, { content: `by ${name}` }]);
  }
  expect(deltasOf(events, "TEXT_MESSAGE_CONTENT")).toBe("Done.");
});

test("003 REQ-4.2, REQ-4.3: reasoning arrives unaltered, and its end is marked before the answer begins", async () => {
  const thoughts = ["  First,\n\n", "data: is it\r\nid: 7?", " “91” = 7 × 13 🧶\u2028", "\ttherefore\\n not prime. "];
  const agent = defineAgent({
    name: "thinking",
    async run({ emit }) {
      const thought = emit.reasoning();
      for (const piece of thoughts) await thought.write(piece);
      await thought.end();
      await emit.text().write("No.");
    },
  });
  const url = await serveAgents({ agents: [agent] });
  const events = await eventsOf(post(`${url}/agents/thinking`, {}));
  expect(deltasOf(events, "REASONING_MESSAGE_CONTENT")).toBe(thoughts.join(""));
  const types = typesOf(events);
  const ends = types.filter((type) => type === "REASONING_MESSAGE_END" || type === "REASONING_END");
  expect(ends).toEqual(["REASONING_MESSAGE_END", "REASONING_END"]);
  expect(types.indexOf("REASONING_END")).toBeLessThan(types.indexOf("TEXT_MESSAGE_START"));
  expect(types.indexOf("REASONING_MESSAGE_END")).toBeGreaterThan(types.lastIndexOf("REASONING_MESSAGE_CONTENT"));
});

test("003 REQ-4.4: with reasoning switched off nothing of it is sent, and the answer is the same", async () => {
  const url = await serveAgents({ agents: [reasoning] });
  const messages = [{ id: "u1", role: "user", content: "Is 91 prime?" }];
  const [on, off] = await Promise.all(
    [true, false].map((isOn) =>
      eventsOf(post(`${url}/agents/reasoning`, { threadId: `${isOn}`, messages, forwardedProps: { reasoning: isOn } })),
    ),
  );
  expect(typesOf(on ?? [])).toContain("REASONING_MESSAGE_CONTENT");
  expect(JSON.stringify(off)).not.toMatch(/REASONING|THINKING|divides/);
  expect(deltasOf(off ?? [], "TEXT_MESSAGE_CONTENT")).toBe("91 is 7 × 13, so it is not prime.");
});

test("003 REQ-PR-1.1, REQ-PR-1.2, REQ-PR-1.3: a handler around a streaming agent calls it with the input, and streams events", async () => {
  const generateReplyStreaming = vi.fn<StreamingAgent["generateReplyStreaming"]>(async function* (messages) {
    yield { type: "text-update", text: "You said: ", generationId: "g1" };
    const last = messages.at(-1);
    yield { type: "text-update", text: last?.type === "text" ? last.text : "?", generationId: "g1" };
  });
  const heddle = createHeddle({ agents: [around({ generateReplyStreaming })] });
  onTestFinished(() => heddle.close());
  const handle = heddleHandler(heddle);
  const asked = new Request("http://localhost/agents/streaming", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId: "t1", runId: "r1", messages: [{ id: "u1", role: "user", content: "Hello" }] }),
  });
  const events = await eventsOf(handle(asked));
  expect(generateReplyStreaming).toHaveBeenCalledOnce();
  expect(generateReplyStreaming.mock.calls[0]?.[0]).toMatchObject([{ type: "text", role: "user", text: "Hello" }]);
  expect(typesOf(events)).toEqual([
    "RUN_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "RUN_FINISHED",
  ]);
  expect(deltasOf(events, "TEXT_MESSAGE_CONTENT")).toBe("You said: Hello");
});

test("003 REQ-PR-2.2: each message of the agent is sent as events before the agent makes the next", async () => {
  const gate = gates(PIECES.length);
  const url = await serveAgents({
    agents: [
      around({
        async *generateReplyStreaming() {
          for (const [index, text] of PIECES.entries()) {
            yield { type: "text-update", text, generationId: "g1" };
            await gate.passed(index);
          }
        },
      }),
    ],
  });
  const seen: unknown[] = [];
  for await (const { event } of framesOf(await post(`${url}/agents/streaming`, {}))) {
    if (event.type === "TEXT_MESSAGE_CONTENT") gate.open(seen.push(event["delta"]) - 1);
  }
  expect(seen).toEqual(PIECES);
});

const call = (id: string) => ({ callId: id, functionName: "look_up", functionArgs: `{"id":"${id}"}` });

test("003 REQ-PR-2.3: the events of one message are sent in their order", async () => {
  const message: StreamMessage = {
    type: "composite",
    generationId: "g1",
    messages: [
      { type: "reasoning", reasoning: "Both of them.", generationId: "g1" },
      { type: "text", text: "I look it up.", generationId: "g1" },
      { type: "tools-call", generationId: "g1", toolCalls: [call("c1"), call("c2")] },
    ],
  };
  const url = await serveAgents({
    agents: [
      around({
        async *generateReplyStreaming() {
          yield message;
        },
      }),
    ],
  });
  const events = (await eventsOf(post(`${url}/agents/streaming`, {}))).slice(1, -1);
  const converted = toAgUiEvents(message);
  expect(typesOf(events)).toEqual(converted.map(({ type }) => type));
  expect(events.flatMap(({ toolCallId, delta }) => (delta === undefined ? [] : [[toolCallId, delta]]))).toEqual([
    [undefined, "Both of them."],
    [undefined, "I look it up."],
    ["c1", '{"id":"c1"}'],
    ["c2", '{"id":"c2"}'],
  ]);
});

test("003 REQ-AC-3.2: a valid input is handed over as it was posted, and one that is not calls nobody", async () => {
  const inputs: RunAgentInput[] = [];
  const agent = defineAgent({ name: "curious", run: ({ input }) => void inputs.push(input) });
  const url = await serveAgents({ agents: [agent] });
  const input = {
    messages: [{ id: "u1", role: "user", content: [{ type: "text", text: "What is this?" }] }],
    tools: [{ name: "confirm", description: "Asks.", parameters: { type: "object" } }],
    context: [{ description: "Language", value: "en" }],
    state: { count: 1 },
    forwardedProps: { colour: "red" },
  };
  for (const broken of [{ messages: 7 }, { messages: [{ id: "u1", role: "user" }] }, { threadId: "" }]) {
    const refused = await post(`${url}/agents/curious`, { ...input, ...broken });
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: "input-invalid" } }]);
  }
  await eventsOf(post(`${url}/agents/curious`, input));
  expect(inputs).toEqual([{ threadId: "t1", runId: "r1", protocolVersion: "1.0", ...input }]);
});

test("003 purpose/usage: the tokens of a run are told at its end, and with its times wherever it is asked for", async () => {
  const usage = { provider: "scripted", model: "m", inputTokens: 7, outputTokens: 5 };
  const agent = defineAgent({
    name: "counted",
    async run({ emit }) {
      await emit.text().write("Hello.");
      emit.usage(usage);
    },
  });
  const url = await serveAgents({ agents: [agent] });
  const answer = await post(`${url}/agents/counted`, {});
  expect((await eventsOf(answer)).at(-1)).toMatchObject({ type: "RUN_FINISHED", usage: [usage] });
  const run = await fetch(`${url}${answer.headers.get("content-location")}`);
  expect(await run.json()).toMatchObject({ status: "finished", usage: [usage], durationMs: expect.any(Number) });
});
