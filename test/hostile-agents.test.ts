/**
 * Agents elsewhere that answer anything: `heddle serve` stands in front of a real one over sockets, and the same
 * answers come to a server in the process. Every run ends honestly, every log verifies, and nobody else notices.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { remoteAgent } from "../src/agent/adapters/ag-ui/index.ts";
import { parseEvent } from "../src/protocol/index.ts";
import type { Event } from "../src/protocol/index.ts";
import { HOSTILE_KINDS } from "./hostile-answers.ts";
import { hostileFetch, hostileRunId, startHostileAgent } from "./hostile-hosts.ts";
import { memoryOf } from "./process-memory.ts";
import { bodyOf, checkStream, collect, served } from "./served.ts";
import { startServer } from "./server-process.ts";
import { framesOf, postRun } from "./sse-client.ts";
import { witness } from "./witness.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const KINDS = Object.keys(HOSTILE_KINDS);
/** Of each kind so many, over sockets and again in the process: at least 200. */
const ROUNDS = Math.ceil((200 * SCALE) / KINDS.length);
/** On a machine that is busy otherwise too. */
const TIMEOUT_MS = 180_000;
/** Named by a failure, to have the same answers again. */
const SEED = Number(process.env["HEDDLE_TEST_SEED"] ?? Date.now() % 1_000_003);
/** How many run at a time. */
const AT_ONCE = 8;
/** What the gateway may need more than when idle: for each at once, a frame of 10 MiB as bytes, text and value. */
const MAX_GROWTH_MIB = 1000;

const READING = { maxEvents: 2000, closeTimeoutMs: 200 };
const LIMITS = { maxEventsPerRun: 2000, maxOpenItems: 200, cancelGraceMs: 200 };

/** No end that an agent may cause. */
const FAULTS_OF_OURS = ["internal-error", "worker-lost", "agent-failed", "nothing"];

interface Case {
  readonly kind: string;
  readonly threadId: string;
  readonly runId: string;
}

const casesOf = (rounds: number): readonly Case[] =>
  Array.from({ length: rounds * KINDS.length }, (_, index) => {
    const kind = KINDS[index % KINDS.length] ?? "";
    return { kind, threadId: `t${index}`, runId: hostileRunId(SEED + index, kind) };
  });

/** Tries every case, some at a time. */
async function tryAll(cases: readonly Case[], tryOne: (each: Case) => Promise<void>): Promise<void> {
  const queue = cases.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const each of queue) await tryOne(each);
    }),
  );
}

/** How a run ended: the code of its error, or its outcome. */
function endOf(events: readonly Event[]): string {
  const last = events.at(-1);
  if (last?.type === "RUN_ERROR") return last.code ?? "none";
  return last?.type === "RUN_FINISHED" ? (last.outcome?.type ?? "success") : "nothing";
}

const textOf = (events: readonly Event[]): string =>
  events.map((event) => (event.type === "TEXT_MESSAGE_CONTENT" ? event.delta : "")).join("");

/** Judges the log of a run: it is whole and valid, speaks of itself only, and has an end that its kind may have. */
function judge({ kind, threadId, runId }: Case, events: readonly Event[]): void {
  checkStream(events);
  const end = endOf(events);
  // The message says what the system said, such as ECONNRESET.
  const told = JSON.stringify(events.at(-1));
  expect(HOSTILE_KINDS[kind]?.ends ?? [end], `${kind}, seed ${SEED}: ${told}`).toContain(end);
  expect(FAULTS_OF_OURS, `${kind}, seed ${SEED}`).not.toContain(end);
  expect(events[0], `${kind}, seed ${SEED}`).toMatchObject({ type: "RUN_STARTED", threadId, runId });
  expect(textOf(events), `${kind}, seed ${SEED}`).toBe(HOSTILE_KINDS[kind]?.text ?? textOf(events));
}

test(`${ROUNDS * KINDS.length} hostile agents over sockets`, { timeout: TIMEOUT_MS }, async () => {
  const agent = await startHostileAgent();
  const folder = await mkdtemp(join(tmpdir(), "heddle-hostile-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const server = await startServer({
    files: ["examples/agents/load.ts"],
    args: ["--agent", `evil=${agent.url}`],
    store: `sqlite:${join(folder, "log.db")}`,
    env: {
      HEDDLE_MAX_EVENTS_PER_RUN: String(LIMITS.maxEventsPerRun),
      HEDDLE_MAX_OPEN_ITEMS: String(LIMITS.maxOpenItems),
      HEDDLE_CANCEL_GRACE_MS: String(LIMITS.cancelGraceMs),
    },
  });
  const { url } = server;
  const other = witness(url);
  await other.warmedUp;
  const before = await memoryOf(server.child.pid);
  const cases = casesOf(ROUNDS);
  await tryAll(cases, async (each) => {
    const { kind, threadId, runId } = each;
    const path = `${url}/threads/${threadId}`;
    for await (const { event } of framesOf(await postRun(url, "evil", { threadId, runId }))) {
      // One that never ends is stopped, as people do.
      if (event.type !== "RUN_STARTED" || HOSTILE_KINDS[kind]?.endless !== true) continue;
      const stopped = await fetch(`${path}/runs/${encodeURIComponent(runId)}/cancel`, { method: "POST" });
      expect(await stopped.json()).toMatchObject({ status: "cancelled" });
    }
    const log = await fetch(`${path}/events?all=true&raw=true&meta=true`, { headers: { accept: "application/json" } });
    const { events }: { events: { event: unknown }[] } = Object(await log.json());
    judge(
      each,
      events.flatMap(({ event }) => parseEvent(event).value ?? []),
    );
  });
  const after = await memoryOf(server.child.pid);
  const runs = await other.finish();
  expect(agent.asked()).toBeGreaterThanOrEqual(cases.length);
  expect(runs).toBeGreaterThan(5);
  expect(after.peakMib - before.nowMib).toBeLessThan(MAX_GROWTH_MIB);
  expect(server.printed.err).not.toMatch(/reference|uncaught|unhandled|internal-error|worker-lost/i);
  expect(await server.stop()).toBe(0);
});

test(`${ROUNDS * KINDS.length} hostile agents in the process`, { timeout: TIMEOUT_MS }, async () => {
  const evil = remoteAgent({ name: "evil", url: "http://hostile.test/agui", fetch: hostileFetch, ...READING });
  const heddle = served(evil, LIMITS);
  await tryAll(casesOf(ROUNDS), async (each) => {
    const { kind, threadId, runId } = each;
    await heddle.start("evil", bodyOf(runId, { threadId }));
    if (HOSTILE_KINDS[kind]?.endless === true) await heddle.cancel(threadId, runId);
    judge(
      each,
      (await collect(heddle, { runId, raw: true, meta: true }, threadId)).map(({ event }) => event),
    );
  });
  expect(await heddle.health()).toMatchObject({ ready: true, runs: 0, viewers: 0 });
  await heddle.close();
  expect(await heddle.store.unsettled()).toEqual([]);
  expect(Reflect.get({}, "polluted")).toBe(undefined);
});
