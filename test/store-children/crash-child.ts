/**
 * A process that is killed: it opens the store, ends what the one before left, and writes 20 runs over some threads until
 * somebody ends it. It never ends by itself in the middle.
 */
import { Committer, reap, settleLeftovers } from "../../src/store/index.ts";
import type { Store } from "../../src/store/index.ts";
import { Random } from "../../src/testing/store-contract/random.ts";
import { orders, say } from "./orders.ts";
import { storeAt } from "./open-store.ts";
import type { StorePlace } from "./open-store.ts";
import { TENANT } from "./run-script.ts";
import { writeRun } from "./write-run.ts";
import type { Ack } from "./write-run.ts";

/** What it is told. */
export type CrashOrder =
  | { readonly type: "open"; readonly place: StorePlace }
  | { readonly type: "recover"; readonly threads: readonly string[] }
  | { readonly type: "write"; readonly threads: readonly string[]; readonly round: number; readonly seed: number }
  | { readonly type: "close" };

/** What it reports. */
export type CrashReport =
  | { readonly type: "up" }
  | { readonly type: "opened" }
  | { readonly type: "recovered" }
  | ({ readonly type: "ack" } & Ack)
  | { readonly type: "done" }
  | { readonly type: "closed" }
  | { readonly type: "trouble"; readonly what: string };

const RUNS = 20;
const KINDS = ["continue", "branch", "continue", "spawn"] as const;

async function recover(store: Store, threads: readonly string[]): Promise<void> {
  await reap(store, { leaseMs: 1 });
  // What the server still does for the dead process keeps its rows locked for a moment.
  for (;;) {
    const runs = await Promise.all(threads.map((threadId) => store.runs({ tenant: TENANT, threadId })));
    if (runs.flat().every(({ status }) => status !== "running")) break;
    await reap(store, { leaseMs: 1 });
  }
  await settleLeftovers(store);
  say({ type: "recovered" });
}

async function write(store: Store, order: Extract<CrashOrder, { type: "write" }>): Promise<void> {
  const { threads, round, seed } = order;
  const committer = new Committer(store, { lingerMs: 2, onTrouble: (error) => trouble(error) });
  await Promise.all(
    threads.map(async (threadId, index) => {
      const random = new Random(seed + index);
      for (let run = 0; run < RUNS / threads.length; run++) {
        const known = await store.runs({ tenant: TENANT, threadId });
        const parent = random.chance(60) ? known.at(-1) : random.maybeOne(known);
        const kind = random.one(KINDS);
        const key = { tenant: TENANT, threadId, runId: `k${round}-${run}` };
        const { type } = await writeRun({
          store,
          committer,
          key,
          ...(parent !== undefined && { parentRunId: parent.runId, kind }),
          // It expires at once: nobody else is there to take it before this process is gone.
          leaseMs: 1,
          random,
          acked: (ack) => say({ type: "ack", ...ack }),
        });
        if (type !== "written") trouble(`${key.runId} on ${parent?.runId ?? "nothing"}: ${type}`);
      }
    }),
  );
  await committer.close();
  say({ type: "done" });
}

function trouble(what: unknown): void {
  say({ type: "trouble", what: what instanceof Error ? (what.stack ?? what.message) : String(what) });
}

async function main(): Promise<void> {
  let store: Store | undefined;
  say({ type: "up" });
  for await (const order of orders<CrashOrder>()) {
    if (order.type === "open") {
      store = storeAt(order.place);
      await store.open();
      say({ type: "opened" });
    } else if (store === undefined) trouble("not open");
    else if (order.type === "recover") await recover(store, order.threads);
    else if (order.type === "write") await write(store, order);
    else {
      await store.close();
      say({ type: "closed" });
      return;
    }
  }
}

await main().catch((error: unknown) => {
  trouble(error);
  process.exit(1);
});
