/**
 * `resumableFetch`: what it passes on is what a connection without a cut brings, wherever the answer is cut, and the stock
 * clients, unmodified, hold in the end what they would have held. HTTP-RUN-4, HTTP-ATT-1.
 */
import { HttpAgent as Agent100 } from "@ag-ui/client";
import { HttpAgent as Agent59 } from "@ag-ui/client-0.0.59";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { defineAgent } from "../src/agent/index.ts";
import { resumableFetch } from "../src/client/index.ts";
import type { RunFetch } from "../src/client/index.ts";
import { serve } from "../src/server/fastify/index.ts";
import type { Served } from "../src/server/fastify/index.ts";
import { startRelay } from "./cutting-relay.ts";
import type { Cut, CuttingRelay } from "./cutting-relay.ts";
import { faultyProxy } from "./faulty-proxy.ts";
import { woven } from "./woven-agent.ts";

const starts = new Map<string, number>();
const counted = defineAgent({
  name: "woven",
  run(context) {
    const { threadId } = context.input;
    starts.set(threadId, (starts.get(threadId) ?? 0) + 1);
    return woven.run(Object(context));
  },
});
const asker = defineAgent({
  name: "asker",
  async run({ emit }) {
    const answer = await emit.interrupt({ reason: "confirmation", message: "Go on?" });
    await emit.text().write(Object(Object(answer).payload).confirmed === true ? "Went on." : "Stayed.");
  },
});

const held = new Map<string, () => void>();
const letGo = (threadId: string): void => held.get(threadId)?.();
const waiter = defineAgent({
  name: "waiter",
  async run({ emit, input, signal }) {
    await emit.text().write("Waiting.");
    await new Promise<void>((resolve) => {
      held.set(input.threadId, resolve);
      signal.addEventListener("abort", () => resolve());
    });
  },
});

let server: Served;
let relay: CuttingRelay;
beforeAll(async () => {
  server = await serve({ agents: [counted, asker, waiter], shutdownGraceMs: 10, port: 0, keepAliveMs: 600_000 });
  relay = await startRelay(server.url);
});
afterAll(async () => {
  await relay.close();
  await server.close();
});

const QUICK = { retry: { firstMs: 1, mostMs: 10 } };
const through = (): RunFetch => resumableFetch(relay.url, QUICK);

let count = 0;
const newThread = (): string => `thread-${String(++count).padStart(5, "0")}`;

const posted = (threadId: string, more: object = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", accept: "text/event-stream" },
  body: JSON.stringify({
    threadId,
    runId: "run",
    messages: [{ id: "asked", role: "user", content: "Wörk!" }],
    tools: [],
    context: [],
    ...more,
  }),
});

/** Frames with events: comments, and cursors alone, come when they come. */
const framesIn = (text: string): readonly string[] =>
  text.split(/(?<=\n\n)/).filter((frame) => frame.includes("data: "));

const logOf = async (threadId: string, query: string): Promise<readonly string[]> =>
  framesIn(await (await fetch(`${server.url}/threads/${threadId}/events?run=run${query}`)).text());

/** Once for a peer that names no version, and once for a current one. */
const DIALECTS = [
  { body: {}, query: "&protocol=0.0.57" },
  { body: { protocolVersion: "1.0" }, query: "" },
] as const;

describe.each(DIALECTS)("a run that is posted with $body", ({ body, query }) => {
  const passed = async (threadId: string, ...cuts: readonly Cut[]): Promise<readonly string[]> => {
    relay.plan(cuts);
    const response = await through()(`${relay.url}/agents/woven`, posted(threadId, body));
    return framesIn(await response.text());
  };

  test("is passed on as it is where nothing is cut", async () => {
    const threadId = newThread();
    const uncut = await passed(threadId);
    expect(uncut).toEqual(await logOf(threadId, query));
    expect(uncut.length).toBeGreaterThan(20);
  });

  test("is passed on as it is, cut anywhere in its body, once and again", async () => {
    const length = (await passed(newThread())).join("").length;
    for (let bytes = 0; bytes < length; bytes += 127) {
      const threadId = newThread();
      const how = bytes % 2 === 0 ? "reset" : "ended";
      const again: Cut = { part: "body", bytes: bytes % 7 === 0 ? 0 : 300 + bytes, how };
      const { cuts } = relay;
      const frames = await passed(threadId, { part: "body", bytes, how }, again);
      expect(relay.cuts).toBeGreaterThan(cuts);
      expect(frames, `cut after ${bytes}`).toEqual(await logOf(threadId, query));
      expect(starts.get(threadId)).toBe(1);
    }
  }, 60_000);

  test("is passed on as it is, cut in its head", async () => {
    for (let bytes = 0; bytes < 300; bytes += 29) {
      const threadId = newThread();
      const frames = await passed(threadId, { part: "head", bytes, how: bytes % 2 === 0 ? "reset" : "ended" });
      expect(frames, `cut after ${bytes}`).toEqual(await logOf(threadId, query));
      expect(starts.get(threadId)).toBe(1);
    }
  });
});

test("who posts only what is new is told the rest, although the first answer was lost", async () => {
  const threadId = newThread();
  await (await fetch(`${server.url}/agents/woven`, posted(threadId))).text();
  const more = { runId: "second", messages: [{ id: "more", role: "user", content: "More" }], protocolVersion: "1.0" };
  relay.plan([{ part: "head", bytes: 10, how: "reset" }]);
  const frames = framesIn(await (await through()(`${relay.url}/agents/woven`, posted(threadId, more))).text());
  const events = frames.map((frame): { type: string; messages?: { id: string }[] } =>
    JSON.parse(frame.slice(frame.indexOf("data: ") + 6)),
  );
  const snapshot = events.findLast(({ type }) => type === "MESSAGES_SNAPSHOT");
  expect(snapshot?.messages?.map(({ id }) => id)).toEqual(expect.arrayContaining(["asked", "said", "more"]));
  // Every event of the run, and not what they come to.
  expect(events.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT").length).toBeGreaterThan(1);
  expect(starts.get(threadId)).toBe(2);
});

describe("what is not a cut", () => {
  test("a refusal is passed on as it is", async () => {
    const response = await through()(`${relay.url}/agents/nobody`, posted(newThread()));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: "agent-unknown" } });
  });

  test("who leaves is gone, with their own reason, before the answer and in it", async () => {
    const left = new AbortController();
    const reason = new Error("left");
    const response = await through()(`${relay.url}/agents/waiter`, { ...posted(newThread()), signal: left.signal });
    const text = response.text();
    left.abort(reason);
    await expect(text).rejects.toBe(reason);
    await expect(through()(`${relay.url}/agents/waiter`, { ...posted(newThread()), signal: left.signal })).rejects.toBe(
      reason,
    );
  });

  test("a thread that is deleted in the middle is an error, and no end", async () => {
    const proxy = await faultyProxy(server.url);
    const threadId = newThread();
    const response = await resumableFetch(proxy.url, QUICK)(`${proxy.url}/agents/waiter`, posted(threadId));
    const text = response.text();
    proxy.isDown = true;
    proxy.cut();
    await fetch(`${server.url}/threads/${threadId}`, { method: "DELETE" });
    proxy.isDown = false;
    await expect(text).rejects.toMatchObject({ code: "thread-unknown" });
    await proxy.close();
  });

  test("a server that stays away is an error after a while", async () => {
    const gone = await startRelay(server.url);
    const away = resumableFetch(gone.url, { ...QUICK, giveUpMs: 50 });
    const response = await away(`${gone.url}/agents/waiter`, posted(newThread()));
    const text = response.text();
    await gone.close();
    await expect(text).rejects.toMatchObject({ code: "server-unreachable" });
    await expect(away(`${gone.url}/agents/waiter`, posted(newThread()))).rejects.toMatchObject({
      code: "server-unreachable",
    });
  });

  test("a server that says nothing any more is gone, and comes back", async () => {
    const proxy = await faultyProxy(server.url);
    const threadId = newThread();
    const patient = resumableFetch(proxy.url, { ...QUICK, idleMs: 150 });
    const response = await patient(`${proxy.url}/agents/waiter`, posted(threadId));
    const { connections } = proxy;
    proxy.isStuck = true;
    const text = response.text();
    await vi.waitUntil(() => proxy.connections > connections, { timeout: 5000 });
    proxy.isStuck = false;
    proxy.cut();
    letGo(threadId);
    expect(framesIn(await text)).toEqual(await logOf(threadId, "&protocol=0.0.57"));
    await proxy.close();
  });
});

/** What both versions have. */
interface Stock {
  readonly messages: readonly { readonly id: string }[];
  readonly state: unknown;
  readonly pendingInterrupts: readonly { readonly id: string }[];
  addMessage(message: object): void;
  runAgent(parameters?: object, subscriber?: object): Promise<unknown>;
  abortRun(): void;
}
type Make = (agent: string, threadId: string, fetch?: RunFetch) => Stock;
const CLIENTS: Readonly<Record<string, Make>> = {
  "1.0.0": (agent, threadId, fetch) =>
    new Agent100({ url: `${relay.url}/agents/${agent}`, threadId, ...(fetch && { fetch }) }),
  "0.0.59": (agent, threadId, fetch) =>
    new Agent59({ url: `${relay.url}/agents/${agent}`, threadId, ...(fetch && { fetch }) }),
};

const run = async (client: Stock, parameters: object = {}): Promise<readonly string[]> => {
  const types: string[] = [];
  await client.runAgent(parameters, {
    onEvent: ({ event }: { event: { type: string } }) => void types.push(event.type),
  });
  return types;
};
const asked = (client: Stock): Stock => {
  client.addMessage({ id: "asked", role: "user", content: "Wörk!" });
  return client;
};

describe.each(Object.entries(CLIENTS))("the stock client %s", (_version, make) => {
  test("holds what it would have held, wherever it is cut", async () => {
    relay.plan([]);
    const whole = asked(make("woven", newThread()));
    const events = await run(whole, { runId: "run" });
    expect(events.at(-1)).toBe("RUN_FINISHED");
    for (let bytes = 0; bytes < 3600; bytes += 149) {
      const threadId = newThread();
      const client = asked(make("woven", threadId, through()));
      const again: Cut = { part: bytes % 3 === 0 ? "head" : "body", bytes: 77, how: "reset" };
      relay.plan([{ part: "body", bytes, how: bytes % 2 === 0 ? "reset" : "ended" }, again]);
      expect(await run(client, { runId: "run" }), `cut after ${bytes}`).toEqual(events);
      expect(client.messages).toEqual(whole.messages);
      expect(client.state).toEqual(whole.state);
      expect(starts.get(threadId)).toBe(1);
    }
  });

  test("breaks without it: what is cut is not taken for whole", async () => {
    relay.plan([{ part: "body", bytes: 900, how: "reset" }]);
    await expect(run(asked(make("woven", newThread())))).rejects.toThrow(/JSON|terminated/);
  });

  test("gets its answers' run under the id that it asked for, also behind a cut", async () => {
    relay.plan([]);
    const client = asked(make("asker", newThread(), through()));
    await run(client, { runId: "run" });
    const resume = client.pendingInterrupts.map(({ id: interruptId }) => ({
      interruptId,
      status: "resolved",
      payload: { confirmed: true },
    }));
    expect(resume).toHaveLength(1);
    const runIds = new Set<unknown>();
    relay.plan([{ part: "body", bytes: 700, how: "reset" }]);
    await client.runAgent(
      { runId: "run", resume },
      { onRunFinishedEvent: ({ event }: { event: { runId: string } }) => void runIds.add(event.runId) },
    );
    expect([...runIds]).toEqual(["run"]);
    expect(client.messages.at(-1)).toMatchObject({ role: "assistant", content: "Went on." });
  });
});
