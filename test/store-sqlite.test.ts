/** The SQLite store keeps the contract, on a real file that is closed, opened again and opened by others. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Store } from "heddle/store";
import { sqliteStore } from "heddle/store/sqlite";
import { modelTest, storeContract } from "heddle/testing";
import type { StoreUnderTest } from "heddle/testing";
import { describe, expect, test } from "vitest";

async function make(): Promise<StoreUnderTest & { readonly file: string }> {
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
    file,
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

const KEY = { tenant: "acme", threadId: "t", runId: "r" };
const TEXT = JSON.stringify({ type: "CUSTOM", name: "secret", value: null });

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

describe("SQLite store", () => {
  test.each(Array.from({ length: Math.ceil(3 * SCALE) }, (_, index) => index + 1))(
    "answers like the memory store, whatever it is asked, seed %i",
    async (seed) => {
      await expect(modelTest({ name: "sqlite", make, seed })).resolves.toBeUndefined();
    },
  );

  test("STORE-THR-2: no table holds a row of a deleted thread", async () => {
    const { store, file, dispose } = await make();
    await store.claim({ ...KEY, agent: "a", leaseMs: 1000, events: [TEXT] });
    const snapshot = { runId: "r", seq: 1, events: [{ type: "RUN_STARTED", threadId: "t", runId: "r" } as const] };
    await store.settle(KEY, { snapshot, compacted: [] });
    const messages = [{ id: "m", role: "user", content: "x".repeat(5000) } as const];
    await store.saveSnapshot(KEY, { ...snapshot, seq: 2, events: [{ type: "MESSAGES_SNAPSHOT", messages }] });
    await store.enqueue({ ...KEY, runId: "q", agent: "a", body: "{}", limit: 1 });
    await store.claimToolCall({ ...KEY, toolCallId: "c", holder: "h", leaseMs: 1000 });
    await store.setMember(KEY, "bob", "observer");
    const database = new DatabaseSync(file, { readOnly: true });
    const tables = database
      .prepare("SELECT s.name FROM sqlite_schema s JOIN pragma_table_info(s.name) c WHERE c.name = 'thread'")
      .all()
      .map(({ name }) => String(name));
    const filled = (): readonly string[] =>
      tables.filter((name) => database.prepare(`SELECT 1 FROM ${name}`).get() !== undefined);
    expect(filled()).toEqual(tables);
    expect(tables).toContain("queue");
    await store.deleteThread(KEY);
    expect(filled()).toEqual([]);
    database.close();
    await dispose();
  });

  test("STORE-TIC-2: tickets that have expired do not gather", async () => {
    const { store, file, dispose } = await make();
    for (let index = 0; index < 20; index++) await store.saveTicket({ hash: `h${index}`, body: "", forMs: 0 });
    await store.saveTicket({ hash: "kept", body: "", forMs: 600_000 });
    const database = new DatabaseSync(file, { readOnly: true });
    expect(database.prepare("SELECT hash FROM tickets").all()).toEqual([{ hash: "kept" }]);
    database.close();
    await dispose();
  });

  test.each(storeContract({ name: "sqlite", make, durable: true, others: "read" }))("$title", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
