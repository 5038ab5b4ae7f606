/** `HeddleAgent`: the stock client's own class on a Heddle server, cut, reloaded, stopped and left. HTTP-CON-1. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { AgentSubscriber, BaseEvent } from "@ag-ui/client";
import { defineAgent } from "../src/agent/index.ts";
import { connect } from "../src/client/index.ts";
import { HeddleAgent } from "../src/client/ag-ui/index.ts";
import { serve } from "../src/server/fastify/index.ts";
import type { Served } from "../src/server/fastify/index.ts";
import { startRelay } from "./cutting-relay.ts";
import type { CuttingRelay } from "./cutting-relay.ts";
import { woven } from "./woven-agent.ts";

/** Says a word, waits, and says another. */
const held = new Map<string, () => void>();
const waiter = defineAgent({
  name: "waiter",
  async run({ emit, input, signal }) {
    const text = emit.text();
    await text.write("Half");
    await new Promise<void>((resolve) => {
      held.set(input.threadId, resolve);
      signal.addEventListener("abort", () => resolve());
    });
    await text.write(" and half.");
  },
});

let server: Served;
let relay: CuttingRelay;
beforeAll(async () => {
  server = await serve({ agents: [Object(woven), waiter], port: 0, shutdownGraceMs: 10, keepAliveMs: 600_000 });
  relay = await startRelay(server.url);
});
afterAll(async () => {
  await relay.close();
  await server.close();
});

const agentOn = (threadId: string, agent = "woven", url = relay.url): HeddleAgent =>
  new HeddleAgent({ url, agent, threadId, retry: { firstMs: 1, mostMs: 10 } });

const asking = (agent: HeddleAgent): HeddleAgent => {
  agent.addMessage({ id: "asked", role: "user", content: "Hello" });
  return agent;
};

/** A subscriber that keeps what it was told, and says when an event of a type came. */
function watching(): AgentSubscriber & { readonly events: BaseEvent[]; saw(type: string): Promise<void> } {
  const events: BaseEvent[] = [];
  const watchers = new Set<() => void>();
  return {
    events,
    onEvent({ event }) {
      events.push(event);
      for (const watcher of watchers) watcher();
    },
    saw: (type) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (events.some((event) => String(event.type) === type)) resolve();
        };
        watchers.add(look);
        look();
      }),
  };
}

/** The run of a thread, as the server has it. */
async function runOf(threadId: string): Promise<{ readonly status: string } | undefined> {
  const client = connect(server.url);
  onTestFinished(() => client.close());
  return (await client.thread(threadId).details()).runs.at(-1);
}

test("a run that is cut ends as one that is not, and a page that was reloaded shows it", async () => {
  relay.plan([]);
  const whole = asking(agentOn("whole"));
  await whole.runAgent({ runId: "run" });
  for (const bytes of [0, 500, 1111, 1900, 2700, 3300]) {
    const threadId = `cut-${bytes}`;
    const agent = asking(agentOn(threadId));
    const seen = watching();
    relay.plan([
      { part: "body", bytes, how: "reset" },
      { part: "body", bytes: 40, how: "ended" },
    ]);
    await agent.runAgent({ runId: "run" }, seen);
    expect(seen.events.at(-1)?.type).toBe("RUN_FINISHED");
    expect(agent.messages).toEqual(whole.messages);
    expect(agent.state).toEqual(whole.state);
    const reloaded = agentOn(threadId);
    relay.plan([{ part: "body", bytes: bytes / 4, how: "reset" }]);
    await reloaded.connectAgent();
    expect(reloaded.messages).toEqual(agent.messages);
    expect(reloaded.state).toEqual(agent.state);
  }
});

test("who connects to a run that is under way follows it to its end, over cuts", async () => {
  relay.plan([]);
  const first = asking(agentOn("live", "waiter"));
  const seen = watching();
  const told = watching();
  const running = first.runAgent({}, told);
  const second = agentOn("live", "waiter");
  await told.saw("TEXT_MESSAGE_CONTENT");
  relay.plan([
    { part: "body", bytes: 200, how: "reset" },
    { part: "body", bytes: 700, how: "reset" },
  ]);
  const connected = second.connectAgent({}, seen);
  await seen.saw("TEXT_MESSAGE_START");
  held.get("live")?.();
  await Promise.all([running, connected]);
  expect(second.messages).toEqual(first.messages);
  expect(second.messages.at(-1)?.content).toBe("Half and half.");
  expect(seen.events.at(-1)).toMatchObject({ type: "RUN_FINISHED", runId: told.events.at(-1)?.["runId"] });
});

test("a thread that is not there is empty", async () => {
  relay.plan([]);
  const agent = agentOn("nowhere");
  await agent.connectAgent();
  expect(agent.messages).toEqual([]);
});

test("abortRun stops the run, for whoever started it and whoever connected", async () => {
  relay.plan([]);
  for (const stopper of ["first", "second"]) {
    const threadId = `stopped-by-${stopper}`;
    const [first, second] = [asking(agentOn(threadId, "waiter")), agentOn(threadId, "waiter")];
    const [one, two] = [watching(), watching()];
    const running = first.runAgent({}, one);
    await one.saw("TEXT_MESSAGE_CONTENT");
    const connected = second.connectAgent({}, two);
    await two.saw("TEXT_MESSAGE_START");
    (stopper === "first" ? first : second).abortRun();
    await Promise.all([running, connected]);
    for (const { events } of [one, two]) {
      expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
    }
    expect(await runOf(threadId)).toMatchObject({ status: "cancelled" });
  }
});

test("who detaches leaves the run alone, and a copy of an agent is an agent", async () => {
  relay.plan([]);
  const agent = asking(agentOn("left", "waiter"));
  const seen = watching();
  const running = agent.runAgent({}, seen);
  await seen.saw("TEXT_MESSAGE_CONTENT");
  await agent.detachActiveRun();
  await running;
  expect(await runOf("left")).toMatchObject({ status: "running" });
  const copy = agent.clone();
  const again = watching();
  const connected = copy.connectAgent({}, again);
  await again.saw("TEXT_MESSAGE_START");
  copy.abortRun();
  await connected;
  expect(await runOf("left")).toMatchObject({ status: "cancelled" });
});
