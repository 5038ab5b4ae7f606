/** One way to come across each error of the stores. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Committer, importThread, memoryStore, readCursor, reap } from "heddle/store";
import type { Lease, Store } from "heddle/store";
import { postgresStore } from "heddle/store/postgres";
import { sqliteStore } from "heddle/store/sqlite";
import { createPreludeState, stepPrelude } from "heddle/stream";
import type { Event } from "heddle/protocol";

const KEY = { tenant: "a", threadId: "t", runId: "r" };
const STARTED: Event = { type: "RUN_STARTED", threadId: "t", runId: "r" };

async function claim(store: Store, leaseMs: number): Promise<Lease> {
  const claimed = await store.claim({ ...KEY, agent: "x", leaseMs, events: [JSON.stringify(STARTED)] });
  if (claimed.type !== "claimed") throw new Error(claimed.type);
  return claimed.lease;
}

/** Writes through a committer, under whatever lease is given. */
async function write(store: Store, lease: Lease): Promise<void> {
  const state = createPreludeState();
  stepPrelude(state, STARTED);
  const writer = new Committer(store, { giveUpMs: 0 }).writer(lease, state);
  void writer.write({ type: "STEP_STARTED", stepName: "s" });
  await writer.flush();
}

const fileIn = (): string => join(mkdtempSync(join(tmpdir(), "heddle-errors-")), "heddle.db");

async function opened(store: Store): Promise<void> {
  try {
    await store.open();
  } finally {
    await store.close();
  }
}

/** How to raise each code. */
export const RAISE_STORE = {
  "cursor-trimmed": () => readCursor("abcdefgh_0000000000000001", { logId: "abcdefgh", tail: 9, floor: 5 }),
  "thread-exists": async () => {
    const store = memoryStore();
    await claim(store, 1000);
    const about = { tail: 0, floor: 0, head: undefined, title: undefined, archived: false, metadata: {} };
    const thread = { threadId: "t", ...about, createdAtMs: 1, updatedAtMs: 1 };
    await store.importThread(KEY, { thread, runs: [], events: [], settlements: [] });
  },
  "import-invalid": () => importThread(memoryStore(), { tenant: "a" }, ["not an export"]),
  "run-fenced": async () => {
    const store = memoryStore();
    const lease = await claim(store, 1000);
    await store.takeOver({ run: KEY, leaseMs: 1000 });
    await write(store, lease);
  },
  "batch-gap": async () => {
    const store = memoryStore();
    await write(store, { ...(await claim(store, 1000)), nextBatch: 7 });
  },
  "worker-lost": async () => {
    const store = memoryStore();
    await claim(store, 0);
    await reap(store);
    return { error: (await store.run(KEY))?.end?.error };
  },
  "schema-too-new": async () => {
    const file = fileIn();
    const database = new DatabaseSync(file);
    database.exec("PRAGMA user_version = 999");
    database.close();
    await opened(sqliteStore(file));
  },
  "store-locked": async () => {
    const file = fileIn();
    const first = sqliteStore(file);
    await first.open();
    try {
      await opened(sqliteStore(file));
    } finally {
      await first.close();
    }
  },
  "store-read-only": () => opened(sqliteStore(fileIn(), { readOnly: true })),
  "store-full": async () => {
    const store = sqliteStore(fileIn(), { maxFileBytes: 150_000 });
    try {
      const events = [
        JSON.stringify({ ...STARTED, metadata: { noise: crypto.getRandomValues(new Uint8Array(60_000)) } }),
      ] as const;
      await store.claim({ ...KEY, agent: "x", leaseMs: 1, events: [...events] });
    } finally {
      await store.close();
    }
  },
  "store-corrupt": async () => {
    const file = fileIn();
    writeFileSync(file, "This is a letter to a friend. ".repeat(300));
    await opened(sqliteStore(file));
  },
  "store-unavailable": () => opened(postgresStore("postgres://nobody@127.0.0.1:1/none")),
  "store-closed": async () => {
    const store = memoryStore();
    await store.close();
    await store.thread(KEY);
  },
} as const satisfies Readonly<Record<string, () => unknown>>;
