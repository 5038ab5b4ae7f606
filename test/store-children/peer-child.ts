/**
 * One of several processes on one PostgreSQL: writers that go from run to run, a reaper, and a viewer of every thread
 * that follows the log by `watch` and `read` alone.
 *
 * It tells what was acknowledged, whose runs it lost, how often a batch turned out to be there already, and at the end a
 * hash of everything that its viewers saw, in the order in which they saw it.
 */
import { createHash } from "node:crypto";
import { setTimeout as after } from "node:timers/promises";
import { HeddleError } from "../../src/protocol/index.ts";
import { Committer, reap, settleLeftovers } from "../../src/store/index.ts";
import type { Store } from "../../src/store/index.ts";
import { Random } from "../../src/testing/store-contract/random.ts";
import { configOf, orders, say } from "./orders.ts";
import { storeAt } from "./open-store.ts";
import type { StorePlace } from "./open-store.ts";
import { TENANT } from "./run-script.ts";
import { writeRun } from "./write-run.ts";
import type { Ack } from "./write-run.ts";

/** What it is started with. */
export interface PeerConfig {
  readonly name: string;
  readonly place: StorePlace;
  readonly threads: readonly string[];
  readonly writers: number;
  readonly runsPerWriter: number;
  readonly leaseMs: number;
  readonly seed: number;
  /** Whether it ends the runs of others whose lease has expired. */
  readonly reaps: boolean;
  /** Pause before each event. */
  readonly paceMs: number;
}

/** What it is told. */
export type PeerOrder =
  | { readonly type: "write" }
  | { readonly type: "recover" }
  | { readonly type: "look"; readonly tails: Readonly<Record<string, number>> }
  | { readonly type: "close" };

/** What it reports. */
export type PeerReport =
  | { readonly type: "ready" }
  | ({ readonly type: "ack" } & Ack)
  | { readonly type: "lost"; readonly runId: string; readonly code: string }
  | { readonly type: "ended"; readonly threadId: string; readonly runId: string; readonly how: string }
  | { readonly type: "done"; readonly repeated: number; readonly troubles: number }
  | { readonly type: "recovered" }
  | { readonly type: "seen"; readonly hashes: Readonly<Record<string, string>> }
  | { readonly type: "closed" }
  | { readonly type: "trouble"; readonly what: string };

const config = configOf<PeerConfig>();
const { threads, leaseMs } = config;
let repeated = 0;
let troubles = 0;

/** The store, and a count of what it had to tell twice. */
function counting(store: Store): Store {
  return {
    ...store,
    async append(batches) {
      const answers = await store.append(batches);
      repeated += answers.filter(({ type }) => type === "repeated").length;
      return answers;
    },
  };
}

/** Says again what got no answer, for as long as that may help. */
async function persist<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code !== "store-unavailable") throw error;
      troubles++;
      await after(5);
    }
  }
}

const acked = (ack: Ack): void => say({ type: "ack", ...ack });

async function writeRuns(store: Store, committer: Committer, writer: number): Promise<void> {
  const random = new Random(config.seed * 1000 + writer);
  for (let run = 0; run < config.runsPerWriter; run++) {
    const threadId = random.maybeOne(threads) ?? "";
    const known = await persist(() => store.runs({ tenant: TENANT, threadId }));
    const parent = random.maybeOne(known.filter(({ status }) => status !== "running"));
    const key = { tenant: TENANT, threadId, runId: `${config.name}-${writer}-${run}` };
    const hangs = parent === undefined ? {} : { parentRunId: parent.runId, kind: "branch" as const };
    const pace = async (): Promise<void> => void (await after(random.below(config.paceMs)));
    // A claim whose answer is lost is found to exist: nobody has its lease, and a reaper ends it.
    const written = await persist(() => writeRun({ store, committer, key, ...hangs, leaseMs, random, acked, pace }));
    if (written.type === "lost") {
      const { error } = written;
      say({ type: "lost", runId: key.runId, code: error instanceof HeddleError ? error.code : String(error) });
    }
    say({ type: "ended", threadId, runId: key.runId, how: written.type });
  }
}

/** Follows a thread as a viewer does: read until the tail, then wait until there may be more. */
class Viewer {
  seen = 0;
  readonly #hash = createHash("sha256");

  async follow(store: Store, threadId: string): Promise<never> {
    const key = { tenant: TENANT, threadId };
    let wake = Promise.withResolvers<void>();
    store.watch(key, () => wake.resolve());
    for (;;) {
      wake = Promise.withResolvers<void>();
      const found = await this.#read(store, threadId);
      if (!found) await wake.promise;
    }
  }

  async #read(store: Store, threadId: string): Promise<boolean> {
    try {
      const page = await store.read({ tenant: TENANT, threadId }, { afterSeq: this.seen, limit: 50 });
      for (const { seq, runId, json } of page.events) {
        if (seq !== this.seen + 1) throw new Error(`${threadId}: ${seq} came after ${this.seen}`);
        this.seen = seq;
        this.#hash.update(`${seq} ${runId} ${json}\n`);
      }
      return page.events.length > 0;
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      if (error.code === "thread-unknown") return false;
      if (error.code !== "store-unavailable") throw error;
      troubles++;
      return true;
    }
  }

  get digest(): string {
    return this.#hash.copy().digest("hex");
  }
}

async function main(): Promise<void> {
  const store = counting(storeAt(config.place));
  await persist(() => store.open());
  const committer = new Committer(store, { heartbeatMs: leaseMs / 4, onTrouble: () => troubles++ });
  const viewers = new Map(threads.map((threadId) => [threadId, new Viewer()]));
  for (const [threadId, viewer] of viewers) viewer.follow(store, threadId).catch(trouble);
  let reaping = Promise.resolve();
  const reaper = setInterval(() => {
    if (config.reaps)
      reaping = reaping.then(() => persist(() => reap(store, { leaseMs }))).then(() => undefined, trouble);
  }, leaseMs / 4);
  say({ type: "ready" });
  for await (const order of orders<PeerOrder>()) {
    if (order.type === "write") {
      void Promise.all(Array.from({ length: config.writers }, (_, index) => writeRuns(store, committer, index)))
        .then(() => say({ type: "done", repeated, troubles }))
        .catch(trouble);
    } else if (order.type === "recover") {
      await persist(() => settleLeftovers(store));
      say({ type: "recovered" });
    } else if (order.type === "look") {
      for (const [threadId, viewer] of viewers) {
        while (viewer.seen < (order.tails[threadId] ?? 0)) await after(5);
      }
      say({ type: "seen", hashes: Object.fromEntries(Array.from(viewers, ([id, viewer]) => [id, viewer.digest])) });
    } else {
      clearInterval(reaper);
      await reaping;
      await committer.close();
      await store.close();
      say({ type: "closed" });
      process.exit(0);
    }
  }
}

function trouble(what: unknown): void {
  say({ type: "trouble", what: what instanceof Error ? (what.stack ?? what.message) : String(what) });
}

await main().catch(trouble);
