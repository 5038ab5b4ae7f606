/**
 * Writes the databases of this version of the schema into `test/fixtures`: `store-v<n>.db` for SQLite, `store-v<n>.sql` for
 * PostgreSQL, and beside each what it tells, as JSON. Run once when a version of the schema is published: fixtures of
 * published versions are never written again, so it refuses to unless it is told `--again`.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { MIGRATIONS as POSTGRES } from "../src/store/postgres/migrations.ts";
import { postgresStore } from "../src/store/postgres/index.ts";
import { MIGRATIONS as SQLITE } from "../src/store/sqlite/migrations.ts";
import { sqliteStore } from "../src/store/sqlite/index.ts";
import type { Store } from "../src/store/index.ts";
import { contentsOf, fillFixture } from "../test/fixture-contents.ts";
import { realPostgres } from "../test/real-postgres.ts";

const FOLDER = join(import.meta.dirname, "..", "test", "fixtures");
const SCHEMA = "fixture";
/** Tables with their keys, and the column that numbers itself. */
const TABLES = [
  ["tenants", "id", "id"],
  ["threads", "tenant, id", "id"],
  ["runs", "tenant, thread, id", "id"],
  ["segments", "tenant, thread, last_seq", undefined],
  ["snapshots", "tenant, thread, run, seq", undefined],
  ["blobs", "tenant, thread, hash", undefined],
  ["compacted", "tenant, thread, run", undefined],
  ["queue", "tenant, thread, id", "id"],
  ["tool_calls", "tenant, thread, name", undefined],
  ["members", "tenant, thread, name", undefined],
  ["tickets", "hash", undefined],
] as const;

mkdirSync(FOLDER, { recursive: true });
await makeSqlite(fresh(`store-v${SQLITE.length}.db`));
await makePostgres(fresh(`store-v${POSTGRES.length}.sql`));

function fresh(name: string): string {
  const file = join(FOLDER, name);
  if (existsSync(file) && !process.argv.includes("--again")) {
    throw new Error(`${file} is kept for ever: add a migration first, or say --again while it is not published.`);
  }
  for (const old of [file, `${file}-lock`, `${file}.json`]) rmSync(old, { force: true });
  return file;
}

async function tell(store: Store, file: string): Promise<void> {
  writeFileSync(`${file}.json`, JSON.stringify(await contentsOf(store), undefined, 2));
  spawnSync("oxfmt", [`${file}.json`], { stdio: "inherit" });
}

async function makeSqlite(file: string): Promise<void> {
  const store = sqliteStore(file);
  await fillFixture(store);
  await tell(store, file);
  await store.close();
  rmSync(`${file}-lock`, { force: true });
}

async function makePostgres(file: string): Promise<void> {
  const server = await realPostgres();
  const store = postgresStore(server.url, { schema: SCHEMA, listen: false });
  await fillFixture(store);
  await tell(store, file);
  await store.close();
  const client = new Client({ connectionString: server.url });
  await client.connect();
  const lines = [
    "CREATE SCHEMA {schema};",
    "CREATE TABLE {schema}.migrations (version bigint PRIMARY KEY, at timestamptz NOT NULL);",
    ...POSTGRES.flatMap((step, index) => [
      step.trim(),
      `INSERT INTO {schema}.migrations (version, at) VALUES (${index + 1}, now());`,
    ]),
  ];
  for (const [table, key, numbered] of TABLES) lines.push(...(await dump(client, table, key, numbered)));
  writeFileSync(file, `${lines.join("\n")}\n`);
  await client.end();
  await server.stop();
}

async function dump(client: Client, table: string, key: string, numbered: string | undefined): Promise<string[]> {
  const { rows } = await client.query<Record<string, unknown>>(`SELECT * FROM ${SCHEMA}.${table} ORDER BY ${key}`);
  const lines = rows.map((row) => {
    const values = Object.values(row).map((value) => literal(value));
    const given = numbered === undefined ? "" : "OVERRIDING SYSTEM VALUE ";
    return `INSERT INTO {schema}.${table} (${Object.keys(row).join(", ")}) ${given}VALUES (${values.join(", ")});`;
  });
  if (numbered === undefined) return lines;
  const newest = `(SELECT max(${numbered}) FROM {schema}.${table})`;
  return [...lines, `SELECT setval(pg_get_serial_sequence('{schema}.${table}', '${numbered}'), ${newest});`];
}

function literal(value: unknown): string {
  if (value === null) return "NULL";
  if (Buffer.isBuffer(value)) return `'\\x${value.toString("hex")}'`;
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  throw new Error(`A value of a kind that is not written here: ${typeof value}`);
}
