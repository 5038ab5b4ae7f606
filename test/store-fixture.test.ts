/** Databases of every published version of the schema are kept: each opens, tells what it told when it was made, and goes on. */
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reap, settleLeftovers } from "heddle/store";
import type { Store } from "heddle/store";
import { postgresStore } from "heddle/store/postgres";
import { sqliteStore } from "heddle/store/sqlite";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MIGRATIONS as POSTGRES } from "../src/store/postgres/migrations.ts";
import { MIGRATIONS as SQLITE } from "../src/store/sqlite/migrations.ts";
import { contentsOf } from "./fixture-contents.ts";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";

const FIXTURES = join(import.meta.dirname, "fixtures");
const kept = (ending: string): readonly string[] =>
  readdirSync(FIXTURES).filter((name) => /^store-v\d+\./.test(name) && name.endsWith(ending));

let server: RealPostgres;
let folder: string;
beforeAll(async () => {
  server = await realPostgres();
  folder = mkdtempSync(join(tmpdir(), "heddle-fixture-"));
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const expected = (name: string): unknown => JSON.parse(readFileSync(join(FIXTURES, `${name}.json`), "utf8"));

/** Ends what was cut, and begins something new. */
async function goOn(store: Store): Promise<void> {
  const acme = { tenant: "acme", threadId: "cut" };
  expect(await reap(store)).toEqual([{ ...acme, runId: "r2" }]);
  const cut = await store.run({ ...acme, runId: "r2" });
  expect(cut?.end?.error?.code).toBe("worker-lost");
  expect(await settleLeftovers(store)).toBe(2);
  const note = JSON.stringify({ type: "META", metaType: "note", payload: {} });
  const { tail = 0 } = (await store.thread(acme)) ?? {};
  expect(await store.annotate({ ...acme, runId: "r1", events: [note] })).toEqual({
    firstSeq: tail + 1,
    lastSeq: tail + 1,
  });
  const waits = { ...acme, runId: "new", agent: "weaver", body: "{}", parentRunId: "r2", limit: 1 };
  expect(await store.enqueue(waits)).toEqual({ type: "queued", position: 1 });
  expect(await store.waiting()).toContainEqual(expect.objectContaining({ ...acme, runId: "new", body: "{}" }));
  expect((await store.claimToolCall({ ...acme, toolCallId: "c", holder: "tab", leaseMs: 1000 })).type).toBe("held");
  const before = await store.thread(acme);
  const request = { ...acme, runId: "new", agent: "weaver", parentRunId: "r2", leaseMs: 1000, events: ["{}"] } as const;
  const claimed = await store.claim({ ...request, kind: "continue", ifQueued: true });
  expect(await store.queue(acme)).toEqual([]);
  expect(claimed).toMatchObject({ type: "claimed", thread: { tail: (before?.tail ?? 0) + 1, logId: before?.logId } });
  expect((await store.branch({ ...acme, runId: "new" })).map(({ runId }) => runId)).toEqual(["r1", "r2", "new"]);
  expect(await store.setMember(acme, "bob", "observer")).toBe(true);
  expect((await store.listThreads({ tenant: "acme", user: "bob" })).threads).toEqual([await store.thread(acme)]);
  expect([await store.roleIn(acme, "bob"), await store.runningBy("acme", "user 1")]).toEqual(["observer", 0]);
  await store.saveTicket({ hash: "hash", body: "body", forMs: 600_000 });
  expect([await store.takeTicket("hash"), await store.takeTicket("hash")]).toEqual(["body", undefined]);
  const fresh = await store.claim({ ...request, threadId: "brand new", parentRunId: undefined });
  expect(fresh).toMatchObject({ type: "claimed", thread: { tail: 1 } });
}

describe("databases of earlier versions", () => {
  test("there is one of this version, for each engine", () => {
    expect(kept(".db")).toContain(`store-v${SQLITE.length}.db`);
    expect(kept(".sql")).toContain(`store-v${POSTGRES.length}.sql`);
  });

  test.each(kept(".db"))("%s opens, tells the same and goes on", async (name) => {
    const file = join(folder, name);
    copyFileSync(join(FIXTURES, name), file);
    const store = sqliteStore(file);
    expect(await contentsOf(store)).toEqual(expected(name));
    await goOn(store);
    await store.close();
    const reader = sqliteStore(file, { readOnly: true });
    expect((await reader.thread({ tenant: "acme", threadId: "brand new" }))?.tail).toBe(1);
    await reader.close();
  });

  test.each(kept(".sql"))("%s opens, tells the same and goes on", async (name) => {
    const schema = `fixture_${process.pid}_${name.replaceAll(/\W/g, "_")}`;
    const client = new Client({ connectionString: server.url });
    await client.connect();
    await client.query(readFileSync(join(FIXTURES, name), "utf8").replaceAll("{schema}", schema));
    await client.end();
    const store = postgresStore(server.url, { schema, listen: false });
    expect(await contentsOf(store)).toEqual(expected(name));
    await goOn(store);
    await store.close();
  });
});
