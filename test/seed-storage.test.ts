/** Seed 002 on a real database: saving, restoring, branching and compacting, with the process gone in between. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Event, Message } from "heddle/protocol";
import { Committer, foldBranch, readAll, settleRun } from "heddle/store";
import type { RunKey, Store } from "heddle/store";
import { sqliteStore } from "heddle/store/sqlite";
import { createPreludeState, reduceAll, stepPrelude, view } from "heddle/stream";
import { entriesOf, historyOf } from "heddle/stream/lineage";
import { afterEach, beforeEach, expect, test } from "vitest";

let folder: string;
let file: string;
let store: Store;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-seed-"));
  file = join(folder, "heddle.db");
  store = sqliteStore(file);
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

const keyOf = (runId: string): RunKey => ({ tenant: "default", threadId: "travel", runId });
const asks = (id: string, content: string): Message => ({ id, role: "user", content });

/** A run with its question and its answer, saved event by event as it happens. */
async function run(
  runId: string,
  parentRunId: string | undefined,
  question: Message,
  words: readonly string[],
): Promise<void> {
  const key = keyOf(runId);
  const input = { threadId: key.threadId, runId, messages: [question] };
  const started: Event = {
    type: "RUN_STARTED",
    threadId: key.threadId,
    runId,
    ...(parentRunId !== undefined && { parentRunId }),
    input,
  };
  const place = parentRunId === undefined ? {} : ({ parentRunId, kind: "branch" } as const);
  const claimed = await store.claim({
    ...key,
    agent: "guide",
    leaseMs: 60_000,
    events: [JSON.stringify(started)],
    ...place,
  });
  if (claimed.type !== "claimed") throw new Error(claimed.type);
  const state = parentRunId === undefined ? createPreludeState() : (await foldBranch(store, keyOf(parentRunId))).state;
  stepPrelude(state, started);
  const committer = new Committer(store, { lingerMs: 0 });
  const writer = committer.writer(claimed.lease, state);
  const messageId = `answer-${runId}`;
  const events: readonly Event[] = [
    { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
    ...words.map((delta): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta })),
    { type: "TEXT_MESSAGE_END", messageId },
    { type: "RUN_FINISHED", threadId: key.threadId, runId },
  ];
  for (const event of events) {
    await writer.write(event);
    await writer.flush();
  }
  await committer.close();
}

async function eventsOf(): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const { json } of readAll(store, keyOf("any"))) events.push(JSON.parse(json));
  return events;
}

async function reopen(): Promise<void> {
  await store.close();
  store = sqliteStore(file);
}

const messagesOf = async (runId: string): Promise<readonly Message[]> =>
  view((await foldBranch(store, keyOf(runId))).state.reduce).messages;

test("002 workflow: a run is saved as it happens, everything goes away, and it is restored and continued", async () => {
  await run("run1", undefined, asks("q1", "Tell me about Paris."), ["Paris ", "is ", "the capital."]);
  await reopen();
  expect(await messagesOf("run1")).toEqual([
    asks("q1", "Tell me about Paris."),
    { id: "answer-run1", role: "assistant", content: "Paris is the capital." },
  ]);
  await run("run2", "run1", asks("q2", "And the Louvre?"), ["A museum."]);
  await reopen();
  expect((await messagesOf("run2")).map(({ id }) => id)).toEqual(["q1", "answer-run1", "q2", "answer-run2"]);
  expect(await store.run(keyOf("run2"))).toMatchObject({ parentRunId: "run1", status: "finished" });
  const started = (await eventsOf()).filter((event) => event.type === "RUN_STARTED");
  expect(started.map(({ input }) => input?.messages?.map(({ id }) => id))).toEqual([["q1"], ["q2"]]);
});

test("002 lineage: another attempt is a branch beside the first, with its own input, and deletes nothing", async () => {
  await run("run1", undefined, asks("q1", "Where shall I go?"), ["Choose."]);
  await run("paris", "run1", asks("q2", "Paris"), ["Bonjour."]);
  const before = await eventsOf();
  await run("london", "run1", asks("q3", "London"), ["Hello."]);
  expect((await eventsOf()).slice(0, before.length)).toEqual(before);
  expect((await messagesOf("paris")).map(({ id }) => id)).toEqual(["q1", "answer-run1", "q2", "answer-paris"]);
  expect((await messagesOf("london")).map(({ id }) => id)).toEqual(["q1", "answer-run1", "q3", "answer-london"]);
  expect((await store.branch(keyOf("london"))).map(({ runId }) => runId)).toEqual(["run1", "london"]);
  const history = historyOf(entriesOf(await eventsOf()), "london");
  expect(reduceAll(history).messages).toEqual(await messagesOf("london"));
});

test("002 storage: the compacted run stands beside the raw events, compressed, and only a retention drops those", async () => {
  const words = Array.from({ length: 1000 }, (_, index) => `word${index % 50} `);
  await run("run1", undefined, asks("q1", "Tell me everything."), words);
  const raw = await eventsOf();
  await settleRun(store, keyOf("run1"));
  expect(await eventsOf()).toEqual(raw);
  const compacted = (await store.compacted(keyOf("run1"))) ?? [];
  expect(compacted).toHaveLength(5);
  expect(reduceAll(compacted.map(({ json }): Event => JSON.parse(json)))).toEqual(reduceAll(raw));
  await reopen();
  const database = new DatabaseSync(file, { readOnly: true });
  const stored = database.prepare("SELECT sum(length(data)) AS bytes, count(*) AS n FROM segments").get();
  database.close();
  expect(Number(stored?.["bytes"])).toBeLessThan(JSON.stringify(raw).length / 8);
  expect(Number(stored?.["n"])).toBeLessThan(raw.length / 32);
  const messages = await messagesOf("run1");
  expect(await store.trim(Date.now() + 1000)).toEqual({ threads: 1, events: raw.length });
  await expect(eventsOf()).rejects.toMatchObject({ code: "cursor-trimmed" });
  expect(await messagesOf("run1")).toEqual(messages);
});

test("002 schema: thread, run, parent, events and time of a run, found by thread and run through indexes", async () => {
  await run("run1", undefined, asks("q1", "Hello"), ["Hi."]);
  await run("run2", "run1", asks("q2", "Again"), ["Hi again."]);
  await expect(run("run2", "run1", asks("q3", "Once more"), ["No."])).rejects.toThrow("exists");
  const [first, second] = await store.runs(keyOf("any"));
  expect([first?.runId, second?.runId, second?.parentRunId]).toEqual(["run1", "run2", "run1"]);
  expect(second?.startedAtMs).toBeGreaterThanOrEqual(first?.startedAtMs ?? Infinity);
  await store.close();
  const database = new DatabaseSync(file, { readOnly: true });
  const planOf = (statement: string): string =>
    JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${statement}`).all());
  expect(planOf("SELECT * FROM runs WHERE tenant = 1 AND thread = 1 AND name = 'run1'")).toMatch(
    /SEARCH runs USING INDEX/,
  );
  expect(planOf("SELECT * FROM segments WHERE tenant = 1 AND thread = 1 AND last_seq > 3")).toMatch(
    /SEARCH segments USING INDEX/,
  );
  expect(planOf("SELECT * FROM runs WHERE id = 1")).toMatch(/SEARCH runs USING INTEGER PRIMARY KEY/);
  database.close();
  store = sqliteStore(file);
});
