/**
 * The rows of DESIGN 12 and issue 4 on the log: appends, restoring from snapshots against folding the raw log, and what a
 * slow stream of tokens costs on disk.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Event } from "heddle/protocol";
import { Committer, endOf, foldBranch, readAll, settleRun } from "heddle/store";
import type { RunKey, Store } from "heddle/store";
import { sqliteStore } from "heddle/store/sqlite";
import { createPreludeState, prelude, stepPrelude } from "heddle/stream";
import { realPostgres } from "../test/real-postgres.ts";
import { comparePerUnit, figure } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { appendRows } from "./store-appends.ts";
import { TENANT, claim, delta, started } from "./store-runs.ts";

export async function storeRows(effort: Effort): Promise<readonly Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "heddle-bench-"));
  const postgres = await realPostgres();
  try {
    return [
      ...(await appendRows(folder, postgres.url, effort)),
      ...(await restores(folder, effort)),
      ...(await slowTokens(folder)),
      await manyRuns(folder, effort),
    ];
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A thread of runs that each answer with so many words, in deltas of so many. */
async function makeThread(
  store: Store,
  threadId: string,
  runs: number,
  answer: number,
  wordsEach: number,
): Promise<RunKey> {
  const deltas = answer / wordsEach;
  let parent: string | undefined;
  let key: RunKey = { tenant: TENANT, threadId, runId: "none" };
  const state = createPreludeState();
  for (let run = 0; run < runs; run++) {
    key = { tenant: TENANT, threadId, runId: `r${run}` };
    const lease = await claim(store, key, parent);
    const messageId = `${threadId}-m${run}`;
    const events: Event[] = [
      { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
      ...Array.from({ length: deltas }, (_, index) => delta(messageId, run * deltas + index, wordsEach)),
      { type: "TEXT_MESSAGE_END", messageId },
      { type: "RUN_FINISHED", threadId, runId: key.runId },
    ];
    for (const event of [started(key), ...events]) stepPrelude(state, event);
    const [first = "", ...rest] = events.map((event) => JSON.stringify(event));
    await store.append([{ lease, number: 1, events: [first, ...rest], end: endOf(events) }]);
    const seq = (await store.run(key))?.lastSeq ?? 0;
    await settleRun(store, key, { snapshot: { runId: key.runId, seq, events: prelude(state) }, compacted: undefined });
    parent = key.runId;
  }
  return key;
}

async function restores(folder: string, effort: Effort): Promise<readonly Row[]> {
  const store = sqliteStore(join(folder, "restore.db"));
  const runs = 100;
  const answer = effort.quick ? 200 : 2000;
  const fine = await makeThread(store, "fine", runs, answer, 1);
  const coarse = await makeThread(store, "coarse", runs, answer, 10);
  const rows = [
    await comparePerUnit(
      {
        what: `restore a branch of ${runs} runs, ${(runs * answer) / 1000}k events`,
        peer: "reading and folding the raw log",
        kind: "faster",
        target: 50,
      },
      { units: 1, work: () => foldBranch(store, fine) },
      {
        units: 1,
        work: async () => {
          const state = createPreludeState();
          for await (const { json } of readAll(store, fine)) stepPrelude(state, JSON.parse(json));
          return state;
        },
      },
      effort,
    ),
    await comparePerUnit(
      {
        what: "restore the same messages, of 10 × the events",
        peer: "a tenth of the events",
        kind: "cost",
        target: 1.3,
      },
      { units: 1, work: () => foldBranch(store, fine) },
      { units: 1, work: () => foldBranch(store, coarse) },
      { ...effort, sliceMs: effort.sliceMs * 4 },
    ),
  ];
  await store.close();
  return rows;
}

/** 2,000 deltas, each in a commit of its own, as they come at 50 a second; the run ended and settled. */
async function slowTokens(folder: string): Promise<readonly Row[]> {
  const file = join(folder, "slow.db");
  const store = sqliteStore(file);
  const key = { tenant: TENANT, threadId: "slow", runId: "r" };
  const lease = await claim(store, key);
  const deltas = 2000;
  const events: Event[] = [
    { type: "TEXT_MESSAGE_START", messageId: "msg_0123456789abcdef", role: "assistant" },
    ...Array.from({ length: deltas }, (_, index) => delta("msg_0123456789abcdef", index)),
    { type: "TEXT_MESSAGE_END", messageId: "msg_0123456789abcdef" },
    { type: "RUN_FINISHED", threadId: "slow", runId: "r" },
  ];
  let number = 1;
  for (const event of events) {
    await store.append([{ lease, number: number++, events: [JSON.stringify(event)], end: endOf([event]) }]);
  }
  await settleRun(store, key);
  await store.close();
  const database = new DatabaseSync(file, { readOnly: true });
  const numberOf = (statement: string): number => Number(Object.values(database.prepare(statement).get() ?? {})[0]);
  const rows = numberOf("SELECT count(*) FROM segments");
  const raw = numberOf("SELECT sum(length(data)) FROM segments");
  const derived =
    numberOf("SELECT sum(length(data)) FROM blobs") +
    numberOf("SELECT sum(length(data)) FROM compacted") +
    numberOf("SELECT sum(length(shell)) FROM snapshots");
  const pages = numberOf("SELECT sum(pgsize) FROM dbstat WHERE name IN ('segments', 'sqlite_autoindex_segments_1')");
  database.close();
  console.log(
    `2,000 deltas: ${(raw / deltas).toFixed(1)} B each in the log, ${(pages / deltas).toFixed(1)} B with the pages that hold them, ` +
      `${(derived / deltas).toFixed(1)} B for snapshot and compacted form`,
  );
  return [
    figure("stored per delta, log, snapshot and compacted", "bytes", (raw + derived) / deltas, 30),
    figure("rows per 32 events, after the end", "rows", (rows * 32) / deltas, 1),
  ];
}

/** 200 runs that each say something 50 times a second, for a while. */
async function manyRuns(folder: string, effort: Effort): Promise<Row> {
  const store = sqliteStore(join(folder, "many.db"));
  let commits = 0;
  const counted: Store = {
    ...store,
    append: (batches) => {
      commits += 1;
      return store.append(batches);
    },
  };
  const committer = new Committer(counted);
  const writers = [];
  for (let run = 0; run < 200; run++) {
    const key = { tenant: TENANT, threadId: `many-${run}`, runId: "r" };
    const state = createPreludeState();
    const lease = await claim(store, key);
    stepPrelude(state, started(key));
    const writer = committer.writer(lease, state);
    void writer.write({ type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" });
    writers.push(writer);
  }
  commits = 0;
  const seconds = effort.quick ? 2 : 5;
  const begun = performance.now();
  let index = 0;
  while (performance.now() - begun < seconds * 1000) {
    // A fifth of the runs every 4 ms: each speaks 50 times a second.
    for (let run = index % 5; run < writers.length; run += 5) void writers[run]?.write(delta("m", index));
    index += 1;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, begun + index * 4 - performance.now())));
  }
  const perSecond = commits / ((performance.now() - begun) / 1000);
  await committer.close();
  await store.close();
  return figure("commits a second with 200 live runs", "commits", perSecond, 100);
}
