/**
 * Conversations to look at, made by real runs: tools, reasoning, a plan, subagents, an open question, a failure, branches, and an
 * agent of elsewhere whose events had to be repaired. Tests of whole pages and the pictures in docs/ use them.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { approval } from "../../examples/agents/approval.ts";
import { load } from "../../examples/agents/load.ts";
import { state } from "../../examples/agents/state.ts";
import { subagents } from "../../examples/agents/subagents.ts";
import { agentsOf } from "../../examples/sample/agents/agents-of.ts";
import { readSettings } from "../../examples/sample/settings.ts";
import { remoteAgent } from "heddle/adapters/ag-ui";
import type { Agent } from "heddle/agent";
import { connect } from "heddle/client";

/** Threads of the showcase, by what they show. */
export const SHOWN = {
  branches: "weekend-in-rome",
  reasoning: "prime-numbers",
  plan: "release-plan",
  subagents: "history-of-weaving",
  question: "clean-up",
  failure: "long-count",
  repairs: "foreign-agent",
} as const;

const TITLES: Readonly<Record<string, string>> = {
  [SHOWN.branches]: "A weekend in Rome",
  [SHOWN.reasoning]: "Prime numbers",
  [SHOWN.plan]: "Ship the release",
  [SHOWN.subagents]: "History of weaving",
  [SHOWN.question]: "Clean up the build server",
  [SHOWN.failure]: "Counting to fifty",
  [SHOWN.repairs]: "An agent of elsewhere",
};

/** An agent of another language, over HTTP: it says things twice, closes what is not open, and forgets the end. */
const SLOPPY = [
  { type: "RUN_STARTED" },
  { type: "STEP_STARTED", stepName: "look up the order" },
  { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Your order 4711 " },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "left the warehouse " },
  { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "track_parcel", parentMessageId: "m1" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '{"order":4711}' },
  { type: "TOOL_CALL_ARGS", toolCallId: "c9", delta: '{"order":4712}' },
  { type: "TOOL_CALL_END", toolCallId: "c1" },
  { type: "TOOL_CALL_RESULT", messageId: "r1", toolCallId: "c1", content: '{"status":"in transit","days":2}' },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "and arrives on Friday." },
  { type: "TEXT_MESSAGE_END", messageId: "m1" },
  { type: "TEXT_MESSAGE_END", messageId: "m1" },
  { type: "STATE_DELTA", delta: [{ op: "replace", path: "/parcel/status", value: "in transit" }] },
  { type: "STEP_FINISHED", stepName: "look up the order" },
  { type: "RUN_FINISHED" },
] as const;

/** Serves the sloppy agent. */
async function sloppyServer(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const { threadId, runId }: { threadId: string; runId: string } = JSON.parse(Buffer.concat(pieces).toString());
    response.setHeader("content-type", "text/event-stream");
    for (const event of SLOPPY) {
      const framed = event.type.startsWith("RUN_") ? { ...event, threadId, runId } : event;
      response.write(`data: ${JSON.stringify(framed)}\n\n`);
    }
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port }: AddressInfo = Object(server.address());
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The agents, and the one of elsewhere, which is there until `close`. */
export async function showcaseAgents(): Promise<{
  readonly agents: readonly Agent[];
  readonly url: string;
  close(): void;
}> {
  const elsewhere = await sloppyServer();
  const settings = readSettings(new URL("../../examples/sample/settings.json", import.meta.url).pathname, {});
  const orders = remoteAgent({
    name: "orders",
    url: elsewhere.url,
    description: "Knows where orders are. Of elsewhere.",
  });
  const sample = agentsOf({ ...settings, paceMs: 4 });
  return { ...elsewhere, agents: [...sample, approval, state, subagents, load, orders] };
}

/** Makes the conversations on a server that has the agents. */
export async function fillShowcase(url: string, token?: string): Promise<void> {
  const client = connect(url, token === undefined ? {} : { token });
  const ask = async (thread: string, agent: string, text: string, props?: object): Promise<string> => {
    const message = { id: crypto.randomUUID(), role: "user", content: text } as const;
    const run = client.thread(thread).run(agent, { messages: [message], ...(props && { forwardedProps: props }) });
    await run.finished;
    return message.id;
  };
  await ask(SHOWN.failure, "load", "Count to fifty", { tokens: 50, failAt: 37 });
  await ask(SHOWN.subagents, "subagents", "weaving");
  await ask(SHOWN.plan, "state", "Ship the release");
  await ask(SHOWN.reasoning, "reasoning", "Is 221 prime?");
  await ask(SHOWN.reasoning, "reasoning", "What are the factors of 5040?");
  await ask(SHOWN.repairs, "orders", "Where is my order 4711?");
  await ask(SHOWN.question, "chat", "My name is Ada. What can you do?");
  await ask(SHOWN.question, "approval", "Delete /var/build/report.txt");
  const rome = client.thread(SHOWN.branches);
  await ask(SHOWN.branches, "tools", "What is the weather in Rome and Paris?");
  const cost = await ask(SHOWN.branches, "tools", "And what is 3 * (120 + 45)?");
  await rome.regenerate("tools").finished;
  await ask(SHOWN.branches, "chat", "That is within our budget.");
  await rome.edit("tools", cost, "What would 4 * (95 + 45) be?").finished;
  const train = await ask(SHOWN.branches, "chat", "I will take the train to Rome then.");
  await rome.edit("reasoning", train, "Is 221 prime?").finished;
  await rome.switchTo((await rome.branches()).runs.find(({ agent }) => agent === "chat")?.runId ?? "");
  await rome.restore();
  await rome.edit("tools", cost, "What is the weather in Berlin?").finished;
  await ask(SHOWN.branches, "chat", "Then we pack for rain.");
  for (const [threadId, title] of Object.entries(TITLES)) await client.threads.rename(threadId, title);
  client.close();
}
