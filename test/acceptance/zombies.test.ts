/**
 * Want 15. A server is killed in the middle of runs: on SQLite, where it is started again, and on PostgreSQL, where the
 * thread is sent to by a server that was there all along and never looks for lost runs, and watched by one that does.
 */
import { expect, test, vi } from "vitest";
import { startGates } from "../gate.ts";
import type { Gates } from "../gate.ts";
import { attachTo, postRun } from "../sse-client.ts";
import type { ServerProcess } from "../server-process.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { sharedPostgres } from "./shared-postgres.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { openTab } from "./tab.ts";
import { eventsOf, readLog, runState, runsIn, verifyAll } from "./thread-log.ts";

/** Longer than a busy machine stands still: a run whose server lives is not to be lost. */
const LEASE_MS = 4500;
/** For a machine that is busy with other tests. */
const MARGIN_MS = 5000;
const NEVER_MS = 3_600_000;
/** Up to six servers start, on a machine that may be busy. */
const TIMEOUT_MS = 120_000;
const THREADS = ["t1", "t2"];

const inputOf = (threadId: string, runId: string): object => ({
  threadId,
  runId,
  messages: [{ id: `asked in ${runId}`, role: "user", content: "How many looms?" }],
});

const send = (url: string, threadId: string, runId: string): Promise<Response> =>
  postRun(url, "worker", inputOf(threadId, runId));

/** Kills a server in the middle of a run of each thread. */
async function crash(gates: Gates, server: ServerProcess, runId: string): Promise<void> {
  for (const threadId of THREADS) {
    const tab = await openTab(server.url, "worker", inputOf(threadId, runId));
    await tab.seen("save_count");
    await gates.reached(`${threadId} ${runId} middle`);
  }
  await server.kill();
}

/** The run was interrupted, as its log and its state say, and nobody started it again. */
async function wasInterrupted(gates: Gates, url: string, threadId: string, runId: string): Promise<void> {
  const events = await eventsOf(await attachTo(url, threadId, runId));
  verifyAll(events);
  expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "worker-lost" });
  expect(await runState(url, threadId, runId)).toMatchObject({ status: "failed", error: { code: "worker-lost" } });
  expect(gates.visits(`${threadId} ${runId} middle`)).toBe(1);
}

/** The run that was sent is as any other. */
async function isWhole(gates: Gates, answer: Response, threadId: string, runId: string): Promise<void> {
  expect(answer.status).toBe(200);
  gates.open(`${threadId} ${runId} middle`);
  expect((await eventsOf(answer)).at(-1)).toMatchObject({ type: "RUN_FINISHED" });
}

/** The runs of each thread, which is a whole and valid log. */
async function runsOf(url: string): Promise<readonly (readonly string[])[]> {
  const logs = await Promise.all(THREADS.map((threadId) => readLog(url, threadId)));
  for (const log of logs) verifyAll(log);
  return logs.map(runsIn);
}

async function onSqlite(): Promise<readonly (readonly string[])[]> {
  const [gates, store] = [await startGates(), await sqliteFile()];
  await crash(gates, await acceptanceServer(gates, { store }), "r1");
  const { url } = await acceptanceServer(gates, { store });
  for (const threadId of THREADS) {
    expect(await runState(url, threadId, "r1")).toMatchObject({ status: "failed" });
    await isWhole(gates, await send(url, threadId, "r2"), threadId, "r2");
    await wasInterrupted(gates, url, threadId, "r1");
  }
  return runsOf(url);
}

async function onPostgres(): Promise<readonly (readonly string[])[]> {
  const [gates, store] = [await startGates(), await sharedPostgres()];
  const start = (reapMs: number): Promise<ServerProcess> => {
    const env = { HEDDLE_LEASE_MS: String(LEASE_MS), HEDDLE_REAP_MS: String(reapMs) };
    return acceptanceServer(gates, { store, env });
  };
  const [{ url }, first, second] = await Promise.all([start(NEVER_MS), start(NEVER_MS), start(NEVER_MS)]);

  await crash(gates, first, "r1");
  for (const threadId of THREADS) {
    const accepted = await vi.waitFor(
      async () => {
        const answer = await send(url, threadId, "r2");
        if (answer.status !== 200) throw new Error(await answer.text());
        return answer;
      },
      { timeout: LEASE_MS + MARGIN_MS, interval: 50 },
    );
    await isWhole(gates, accepted, threadId, "r2");
    await wasInterrupted(gates, url, threadId, "r1");
  }

  await crash(gates, second, "r3");
  await start(LEASE_MS / 3);
  // Whoever follows the run sees it end, also elsewhere; from then on it is not in the way.
  for (const threadId of THREADS) {
    await wasInterrupted(gates, url, threadId, "r3");
    await isWhole(gates, await send(url, threadId, "r4"), threadId, "r4");
  }
  return runsOf(url);
}

test(
  'Zombies. After a crash mid-run, no thread shows "running" and no send returns 409 once the lease has passed, and the log says the run was interrupted.',
  { timeout: TIMEOUT_MS },
  async () => {
    const [sqlite, postgres] = await Promise.all([onSqlite(), onPostgres()]);
    expect(sqlite).toEqual(THREADS.map(() => ["r1", "r2"]));
    expect(postgres).toEqual(THREADS.map(() => ["r1", "r2", "r3", "r4"]));
  },
);
