/** `GET /status`, asked as the inspector asks it: over both hosts, by operators and others, while things happen. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Validator } from "@cfworker/json-schema";
import { defineAgent } from "heddle/agent";
import { HeddleError } from "heddle/protocol";
import type { Event } from "heddle/protocol";
import type { ServerStatus } from "heddle/server";
import { heddleHandler } from "heddle/server/fetch";
import { memoryStore } from "heddle/store";
import type { Store } from "heddle/store";
import { sqliteStore } from "heddle/store/sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { eventsOf, post, serveAgents } from "./serve-agents.ts";
import { agentOf, bodyOf, runToEnd, served } from "./served.ts";
import { attachTo, framesOf } from "./sse-client.ts";
import { openSocket } from "./ws-client.ts";

/** How long something may take on a machine that is busy otherwise too. */
const WAIT = { timeout: 20_000 };

const talker = defineAgent({ name: "talker", run: ({ emit }) => void emit.text().write("Hello.") });
const failing = defineAgent({ name: "failing", run: () => Promise.reject(new Error("out of yarn")) });
const sloppy = defineAgent({
  name: "sloppy",
  async *run(): AsyncGenerator<Event> {
    yield { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "never opened" };
  },
});

/** An agent that says a word and waits until it is let go. */
function gated() {
  const gate = Promise.withResolvers<void>();
  const agent = defineAgent({
    name: "held",
    async run({ emit, signal }) {
      const text = emit.text();
      await text.write("So far.");
      signal.addEventListener("abort", () => gate.resolve());
      await gate.promise;
      await text.write("And on.");
    },
  });
  return { agent, open: gate.resolve };
}

async function statusOf(url: string, key?: string): Promise<ServerStatus> {
  const answer = await fetch(`${url}/status`, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  const status: ServerStatus = await answer.json();
  return status;
}

/** Where the answer is not what the description says. */
async function differencesIn(url: string, status: ServerStatus): Promise<readonly unknown[]> {
  const description = await (await fetch(`${url}/openapi.json`)).json();
  const { schema } = description.paths["/status"].get.responses["200"].content["application/json"];
  return new Validator(schema, "2020-12").validate(status).errors;
}

const KEYS = {
  ann: { key: "ann-key-0123456789", tenant: "acme", user: "ann", roles: ["operator"] },
  owner: { key: "owner-key-0123456789", tenant: "acme", user: "owner", roles: ["owner"] },
  bob: { key: "bob-key-0123456789", tenant: "globex", user: "bob", roles: ["operator"] },
} as const;

const as = (who: keyof typeof KEYS): RequestInit => ({
  headers: { "content-type": "application/json", authorization: `Bearer ${KEYS[who].key}` },
});

test("HTTP-STA-1: a fresh server has nothing to tell, in the shape that is described, on both hosts", async () => {
  const heddle = served(talker);
  onTestFinished(() => heddle.close());
  const url = await serveAgents({ agents: [talker] });
  const answer = await heddleHandler(heddle)(new Request("http://heddle.test/status"));
  const here: ServerStatus = JSON.parse(await answer.text());
  const there = await statusOf(url);
  const empty = {
    version: manifest.version,
    ready: true,
    store: {
      status: "ok",
      kind: "memory",
      threads: 0,
      runs: 0,
      events: 0,
      rawBytes: 0,
      compactedBytes: 0,
      snapshotBytes: 0,
      totalBytes: 0,
    },
    runs: { running: 0, queued: 0, list: [] },
    viewers: 0,
    slowestLagEvents: 0,
    sockets: 0,
    reconnects: 0,
    commits: { count: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0, recent: [] },
    totals: { started: 0, ended: { finished: 0, interrupted: 0, cancelled: 0, failed: 0, lost: 0 }, events: 0 },
    repairs: [],
    rejections: [],
    errors: [],
  };
  for (const { startedAt, now, ...rest } of [here, there]) {
    expect(rest).toEqual(empty);
    expect(Date.parse(now)).toBeGreaterThanOrEqual(Date.parse(startedAt));
  }
  expect(await differencesIn(url, there)).toEqual([]);
});

test("HTTP-STA-1: runs, viewers, readers who come back and what waits are told while they are there", async () => {
  const { agent, open } = gated();
  const url = await serveAgents({ agents: [agent, talker], usageMs: 0 });
  const stream = framesOf(await post(`${url}/agents/held`, {}));
  const said: { readonly id: string | undefined }[] = [];
  for (let type = ""; type !== "TEXT_MESSAGE_CONTENT";) {
    const { value } = await stream.next();
    said.push({ id: value?.id });
    type = value?.event.type ?? "TEXT_MESSAGE_CONTENT";
  }
  const begun = await statusOf(url);
  expect(begun.runs).toMatchObject({ running: 1, queued: 0, list: [{ threadId: "t1", runId: "r1", agent: "held" }] });
  expect(begun.runs.list[0]?.events).toBe(said.length);
  const known = await (await fetch(`${url}/threads/t1/runs/r1`)).json();
  expect(begun.runs.list[0]?.startedAt).toBe(known.startedAt);
  expect([begun.viewers, begun.reconnects]).toEqual([1, 0]);

  const after = said[1]?.id ?? "";
  const back = framesOf(await attachTo(url, "t1", "r1", after));
  await back.next();
  const socket = await openSocket(url);
  await socket.ask({ type: "attach", thread: "t1", run: "r1", after });
  // None of these was cut off: a page of the log, a start behind what is held, one that follows from the beginning.
  await (await fetch(`${url}/threads/t1/events?after=${after}&follow=false`)).text();
  await (await fetch(`${url}/threads/t1/events?after=${after}`, { headers: { accept: "application/json" } })).text();
  await eventsOf(post(`${url}/agents/talker?parent=root&after=${after}`, { runId: "r2" }));
  await socket.ask({ type: "attach", thread: "t1", run: "r2" });
  const queued = await post(`${url}/agents/held?on_busy=enqueue`, {}, asAsync("r3", "r1"));
  expect(queued.status).toBe(202);
  // Two of those are done, and gone in a moment.
  await vi.waitFor(async () => expect((await statusOf(url)).viewers).toBe(2), WAIT);
  const busy = await statusOf(url);
  expect(busy).toMatchObject({ reconnects: 2, sockets: 1, runs: { running: 1, queued: 1 } });
  expect(await differencesIn(url, busy)).toEqual([]);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toMatch(/^heddle_reconnects_total 2$/m);

  open();
  for await (const _ of stream) continue;
  for await (const _ of back) continue;
  await vi.waitFor(async () => expect((await statusOf(url)).totals.ended["finished"]).toBe(3), WAIT);
  await vi.waitFor(async () => expect((await statusOf(url)).viewers).toBe(0), WAIT);
  const over = await statusOf(url);
  expect(over).toMatchObject({ runs: { running: 0, queued: 0, list: [] }, totals: { started: 3 } });
  expect(over.store).toMatchObject({ threads: 1, runs: 3, events: over.totals.events });
  expect(over.store.rawBytes).toBeGreaterThan(over.totals.events * 10);
  const { count, p50Ms, p95Ms, p99Ms, recent } = over.commits;
  expect(count).toBeGreaterThanOrEqual(3);
  expect(recent).toHaveLength(count);
  expect([p50Ms, p95Ms, p99Ms]).toEqual([p50Ms, p95Ms, p99Ms].toSorted((a, b) => a - b));
  expect(recent.map(({ at }) => at)).toEqual(recent.map(({ at }) => at).toSorted());
});

/** A post of a run that nobody waits for. */
const asAsync = (runId: string, parentRunId: string): RequestInit => ({
  headers: { "content-type": "application/json", prefer: "respond-async" },
  body: JSON.stringify({
    threadId: "t1",
    runId,
    parentRunId,
    messages: [{ id: `u-${runId}`, role: "user", content: "Next" }],
    protocolVersion: "1.0",
  }),
});

test("HTTP-STA-1: failures, repairs and refusals are counted and named, without what is for the log", async () => {
  const url = await serveAgents({ agents: [failing, sloppy] });
  await eventsOf(post(`${url}/agents/failing`, { threadId: "t1", runId: "r1" }));
  await eventsOf(post(`${url}/agents/sloppy`, { threadId: "t2", runId: "r2" }));
  await eventsOf(post(`${url}/agents/failing`, { threadId: "t3", runId: "r3" }));
  for (const path of ["threads/a", "threads/b", "nowhere"]) expect((await fetch(`${url}/${path}`)).status).toBe(404);
  const { errors, repairs, rejections, totals } = await statusOf(url);
  expect(repairs).toEqual([{ rule: "not-open", count: 1 }]);
  expect(rejections).toEqual([
    { code: "thread-unknown", count: 2 },
    { code: "route-unknown", count: 1 },
  ]);
  expect(totals.ended).toMatchObject({ finished: 1, failed: 2 });
  const failure = { code: "agent-failed", message: "out of yarn", agent: "failing" };
  expect(errors).toMatchObject([
    { ...failure, threadId: "t3", runId: "r3" },
    { ...failure, threadId: "t1", runId: "r1" },
  ]);
  expect(JSON.stringify(errors)).not.toMatch(/\.ts|stack|at /);
});

test("HTTP-STA-2: it is for operators, and names threads of their own tenant only", async () => {
  const { agent, open } = gated();
  const url = await serveAgents({ agents: [agent, failing], auth: { keys: KEYS } });
  expect((await fetch(`${url}/status`)).status).toBe(401);
  const refused = await fetch(`${url}/status`, as("owner"));
  expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: "role-missing" } }]);
  await eventsOf(post(`${url}/agents/failing`, { threadId: "secret-1" }, withBody("owner", "secret-1")));
  const stream = framesOf(await post(`${url}/agents/held`, {}, withBody("owner", "secret-2")));
  await stream.next();
  const [own, foreign] = [await statusOf(url, KEYS.ann.key), await statusOf(url, KEYS.bob.key)];
  expect(own.runs.list).toMatchObject([{ threadId: "secret-2", runId: "r1", agent: "held" }]);
  expect(own.errors).toMatchObject([{ threadId: "secret-1", message: "out of yarn" }]);
  expect(foreign).toMatchObject({ runs: { running: 1, list: [] }, viewers: 1, errors: [], totals: { started: 2 } });
  expect(JSON.stringify(foreign)).not.toMatch(/secret|yarn/);
  open();
  for await (const _ of stream) continue;
});

const withBody = (who: keyof typeof KEYS, threadId: string): RequestInit => ({
  ...as(who),
  body: JSON.stringify({ threadId, runId: "r1", messages: [], forwardedProps: { go: 1 }, protocolVersion: "1.0" }),
});

/** A memory store that is away as long as it is told to be. */
function fragile(): { readonly store: Store; away: boolean; asked: number } {
  const inner = memoryStore();
  const state = { away: false, asked: 0 };
  const unless = <T>(work: () => Promise<T>): Promise<T> =>
    state.away ? Promise.reject(new HeddleError("store-unavailable", "The store is away.", {})) : work();
  const store: Store = {
    ...inner,
    nowMs: () => unless(() => inner.nowMs()),
    usage: () => {
      state.asked += 1;
      return unless(() => inner.usage());
    },
  };
  return Object.assign(state, { store });
}

test("HTTP-STA-1: it answers while the store is away, with what was known, and says so once", async () => {
  const state = fragile();
  const heddle = served([talker], { store: state.store, usageMs: 0, onTrouble: () => undefined });
  onTestFinished(() => heddle.close());
  await runToEnd(heddle, bodyOf(), "talker");
  const before = await heddle.status();
  expect(before.store).toMatchObject({ status: "ok", threads: 1, runs: 1 });
  state.away = true;
  await heddle.status();
  const { ready, store } = await heddle.status();
  expect([ready, store]).toEqual([false, { ...before.store, ...store, status: "The store is away." }]);
  const trouble = { code: "store-unavailable", message: "The store is away." };
  for (const tenant of ["default", "globex"]) {
    const { errors } = await heddle.as({ tenant, roles: ["operator"] }).status();
    expect(errors).toEqual([{ at: expect.any(String), ...trouble }]);
  }
  await expect(heddle.as({ tenant: "default", roles: ["owner"] }).status()).rejects.toThrow("operator");
});

test("the store is asked how much it holds by the first who looks, and not again for a while", async () => {
  const state = fragile();
  const heddle = served([talker], { store: state.store });
  onTestFinished(() => heddle.close());
  await Promise.all([heddle.status(), heddle.status()]);
  await heddle.status();
  expect(state.asked).toBe(1);
});

test("a run that another worker left is among the errors of its tenant", async () => {
  let nowMs = 1000;
  const store = memoryStore({ nowMs: () => nowMs });
  const key = { tenant: "acme", threadId: "left", runId: "r1" };
  const started: Event = { type: "RUN_STARTED", threadId: "left", runId: "r1" };
  await store.claim({ ...key, agent: "test", leaseMs: 500, events: [JSON.stringify(started)] });
  nowMs += 500;
  const heddle = served(
    agentOf(() => undefined),
    { store },
  );
  onTestFinished(() => heddle.close());
  await heddle.open();
  const { errors } = await heddle.as({ tenant: "acme", roles: ["operator"] }).status();
  expect(errors).toMatchObject([{ code: "worker-lost", threadId: "left", runId: "r1" }]);
  expect((await heddle.status()).errors).toEqual([]);
});

test("on SQLite it tells the size of the file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "heddle-status-"));
  const store = sqliteStore(join(folder, "heddle.db"));
  const heddle = served([talker], { store });
  onTestFinished(async () => {
    await heddle.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await runToEnd(heddle, bodyOf(), "talker");
  const { store: told } = await heddle.status();
  expect(told).toMatchObject({ status: "ok", kind: "sqlite", threads: 1, runs: 1 });
  expect(told.rawBytes).toBeGreaterThan(0);
  expect(told.totalBytes).toBeGreaterThan(told.rawBytes + told.snapshotBytes + told.compactedBytes);
});
