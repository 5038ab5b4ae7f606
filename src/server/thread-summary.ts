/**
 * A thread in a list: what is known of it, and how its head stands.
 *
 * How a head stands is asked of each thread by itself. Whoever lists again and again keeps what was said before: it still
 * holds where the thread has not changed since, unless the head was running, which may have ended within the same moment.
 */
import type { ListRequest, RunInfo, Store, ThreadInfo } from "../store/index.ts";

/** A thread in a list. */
export interface ThreadSummary extends ThreadInfo {
  /** How its head stands; undefined where it has none. */
  readonly status: RunInfo["status"] | undefined;
}

/** A page of a list. */
export interface ThreadListPage {
  /** The threads, the most recently changed first. */
  readonly threads: readonly ThreadSummary[];
  /** Where the next page begins; undefined at the end. */
  readonly next: string | undefined;
}

/** What was said of threads before, by their logs. */
export type KnownSummaries = ReadonlyMap<string, ThreadSummary>;

const NONE: KnownSummaries = new Map();

/** A page of the threads of a tenant. */
export async function listThreads(
  store: Store,
  request: ListRequest,
  known: KnownSummaries = NONE,
): Promise<ThreadListPage> {
  const { threads, next } = await store.listThreads(request);
  return { threads: await Promise.all(threads.map((thread) => summaryOf(store, thread, known))), next };
}

/** A thread as a list shows it. */
export async function summaryOf(
  store: Store,
  thread: ThreadInfo,
  known: KnownSummaries = NONE,
): Promise<ThreadSummary> {
  const { logId, head, updatedAtMs } = thread;
  const before = known.get(logId);
  if (before?.updatedAtMs === updatedAtMs && before.head === head && before.status !== "running") {
    return { ...thread, status: before.status };
  }
  return { ...thread, status: head === undefined ? undefined : (await store.run({ ...thread, runId: head }))?.status };
}
