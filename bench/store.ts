/**
 * The rows of DESIGN 12 and issue 4 on the log: appends against bare drivers that insert the same blobs in as many
 * transactions, restoring from snapshots against folding the raw log, and what a slow stream of tokens costs on disk.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Pool } from "pg";
import type { Event } from "heddle/protocol";
import { Committer, endOf, foldBranch, readAll, settleRun } from "heddle/store";
import type { Batch, Lease, RunKey, Store } from "heddle/store";
import { postgresStore } from "heddle/store/postgres";
import { sqliteStore } from "heddle/store/sqlite";
import { createPreludeState, prelude, stepPrelude } from "heddle/stream";
import { realPostgres } from "../test/real-postgres.ts";
import { cutEvents, packRow } from "../src/store/sql/segment.ts";
import { comparePerUnit, figure } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";

const TENANT = "bench";
const LEASE_MS = 3_600_000;

/** Events in a batch. */
const EVENTS = 50;
/** Transactions that are timed together. */
const TRANSACTIONS = 20;

export async function storeRows(effort: Effort): Promise<readonly Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "heddle-bench-"));
  const postgres = await realPostgres();
  try {
    return [
      await appendsOnSqlite(folder, 1, effort),
      await appendsOnSqlite(folder, 32, effort),
      await appendsOnPostgres(postgres.url, 1, effort),
      await appendsOnPostgres(postgres.url, 32, effort),
      ...(await restores(folder, effort)),
      ...(await slowTokens(folder)),
      await manyRuns(folder, effort),
    ];
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Numbers that look random and are the same on every run. */
function* numbers(seed = 1): Generator<number, never, undefined> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

const random = numbers();
const SYLLABLES = ["ta", "lo", "mi", "ren", "sha", "ku", "ver", "on", "ist", "el", "dra", "po"];
const VOCABULARY = Array.from({ length: 2000 }, () =>
  Array.from(
    { length: 1 + Math.floor(random.next().value * 3) },
    () => SYLLABLES[Math.floor(random.next().value * 12)],
  ).join(""),
);

/** Words as uneven as those of a language: a few come often, most seldom. */
const TEXT = Array.from({ length: 20_000 }, () => ` ${VOCABULARY[Math.floor(2000 * random.next().value ** 3)]}`);
const words = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => TEXT[(from + index) % TEXT.length]).join("");

const delta = (messageId: string, index: number, wordsEach = 1): Event => ({
  type: "TEXT_MESSAGE_CONTENT",
  messageId,
  delta: words(index * wordsEach, wordsEach),
  timestamp: 1_790_000_000_000 + index * 20 + ((index * 7) % 5),
});

const started = (key: RunKey): Event => ({
  type: "RUN_STARTED",
  threadId: key.threadId,
  runId: key.runId,
  timestamp: 1,
});

async function claim(store: Store, key: RunKey, parentRunId?: string): Promise<Lease> {
  const claimed = await store.claim({
    ...key,
    agent: "bench",
    leaseMs: LEASE_MS,
    events: [JSON.stringify(started(key))],
    ...(parentRunId !== undefined && { parentRunId, kind: "continue" }),
  });
  if (claimed.type !== "claimed") throw new Error(`The run was not claimed: ${claimed.type}.`);
  return claimed.lease;
}

/** The same batches again and again, under numbers that go on. */
class Appending {
  readonly #store: Store;
  readonly #leases: Lease[] = [];
  readonly events: readonly (readonly [string, ...string[]])[];
  #number = 1;

  constructor(store: Store, runs: number) {
    this.#store = store;
    this.events = Array.from({ length: runs }, (_, run) => {
      const texts = Array.from({ length: EVENTS }, (__, index) =>
        JSON.stringify(delta(`msg_${run}`, run * EVENTS + index)),
      );
      return [texts[0] ?? "", ...texts.slice(1)] as const;
    });
  }

  async open(): Promise<void> {
    for (let run = 0; run < this.events.length; run++) {
      this.#leases.push(await claim(this.#store, { tenant: TENANT, threadId: `append-${run}`, runId: "r" }));
    }
  }

  async append(): Promise<void> {
    const number = this.#number++;
    const batches = this.#leases.map((lease, run): Batch => ({ lease, number, events: this.events[run] ?? [""] }));
    const answers = await this.#store.append(batches);
    if (answers.some(({ type }) => type !== "committed")) throw new Error("A batch was refused.");
  }
}

async function times(count: number, work: () => unknown): Promise<void> {
  for (let done = 0; done < count; done++) await work();
}

async function appendsOnSqlite(folder: string, runs: number, effort: Effort): Promise<Row> {
  const store = sqliteStore(join(folder, `append-${runs}.db`));
  const appending = new Appending(store, runs);
  await appending.open();
  const blobs = appending.events.flatMap((events) =>
    cutEvents(events).map(({ text, loose }) => Buffer.from(packRow(Buffer.from(text), loose).data)),
  );
  const bare = new DatabaseSync(join(folder, `bare-${runs}.db`));
  bare.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE blobs (a INTEGER, b INTEGER, data BLOB)",
  );
  const insert = bare.prepare("INSERT INTO blobs VALUES (?, ?, ?)");
  const commitMs: number[] = [];
  const row = await comparePerUnit(
    {
      what: `SQLite: append, ${runs} × ${EVENTS} events a commit`,
      peer: "bare node:sqlite, equal blobs",
      kind: "faster",
      target: 0.6,
    },
    {
      units: TRANSACTIONS,
      work: () =>
        times(TRANSACTIONS, async () => {
          const before = performance.now();
          await appending.append();
          commitMs.push(performance.now() - before);
        }),
    },
    {
      units: TRANSACTIONS,
      work: () =>
        times(TRANSACTIONS, () => {
          bare.exec("BEGIN");
          blobs.forEach((data, index) => insert.run(index, 1, data));
          bare.exec("COMMIT");
        }),
    },
    { ...effort, sliceMs: effort.sliceMs * 5 },
  );
  tellCommits("SQLite", runs, commitMs);
  bare.close();
  await store.close();
  return row;
}

async function appendsOnPostgres(url: string, runs: number, effort: Effort): Promise<Row> {
  const store = postgresStore(url, { schema: `bench_${runs}` });
  const appending = new Appending(store, runs);
  await appending.open();
  const blobs = appending.events.flatMap((events) =>
    cutEvents(events).map(({ text, loose }) => Buffer.from(packRow(Buffer.from(text), loose).data)),
  );
  const pool = new Pool({ connectionString: url });
  await pool.query(
    `CREATE TABLE bare_${runs} (a bigint, b bigint, data bytea); ALTER TABLE bare_${runs} ALTER data SET STORAGE EXTERNAL`,
  );
  const places = blobs.map((_, index) => `(${index}, 1, $${index + 1})`).join(", ");
  const commitMs: number[] = [];
  const row = await comparePerUnit(
    {
      what: `PostgreSQL: append, ${runs} × ${EVENTS} events a commit`,
      peer: "bare pg, equal blobs, one insert",
      kind: "faster",
      target: 0.6,
    },
    {
      units: TRANSACTIONS,
      work: () =>
        times(TRANSACTIONS, async () => {
          const before = performance.now();
          await appending.append();
          commitMs.push(performance.now() - before);
        }),
    },
    {
      units: TRANSACTIONS,
      work: () =>
        times(TRANSACTIONS, () =>
          pool.query({ name: "bare", text: `INSERT INTO bare_${runs} VALUES ${places}`, values: blobs }),
        ),
    },
    { ...effort, sliceMs: effort.sliceMs * 5 },
  );
  tellCommits("PostgreSQL", runs, commitMs);
  await pool.end();
  await store.close();
  return row;
}

function tellCommits(engine: string, runs: number, commitMs: number[]): void {
  commitMs.sort((a, b) => a - b);
  const at = (part: number): string => (commitMs[Math.floor((commitMs.length - 1) * part)] ?? NaN).toFixed(1);
  console.log(
    `${engine}: ${commitMs.length} commits of ${runs * EVENTS} events, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`,
  );
}

/** A thread of runs that each answer with so many words, in deltas of so many. */
async function makeThread(
  store: Store,
  threadId: string,
  runs: number,
  answer: number,
  wordsEach: number,
): Promise<RunKey> {
  const deltas = answer / wordsEach;
  let parent: string | undefined;
  let key: RunKey = { tenant: TENANT, threadId, runId: "none" };
  const state = createPreludeState();
  for (let run = 0; run < runs; run++) {
    key = { tenant: TENANT, threadId, runId: `r${run}` };
    const lease = await claim(store, key, parent);
    const messageId = `${threadId}-m${run}`;
    const events: Event[] = [
      { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
      ...Array.from({ length: deltas }, (_, index) => delta(messageId, run * deltas + index, wordsEach)),
      { type: "TEXT_MESSAGE_END", messageId },
      { type: "RUN_FINISHED", threadId, runId: key.runId },
    ];
    for (const event of [started(key), ...events]) stepPrelude(state, event);
    const [first = "", ...rest] = events.map((event) => JSON.stringify(event));
    await store.append([{ lease, number: 1, events: [first, ...rest], end: endOf(events) }]);
    const seq = (await store.run(key))?.lastSeq ?? 0;
    await settleRun(store, key, { snapshot: { runId: key.runId, seq, events: prelude(state) }, compacted: undefined });
    parent = key.runId;
  }
  return key;
}

async function restores(folder: string, effort: Effort): Promise<readonly Row[]> {
  const store = sqliteStore(join(folder, "restore.db"));
  const runs = 100;
  const answer = effort.quick ? 200 : 2000;
  const fine = await makeThread(store, "fine", runs, answer, 1);
  const coarse = await makeThread(store, "coarse", runs, answer, 10);
  const rows = [
    await comparePerUnit(
      {
        what: `restore a branch of ${runs} runs, ${(runs * answer) / 1000}k events`,
        peer: "reading and folding the raw log",
        kind: "faster",
        target: 50,
      },
      { units: 1, work: () => foldBranch(store, fine) },
      {
        units: 1,
        work: async () => {
          const state = createPreludeState();
          for await (const { json } of readAll(store, fine)) stepPrelude(state, JSON.parse(json));
          return state;
        },
      },
      effort,
    ),
    await comparePerUnit(
      {
        what: "restore the same messages, of 10 × the events",
        peer: "a tenth of the events",
        kind: "cost",
        target: 1.3,
      },
      { units: 1, work: () => foldBranch(store, fine) },
      { units: 1, work: () => foldBranch(store, coarse) },
      { ...effort, sliceMs: effort.sliceMs * 4 },
    ),
  ];
  await store.close();
  return rows;
}

/** 2,000 deltas, each in a commit of its own, as they come at 50 a second; the run ended and settled. */
async function slowTokens(folder: string): Promise<readonly Row[]> {
  const file = join(folder, "slow.db");
  const store = sqliteStore(file);
  const key = { tenant: TENANT, threadId: "slow", runId: "r" };
  const lease = await claim(store, key);
  const deltas = 2000;
  const events: Event[] = [
    { type: "TEXT_MESSAGE_START", messageId: "msg_0123456789abcdef", role: "assistant" },
    ...Array.from({ length: deltas }, (_, index) => delta("msg_0123456789abcdef", index)),
    { type: "TEXT_MESSAGE_END", messageId: "msg_0123456789abcdef" },
    { type: "RUN_FINISHED", threadId: "slow", runId: "r" },
  ];
  let number = 1;
  for (const event of events) {
    await store.append([{ lease, number: number++, events: [JSON.stringify(event)], end: endOf([event]) }]);
  }
  await settleRun(store, key);
  await store.close();
  const database = new DatabaseSync(file, { readOnly: true });
  const numberOf = (statement: string): number => Number(Object.values(database.prepare(statement).get() ?? {})[0]);
  const rows = numberOf("SELECT count(*) FROM segments");
  const raw = numberOf("SELECT sum(length(data)) FROM segments");
  const derived =
    numberOf("SELECT sum(length(data)) FROM blobs") +
    numberOf("SELECT sum(length(data)) FROM compacted") +
    numberOf("SELECT sum(length(shell)) FROM snapshots");
  const pages = numberOf("SELECT sum(pgsize) FROM dbstat WHERE name IN ('segments', 'sqlite_autoindex_segments_1')");
  database.close();
  console.log(
    `2,000 deltas: ${(raw / deltas).toFixed(1)} B each in the log, ${(pages / deltas).toFixed(1)} B with the pages that hold them, ` +
      `${(derived / deltas).toFixed(1)} B for snapshot and compacted form`,
  );
  return [
    figure("stored per delta, log, snapshot and compacted", "bytes", (raw + derived) / deltas, 30),
    figure("rows per 32 events, after the end", "rows", (rows * 32) / deltas, 1),
  ];
}

/** 200 runs that each say something 50 times a second, for a while. */
async function manyRuns(folder: string, effort: Effort): Promise<Row> {
  const store = sqliteStore(join(folder, "many.db"));
  let commits = 0;
  const counted: Store = {
    ...store,
    append: (batches) => {
      commits += 1;
      return store.append(batches);
    },
  };
  const committer = new Committer(counted);
  const writers = [];
  for (let run = 0; run < 200; run++) {
    const key = { tenant: TENANT, threadId: `many-${run}`, runId: "r" };
    const state = createPreludeState();
    const lease = await claim(store, key);
    stepPrelude(state, started(key));
    const writer = committer.writer(lease, state);
    void writer.write({ type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" });
    writers.push(writer);
  }
  commits = 0;
  const seconds = effort.quick ? 2 : 5;
  const begun = performance.now();
  let index = 0;
  while (performance.now() - begun < seconds * 1000) {
    // A fifth of the runs every 4 ms: each speaks 50 times a second.
    for (let run = index % 5; run < writers.length; run += 5) void writers[run]?.write(delta("m", index));
    index += 1;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, begun + index * 4 - performance.now())));
  }
  const perSecond = commits / ((performance.now() - begun) / 1000);
  await committer.close();
  await store.close();
  return figure("commits a second with 200 live runs", "commits", perSecond, 100);
}
