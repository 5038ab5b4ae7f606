/**
 * Runs whose worker is gone: whoever finds the lease expired takes the run over, closes what is open and says so. A run
 * that somebody stops and that does not answer is ended in the same way.
 *
 * A reaper is a worker like any other: it holds a lease of its own meanwhile, so one that dies is reaped in its turn.
 */
import type { Event } from "../protocol/index.ts";
import { closingEvents } from "./closing-events.ts";
import type { Closing } from "./closing-events.ts";
import { readAll } from "./fold-branch.ts";
import { endOf } from "./run-end.ts";
import { settleRun } from "./settle-run.ts";
import type { Lease, RunKey, Store } from "./store.ts";

/** How long a reaper's own lease holds. */
const REAPER_LEASE_MS = 15_000;

/** Ends every run whose lease has expired with `worker-lost`. Returns the runs that were ended here. */
export async function reap(store: Store, options: { readonly leaseMs?: number } = {}): Promise<readonly RunKey[]> {
  const { leaseMs = REAPER_LEASE_MS } = options;
  const ended: RunKey[] = [];
  for (;;) {
    const leases = await store.takeOver({ leaseMs });
    for (const lease of leases) if (await closeRun(store, lease, "worker-lost")) ended.push(keyOf(lease));
    if (leases.length === 0) return ended;
  }
}

/** Takes one run over and ends it. False where it is not running any more. */
export async function endRun(store: Store, key: RunKey, closing: Closing, leaseMs = REAPER_LEASE_MS): Promise<boolean> {
  const [lease] = await store.takeOver({ run: key, leaseMs });
  return lease !== undefined && (await closeRun(store, lease, closing));
}

async function closeRun(store: Store, lease: Lease, closing: Closing): Promise<boolean> {
  const run = await store.run(lease);
  if (run === undefined) return false;
  const logged: Event[] = [];
  const range = { afterSeq: run.firstSeq - 1, runIds: [run.runId] };
  for await (const { json } of readAll(store, lease, range)) logged.push(JSON.parse(json));
  const closers = closingEvents(logged, closing, await store.nowMs());
  const [first, ...rest] = closers.map((event) => JSON.stringify(event));
  if (first === undefined) return false;
  const [appended] = await store.append([
    { lease, number: lease.nextBatch, events: [first, ...rest], end: endOf(closers) },
  ]);
  const closed = appended?.type === "committed" || appended?.type === "repeated";
  if (closed) await settleRun(store, lease);
  return closed;
}

const keyOf = ({ tenant, threadId, runId }: RunKey): RunKey => ({ tenant, threadId, runId });
