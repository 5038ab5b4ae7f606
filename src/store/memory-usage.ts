/**
 * How much the memory store holds: characters of JSON, as if each were a byte. Events and compacted forms are texts already; a
 * snapshot is written once to learn how long it is, and never again, since it never changes. What snapshots share is counted in
 * each of them.
 */
import type { MemoryThread } from "./memory-thread.ts";
import type { Snapshot, StoreUsage } from "./store.ts";

/** How much these threads hold. */
export function memoryUsage(threads: readonly MemoryThread[]): StoreUsage {
  const sum = (of: (thread: MemoryThread) => number): number =>
    threads.reduce((total, thread) => total + of(thread), 0);
  const rawBytes = sum(({ events }) => charsOf(events));
  const compactedBytes = sum(({ runs }) => charsOf([...runs.values()].flatMap(({ compacted = [] }) => compacted)));
  const snapshotBytes = sum(({ snapshots }) => snapshots.reduce((total, each) => total + snapshotChars(each), 0));
  return {
    threads: threads.length,
    runs: sum(({ runs }) => runs.size),
    queued: sum(({ queue }) => queue.length),
    events: sum(({ events }) => events.length),
    rawBytes,
    compactedBytes,
    snapshotBytes,
    totalBytes: rawBytes + compactedBytes + snapshotBytes,
  };
}

const charsOf = (texts: readonly { readonly json: string }[]): number =>
  texts.reduce((total, { json }) => total + json.length, 0);

const KNOWN = new WeakMap<Snapshot, number>();

function snapshotChars(snapshot: Snapshot): number {
  const chars = KNOWN.get(snapshot) ?? JSON.stringify(snapshot.events).length;
  KNOWN.set(snapshot, chars);
  return chars;
}
