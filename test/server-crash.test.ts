/**
 * `kill -9` of the server at random moments: while it starts, when runs begin, and in the middle of several, with clients
 * reading. The next server opens the same file at once, and everything that any client had seen is there, at its cursor,
 * byte for byte; runs that were cut say so, and their threads take the next run.
 *
 * One file lives through all kills. Leases hold for ten minutes, so whoever waited for one would be seen. The moments come
 * from a seed, which a failure names: HEDDLE_TEST_SEED repeats it.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as after } from "node:timers/promises";
import type { Event } from "heddle/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Random } from "../src/testing/store-contract/random.ts";
import { judgeScripted } from "./judge-scripted.ts";
import { rawFrames, recorded } from "./raw-frames.ts";
import { heddle, startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { attachTo, framesOf, postRun } from "./sse-client.ts";
import type { ScriptKey } from "./store-children/run-script.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const KILLS = Math.ceil(50 * SCALE);
const SEED = Number(process.env["HEDDLE_TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
/** Threads are used in so many rounds before there are new ones. */
const ROUNDS_PER_THREADS = 5;
const FILES = ["test/crash-agents.ts"];

let folder: string;
let file: string;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-server-crash-"));
  file = join(folder, "heddle.db");
  env = { HEDDLE_LEASE_MS: "600000", NODE_COMPILE_CACHE: join(folder, "compiled") };
  // One that ends well leaves the cache behind from which the others start quicker.
  await (await startServer({ files: FILES, env })).stop();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const eventOf = (frame: string): Event => JSON.parse(frame.slice(frame.indexOf("\ndata: ") + 7));

/** One server after the other on one file, and what their clients saw. */
class Crashes {
  /** The runs of the log by how they ended. */
  readonly runs = { whole: 0, cut: 0, none: 0 };
  /** Kills that met runs under way, as the log tells. */
  met = 0;
  readonly #random: Random;
  /** Every frame that any client saw, by its cursor. */
  readonly #seen = new Map<string, string>();
  readonly #threads = new Set<string>();
  #asked: ScriptKey[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  /** One server from start to kill. */
  async round(round: number): Promise<void> {
    if (this.#random.chance(15)) await this.#killStarting();
    const server = await this.#start();
    await this.#check(server);
    const work = new Work(server, round, threadsOf(round));
    // Mostly in the middle of the work, sometimes when it has just begun.
    await work.seen(this.#random.chance(10) ? 0 : 1 + this.#random.below(300));
    await work.kill();
    this.#take(work);
  }

  /** The last server: nobody kills it. */
  async finish(): Promise<void> {
    const server = await this.#start();
    await this.#check(server);
    for (const threadId of this.#threads) {
      const log = rawFrames([await bytesOf(fetch(`${server.url}/threads/${threadId}/events?follow=false`))]);
      const seqs = [...log.keys()].map((cursor) => Number(cursor.slice(-16)));
      deepStrictEqual(
        seqs,
        seqs.map((_, index) => index + 1),
        `${threadId} has a gap or a double`,
      );
      for (const [cursor, frame] of log) this.#saw(cursor, frame);
    }
    strictEqual(await server.stop(), 0);
  }

  #start(): Promise<ServerProcess> {
    return startServer({ files: FILES, store: `sqlite:${file}`, env });
  }

  async #killStarting(): Promise<void> {
    const starting = heddle(["serve", ...FILES, "--port", "0", "--store", `sqlite:${file}`], env);
    await after(this.#random.below(500));
    starting.child.kill("SIGKILL");
    strictEqual(await starting.ended, null, starting.printed.err);
  }

  #take(work: Work): void {
    this.#asked.push(...work.asked);
    for (const { threadId } of work.asked) this.#threads.add(threadId);
    for (const pieces of work.received) {
      for (const [cursor, frame] of rawFrames(pieces)) this.#saw(cursor, frame);
    }
  }

  /** What is at a cursor is the same whoever sees it, whenever. */
  #saw(cursor: string, frame: string): void {
    strictEqual(this.#seen.get(cursor) ?? frame, frame);
    this.#seen.set(cursor, frame);
  }

  /** Checks the runs that were asked for since the last check. */
  async #check(server: ServerProcess): Promise<void> {
    const asked = this.#asked;
    this.#asked = [];
    const { cut } = this.runs;
    for (const key of asked) this.runs[await this.#checkRun(server, key)] += 1;
    if (this.runs.cut > cut) this.met += 1;
  }

  async #checkRun({ url }: ServerProcess, { threadId, runId }: ScriptKey): Promise<"whole" | "cut" | "none"> {
    const answer = await fetch(`${url}/threads/${threadId}/events?run=${runId}&follow=false`);
    const name = `${threadId} ${runId}`;
    if (answer.status === 404) {
      const begins = `"RUN_STARTED","threadId":"${threadId}","runId":"${runId}"`;
      ok(![...this.#seen.values()].some((frame) => frame.includes(begins)), `${name} was seen and is lost`);
      return "none";
    }
    const log = rawFrames([await bytesOf(Promise.resolve(answer))]);
    const cursors = [...log.keys()];
    const [first = "", last = ""] = [cursors.at(0), cursors.at(-1)];
    const seen = [...this.#seen].filter(([cursor]) => cursor >= first && cursor <= last);
    const there = seen.map(([cursor]) => [cursor, log.get(cursor)]);
    deepStrictEqual(seen, there, `${name}: seen and lost or changed`);
    return judgeScripted({ threadId, runId }, [...log.values()].map(eventOf));
  }
}

const bytesOf = async (answer: Promise<Response>): Promise<Buffer> => Buffer.from(await (await answer).arrayBuffer());

const threadsOf = (round: number): readonly string[] => {
  const set = Math.floor(round / ROUNDS_PER_THREADS);
  return ["a", "b", "c", "d"].map((name) => `${set}-${name}`);
};

/** Clients at work with one server: on each thread one run after the other, each read by who posted it and by one more. */
class Work {
  readonly asked: ScriptKey[] = [];
  /** What each connection brought. */
  readonly received: Uint8Array[][] = [];
  readonly #server: ServerProcess;
  readonly #done: Promise<unknown>;
  readonly #trouble = Promise.withResolvers<never>();
  #frames = 0;
  #watch: { readonly count: number; readonly reached: () => void } | undefined;
  #killed = false;

  constructor(server: ServerProcess, round: number, threadIds: readonly string[]) {
    this.#server = server;
    this.#done = Promise.all(threadIds.map((threadId) => this.#ask(threadId, round)));
    this.#done.catch(this.#trouble.reject);
    this.#trouble.promise.catch(() => undefined);
  }

  /** Resolves when clients have seen so many events. */
  async seen(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#watch = { count, reached: resolve };
    this.#look();
    await Promise.race([promise, this.#trouble.promise]);
  }

  /** Kills the server, and resolves when everybody knows. */
  async kill(): Promise<void> {
    this.#killed = true;
    await this.#server.kill();
    await this.#done;
  }

  async #ask(threadId: string, round: number): Promise<void> {
    for (let number = 0; !this.#killed; number++) {
      const runId = `k${round}-${number}`;
      this.asked.push({ threadId, runId });
      const messages = [{ id: `${runId}-asked`, role: "user", content: "Go on." }];
      await this.#unlessKilled(async () => {
        const answer = await postRun(this.#server.url, "scripted", { threadId, runId, messages });
        strictEqual(answer.status, 200, `${threadId} ${runId}: the thread is not free`);
        await Promise.all([this.#read(answer), this.#view(threadId, runId)]);
      });
    }
  }

  async #view(threadId: string, runId: string): Promise<void> {
    await this.#read(await attachTo(this.#server.url, threadId, runId));
  }

  /** Reads to the end. What was received counts, whether it was understood or not. */
  async #read(answer: Response): Promise<void> {
    const pieces: Uint8Array[] = [];
    this.received.push(pieces);
    for await (const _ of framesOf(recorded(answer, pieces))) {
      this.#frames += 1;
      this.#look();
    }
  }

  #look(): void {
    if (this.#watch !== undefined && this.#frames >= this.#watch.count) this.#watch.reached();
  }

  async #unlessKilled(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.#killed) throw error;
    }
  }
}

test(
  `kill -9 of the server in the middle of runs, ${KILLS} times (seed ${SEED})`,
  async () => {
    const crashes = new Crashes(SEED);
    // A kill counts where it met a run under way; most do.
    for (let round = 0; crashes.met < KILLS && round < KILLS * 2; round++) await crashes.round(round);
    await crashes.finish();
    expect(crashes.met).toBeGreaterThanOrEqual(KILLS);
    expect(crashes.runs.whole).toBeGreaterThan(0);
    const database = new DatabaseSync(file, { readOnly: true });
    expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    database.close();
  },
  300_000 * Math.max(1, SCALE),
);
