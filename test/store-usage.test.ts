/**
 * What a large store says that it holds: a sample stands for all of it, which comes close, and is as quick as before. Rows are
 * put there by hand; what they would say when read does not matter here.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "heddle/store/sqlite";
import { postgresStore } from "heddle/store/postgres";
import type { StoreUsage } from "heddle/store";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { PostgresSql, TYPES, postgresDialect } from "../src/store/postgres/postgres-sql.ts";
import { postgresUsage } from "../src/store/postgres/postgres-usage.ts";
import { SqliteSql } from "../src/store/sqlite/sqlite-sql.ts";
import { sqliteUsage } from "../src/store/sqlite/sqlite-usage.ts";
import { realPostgres } from "./real-postgres.ts";

/** More than a table may have to be read whole. */
const SQLITE_ROWS = 150_000;

/** Quicker to put there, and read of by less. */
const POSTGRES_ROWS = 30_000;

/** Threads of 7 raw events, and as many rows of the log, the first half of which is longer. */
const fill = (schema: string, rows: number, numbers: string, blob: (bytes: string) => string): readonly string[] => [
  `INSERT INTO ${schema}.threads (tenant, name, log_id, tail, floor, archived, metadata, created_ms, updated_ms)
   SELECT 1, 't' || i, 'l', 10, 3, 0, '{}', i, i FROM ${numbers}`,
  `INSERT INTO ${schema}.segments (tenant, thread, first_seq, last_seq, run, loose, codec, data)
   SELECT 1, i, 1, 1, 1, 0, 0, ${blob(`CASE WHEN i < ${rows / 2} THEN 60 ELSE 20 END`)} FROM ${numbers}`,
];

const near = (usage: StoreUsage, rows: number): readonly string[] =>
  (
    [
      ["threads", rows],
      ["events", rows * 7],
      ["rawBytes", rows * 40],
    ] as const
  ).flatMap(([name, expected]) => {
    const off = Math.abs(usage[name] / expected - 1);
    return off < 0.1 ? [] : [`${name} is ${usage[name]}, not about ${expected}`];
  });

test("SQLite: a sample of a long table stands for it, holes in it included", async () => {
  const folder = mkdtempSync(join(tmpdir(), "heddle-usage-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "heddle.db");
  const store = sqliteStore(file);
  await store.open();
  await store.close();
  const sql = new SqliteSql(file);
  onTestFinished(() => sql.close());
  const numbers = `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${SQLITE_ROWS}) SELECT i FROM n)`;
  for (const statement of fill("main", SQLITE_ROWS, numbers, (bytes) => `zeroblob(${bytes})`)) sql.exec(statement);
  let read = 0;
  const watched: Pick<SqliteSql, "all" | "number"> = {
    async all(statement, values) {
      const rows = await sql.all(statement, values);
      read += Number(rows[0]?.["n"] ?? 0);
      return rows;
    },
    number: (statement) => sql.number(statement),
  };
  expect(near(await sqliteUsage(watched), SQLITE_ROWS)).toEqual([]);
  expect(read).toBeLessThanOrEqual(2 * 65_536);
  sql.exec("DELETE FROM segments WHERE rowid % 3 = 0 OR rowid BETWEEN 1000 AND 20000");
  const left = sql.number("SELECT sum(length(data)) FROM segments");
  const { rawBytes } = await sqliteUsage(sql);
  expect(Math.abs(rawBytes / left - 1)).toBeLessThan(0.1);
  const again = sqliteStore(file);
  await again.open();
  const counting = again.usage();
  await again.close();
  await expect(counting).resolves.toMatchObject({ rawBytes });
});

test("PostgreSQL: a sample of a large table stands for it", async () => {
  const server = await realPostgres();
  onTestFinished(() => server.stop());
  const schema = `large_${process.pid}`;
  const store = postgresStore(server.url, { schema });
  await store.open();
  const client = new Client({ connectionString: server.url, types: TYPES });
  await client.connect();
  const numbers = `generate_series(1, ${POSTGRES_ROWS}) i`;
  for (const statement of fill(schema, POSTGRES_ROWS, numbers, (bytes) => `decode(repeat('00', ${bytes}), 'hex')`)) {
    await client.query(statement);
  }
  const sql = new PostgresSql(client, true);
  const whole = await store.usage();
  expect([whole.threads, whole.events]).toEqual([POSTGRES_ROWS, POSTGRES_ROWS * 7]);
  const sampled = await postgresUsage(sql, postgresDialect(schema), 1024 * 1024);
  expect(sampled.threads).not.toBe(POSTGRES_ROWS);
  expect(Math.abs(sampled.rawBytes / whole.rawBytes - 1)).toBeLessThan(0.1);
  expect(near({ ...sampled, rawBytes: POSTGRES_ROWS * 40 }, POSTGRES_ROWS)).toEqual([]);
  await store.close();
  await client.query(`DROP SCHEMA ${schema} CASCADE`);
  await client.end();
});
