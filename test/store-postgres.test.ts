/** The PostgreSQL store keeps the contract, on a real server, with hints and without them. */
import type { Store } from "heddle/store";
import { postgresStore } from "heddle/store/postgres";
import type { PostgresStoreOptions } from "heddle/store/postgres";
import { modelTest, storeContract } from "heddle/testing";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";

let server: RealPostgres;
beforeAll(async () => {
  server = await realPostgres();
});
afterAll(() => server.stop());

let schemas = 0;

async function statement(text: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(text);
  await client.end();
  return rows;
}

async function make(options: PostgresStoreOptions) {
  const schema = `kit_${process.pid}_${++schemas}`;
  const opened: Store[] = [];
  const open = (): Store => {
    const store = postgresStore(server.url, { schema, ...options });
    opened.push(store);
    return store;
  };
  const closeAll = async (): Promise<void> => {
    await Promise.all(opened.map((each) => each.close()));
  };
  return {
    store: open(),
    async reopen() {
      await closeAll();
      return open();
    },
    second: async () => open(),
    async newer() {
      const older = open();
      await older.open();
      await closeAll();
      await statement(`INSERT INTO ${schema}.migrations (version, at) VALUES (9999, now())`);
      const tables = `SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname = '${schema}'`;
      const before = JSON.stringify(await statement(tables));
      return { store: open(), untouched: async () => JSON.stringify(await statement(tables)) === before };
    },
    async dispose() {
      await closeAll();
      await statement(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    },
  };
}

describe.each([
  ["with hints", { pollMs: 60_000 }],
  ["without hints, by polling", { listen: false, pollMs: 20 }],
  ["through a pooler that cannot prepare", { listen: false, pollMs: 20, prepare: false }],
] satisfies readonly (readonly [string, PostgresStoreOptions])[])("PostgreSQL store %s", (_, options) => {
  const contract = storeContract({ name: "postgres", make: () => make(options), durable: true, others: "write" });
  test.each(contract)("$title", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

describe("PostgreSQL store", () => {
  test.each(Array.from({ length: Math.ceil(4 * SCALE) }, (_, index) => index + 1))(
    "answers like the memory store, through either of two handles, seed %i",
    async (seed) => {
      const under = { name: "postgres", make: () => make({ pollMs: 60_000 }), seed, others: "write" } as const;
      await expect(modelTest(under)).resolves.toBeUndefined();
    },
  );
});
