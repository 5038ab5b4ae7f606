/** The SQLite store keeps the contract, on a real file that is closed, opened again and opened by others. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Store } from "heddle/store";
import { sqliteStore } from "heddle/store/sqlite";
import { modelTest, storeContract } from "heddle/testing";
import { describe, expect, test } from "vitest";

async function make() {
  const folder = await mkdtemp(join(tmpdir(), "heddle-sqlite-"));
  const file = join(folder, "heddle.db");
  const opened: Store[] = [];
  const open = (options = {}): Store => {
    const store = sqliteStore(file, options);
    opened.push(store);
    return store;
  };
  const store = open();
  return {
    store,
    async reopen() {
      await Promise.all(opened.map((each) => each.close()));
      return open();
    },
    second: async () => open({ readOnly: true, pollMs: 5 }),
    async newer() {
      await Promise.all(opened.map((each) => each.close()));
      const database = new DatabaseSync(file);
      database.exec("PRAGMA user_version = 9999");
      database.close();
      const written = await readFile(file);
      return { store: open(), untouched: async () => written.equals(await readFile(file)) };
    },
    async dispose() {
      await Promise.all(opened.map((each) => each.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

describe("SQLite store", () => {
  test.each(Array.from({ length: Math.ceil(3 * SCALE) }, (_, index) => index + 1))(
    "answers like the memory store, whatever it is asked, seed %i",
    async (seed) => {
      await expect(modelTest({ name: "sqlite", make, seed })).resolves.toBeUndefined();
    },
  );

  test.each(storeContract({ name: "sqlite", make, durable: true, others: "read" }))("$title", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
