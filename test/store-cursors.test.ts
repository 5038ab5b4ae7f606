/**
 * Cursors at a real log, on each store: one that is malformed, of another log, of another tenant's log, of the log that had
 * this name before, of the future, or behind what retention dropped is answered as what it is; a good one goes on exactly
 * where it stands.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HeddleError } from "heddle/protocol";
import { foldBranch, formatCursor, memoryStore, readAll, readCursor, settleRun } from "heddle/store";
import type { RunEnd, Store, StoredEvent, ThreadInfo, ThreadKey } from "heddle/store";
import { postgresStore } from "heddle/store/postgres";
import { sqliteStore } from "heddle/store/sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";

const FINISHED: RunEnd = { status: "finished", interrupts: [], pendingToolCallIds: [] };
const OURS = { tenant: "ours", threadId: "t" };

/** `LOG` stands for the id of the log. */
const MALFORMED = [
  "",
  "_",
  "1",
  "null",
  "0000000000000003",
  "_0000000000000003",
  "LOG_3",
  "LOG_0000000000000003 ",
  " LOG_0000000000000003",
  "LOG_-000000000000003",
  "LOG_00000000000000003",
  "LOG_000000000000000a",
  "LOG_00000000000000.3",
  "LOG_٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٣",
  "LOG-0000000000000003",
  "LOG_0000000000000003_0000000000000003",
  "LOG_0000000000000003\n",
  `LOG_${"0".repeat(100_000)}3`,
];

let server: RealPostgres;
let folder: string;
let made = 0;
beforeAll(async () => {
  server = await realPostgres();
  folder = await mkdtemp(join(tmpdir(), "heddle-cursors-"));
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A run of five events that has ended. */
async function write(store: Store, key: ThreadKey, runId: string): Promise<void> {
  const { threadId } = key;
  const started = JSON.stringify({ type: "RUN_STARTED", threadId, runId });
  const claimed = await store.claim({ ...key, runId, agent: "weaver", leaseMs: 60_000, events: [started] });
  if (claimed.type !== "claimed") throw new Error(claimed.type);
  const messageId = `${runId}-m`;
  const opened = JSON.stringify({ type: "TEXT_MESSAGE_START", messageId });
  const rest = [
    { type: "TEXT_MESSAGE_CONTENT", messageId, delta: runId },
    { type: "TEXT_MESSAGE_END", messageId },
    { type: "RUN_FINISHED", threadId, runId },
  ].map((event) => JSON.stringify(event));
  await store.append([{ lease: claimed.lease, number: 1, events: [opened, ...rest], end: FINISHED }]);
}

async function threadAt(store: Store, key: ThreadKey): Promise<ThreadInfo> {
  const thread = await store.thread(key);
  if (thread === undefined) throw new Error("There is no such thread.");
  return thread;
}

/** What a server does with a cursor: read it against the thread, then read on from it. */
async function attach(store: Store, key: ThreadKey, cursor: string): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  const afterSeq = readCursor(cursor, await threadAt(store, key));
  for await (const event of readAll(store, key, { afterSeq })) events.push(event);
  return events;
}

async function refusalOf(work: Promise<unknown>): Promise<unknown> {
  const error: unknown = await work.then(
    () => undefined,
    (failed: unknown) => failed,
  );
  return error instanceof HeddleError ? [error.code, error.details] : error;
}

describe.each([
  ["memory", (): Store => memoryStore()],
  ["SQLite", (): Store => sqliteStore(join(folder, `${++made}.db`))],
  ["PostgreSQL", (): Store => postgresStore(server.url, { schema: `cursors_${process.pid}_${++made}`, listen: false })],
])("cursors on the %s store", (_, make) => {
  let store: Store;
  beforeEach(async () => {
    store = make();
    await write(store, OURS, "r1");
    await write(store, OURS, "r2");
  });
  afterEach(() => store.close());

  test("of every event: what comes after it, and nothing else", async () => {
    const { logId, tail } = await threadAt(store, OURS);
    const all = await attach(store, OURS, formatCursor(logId, 0));
    expect(all.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for (let seq = 0; seq <= tail; seq++) {
      expect(await attach(store, OURS, formatCursor(logId, seq))).toEqual(all.slice(seq));
    }
  });

  test("of the future", async () => {
    const { logId } = await threadAt(store, OURS);
    for (const seq of [11, 12, 9_007_199_254_740_991]) {
      const cursor = formatCursor(logId, seq);
      expect(await refusalOf(attach(store, OURS, cursor))).toEqual(["cursor-invalid", { cursor, reason: "ahead" }]);
    }
    // It is of the present once the log has come so far.
    await write(store, OURS, "r3");
    expect((await attach(store, OURS, formatCursor(logId, 11))).length).toBe(4);
  });

  test("of another log, and of another tenant's log of the same name", async () => {
    const elsewhere = { ...OURS, threadId: "other" };
    const theirs = { ...OURS, tenant: "theirs" };
    for (const key of [elsewhere, theirs]) {
      await write(store, key, "r1");
      const cursor = formatCursor((await threadAt(store, key)).logId, 2);
      expect(await refusalOf(attach(store, OURS, cursor))).toEqual(["cursor-invalid", { cursor, reason: "foreign" }]);
      expect((await attach(store, key, cursor)).length).toBe(3);
    }
  });

  test("of a thread that is not ours is no key to it", async () => {
    const theirs = { tenant: "theirs", threadId: "secret" };
    await write(store, theirs, "r1");
    expect(await store.thread({ ...theirs, tenant: "ours" })).toBeUndefined();
    const read = store.read({ ...theirs, tenant: "ours" }, { afterSeq: 2 });
    const unknown = store.read({ tenant: "ours", threadId: "nothing" }, { afterSeq: 2 });
    expect(await refusalOf(read)).toEqual(["thread-unknown", { threadId: "secret" }]);
    expect(await refusalOf(unknown)).toEqual(["thread-unknown", { threadId: "nothing" }]);
  });

  test("of the log that had this name before", async () => {
    const cursor = formatCursor((await threadAt(store, OURS)).logId, 3);
    await store.deleteThread(OURS);
    await write(store, OURS, "r1");
    expect(await refusalOf(attach(store, OURS, cursor))).toEqual(["cursor-invalid", { cursor, reason: "foreign" }]);
  });

  test("that are malformed", async () => {
    const { logId } = await threadAt(store, OURS);
    for (const form of MALFORMED) {
      const cursor = form.replace("LOG", logId);
      const refused = await refusalOf(attach(store, OURS, cursor));
      expect(refused).toEqual(["cursor-invalid", { cursor: expect.any(String), reason: "malformed" }]);
      expect(JSON.stringify(refused).length).toBeLessThan(200);
    }
  });

  test("behind what retention dropped: never a part; the branch is still there", async () => {
    const { logId } = await threadAt(store, OURS);
    await settleRun(store, { ...OURS, runId: "r1" });
    const { state } = await foldBranch(store, { ...OURS, runId: "r1" });
    // r2 is not settled, so r1 is what goes.
    expect(await store.trim((await store.nowMs()) + 1000)).toEqual({ threads: 1, events: 5 });
    for (const seq of [0, 1, 4]) {
      const refused = ["cursor-trimmed", { afterSeq: seq, floor: 5 }];
      expect(await refusalOf(attach(store, OURS, formatCursor(logId, seq)))).toEqual(refused);
      expect(await refusalOf(store.read(OURS, { afterSeq: seq }))).toEqual(refused);
    }
    expect((await attach(store, OURS, formatCursor(logId, 5))).map(({ seq }) => seq)).toEqual([6, 7, 8, 9, 10]);
    expect(await attach(store, OURS, formatCursor(logId, 10))).toEqual([]);
    const restored = await foldBranch(store, { ...OURS, runId: "r1" });
    expect(JSON.stringify(restored.state.started)).toBe(JSON.stringify(state.started));
  });
});
