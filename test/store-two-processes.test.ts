/**
 * Several processes on one PostgreSQL, and a bad network between them and it: answers that are lost after the commit,
 * hints that never come, a process that is paused past its leases and wakes up. No gap, no double, no two owners; and
 * viewers in either process see the same stream.
 *
 * Faults come from a seed that a failure names: HEDDLE_TEST_SEED repeats it, as far as two processes can be repeated.
 */
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { postgresStore } from "heddle/store/postgres";
import { endRun, readAll, settleRun } from "heddle/store";
import type { Lease, RunEnd, RunInfo, Store, StoredEvent } from "heddle/store";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Random } from "../src/testing/store-contract/random.ts";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";
import { checkThread } from "./store-children/check-log.ts";
import { Child, bundled } from "./store-children/child.ts";
import type { PeerConfig, PeerOrder, PeerReport } from "./store-children/peer-child.ts";
import { TENANT } from "./store-children/run-script.ts";
import { TcpProxy } from "./store-children/tcp-proxy.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const SEED = Number(process.env["HEDDLE_TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
const LEASE_MS = 600;

let server: RealPostgres;
let folder: string;
let program: string;
let schemas = 0;
const children: Child<PeerReport>[] = [];
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  server = await realPostgres();
  folder = await mkdtemp(join(tmpdir(), "heddle-peers-"));
  program = await bundled("peer-child", folder);
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.kill();
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const newSchema = (): string => `peers_${process.pid}_${++schemas}`;

async function proxy(): Promise<TcpProxy> {
  const made = await TcpProxy.to(server.url);
  cleanups.push(() => made.close());
  return made;
}

function storeOf(schema: string): Store {
  const store = postgresStore(server.url, { schema, pollMs: 20 });
  cleanups.push(() => store.close());
  return store;
}

function peer(config: Partial<PeerConfig> & Pick<PeerConfig, "name" | "place" | "threads">): Child<PeerReport> {
  const given = { writers: 4, runsPerWriter: 5, leaseMs: LEASE_MS, seed: SEED, reaps: true, paceMs: 8, ...config };
  const child = new Child<PeerReport>(program, given);
  children.push(child);
  return child;
}

const order = (child: Child<PeerReport>, given: PeerOrder): void => child.order(given);

async function runsOf(store: Store, threads: readonly string[]): Promise<readonly RunInfo[]> {
  const runs = await Promise.all(threads.map((threadId) => store.runs({ tenant: TENANT, threadId })));
  return runs.flat();
}

/** Looks again and again until it is so. */
async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    const [trouble] = children.flatMap((child) => child.all("trouble"));
    if (trouble !== undefined) throw new Error(`A process met trouble: ${trouble.what}`);
    await after(10);
  }
}

test(
  `8 writers in two processes, answers and hints lost, one process paused past its leases (seed ${SEED})`,
  async () => {
    const schema = newSchema();
    const random = new Random(SEED);
    const store = storeOf(schema);
    await store.open();
    const threads = ["a", "b", "c", "d", "e"];
    const [first, second, hints] = [await proxy(), await proxy(), await proxy()];
    const runsPerWriter = Math.ceil(6 * Math.max(1, SCALE));
    const common = { engine: "postgres", schema, timeoutMs: 2000 } as const;
    const a = peer({
      name: "a",
      threads,
      runsPerWriter,
      place: { ...common, url: first.url, listen: hints.url, pollMs: 50 },
    });
    const b = peer({
      name: "b",
      threads,
      runsPerWriter,
      place: { ...common, url: second.url, listen: false, pollMs: 20 },
    });
    await Promise.all([a.report("ready"), b.report("ready")]);
    first.fate = second.fate = () => (random.chance(2) ? "cut" : "deliver");
    for (const child of [a, b]) order(child, { type: "write" });

    // Hints stop coming, and nothing says so.
    await until(async () => (a.all("ack").length > 40 ? true : undefined));
    hints.fate = () => "keep";
    // One process is paused in the middle of runs, until the other has taken one of them.
    const active = (): readonly string[] => {
      const ended = new Set(b.all("ended").map(({ runId }) => runId));
      return [...new Set(b.all("ack").map(({ runId }) => runId))].filter((runId) => !ended.has(runId));
    };
    await until(async () => (b.all("ack").length > 60 && active().length > 1 ? true : undefined));
    b.signal("SIGSTOP");
    const held = active();
    const taken = await until(async () =>
      (await runsOf(store, threads)).find(
        ({ runId, end }) => held.includes(runId) && end?.error?.code === "worker-lost",
      ),
    );
    b.signal("SIGCONT");
    hints.fate = () => "deliver";
    hints.cutAll();

    const [doneA, doneB] = await Promise.all([a.report("done"), b.report("done")]);
    first.fate = second.fate = () => "deliver";
    await until(async () =>
      (await runsOf(store, threads)).some(({ status }) => status === "running") ? undefined : true,
    );
    order(a, { type: "recover" });
    await a.report("recovered");
    const tails: Record<string, number> = {};
    const hashes: Record<string, string> = {};
    const acks = [...a.all("ack"), ...b.all("ack")];
    for (const threadId of threads) {
      const { events } = await checkThread(store, threadId, acks);
      const hash = createHash("sha256");
      for (const { seq, runId, json } of events) hash.update(`${seq} ${runId} ${json}\n`);
      tails[threadId] = events.length;
      hashes[threadId] = hash.digest("hex");
    }
    for (const child of [a, b]) order(child, { type: "look", tails });
    expect((await a.report("seen")).hashes).toEqual(hashes);
    expect((await b.report("seen")).hashes).toEqual(hashes);

    // The faults have to have happened.
    expect(first.cuts).toBeGreaterThan(0);
    expect(second.cuts).toBeGreaterThan(0);
    expect(doneA.repeated + doneB.repeated).toBeGreaterThan(0);
    expect(b.all("lost").map(({ code }) => code)).toContain("run-fenced");
    expect(taken.end?.status).toBe("failed");
    for (const child of [a, b]) {
      order(child, { type: "close" });
      await child.report("closed");
    }
  },
  120_000 * Math.max(1, SCALE),
);

const FINISHED: RunEnd = { status: "finished", interrupts: [], pendingToolCallIds: [] };

const text = (event: object): string => JSON.stringify(event);

async function logOf(store: Store, threadId: string): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of readAll(store, { tenant: TENANT, threadId })) events.push(event);
  return events;
}

test("a writer that is paused past its lease loses the run, and writes nothing when it wakes up", async () => {
  const schema = newSchema();
  const store = storeOf(schema);
  const place = { engine: "postgres", schema, url: server.url, listen: false } as const;
  const zombie = peer({ name: "z", threads: ["t"], place, writers: 3, runsPerWriter: 1, reaps: false, paceMs: 60 });
  order(zombie, { type: "write" });
  await until(async () => (new Set(zombie.all("ack").map(({ runId }) => runId)).size === 3 ? true : undefined));
  zombie.signal("SIGSTOP");
  const taken: Lease[] = [];
  await until(async () => {
    taken.push(...(await store.takeOver({ leaseMs: 60_000 })));
    return taken.length === 3 ? true : undefined;
  });
  const [held, written, ended] = taken;
  if (held === undefined || written === undefined || ended === undefined) throw new Error("Three runs were taken.");
  // One run is held and no more, one is written to by its new owner, one is closed and goes on.
  const theirs = text({ type: "CUSTOM", name: "theirs", value: 1 });
  await store.append([{ lease: written, number: written.nextBatch, events: [theirs] }]);
  expect(await endRun(store, ended, "worker-lost")).toBe(true);
  const next = { tenant: TENANT, threadId: "t", runId: "next" };
  const claim = { ...next, agent: "weaver", parentRunId: ended.runId, kind: "continue", leaseMs: 60_000 } as const;
  const claimed = await store.claim({
    ...claim,
    events: [text({ type: "RUN_STARTED", threadId: "t", runId: "next" })],
  });
  expect(claimed.type).toBe("claimed");
  const before = await logOf(store, "t");

  zombie.signal("SIGCONT");
  await zombie.report("done");
  expect(zombie.all("lost").map(({ code }) => code)).toEqual(["run-fenced", "run-fenced", "run-fenced"]);
  const log = await logOf(store, "t");
  expect(log).toEqual(before);
  // An answer that was under way when it fell asleep may be heard late; it told the truth.
  for (const { firstSeq, runId, events } of zombie.all("ack")) {
    const acked = events.map((json, index) => ({ seq: firstSeq + index, runId, json }));
    expect(log.slice(firstSeq - 1, firstSeq - 1 + events.length)).toEqual(acked);
  }
  // The new owner still has them.
  expect((await store.heartbeat([held, written])).map((beat) => beat.held)).toEqual([true, true]);
});

test("a process that is paused in the middle of a transaction does not keep the thread", async () => {
  const schema = newSchema();
  const store = postgresStore(server.url, { schema, timeoutMs: 10_000 });
  cleanups.push(() => store.close());
  const request = { tenant: TENANT, threadId: "t", agent: "weaver", leaseMs: 60_000, events: ["{}"] } as const;
  await store.claim({ ...request, runId: "r1" });
  const network = await proxy();
  const place = { engine: "postgres", schema, url: network.url, listen: false, timeoutMs: 500 } as const;
  const other = peer({ name: "o", threads: ["t"], place, writers: 1, runsPerWriter: 1, reaps: false });
  await other.report("ready");
  // It has the row of the thread, never hears of it, and stands still.
  const holds = Promise.withResolvers<void>();
  network.fate = (question) => {
    if (!question.includes("FOR UPDATE")) return "deliver";
    other.signal("SIGSTOP");
    holds.resolve();
    return "keep";
  };
  order(other, { type: "write" });
  await holds.promise;
  expect((await store.claim({ ...request, runId: "r2" })).type).toBe("claimed");
});

test("a snapshot that is dropped while it is read is no damage", async () => {
  const schema = newSchema();
  const store = storeOf(schema);
  const key = { tenant: TENANT, threadId: "t" };
  for (let index = 0; index < 50; index++) {
    const runId = `r${index}`;
    const run = { ...key, runId };
    const started = { type: "RUN_STARTED", threadId: "t", runId } as const;
    const claimed = await store.claim({ ...run, agent: "weaver", leaseMs: 60_000, events: [text(started)] });
    if (claimed.type !== "claimed") throw new Error(claimed.type);
    const events = [started, { type: "STATE_SNAPSHOT", snapshot: { index } }] as const;
    await store.saveSnapshot(key, { runId, seq: claimed.thread.tail, events });
    const changed = text({ type: "STATE_SNAPSHOT", snapshot: {} });
    const finished = text({ type: "RUN_FINISHED", threadId: "t", runId });
    await store.append([{ lease: claimed.lease, number: 1, events: [changed, finished], end: FINISHED }]);
    const settling = new AbortController();
    const settled = settleRun(store, run).finally(() => settling.abort());
    while (!settling.signal.aborted) await store.snapshot(run);
    await settled;
    expect((await store.snapshot(run))?.seq).toBe(claimed.thread.tail + 2);
  }
});
