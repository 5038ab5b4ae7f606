/**
 * A rolling restart: a process of the version before has the database open, one of this version brings the schema up to
 * date, and both go on. The older driver is the real one, bundled when it was the newest (`test/fixtures/store-v<n>.js`).
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Lease, Store } from "heddle/store";
import { postgresStore } from "heddle/store/postgres";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MIGRATIONS } from "../src/store/postgres/migrations.ts";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";

const BEFORE = join(import.meta.dirname, "fixtures", `store-v${MIGRATIONS.length - 1}.js`);
const END = { status: "finished", interrupts: [], pendingToolCallIds: [] } as const;

let server: RealPostgres;
let older: (schema: string) => Store;
const opened: Store[] = [];
beforeAll(async () => {
  server = await realPostgres();
  const driver: { readonly postgresStore: typeof postgresStore } = await import(pathToFileURL(BEFORE).href);
  older = (schema) => kept(driver.postgresStore(server.url, { schema, pollMs: 50 }));
}, 60_000);
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()));
  await server.stop();
});

function kept(store: Store): Store {
  opened.push(store);
  return store;
}

const newer = (schema: string): Store => kept(postgresStore(server.url, { schema, pollMs: 50 }));

const key = (threadId: string) => ({ tenant: "acme", threadId });
const text = (name: string): string => JSON.stringify({ type: "CUSTOM", name });

async function begin(store: Store, threadId: string, runId: string, owner?: string): Promise<Lease> {
  const about = { agent: "a", principal: "ada", owner, leaseMs: 600_000 };
  const claimed = await store.claim({ ...key(threadId), ...about, runId, events: [text(`${runId} starts`)] });
  if (claimed.type !== "claimed") throw new Error(claimed.type);
  return claimed.lease;
}

/** Everything that the version before can do with a thread, each once. */
async function useAll(store: Store, threadId: string): Promise<void> {
  const lease = await begin(store, threadId, "used");
  const appended = await store.append([{ lease, number: 1, events: [text("on")] }]);
  expect(appended).toMatchObject([{ type: "committed" }]);
  expect(await store.heartbeat([lease])).toEqual([{ held: true, stop: false }]);
  expect(await store.requestStop(lease)).toBe(true);
  await store.annotate({ ...key(threadId), runId: "used", events: [text("note")] });
  expect((await store.claimToolCall({ ...key(threadId), toolCallId: "c", holder: "h", leaseMs: 1 })).type).toBe("held");
  await store.enqueue({ ...key(threadId), runId: "q", agent: "a", body: "{}", limit: 9 });
  expect((await store.queue(key(threadId))).map(({ runId }) => runId)).toContain("q");
  expect(await store.unqueue({ ...key(threadId), runId: "q" })).toBe(true);
  const [taken] = await store.takeOver({ run: lease, leaseMs: 1000 });
  if (taken === undefined) throw new Error("not taken over");
  await store.append([{ lease: taken, number: 2, events: [text("end")], end: END }]);
  const { lastSeq: seq = 0 } = (await store.run(lease)) ?? {};
  const snapshot = { runId: "used", seq, events: [] };
  await store.saveSnapshot(key(threadId), snapshot);
  await store.settle(lease, { snapshot, compacted: [{ firstSeq: 1, lastSeq: seq, json: text("all") }] });
  expect(await store.snapshot(lease)).toEqual(snapshot);
  expect(await store.compacted(lease)).toHaveLength(1);
  expect((await store.updateThread(key(threadId), { title: threadId })).title).toBe(threadId);
  expect((await store.listThreads({ tenant: "acme", query: threadId })).threads).toHaveLength(1);
  expect((await store.branch(lease)).map(({ runId }) => runId)).toEqual(["used"]);
  expect(await store.waiting()).toEqual([]);
  expect(await store.unsettled()).toEqual([]);
  expect((await store.read(key(threadId))).events.length).toBeGreaterThan(0);
}

async function rows(statement: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  const { rows: found } = await client.query<Record<string, unknown>>(statement);
  await client.end();
  return found;
}

describe("a process of the version before, while this one starts", () => {
  test("goes on with what it had under way, statements that it has prepared too", async () => {
    const schema = `versions_${process.pid}_1`;
    const old = older(schema);
    const lease = await begin(old, "t", "r1");
    await useAll(old, "before");
    const young = newer(schema);
    await young.open();
    expect(await rows(`SELECT max(version)::int AS version FROM ${schema}.migrations`)).toEqual([
      { version: MIGRATIONS.length },
    ]);
    await useAll(old, "after");
    for (let number = 1; number <= 8; number++) {
      const store = number % 2 === 0 ? young : old;
      expect(await store.append([{ lease, number, events: [text(`${number}`)] }])).toMatchObject([
        { type: "committed", firstSeq: number + 1 },
      ]);
    }
    expect((await young.read(key("t"))).events).toEqual((await old.read(key("t"))).events);
    expect(await young.runningBy("acme", "ada")).toBe(1);
    await useAll(young, "young");
  });

  test("sees a thread that has owner and members as any other, and its deletion leaves nothing of them", async () => {
    const schema = `versions_${process.pid}_2`;
    const old = older(schema);
    await begin(old, "old", "r1");
    const young = newer(schema);
    await begin(young, "shared", "r1", "ada");
    await young.setMember(key("shared"), "bob", "collaborator");
    await young.setMember(key("old"), "bob", "observer");
    const called = Promise.withResolvers<void>();
    young.watch(key("shared"), called.resolve);
    await begin(old, "shared", "r2");
    await called.promise;
    expect(await young.thread(key("shared"))).toMatchObject({ ...(await old.thread(key("shared"))), owner: "ada" });
    expect(await young.roleIn(key("shared"), "bob")).toBe("collaborator");
    const listed = await young.listThreads({ tenant: "acme", user: "bob" });
    expect(listed.threads.map(({ threadId }) => threadId).toSorted()).toEqual(["old", "shared"]);
    expect((await old.listThreads({ tenant: "acme" })).threads).toHaveLength(2);
    expect(await old.deleteThread(key("shared"))).toBe(true);
    expect(await young.roleIn(key("shared"), "bob")).toBeUndefined();
    expect(await rows(`SELECT name FROM ${schema}.members`)).toEqual([{ name: "bob" }]);
    await begin(old, "shared", "r1");
    expect([await young.members(key("shared")), (await young.thread(key("shared")))?.owner]).toEqual([[], undefined]);
  });

  test("is refused where it starts afterwards", async () => {
    const schema = `versions_${process.pid}_3`;
    await newer(schema).open();
    await expect(older(schema).open()).rejects.toMatchObject({ code: "schema-too-new" });
  });
});
