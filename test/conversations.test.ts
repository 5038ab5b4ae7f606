/**
 * DESIGN 9 as a whole: generated conversations, against a model of the rules. After each step the server has done what
 * the model says, the log folds to what the model holds, and nothing that was in it before has changed. So too over real
 * sockets, on a file, with `kill -9` in the middle of conversations.
 */
import { strictEqual } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { createHeddle } from "heddle/server";
import { heddleHandler } from "heddle/server/fetch";
import { memoryStore } from "heddle/store";
import { sqliteStore } from "heddle/store/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { conversationAgent } from "./conversation-agent.ts";
import { LogCheck } from "./conversation-log.ts";
import { openCalls } from "./conversation-model.ts";
import type { ModelRules } from "./conversation-model.ts";
import { Talk } from "./conversation-talk.ts";
import type { Place } from "./conversation-talk.ts";
import { step } from "./conversations.ts";
import type { Step } from "./conversations.ts";
import { startGates } from "./gate.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
/** Where something was expected that never comes. */
const DEADLINE_MS = 20_000;

/** How posts are taken, by the agents that they are for. */
const RULES: Readonly<Record<string, ModelRules>> = {
  plain: {},
  appending: { onStale: "append" },
  declining: { onOpenCalls: "fail" },
  instructed: { acceptInstructions: true },
};

const steps = fc.array(step, { minLength: 1, maxLength: 14, size: "max" });

/** Does what is to be done with a conversation; what fails is told with all that led to it. */
async function told(talk: Talk, work: () => Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("the conversation hangs")), DEADLINE_MS);
  try {
    await Promise.race([work(), late.promise]);
  } catch (error) {
    throw new Error(`${String(error)}\n${talk.story.join("\n")}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** How often each thing happened in conversations. */
class Tally {
  readonly #counts = new Map<string, number>();

  add({ counts }: Talk): void {
    for (const [what, count] of counts) this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
  }

  /** What never happened: nothing would have been proved of it. */
  without(...all: readonly string[]): readonly string[] {
    return all.filter((what) => !this.#counts.has(what));
  }
}

const OUTCOMES = [
  "start",
  "join",
  "restore",
  "refuse answers-missing",
  "refuse resume-invalid",
  "refuse run-conflict",
  "refuse run-unknown",
  "refuse thread-busy",
] as const;

test("2,000 conversations of several clients come out as the rules say", { timeout: 120_000 * SCALE }, async () => {
  const waiting = new Map<string, () => void>();
  const wait = (runId: string, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.set(runId, resolve);
      signal.addEventListener("abort", () => reject(new DOMException("stopped", "AbortError")));
    });
  const agents = Object.keys(RULES).map((name) => conversationAgent(name, wait));
  const store = memoryStore();
  const heddle = createHeddle({ agents, store, rules: RULES, lingerMs: 0, onError: () => undefined });
  onTestFinished(() => heddle.close());
  const handle = heddleHandler(heddle);
  const tally = new Tally();
  let threads = 0;
  const agentName = fc.oneof(
    { weight: 3, arbitrary: fc.constant("plain") },
    { weight: 2, arbitrary: fc.constantFrom(...Object.keys(RULES)) },
  );
  const property = fc.asyncProperty(agentName, steps, async (agent, steps) => {
    const place: Place = {
      ask: (path, init) => handle(new Request(`http://heddle.test${path}`, init)),
      letGo: (runId) => waiting.get(runId)?.(),
      agent,
      rules: RULES[agent] ?? {},
    };
    const talk = new Talk(`t${threads++}`, place);
    const log = new LogCheck(store, talk);
    await told(talk, async () => {
      for (const each of steps) {
        await talk.take(each);
        await log.check(talk.model.runs.slice(-1));
      }
      await talk.finish();
      await log.check(talk.model.runs);
    });
    tally.add(talk);
  });
  await fc.assert(property, { numRuns: Math.ceil(2000 * SCALE) });
  expect(tally.without(...OUTCOMES)).toEqual([]);
});

const ROUNDS = 5;
const TALKS_PER_ROUND = Math.ceil(10 * SCALE);

test("50 conversations with a kill -9 in between come out as the rules say", { timeout: 120_000 * SCALE }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "heddle-conversations-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "heddle.db");
  const gates = await startGates();
  // Whoever waited for a lease to end would be seen.
  const env = {
    HEDDLE_TEST_GATES: gates.url,
    HEDDLE_LEASE_MS: "600000",
    HEDDLE_LINGER_MS: "1",
    HEDDLE_LOG_LEVEL: "silent",
  };
  const start = (): Promise<ServerProcess> =>
    startServer({ files: ["test/conversation-agent.ts"], store: `sqlite:${file}`, env });
  let server = await start();
  const seed = Number(process.env["HEDDLE_TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
  const plans = fc.sample(fc.tuple(steps, steps, step), { numRuns: ROUNDS * TALKS_PER_ROUND, seed });
  const talks: Talk[] = [];
  const logOf = async ({ threadId }: Talk): Promise<string> => {
    const path = `/threads/${threadId}/events?all=true&follow=false&raw=true&meta=true`;
    return (await fetch(`${server.url}${path}`, { headers: { accept: "application/x-ndjson" } })).text();
  };
  for (let round = 0; round < ROUNDS; round++) {
    const place: Place = {
      ask: (path, init) => fetch(`${server.url}${path}`, init),
      letGo: (runId) => gates.open(runId),
      agent: "conversing",
      rules: {},
    };
    const mine = plans
      .slice(round * TALKS_PER_ROUND, (round + 1) * TALKS_PER_ROUND)
      .map(([before, after, last], index) => {
        const talk = new Talk(`t${round}-${index}`, place);
        talks.push(talk);
        return { talk, before, after, last, seen: "" };
      });
    await Promise.all(mine.map(({ talk, before }) => told(talk, () => takeAll(talk, before))));
    for (const each of mine) if (each.talk.model.head !== undefined) each.seen = await logOf(each.talk);
    await killAmong(
      mine.filter(({ talk }) => isIdle(talk)),
      round,
      () => server.kill(),
    );
    server = await start();
    await Promise.all(
      mine.map(({ talk, after, seen }) =>
        told(talk, async () => {
          await talk.lose();
          await talk.land();
          if (seen !== "")
            strictEqual((await logOf(talk)).slice(0, seen.length), seen, "what was logged before the kill");
          await takeAll(talk, after);
          await talk.finish();
        }),
      ),
    );
  }
  await server.stop();
  const store = sqliteStore(file);
  onTestFinished(() => store.close());
  for (const talk of talks) await told(talk, () => new LogCheck(store, talk).check(talk.model.runs));
  const met = talks.filter(({ story }) => story.some((line) => line.startsWith("lost")));
  expect(met.length, `conversations in which a kill met a run (seed ${seed})`).toBeGreaterThan(0);
});

/** Posts into each of some conversations at once, and kills when a few of them have their answer. */
async function killAmong(
  flights: readonly { readonly talk: Talk; readonly last: Step }[],
  few: number,
  kill: () => Promise<void>,
): Promise<void> {
  let killed: Promise<void> | undefined;
  let count = 0;
  const begun = (): void => {
    if (++count >= Math.min(few + 1, flights.length)) killed ??= kill();
  };
  await Promise.all(
    flights.map(({ talk, last }) => told(talk, () => talk.postInto({ ...last.script, holds: false }, begun))),
  );
  await (killed ?? kill());
}

async function takeAll(talk: Talk, steps: readonly Step[]): Promise<void> {
  for (const each of steps) await talk.take(each);
}

/** Whether nothing is under way, and nothing is waited for. */
const isIdle = ({ model: { head }, holding }: Talk): boolean =>
  head !== undefined && holding.length === 0 && head.asks.length === 0 && openCalls(head).length === 0;
