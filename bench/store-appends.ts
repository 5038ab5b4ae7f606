/**
 * Appends against bare drivers that insert the same blobs in as many transactions, on the same settings.
 *
 * In our time and not in the peer's: joining and encoding the events, a checksum, the way to the writer's thread and back
 * (SQLite), looking at the run, and changing a run, a thread and two indexes for each batch. What that alone costs the
 * peer is printed too. In neither's time: merging, which waits for a pause; both sides wait until it is over, so that it
 * does not fall into the peer's time, and it is printed by itself.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { Pool } from "pg";
import type { Batch, Lease, Store } from "heddle/store";
import { postgresStore } from "heddle/store/postgres";
import { sqliteStore } from "heddle/store/sqlite";
import { packBatches } from "../src/store/sql/packed-batches.ts";
import { packRow } from "../src/store/sql/segment.ts";
import { compareTimes, median } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { TENANT, claim, delta } from "./store-runs.ts";

/** Events in a batch. */
const EVENTS = 50;
/** Transactions that are timed together. */
const TRANSACTIONS = 20;
/** Batches of a run until its rows are merged. */
const MERGED_EVERY = 64;

export async function appendRows(folder: string, postgresUrl: string, effort: Effort): Promise<readonly Row[]> {
  return [
    await onSqlite(folder, 1, effort),
    await onSqlite(folder, 32, effort),
    await onPostgres(postgresUrl, 1, effort),
    await onPostgres(postgresUrl, 32, effort),
  ];
}

/** The same batches again and again, under numbers that go on. */
class Appending {
  readonly #store: Store;
  readonly #leases: Lease[] = [];
  readonly #events: readonly (readonly [string, ...string[]])[];
  #number = 1;
  readonly commitMs: number[] = [];

  constructor(store: Store, runs: number) {
    this.#store = store;
    this.#events = Array.from({ length: runs }, (_, run) => {
      const texts = Array.from({ length: EVENTS }, (__, index) =>
        JSON.stringify(delta(`msg_${run}`, run * EVENTS + index)),
      );
      return [texts[0] ?? "", ...texts.slice(1)] as const;
    });
  }

  async open(): Promise<void> {
    for (let run = 0; run < this.#events.length; run++) {
      this.#leases.push(await claim(this.#store, { tenant: TENANT, threadId: `append-${run}`, runId: "r" }));
    }
  }

  async append(): Promise<void> {
    const begun = performance.now();
    const answers = await this.#store.append(this.#batches(this.#number++));
    if (answers.some(({ type }) => type !== "committed")) throw new Error("A batch was refused.");
    this.commitMs.push(performance.now() - begun);
  }

  #batches(number: number): readonly Batch[] {
    return this.#leases.map((lease, run): Batch => ({ lease, number, events: this.#events[run] ?? [""] }));
  }

  /** What becomes of a commit's batches in the database. */
  blobs(): readonly Uint8Array[] {
    const { batches, bytes } = packBatches(this.#batches(1));
    return batches.flatMap(({ segments }) =>
      segments.map(({ start, end, loose }) => packRow(bytes.subarray(start, end), loose).data),
    );
  }
}

/** Time of so many transactions, when nothing is merged any more. */
async function timeOf(quiet: () => Promise<void>, transaction: () => unknown): Promise<number> {
  await quiet();
  const begun = performance.now();
  for (let done = 0; done < TRANSACTIONS; done++) await transaction();
  return performance.now() - begun;
}

/** Waits until no run has rows to be merged. */
async function untilMerged(isMerged: () => Promise<boolean>): Promise<void> {
  while (!(await isMerged())) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** A kind of peer, and one transaction of it. */
type Peers = Readonly<Record<string, () => unknown>>;

/** Measures us against the bare peer, and for scale the peers that do more against it. */
async function measured(
  { engine, runs, peer }: { readonly engine: string; readonly runs: number; readonly peer: string },
  appending: Appending,
  quiet: () => Promise<void>,
  bare: () => unknown,
  others: Peers,
  { rounds, quick }: Effort,
): Promise<Row> {
  const plan = {
    what: `${engine}: append, ${runs} × ${EVENTS} events a commit`,
    peer,
    kind: "faster",
    target: 0.6,
  } as const;
  const sampling = { rounds: quick ? rounds : rounds - 4, samples: 3 };
  const theirs = (): Promise<number> => timeOf(quiet, bare);
  const row = await compareTimes(plan, () => timeOf(quiet, () => appending.append()), theirs, sampling);
  tellCommits(engine, runs, appending.commitMs);
  for (const [what, other] of Object.entries(others)) {
    const { ratio } = await compareTimes(plan, () => timeOf(quiet, other), theirs, { rounds: 3, samples: 3 });
    console.log(`  for scale: ${what}: ${ratio.toFixed(2)} × the bare one`);
  }
  await tellMerging(appending, quiet, runs);
  return row;
}

async function onSqlite(folder: string, runs: number, effort: Effort): Promise<Row> {
  const file = join(folder, `append-${runs}.db`);
  const store = sqliteStore(file);
  const appending = new Appending(store, runs);
  await appending.open();
  const reading = new DatabaseSync(file, { readOnly: true });
  const toMerge = reading.prepare(`SELECT count(*) AS n FROM runs WHERE loose >= ${MERGED_EVERY}`);
  const quiet = (): Promise<void> => untilMerged(() => Promise.resolve(toMerge.get()?.["n"] === 0));
  const blobs = appending.blobs();
  const thread = await bareThread(join(folder, `thread-${runs}.db`), blobs);
  const row = await measured(
    { engine: "SQLite", runs, peer: "bare node:sqlite, equal blobs" },
    appending,
    quiet,
    bareSqlite(join(folder, `bare-${runs}.db`), blobs, false),
    {
      "bare, in a thread of its own": thread.transaction,
      "bare, with our index, run and thread rows": bareSqlite(join(folder, `rows-${runs}.db`), blobs, true),
    },
    effort,
  );
  await thread.end();
  reading.close();
  await store.close();
  return row;
}

const SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";
const BLOBS = "CREATE TABLE blobs (a INTEGER, b INTEGER, data BLOB)";

/** One transaction of inserts; with rows, also what we promise beside them: see the head of this file. */
function bareSqlite(file: string, blobs: readonly Uint8Array[], withRows: boolean): () => void {
  const database = new DatabaseSync(file);
  database.exec(`${SETTINGS}; ${BLOBS}`);
  const insert = database.prepare("INSERT INTO blobs VALUES (?, ?, ?)");
  if (withRows) {
    database.exec(`CREATE UNIQUE INDEX blobs_by_place ON blobs (a, b);
      CREATE TABLE runs (id INTEGER PRIMARY KEY, fence INTEGER, next INTEGER, last INTEGER, lease INTEGER);
      CREATE INDEX runs_by_lease ON runs (lease);
      CREATE TABLE threads (id INTEGER PRIMARY KEY, tail INTEGER)`);
    for (const id of blobs.keys())
      database.exec(`INSERT INTO runs VALUES (${id}, 1, 1, 1, 1); INSERT INTO threads VALUES (${id}, 1)`);
  }
  const look = withRows ? database.prepare("SELECT next, last FROM runs WHERE id = ? AND fence = 1") : undefined;
  const run = withRows
    ? database.prepare("UPDATE runs SET next = next + 1, last = ?, lease = ? WHERE id = ?")
    : undefined;
  const tail = withRows ? database.prepare("UPDATE threads SET tail = ? WHERE id = ?") : undefined;
  let number = 0;
  return () => {
    number += 1;
    database.exec("BEGIN");
    for (const [id, data] of blobs.entries()) {
      look?.get(id);
      insert.run(id, number, data);
      run?.run(number * EVENTS, Date.now(), id);
      tail?.run(number * EVENTS, id);
    }
    database.exec("COMMIT");
  };
}

/** The bare peer in a thread, to which the bytes are given as ours are. */
async function bareThread(
  file: string,
  blobs: readonly Uint8Array[],
): Promise<{ readonly transaction: () => Promise<unknown>; readonly end: () => Promise<unknown> }> {
  const source = `
    const { parentPort, workerData } = require("node:worker_threads");
    const database = new (require("node:sqlite").DatabaseSync)(workerData);
    database.exec(${JSON.stringify(`${SETTINGS}; ${BLOBS}`)});
    const insert = database.prepare("INSERT INTO blobs VALUES (?, ?, ?)");
    parentPort.on("message", ({ bytes, lengths }) => {
      database.exec("BEGIN");
      let at = 0;
      for (const [id, length] of lengths.entries()) insert.run(id, 1, bytes.subarray(at, at += length));
      database.exec("COMMIT");
      parentPort.postMessage("done");
    });
    parentPort.postMessage("open");`;
  const worker = new Worker(source, { eval: true, workerData: file });
  const answer = (): Promise<unknown> => new Promise((resolve) => worker.once("message", resolve));
  await answer();
  const lengths = blobs.map(({ length }) => length);
  const transaction = (): Promise<unknown> => {
    const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
    blobs.reduce((at, blob) => (bytes.set(blob, at), at + blob.length), 0);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage({ bytes, lengths }, [bytes.buffer]);
    return answer();
  };
  return { transaction, end: () => worker.terminate() };
}

async function onPostgres(url: string, runs: number, effort: Effort): Promise<Row> {
  const schema = `bench_${runs}`;
  const store = postgresStore(url, { schema });
  const appending = new Appending(store, runs);
  await appending.open();
  const blobs = appending.blobs();
  const pool = new Pool({ connectionString: url });
  const isMerged = async (): Promise<boolean> => {
    const { rows } = await pool.query(`SELECT 1 FROM ${schema}.runs WHERE loose >= ${MERGED_EVERY} LIMIT 1`);
    return rows.length === 0;
  };
  const row = await measured(
    { engine: "PostgreSQL", runs, peer: "bare pg, equal blobs, one insert" },
    appending,
    () => untilMerged(isMerged),
    await barePostgres(pool, `bare_${runs}`, blobs, false),
    { "bare, with our key, run and thread rows": await barePostgres(pool, `rows_${runs}`, blobs, true) },
    effort,
  );
  await pool.end();
  await store.close();
  return row;
}

/** One statement of inserts; with rows, also what we promise beside them: see the head of this file. */
async function barePostgres(
  pool: Pool,
  name: string,
  blobs: readonly Uint8Array[],
  withRows: boolean,
): Promise<() => Promise<unknown>> {
  await pool.query(`CREATE TABLE ${name} (a bigint, b bigint, data bytea${withRows ? ", PRIMARY KEY (a, b)" : ""});
    ALTER TABLE ${name} ALTER data SET STORAGE EXTERNAL`);
  if (!withRows) {
    const places = blobs.map((_, index) => `(${index}, 1, $${index + 1})`).join(", ");
    return () => pool.query({ name, text: `INSERT INTO ${name} VALUES ${places}`, values: [...blobs] });
  }
  await pool.query(`CREATE TABLE ${name}_runs (id bigint PRIMARY KEY, next bigint, last bigint, lease bigint) WITH (fillfactor = 70);
    CREATE TABLE ${name}_threads (id bigint PRIMARY KEY, tail bigint) WITH (fillfactor = 70);
    INSERT INTO ${name}_runs SELECT id, 1, 1, 1 FROM generate_series(0, ${blobs.length - 1}) id;
    INSERT INTO ${name}_threads SELECT id, 1 FROM generate_series(0, ${blobs.length - 1}) id`);
  const number = `$${blobs.length + 1}::bigint`;
  const places = blobs.map((_, index) => `(${index}::bigint, ${number}, $${index + 1}::bytea)`).join(", ");
  const text = `WITH given(a, b, data) AS (VALUES ${places}),
    locked AS MATERIALIZED (SELECT id FROM ${name}_threads WHERE id IN (SELECT a FROM given) ORDER BY id FOR UPDATE),
    run AS (UPDATE ${name}_runs r SET next = next + 1, last = last + ${EVENTS},
      lease = (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM locked WHERE r.id = locked.id),
    thread AS (UPDATE ${name}_threads t SET tail = tail + ${EVENTS} FROM locked WHERE t.id = locked.id)
    INSERT INTO ${name} SELECT * FROM given`;
  let done = 0;
  return () => pool.query({ name, text, values: [...blobs, ++done] });
}

function tellCommits(engine: string, runs: number, commitMs: readonly number[]): void {
  const sorted = commitMs.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor((sorted.length - 1) * 0.99)] ?? NaN;
  const figures = `p50 ${median(commitMs).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
  console.log(`${engine}: ${commitMs.length} commits of ${runs * EVENTS} events, ${figures}`);
}

/** How long merging takes after so many commits that every run has rows to be merged; some of it goes between them. */
async function tellMerging(appending: Appending, quiet: () => Promise<void>, runs: number): Promise<void> {
  await quiet();
  for (let done = 0; done < MERGED_EVERY; done++) await appending.append();
  const begun = performance.now();
  await quiet();
  const takenMs = performance.now() - begun;
  const each = ((takenMs * 1000) / (MERGED_EVERY * EVENTS * runs)).toFixed(1);
  console.log(`  beside: merging of ${MERGED_EVERY} commits, ${takenMs.toFixed(0)} ms, ${each} µs an event`);
}
