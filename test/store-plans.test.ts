/**
 * What is asked often is found by an index, in both engines: the list of a user among 10,000 threads of a tenant, a role,
 * and the count of running runs. A plan is looked at instead of a clock.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ListRequest } from "heddle/store";
import { postgresStore } from "heddle/store/postgres";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PostgresSql, TYPES, postgresDialect } from "../src/store/postgres/postgres-sql.ts";
import { SQLITE, SqliteSql } from "../src/store/sqlite/sqlite-sql.ts";
import { openSqliteWriter } from "../src/store/sqlite/sqlite-writer.ts";
import { SqlReads } from "../src/store/sql/sql-reads.ts";
import type { Dialect, Sql, SqlValue } from "../src/store/sql/sql.ts";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";

const THREADS = 10_000;
/** "ada" owns 10 threads and is a member of 10 others; the rest are of 500 users, and everybody shares. */
const fill = (schema: string, numbers: string): readonly string[] => [
  `INSERT INTO ${schema}.tenants (name) VALUES ('a')`,
  `INSERT INTO ${schema}.threads (tenant, name, log_id, tail, floor, archived, metadata, created_ms, updated_ms, owner)
   SELECT 1, 't' || i, 'l', 0, 0, 0, '{}', i, i, CASE WHEN i % 1000 = 0 THEN 'ada' ELSE 'u' || (i % 500) END FROM ${numbers}`,
  `INSERT INTO ${schema}.members (tenant, thread, name, role)
   SELECT 1, id, CASE WHEN id % 1000 = 1 THEN 'ada' ELSE 'u' || (id % 77) END, 'observer' FROM ${schema}.threads`,
];

const REQUESTS: readonly [ListRequest, count: number][] = [
  [{ tenant: "a", user: "ada" }, 20],
  [{ tenant: "a", user: "ada", after: "5500_t5500", limit: 3 }, 3],
  [{ tenant: "a", user: "ada", archived: false, query: "T5" }, 2],
];

interface Asked {
  readonly statement: string;
  readonly values: readonly SqlValue[];
}

/** Reads that remember what they asked last. */
function remembering(sql: Sql, dialect: Dialect): { readonly reads: SqlReads; readonly last: () => Asked } {
  let last: Asked = { statement: "", values: [] };
  const all: Sql["all"] = (statement, values = []) => {
    last = { statement, values };
    return sql.all(statement, values);
  };
  return { reads: new SqlReads({ all }, dialect), last: () => last };
}

/** How tables are looked into, line by line. */
const lookups = (plan: readonly string[]): readonly string[] =>
  plan.flatMap((line) => /^(?:SEARCH|SCAN) (?:t|m|r|main\.runs)\b.*/.exec(line) ?? []);

describe("SQLite", () => {
  let folder: string;
  let sql: SqliteSql;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "heddle-plans-"));
    const file = join(folder, "heddle.db");
    (await openSqliteWriter({ file })).close();
    sql = new SqliteSql(file);
    const numbers = `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${THREADS}) SELECT i FROM n)`;
    for (const statement of fill("main", numbers)) await sql.all(statement);
  });
  afterAll(() => {
    sql.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function planOf({ statement, values }: Asked): Promise<readonly string[]> {
    const rows = await sql.all(`EXPLAIN QUERY PLAN ${statement}`, values);
    return rows.map(({ detail }) => String(detail));
  }

  test.each(REQUESTS)("the list by %j looks at the user's threads only", async (request, count) => {
    const { reads, last } = remembering(sql, SQLITE);
    expect((await reads.listThreads(request)).threads).toHaveLength(count);
    const [owned, member, thread, ...more] = lookups(await planOf(last()));
    expect(owned).toMatch(/^SEARCH t USING INDEX threads_by_owner \(tenant=\? AND owner=\?/);
    expect(member).toMatch(/^SEARCH m USING COVERING INDEX members_by_name \(tenant=\? AND name=\?\)/);
    expect(thread).toMatch(/^SEARCH t USING INTEGER PRIMARY KEY/);
    expect(more).toEqual([]);
  });

  test("a list of everybody's threads goes along its index", async () => {
    const { reads, last } = remembering(sql, SQLITE);
    await reads.listThreads({ tenant: "a", after: "5000_t5000" });
    const plan = await planOf(last());
    expect(lookups(plan)).toEqual(["SEARCH t USING INDEX threads_by_change (tenant=? AND (updated_ms,name)<(?,?))"]);
    expect(plan.join()).not.toContain("TEMP B-TREE");
  });

  test("a role and the count of running runs are found by their indexes", async () => {
    const { reads, last } = remembering(sql, SQLITE);
    expect(await reads.roleIn({ tenant: "a", threadId: "t1000" }, "ada")).toBe("owner");
    expect((await planOf(last())).filter((line) => line.startsWith("SCAN"))).toEqual([]);
    expect(await reads.runningBy("a", "ada")).toBe(0);
    expect(lookups(await planOf(last()))).toEqual([
      "SEARCH main.runs USING INDEX runs_by_principal (tenant=? AND principal=?)",
    ]);
  });
});

/** A step of a plan, as PostgreSQL tells it. */
interface Step {
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly Step[];
}

/** How many rows of a table a plan has looked at. */
const lookedAt = (step: Step, table: string): number =>
  (step["Relation Name"] === table
    ? (step["Actual Rows"] + (step["Rows Removed by Filter"] ?? 0)) * step["Actual Loops"]
    : 0) + (step.Plans ?? []).reduce((sum, each) => sum + lookedAt(each, table), 0);

describe("PostgreSQL", () => {
  const schema = `plans_${process.pid}`;
  let server: RealPostgres;
  let client: Client;
  beforeAll(async () => {
    server = await realPostgres();
    const store = postgresStore(server.url, { schema, listen: false });
    await store.open();
    await store.close();
    client = new Client({ connectionString: server.url, types: TYPES });
    await client.connect();
    for (const statement of fill(schema, `generate_series(1, ${THREADS}) i`)) await client.query(statement);
  }, 60_000);
  afterAll(async () => {
    await client.query(`DROP SCHEMA ${schema} CASCADE`);
    await client.end();
    await server.stop();
  });

  async function planOf({ statement, values }: Asked): Promise<Step> {
    const types = values.map((value) => (typeof value === "number" ? "bigint" : "text"));
    await client.query(`PREPARE plan (${types.join(", ")}) AS ${statement}`);
    const given = values.map((value) => (typeof value === "number" ? value : `'${String(value)}'`)).join(", ");
    const { rows } = await client.query<{ readonly "QUERY PLAN": readonly { readonly Plan: Step }[] }>(
      `EXPLAIN (ANALYZE, TIMING OFF, FORMAT json) EXECUTE plan(${given})`,
    );
    await client.query("DEALLOCATE plan");
    const plan = rows[0]?.["QUERY PLAN"][0]?.Plan;
    if (plan === undefined) throw new Error("no plan");
    return plan;
  }

  test.each(
    [false, true].flatMap((known) => ["force_custom_plan", "force_generic_plan"].map((mode) => [mode, known] as const)),
  )("with %s, and the tables analysed: %s, a list looks at the user's threads only", async (mode, known) => {
    await client.query(known ? `ANALYZE ${schema}.threads, ${schema}.members, ${schema}.tenants` : "SELECT 1");
    await client.query(`SET plan_cache_mode = ${mode}`);
    const { reads, last } = remembering(new PostgresSql(client, false), postgresDialect(schema));
    for (const [request, count] of REQUESTS) {
      expect((await reads.listThreads(request)).threads).toHaveLength(count);
      const plan = await planOf(last());
      expect(lookedAt(plan, "threads")).toBeLessThanOrEqual(20);
      expect(lookedAt(plan, "members")).toBeLessThanOrEqual(10);
    }
    expect(await reads.runningBy("a", "ada")).toBe(0);
    expect(JSON.stringify(await planOf(last()))).toContain('"Index Name":"runs_by_principal"');
  });
});
