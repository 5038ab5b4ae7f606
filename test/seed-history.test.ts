/** Seeds 000, 002 and 003 on what the server keeps of a conversation: history, state and branches, asked over a socket. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent } from "heddle/agent";
import type { Agent } from "heddle/agent";
import type { Event, Message, RunAgentInput } from "heddle/protocol";
import { parseEvent } from "heddle/protocol";
import type { HistoryRule } from "heddle/server";
import { serve } from "heddle/server/fastify";
import { sqliteStore } from "heddle/store/sqlite";
import { reduceAll } from "heddle/stream";
import type { ThreadView } from "heddle/stream";
import { expect, onTestFinished, test } from "vitest";
import { eventsOf, post, serveAgents, typesOf } from "./serve-agents.ts";
import { framesOf } from "./sse-client.ts";
import type { Frame } from "./sse-client.ts";

const user = (id: string, content = id): Message => ({ id, role: "user", content });
const said = (runId: string, content: string): Message => ({ id: `re-${runId}`, role: "assistant", content });
const idsOf = (messages: readonly Message[] | undefined): readonly string[] => messages?.map(({ id }) => id) ?? [];

const foldOf = (events: readonly Frame["event"][]): ThreadView =>
  reduceAll(events.flatMap((event): readonly Event[] => [parseEvent(event).value ?? []].flat()));

/** What a client sees that opens a thread and holds nothing. */
const opened = async (url: string, agent: string): Promise<ThreadView> =>
  foldOf(await eventsOf(post(`${url}/agents/${agent}/connect`, { messages: [] })));

/** An agent that answers `re: <last message>`, and keeps what it was given. */
function answering(also?: (context: Parameters<Agent["run"]>[0], turn: number) => Promise<void>) {
  const inputs: RunAgentInput[] = [];
  const agent = defineAgent({
    name: "assistant",
    async run(context) {
      const { input, emit } = context;
      const turn = inputs.push(input);
      await also?.(context, turn);
      await emit.text({ id: `re-${input.runId}` }).write(`re: ${input.messages.at(-1)?.id}`);
    },
  });
  return { agent, inputs };
}

test("000 MapAGUI: an agent at a path with a store keeps its sessions by threadId, across requests and servers", async () => {
  const folder = await mkdtemp(join(tmpdir(), "heddle-seed-map-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { agent, inputs } = answering();
  const servers = [
    [
      ["one", "r1"],
      ["one", "r2"],
    ],
    [
      ["two", "r3"],
      ["one", "r4"],
    ],
  ] as const;
  for (const asked of servers) {
    const store = sqliteStore(join(folder, "heddle.db"));
    const server = await serve({ agents: [agent], store, mounts: { "/": "assistant" }, port: 0, host: "127.0.0.1" });
    for (const [threadId, runId] of asked) {
      await eventsOf(post(`${server.url}/`, { threadId, runId, messages: [user(`u-${runId}`)] }));
    }
    await server.close();
    await store.close();
  }
  expect(inputs.map(({ messages }) => idsOf(messages))).toEqual([
    ["u-r1"],
    ["u-r1", "re-r1", "u-r2"],
    ["u-r3"],
    ["u-r1", "re-r1", "u-r2", "re-r2", "u-r4"],
  ]);
});

test("003 REQ-PR-4.1, REQ-PR-4.2, REQ-PR-4.3, REQ-PR-4.4: both sides and tool calls enter the history as they come, oldest first", async () => {
  const middle = Promise.withResolvers<void>();
  const rest = Promise.withResolvers<void>();
  onTestFinished(() => rest.resolve());
  const { agent } = answering(async ({ emit }, turn) => {
    if (turn === 2) return;
    const call = emit.toolCall("look_up", { id: "c1" });
    await call.args('{"what":"looms"}');
    await call.end();
    middle.resolve();
    await rest.promise;
    await emit.toolResult("c1", "many", { id: "result" });
  });
  const url = await serveAgents({ agents: [agent] });
  const running = eventsOf(post(`${url}/agents/assistant`, { messages: [user("u1", "How many?")] }));
  await middle.promise;
  const joined: Frame["event"][] = [];
  for await (const { event } of framesOf(await post(`${url}/agents/assistant/connect`, { messages: [] }))) {
    joined.push(event);
    // The tool answers only when whoever came in the meantime sees the question and the call.
    if (JSON.stringify(foldOf(joined).messages).includes("looms")) rest.resolve();
  }
  await running;
  await eventsOf(post(`${url}/agents/assistant`, { runId: "r2", messages: [user("u2", "Really?")] }));
  const { messages } = await opened(url, "assistant");
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user", "assistant"]);
  expect(messages).toMatchObject([
    user("u1", "How many?"),
    { toolCalls: [{ id: "c1", function: { name: "look_up", arguments: '{"what":"looms"}' } }] },
    { toolCallId: "c1", content: "many" },
    { id: "re-r1" },
    user("u2", "Really?"),
    said("r2", "re: u2"),
  ]);
  expect(foldOf(joined).messages).toEqual(messages.slice(0, 4));
});

test("000 state: it lasts, is read by both sides, is current while the run goes on, and can be changed by people", async () => {
  const gate = Promise.withResolvers<void>();
  onTestFinished(() => gate.resolve());
  const { agent, inputs } = answering(async ({ emit }, turn) => {
    if (turn > 1) return;
    await emit.state.set({ rows: 1, colour: "red" });
    await emit.state.patch([{ op: "replace", path: "/rows", value: 2 }]);
    await gate.promise;
  });
  const url = await serveAgents({ agents: [agent] });
  const live: Frame["event"][] = [];
  const states: unknown[] = [];
  for await (const { event } of framesOf(await post(`${url}/agents/assistant`, { messages: [user("u1")] }))) {
    live.push(event);
    if (event.type.startsWith("STATE")) states.push(foldOf(live).state);
    // The run cannot end before the change was seen here.
    if (event.type === "STATE_DELTA") gate.resolve();
  }
  expect(states).toEqual([
    { rows: 1, colour: "red" },
    { rows: 2, colour: "red" },
  ]);
  expect(typesOf(live).filter((type) => type.startsWith("STATE"))).toEqual(["STATE_SNAPSHOT", "STATE_DELTA"]);
  await eventsOf(post(`${url}/agents/assistant`, { runId: "r2", messages: [user("u2")] }));
  const changed = { rows: 2, colour: "blue" };
  await eventsOf(post(`${url}/agents/assistant`, { runId: "r3", messages: [user("u3")], state: changed }));
  expect(inputs.map(({ state }) => state)).toEqual([undefined, { rows: 2, colour: "red" }, changed]);
  expect((await opened(url, "assistant")).state).toEqual(changed);
});

test("000 branching: any earlier run is branched from with an input of its own, and nothing already logged changes", async () => {
  const { agent, inputs } = answering();
  const url = await serveAgents({ agents: [agent] });
  const ask = (runId: string, parentRunId?: string): Promise<unknown> =>
    eventsOf(post(`${url}/agents/assistant`, { runId, parentRunId, messages: [user(`u-${runId}`)] }));
  const logOf = async (query: string): Promise<readonly { readonly id: string; readonly event: Event }[]> => {
    const answer = await fetch(`${url}/threads/t1/events?${query}`, { headers: { accept: "application/json" } });
    return JSON.parse(await answer.text()).events;
  };
  for (const runId of ["r1", "r2", "r3"]) await ask(runId);
  const before = await logOf("all=true");
  await ask("paris", "r1");
  await ask("london", "r2");
  const log = await logOf("all=true");
  expect(log.slice(0, before.length)).toEqual(before);
  expect(inputs.slice(3).map(({ messages }) => idsOf(messages))).toEqual([
    ["u-r1", "re-r1", "u-paris"],
    ["u-r1", "re-r1", "u-r2", "re-r2", "u-london"],
  ]);
  const starts = log.flatMap(({ event }) => (event.type === "RUN_STARTED" ? [event] : []));
  expect(starts.slice(3)).toMatchObject([
    {
      runId: "paris",
      metadata: { heddle: { lineage: { parent: "r1", kind: "branch" } } },
      input: { messages: [user("u-paris")] },
    },
    {
      runId: "london",
      metadata: { heddle: { lineage: { parent: "r2", kind: "branch" } } },
      input: { messages: [user("u-london")] },
    },
  ]);
  const branch = async (head: string): Promise<readonly string[]> =>
    idsOf(reduceAll((await logOf(`head=${head}`)).map(({ event }) => event)).messages);
  expect(await branch("r3")).toEqual(["u-r1", "re-r1", "u-r2", "re-r2", "u-r3", "re-r3"]);
  expect(await branch("paris")).toEqual(["u-r1", "re-r1", "u-paris", "re-paris"]);
  expect(await branch("london")).toEqual(["u-r1", "re-r1", "u-r2", "re-r2", "u-london", "re-london"]);
});

test("000 activities: they are shown to whoever watches, and come back, but are not given to the agent", async () => {
  const { agent, inputs } = answering(async ({ emit }) => {
    emit.activity("PLAN", { steps: ["warp", "weft"] });
  });
  const url = await serveAgents({ agents: [agent] });
  const first = await eventsOf(post(`${url}/agents/assistant`, { messages: [user("u1")] }));
  expect(typesOf(first)).toContain("ACTIVITY_SNAPSHOT");
  const held = (await opened(url, "assistant")).messages;
  expect(held).toMatchObject([
    { role: "user" },
    { role: "activity", activityType: "PLAN", content: { steps: ["warp", "weft"] } },
    { role: "assistant" },
  ]);
  await eventsOf(post(`${url}/agents/assistant`, { runId: "r2", messages: [...held, user("u2")] }));
  expect(inputs.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
    ["user"],
    ["user", "assistant", "user"],
  ]);
});

test("003 REQ-SM-2.1, REQ-PR-4.5: an entry of the history has its id, time, role, content and metadata, also written out", async () => {
  const { agent } = answering();
  const url = await serveAgents({ agents: [agent] });
  const messages = [{ ...user("u1"), metadata: { app: { mood: "curious" } } }];
  const before = Date.now();
  await eventsOf(post(`${url}/agents/assistant`, { messages }));
  const snapshot: { messages: Message[]; messageTimes: Record<string, string> } = JSON.parse(
    await (await fetch(`${url}/threads/t1/snapshot`)).text(),
  );
  expect(snapshot.messages).toMatchObject([messages[0], { id: "re-r1", role: "assistant", content: "re: u1" }]);
  for (const id of ["u1", "re-r1"]) {
    expect(Date.parse(snapshot.messageTimes[id] ?? "")).toBeGreaterThanOrEqual(before);
  }
  const lines = await (await fetch(`${url}/threads/t1/export`)).text();
  expect(lines).toContain('{"app":{"mood":"curious"}}');
});

test.each<[string, HistoryRule, string]>([
  ["a limit", 3, "s u3 re-r3 u4"],
  ["a limit that would begin in the middle of a turn", 2, "s u4"],
  ["a strategy of one's own", (messages) => messages.slice(-1), "u4"],
])("003 REQ-SM-2.5: %s shortens what the agent is given, and the log keeps everything", async (_, history, given) => {
  const { agent, inputs } = answering();
  const url = await serveAgents({ agents: [agent], rules: { "*": { history } } });
  for (let turn = 1; turn <= 4; turn++) {
    const first: readonly Message[] = turn === 1 ? [{ id: "s", role: "system", content: "be kind" }] : [];
    await eventsOf(post(`${url}/agents/assistant`, { runId: `r${turn}`, messages: [...first, user(`u${turn}`)] }));
  }
  expect(idsOf(inputs.at(-1)?.messages).join(" ")).toBe(given);
  expect(idsOf((await opened(url, "assistant")).messages)).toHaveLength(8);
});
