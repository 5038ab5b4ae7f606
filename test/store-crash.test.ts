/**
 * `kill -9` at random moments: while a process opens the store, ends what the one before left, and writes 20 runs. The
 * next process opens the same store at once, and what was acknowledged is there, in order, once.
 *
 * One database lives through all kills. The moments come from a seed, which a failure names: HEDDLE_TEST_SEED repeats it.
 * What a kill cannot show is a power cut: the system keeps what was written, so `synchronous` does not matter here.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import type { Store } from "heddle/store";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Random } from "../src/testing/store-contract/random.ts";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";
import { checkThread, threadIdsOf } from "./store-children/check-log.ts";
import { Child, bundled } from "./store-children/child.ts";
import type { CrashOrder, CrashReport } from "./store-children/crash-child.ts";
import { storeAt } from "./store-children/open-store.ts";
import type { StorePlace } from "./store-children/open-store.ts";
import { TENANT } from "./store-children/run-script.ts";
import type { Ack } from "./store-children/write-run.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const KILLS = Math.ceil(100 * SCALE);
const SEED = Number(process.env["HEDDLE_TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
/** Threads are written to in so many rounds before there are new ones. */
const ROUNDS_PER_THREADS = 5;

let postgres: RealPostgres;
let folder: string;
let program: string;
beforeAll(async () => {
  postgres = await realPostgres();
  folder = await mkdtemp(join(tmpdir(), "heddle-crash-"));
  program = await bundled("crash-child", join(folder, "program"));
});
afterAll(async () => {
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
});

/** An engine under test. */
interface Engine {
  /** Where the child of a round finds the store. */
  readonly placeOf: (round: number) => StorePlace;
  /** Where the test reads it, beside the child. */
  readonly reading: () => StorePlace;
  /** Resolves when nothing is done any more for the children before the one of this round, which are dead. */
  readonly forgot: (round: number) => Promise<void>;
}

const sqlite = (): Engine => {
  const file = join(folder, "heddle.db");
  return {
    placeOf: () => ({ engine: "sqlite", file }),
    reading: () => ({ engine: "sqlite", file, readOnly: true }),
    forgot: () => Promise.resolve(),
  };
};

const onPostgres = (): Engine => {
  const schema = `crash_${process.pid}`;
  const nameOf = (round: number): string => `${schema}_${round}`;
  return {
    placeOf: (round) => ({
      engine: "postgres",
      url: `${postgres.url}?application_name=${nameOf(round)}`,
      schema,
      listen: false,
    }),
    reading: () => ({ engine: "postgres", url: postgres.url, schema, listen: false }),
    async forgot(round) {
      const client = new Client({ connectionString: postgres.url });
      await client.connect();
      const question = `SELECT count(*)::int AS left FROM pg_stat_activity
        WHERE starts_with(application_name, $1) AND application_name <> $2`;
      for (;;) {
        const { rows } = await client.query<{ left: number }>(question, [schema, nameOf(round)]);
        if (rows[0]?.left === 0) break;
      }
      await client.end();
    },
  };
};

/** Kills one child after the other, and checks the log in between. */
class Crashes {
  readonly acks: Ack[] = [];
  readonly #engine: Engine;
  readonly #random: Random;
  #spare: Child<CrashReport>;

  constructor(engine: Engine, seed: number) {
    this.#engine = engine;
    this.#random = new Random(seed);
    this.#spare = new Child(program);
  }

  /** One child from start to kill. */
  async round(round: number): Promise<void> {
    const child = this.#next();
    await child.report("up");
    this.#order(child, { type: "open", place: this.#engine.placeOf(round) });
    if (this.#random.chance(15)) {
      this.#order(child, { type: "recover", threads: threadsOf(round) });
      return this.#kill(child, 80);
    }
    await this.#recovered(child, round);
    this.#order(child, { type: "write", threads: threadsOf(round), round, seed: this.#random.below(1e9) });
    // Mostly in the middle of the work, sometimes while it begins.
    if (this.#random.chance(85)) await child.report("ack");
    await this.#kill(child, 150);
  }

  /** The last child: nobody kills it. */
  async finish(round: number): Promise<void> {
    const child = this.#next();
    this.#order(child, { type: "open", place: this.#engine.placeOf(round) });
    await this.#recovered(child, round);
    this.#order(child, { type: "write", threads: threadsOf(round), round, seed: 1 });
    await child.report("done");
    this.#order(child, { type: "close" });
    await child.report("closed");
    await child.ended();
    await this.#spare.kill();
    this.#take(child);
  }

  async reading<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const store = storeAt(this.#engine.reading());
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }

  /** The next child was started while the one before was at work. */
  #next(): Child<CrashReport> {
    const child = this.#spare;
    this.#spare = new Child(program);
    return child;
  }

  async #recovered(child: Child<CrashReport>, round: number): Promise<void> {
    await child.report("opened");
    await this.#engine.forgot(round);
    this.#order(child, { type: "recover", threads: threadsOf(round) });
    await child.report("recovered");
    await this.reading(async (store) => {
      const isNew = new RegExp(`^k${round - 1}-`);
      for (const threadId of new Set([...threadsOf(round), ...threadsOf(round - 1)])) {
        if ((await store.thread({ tenant: TENANT, threadId })) === undefined) continue;
        await checkThread(store, threadId, this.acks, ({ runId }) => isNew.test(runId));
      }
    });
  }

  async #kill(child: Child<CrashReport>, withinMs: number): Promise<void> {
    await after(this.#random.below(withinMs * 10) / 10);
    await child.kill();
    this.#take(child);
  }

  #take(child: Child<CrashReport>): void {
    const [trouble] = child.all("trouble");
    if (trouble !== undefined) throw new Error(`A child met trouble: ${trouble.what}`);
    this.acks.push(...child.all("ack"));
  }

  #order(child: Child<CrashReport>, order: CrashOrder): void {
    child.order(order);
  }
}

const threadsOf = (round: number): readonly string[] => {
  const set = Math.max(0, Math.floor(round / ROUNDS_PER_THREADS));
  return ["a", "b", "c", "d"].map((name) => `${set}-${name}`);
};

test.concurrent.each([
  ["SQLite", sqlite],
  ["PostgreSQL", onPostgres],
])(
  `kill -9 at ${KILLS} moments on %s (seed ${SEED})`,
  async (_, engineOf) => {
    const crashes = new Crashes(engineOf(), SEED);
    for (let round = 0; round < KILLS; round++) await crashes.round(round);
    await crashes.finish(KILLS);
    const totals = await crashes.reading(async (store) => {
      let [whole, cut] = [0, 0];
      for (const threadId of await threadIdsOf(store)) {
        const checked = await checkThread(store, threadId, crashes.acks);
        whole += checked.whole;
        cut += checked.cut;
      }
      return { whole, cut, unsettled: (await store.unsettled()).length };
    });
    expect(totals.unsettled).toBe(0);
    // The kills have to have met something: runs that were cut, and runs that were not.
    expect(totals.cut).toBeGreaterThan(KILLS / 2);
    expect(totals.whole).toBeGreaterThan(20);
  },
  300_000 * Math.max(1, SCALE),
);
