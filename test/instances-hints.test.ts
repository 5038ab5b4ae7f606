/**
 * Servers on one PostgreSQL that cannot hear each other: whoever listens is cut off again and again, hears nothing and is not
 * told, was never answered, or does not listen at all. What is seen is the same; it only comes later. Where hints are cut
 * off nobody polls, so that whatever comes through has come by them.
 */
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { HeddleOptions, LoggedEvent } from "../src/server/index.ts";
import { postgresStore } from "../src/store/postgres/index.ts";
import type { PostgresStoreOptions } from "../src/store/postgres/index.ts";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";
import { agentOf, bodyOf, collect, served } from "./served.ts";
import { TcpProxy } from "./store-children/tcp-proxy.ts";

const NEVER_MS = 3_600_000;
const WORDS = 300;
/** Listeners are cut off so often while a run speaks. */
const CUTS = 6;
/** RUN_STARTED, the message's beginning and end, RUN_FINISHED. */
const EVENTS = WORDS + 4;

type Server = ReturnType<typeof served>;

let postgres: RealPostgres;
let admin: Client;
let schemas = 0;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  postgres = await realPostgres();
  admin = new Client({ connectionString: postgres.url });
  await admin.connect();
}, 60_000);
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});
afterAll(async () => {
  await admin.end();
  await postgres.stop();
});

/** Where talkers stop in the middle. */
let middle: Promise<unknown> = Promise.resolve();

/** Speaks for about a second. */
const talks = agentOf(async ({ emit, signal }) => {
  const reply = emit.text();
  for (let index = 0; index < WORDS; index++) {
    await reply.write(`${index} `);
    if (index % 3 === 0) await pause(10, undefined, { signal });
    if (index === WORDS / 2) await middle;
  }
}, "talks");

/** Says nothing until it is stopped. */
const waits = agentOf(async ({ signal }) => {
  if (!signal.aborted) await once(signal, "abort");
}, "waits");

function newSchema(): string {
  const schema = `deaf_${process.pid}_${++schemas}`;
  cleanups.push(() => admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`));
  return schema;
}

function serverOf(store: PostgresStoreOptions, options: Partial<HeddleOptions> = {}): Server {
  const server = served([talks, waits], { store: postgresStore(postgres.url, store), pollMs: NEVER_MS, ...options });
  cleanups.push(async () => {
    await server.close();
    await server.store.close();
  });
  return server;
}

/** Runs on one, and gives what viewers on both got. */
async function told(one: Server, two: Server, runId: string): Promise<readonly (readonly LoggedEvent[])[]> {
  await one.start("talks", bodyOf(runId, { threadId: runId }));
  return Promise.all([one, two].map((server) => collect(server, { runId }, runId)));
}

const listeners = (schema: string): string => `FROM pg_stat_activity WHERE query = 'LISTEN "${schema}_hints"'`;

/** Resolves when so many listen. */
const heard = (schema: string, count: number): Promise<void> =>
  vi.waitFor(
    async () => {
      const { rows } = await admin.query(`SELECT pid ${listeners(schema)}`);
      if (rows.length !== count) throw new Error(`${rows.length} of ${count} listen.`);
    },
    { timeout: 20_000, interval: 20 },
  );

test.each(["are terminated", "break"])("HTTP-INS-2: listeners that %s again and again miss nothing", async (how) => {
  const schema = newSchema();
  const network = await TcpProxy.to(postgres.url);
  cleanups.push(() => network.close());
  const store = { schema, pollMs: NEVER_MS, listen: network.url };
  const [one, two] = [serverOf(store), serverOf(store)];
  await Promise.all([one.open(), two.open()]);
  await heard(schema, 2);
  const over = new AbortController();
  const enough = Promise.withResolvers<void>();
  middle = enough.promise;
  let cuts = 0;
  const cutting = async (): Promise<void> => {
    for (; !over.signal.aborted; await pause(20)) {
      const { rows } = await admin.query(
        how === "break" ? `SELECT pid ${listeners(schema)}` : `SELECT pg_terminate_backend(pid) ${listeners(schema)}`,
      );
      cuts += rows.length;
      if (cuts > CUTS) enough.resolve();
      if (how === "break" && rows.length > 0) network.cutAll();
    }
  };
  const cut = cutting();
  const [here, there] = await told(one, two, "during");
  over.abort();
  await cut;
  expect(here).toHaveLength(EVENTS);
  expect(there).toEqual(here);
  // And all is well when that is over.
  await heard(schema, 2);
  const [after, elsewhere] = await told(one, two, "after");
  expect(after).toHaveLength(EVENTS);
  expect(elsewhere).toEqual(after);
});

test("a listener that hears nothing, and is not told, is found out by the poll", async () => {
  const schema = newSchema();
  const network = await TcpProxy.to(postgres.url);
  cleanups.push(() => network.close());
  const [one, two] = [serverOf({ schema }), serverOf({ schema, listen: network.url, pollMs: 20 })];
  await Promise.all([one.open(), two.open()]);
  await heard(schema, 2);
  let kept = 0;
  network.fate = () => {
    kept += 1;
    return "keep";
  };
  const [here, there] = await told(one, two, "r1");
  expect(here).toHaveLength(EVENTS);
  expect(there).toEqual(here);
  expect(kept).toBeGreaterThan(0);
});

test("nobody waits for a listener that is never answered, neither to begin nor to end", async () => {
  const schema = newSchema();
  const hole = createServer().listen(0, "127.0.0.1");
  await once(hole, "listening");
  const asked = once(hole, "connection");
  const { port }: AddressInfo = Object(hole.address());
  const listen = `postgres://heddle@127.0.0.1:${port}/postgres`;
  const [one, two] = [serverOf({ schema }), serverOf({ schema, listen, pollMs: 20, timeoutMs: NEVER_MS })];
  const [here, there] = await told(one, two, "r1");
  expect(here).toHaveLength(EVENTS);
  expect(there).toEqual(here);
  const [socket] = await asked;
  const left = once(socket.resume(), "close");
  await two.close();
  await two.store.close();
  // It takes its connection along: a process that has closed its store can end.
  await left;
  hole.close();
});

test("without a listener all of it works, when somebody looks next", async () => {
  const schema = newSchema();
  const store = { schema, listen: false, pollMs: 20 };
  const often = { pollMs: 200, leaseMs: 20_000, heartbeatMs: 200, reapMs: 300, cancelGraceMs: NEVER_MS };
  const [one, two] = [serverOf(store, often), serverOf(store, often)];
  const [here, there] = await told(one, two, "r1");
  expect(here).toHaveLength(EVENTS);
  expect(there).toEqual(here);

  // Whoever is stopped from elsewhere hears of it with the next heartbeat: nobody ends it from outside for an hour.
  const waiting = { threadId: "t2" };
  await one.start("waits", bodyOf("r1", waiting));
  const queued = await two.start("talks", bodyOf("r2", waiting), { onBusy: "enqueue" });
  expect(queued.queued).toBe(1);
  const next = collect(two, { runId: "r2", queued: true }, "t2");
  expect(await two.cancel("t2", "r1")).toMatchObject({ status: "cancelled" });
  expect(await next).toHaveLength(EVENTS);

  // A worker that is gone is found out by its lease.
  const lost = { tenant: "default", threadId: "t3", runId: "r1" };
  const events = [JSON.stringify({ type: "RUN_STARTED", threadId: "t3", runId: "r1" })] as const;
  await one.store.claim({ ...lost, agent: "waits", leaseMs: 500, events });
  for (const server of [one, two]) {
    const last = (await collect(server, { runId: "r1" }, "t3")).at(-1);
    expect(last?.event).toMatchObject({ type: "RUN_ERROR", code: "worker-lost" });
  }
  const listening = await admin.query(`SELECT pid ${listeners(schema)}`);
  expect(listening.rows).toEqual([]);
});
