/** Brings the schema of a PostgreSQL database up to date; of several starters each step is taken by one. */
import { HeddleError } from "../../protocol/index.ts";
import { numberIn } from "../sql/sql.ts";
import { MIGRATIONS } from "./migrations.ts";
import { sqlStateOf } from "./postgres-sql.ts";
import type { PostgresSql } from "./postgres-sql.ts";

/** Runs work in a transaction. */
type Within = <T>(work: (sql: PostgresSql) => Promise<T>) => Promise<T>;

/** What a starter meets when another is doing the same: it exists already, or they waited for each other. */
const TAKEN: ReadonlySet<string> = new Set(["23505", "42P06", "42P07", "42710", "40P01", "40001"]);

/** How often a step that somebody else takes is looked at. */
const ATTEMPTS = 20;

/** Takes the steps that are missing. Throws `schema-too-new` where there are more than this version knows. */
export async function migrate(within: Within, schema: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      if (await stepped(within, schema)) return;
    } catch (error) {
      if (!TAKEN.has(sqlStateOf(error) ?? "") || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Takes one step. True where none is missing. */
async function stepped(within: Within, schema: string): Promise<boolean> {
  const version = await within((sql) => versionOf(sql, schema));
  if (version > MIGRATIONS.length) {
    const message = `The schema ${schema} was written by a newer version of Heddle (${version}): update Heddle to open it.`;
    throw new HeddleError("schema-too-new", message, { schema, found: version, known: MIGRATIONS.length });
  }
  if (version === MIGRATIONS.length) return true;
  await within(async (sql) => {
    if (version === 0) {
      await sql.all(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
      await sql.all(
        `CREATE TABLE IF NOT EXISTS ${schema}.migrations (version bigint PRIMARY KEY, at timestamptz NOT NULL)`,
      );
    }
    await sql.all(`INSERT INTO ${schema}.migrations (version, at) VALUES ($1, now())`, [version + 1]);
    await sql.all((MIGRATIONS[version] ?? "").replaceAll("{schema}", schema));
  });
  return false;
}

async function versionOf(sql: PostgresSql, schema: string): Promise<number> {
  const [found] = await sql.all(
    "SELECT count(*) AS there FROM pg_tables WHERE schemaname = $1 AND tablename = 'migrations'",
    [schema],
  );
  if (found === undefined || numberIn(found, "there") === 0) return 0;
  const [row] = await sql.all(`SELECT coalesce(max(version), 0) AS version FROM ${schema}.migrations`);
  return row === undefined ? 0 : numberIn(row, "version");
}
