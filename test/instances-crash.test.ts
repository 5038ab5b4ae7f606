/**
 * Three servers on one PostgreSQL, and none of it stays: a server is killed every other moment and started anew, and the
 * database crashes twice. Runs go on elsewhere or end honestly; five viewers of each move from server to server, and all of
 * them get what the log holds, byte for byte, without a gap and without a double.
 *
 * The moments come from a seed, which a failure names: HEDDLE_TEST_SEED repeats it, as far as processes can be repeated.
 * HEDDLE_TEST_SCALE=3.125 is 50 runs and 30 kills, one in two seconds, for a minute.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Event } from "heddle/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Random } from "../src/testing/store-contract/random.ts";
import { judgeScripted } from "./judge-scripted.ts";
import { rawFrames } from "./raw-frames.ts";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";
import { RoamingViewer } from "./roaming-viewer.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { framesOf, postRun } from "./sse-client.ts";
import { scriptOf } from "./store-children/run-script.ts";
import type { ScriptKey } from "./store-children/run-script.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const SEED = Number(process.env["HEDDLE_TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
const RUNS = Math.ceil(16 * SCALE);
const KILLS = Math.ceil(RUNS * 0.6);
const KILL_EVERY_MS = SCALE > 3 ? 2000 : 1000;
const VIEWERS = 5;
const INSTANCES = 3;
const FILES = ["test/crash-agents.ts"];
const LEASE_MS = 1500;

let postgres: RealPostgres;
let folder: string;
beforeAll(async () => {
  postgres = await realPostgres({ own: true });
  folder = await mkdtemp(join(tmpdir(), "heddle-instances-"));
  // One that ends well leaves the cache behind from which the others start quicker.
  await (await start()).stop();
}, 120_000);
afterAll(async () => {
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Leases as short as these, so that the runs of the dead are soon over. */
const SHORT = { HEDDLE_LEASE_MS: String(LEASE_MS), HEDDLE_REAP_MS: String(LEASE_MS / 3) };

function start(leases: Readonly<Record<string, string>> = SHORT): Promise<ServerProcess> {
  const env = { ...leases, HEDDLE_LOG_LEVEL: "silent", NODE_COMPILE_CACHE: join(folder, "compiled") };
  return startServer({ files: FILES, store: postgres.url, env });
}

/** Servers that come and go. */
class Instances {
  /** Where they are, or were. */
  readonly urls: string[] = [];
  readonly #random: Random;
  readonly #up = new Map<number, ServerProcess>();
  readonly #starting = new Map<number, Promise<void>>();

  constructor(random: Random) {
    this.#random = random;
    for (let slot = 0; slot < INSTANCES; slot++) this.#start(slot);
  }

  /** Resolves when all of them are there. */
  async ready(): Promise<void> {
    while (this.#starting.size > 0) await Promise.all(this.#starting.values());
  }

  /** One of them, dead or alive: clients do not know. */
  any(): string {
    return this.#random.maybeOne(this.urls) ?? "";
  }

  /** Kills one of those that are up, once there is one, and starts another in its place. */
  async kill(): Promise<void> {
    while (this.#up.size === 0) await Promise.race(this.#starting.values());
    const [slot, server] = this.#random.maybeOne([...this.#up]) ?? [];
    if (slot === undefined || server === undefined) return;
    this.#up.delete(slot);
    await server.kill();
    this.#start(slot);
  }

  /** Ends all of them in order. */
  async stop(): Promise<readonly (number | null)[]> {
    await this.ready();
    return Promise.all(Array.from(this.#up.values(), (server) => server.stop()));
  }

  #start(slot: number): void {
    this.#starting.set(slot, this.#begin(slot));
  }

  async #begin(slot: number): Promise<void> {
    const server = await this.#started();
    this.urls[slot] = server.url;
    this.#up.set(slot, server);
    this.#starting.delete(slot);
  }

  /** A server does not start while the database is away: whoever watches over it starts it again. */
  async #started(): Promise<ServerProcess> {
    for (;;) {
      try {
        return await start();
      } catch (error) {
        if (!String(error).includes("store-unavailable")) throw error;
      }
    }
  }
}

/** A run, who asked for it, and who watches. */
class Watched {
  readonly viewers: readonly RoamingViewer[];
  /** How often it was asked for until it was answered. */
  asked = 0;
  /** Resolves when it was answered with an event, and everybody has seen its end. */
  readonly done: Promise<void>;
  readonly key: ScriptKey;
  readonly #at: () => string;
  readonly #paceMs: number;

  /** Asked for `at` a server; watched on any. */
  constructor(key: ScriptKey, durationMs: number, instances: Instances, random: Random, at = () => instances.any()) {
    this.key = key;
    this.#at = at;
    this.#paceMs = Math.ceil(durationMs / scriptOf(key).length);
    const where = (): string => instances.any();
    const leaves = (): boolean => random.chance(2);
    this.viewers = Array.from({ length: VIEWERS }, () => new RoamingViewer(key, { where, leaves }));
    this.done = Promise.all([this.#ask(), ...this.viewers.map(({ done }) => done)]).then(() => undefined);
  }

  /** Asks, under the same ids, until there is an event. */
  async #ask(): Promise<void> {
    const { threadId, runId } = this.key;
    const messages = [{ id: `${runId}-asked`, role: "user", content: "Go on." }];
    const input = { threadId, runId, messages, forwardedProps: { paceMs: this.#paceMs } };
    for (let first: unknown; first === undefined; await pause(25)) {
      this.asked += 1;
      const answer = await postRun(this.#at(), "scripted", input).catch(() => undefined);
      if (answer === undefined || answer.status === 503) continue;
      strictEqual(answer.status, 200, `${threadId} ${runId} is refused: ${answer.ok ? "" : await answer.text()}`);
      const frames = framesOf(answer);
      first = (await frames.next().catch(() => undefined))?.value;
      await frames.return().catch(() => undefined);
    }
  }
}

const bytesOf = async (url: string): Promise<Uint8Array> => new Uint8Array(await (await fetch(url)).arrayBuffer());
const eventOf = (frame: string): Event => JSON.parse(frame.slice(frame.indexOf("\ndata: ") + 7));

/** Everybody got what the log holds. Gives what became of the run. */
async function checkRun(url: string, { key, viewers }: Watched): Promise<"whole" | "cut"> {
  const log = rawFrames([await bytesOf(`${url}/threads/${key.threadId}/events?run=${key.runId}&follow=false`)]);
  for (const [index, viewer] of viewers.entries()) {
    const name = `viewer ${index} of ${key.threadId} ${key.runId}`;
    deepStrictEqual(viewer.ids, [...log.keys()], `${name}: a gap or a double`);
    deepStrictEqual([...viewer.raw], [...log], `${name}: other bytes`);
  }
  return judgeScripted(key, [...log.values()].map(eventOf));
}

/** The log of a thread has no gap, and each of its runs one beginning and one end. */
async function checkThread(url: string, threadId: string, runIds: readonly string[]): Promise<void> {
  const query = "all=true&follow=false&raw=true&meta=true";
  const log = rawFrames([await bytesOf(`${url}/threads/${threadId}/events?${query}`)]);
  const seqs = [...log.keys()].map((cursor) => Number(cursor.slice(-16)));
  deepStrictEqual(
    seqs,
    seqs.map((_, index) => index + 1),
    `${threadId} has a gap or a double`,
  );
  const events = [...log.values()].map(eventOf);
  const began = events.flatMap((event) => (event.type === "RUN_STARTED" ? [event.runId] : []));
  deepStrictEqual(began, runIds, `${threadId}: runs`);
  const ended = events.filter(({ type }) => type === "RUN_FINISHED" || type === "RUN_ERROR");
  strictEqual(ended.length, runIds.length, `${threadId}: terminal events`);
}

test(
  `HTTP-INS-3: three instances, ${KILLS} kills and two crashes of the database under ${RUNS} runs (seed ${SEED})`,
  async () => {
    const random = new Random(SEED);
    const instances = new Instances(random);
    await instances.ready();
    const spanMs = KILLS * KILL_EVERY_MS;
    const threadIds = Array.from({ length: Math.ceil(RUNS / 2.5) }, (_, index) => `t${index}`);
    const runs: Watched[] = [];
    const work = threadIds.map(async (threadId, index) => {
      const count = Math.floor((RUNS + threadIds.length - 1 - index) / threadIds.length);
      for (let number = 0; number < count; number++) {
        await pause((spanMs / count / 2) * (random.below(1000) / 1000));
        const durationMs = 200 + random.below(KILL_EVERY_MS * 3);
        const run = new Watched({ threadId, runId: `r${number}` }, durationMs, instances, random);
        runs.push(run);
        await run.done;
      }
    });
    const chaos = async (): Promise<void> => {
      for (let tick = 1; tick <= KILLS; tick++) {
        await pause(KILL_EVERY_MS * (0.5 + random.below(1000) / 1000));
        if (tick === Math.ceil(KILLS / 3) || tick === Math.ceil((KILLS * 2) / 3)) await postgres.restart();
        await instances.kill();
      }
    };
    await Promise.all([chaos(), ...work]);

    // Peace: every thread is free, and no run is lost by who has the usual lease, on however slow a machine.
    await instances.ready();
    const fates = { whole: 0, cut: 0 };
    for (const run of runs) fates[await checkRun(instances.any(), run)] += 1;
    const patient = await start({});
    const last = threadIds.map((threadId) => {
      const key = { threadId, runId: "last" };
      return new Watched(key, 200, instances, random, () => patient.url);
    });
    for (const run of last) {
      await run.done;
      strictEqual(await checkRun(instances.any(), run), "whole");
      strictEqual(run.asked, 1, `${run.key.threadId} was not free`);
    }
    runs.push(...last);
    for (const threadId of threadIds) {
      const runIds = runs.flatMap(({ key }) => (key.threadId === threadId ? [key.runId] : []));
      await checkThread(instances.any(), threadId, runIds);
    }
    // All of it has to have happened.
    expect(fates.whole + fates.cut).toBe(RUNS);
    expect(fates.cut).toBeGreaterThan(0);
    const cuts = runs.flatMap(({ viewers }) => viewers.map((viewer) => viewer.cuts));
    expect(Math.max(...cuts)).toBeGreaterThan(1);
    expect(await instances.stop()).toEqual([0, 0, 0]);
    expect(await patient.stop()).toBe(0);
  },
  240_000 * Math.max(1, SCALE),
);
