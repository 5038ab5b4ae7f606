/** Who waits for more of which thread, within one process. */
import type { ThreadKey, Watcher } from "./store.ts";

/** Watchers by thread. */
export class ThreadWatchers {
  readonly #byTenant = new Map<string, Map<string, Set<Watcher>>>();

  /** Adds a watcher, and returns what takes it away again. */
  add({ tenant, threadId }: ThreadKey, watcher: Watcher): () => void {
    const threads = getOrMake(this.#byTenant, tenant, () => new Map<string, Set<Watcher>>());
    // One function may watch twice, and is then called twice.
    const own: Watcher = () => watcher();
    getOrMake(threads, threadId, () => new Set<Watcher>()).add(own);
    return () => {
      const watchers = threads.get(threadId);
      watchers?.delete(own);
      if (watchers?.size === 0) threads.delete(threadId);
      if (threads.size === 0) this.#byTenant.delete(tenant);
    };
  }

  /** Calls the watchers of a thread. */
  call({ tenant, threadId }: ThreadKey): void {
    // A copy: whoever is called may stop watching.
    Array.from(this.#byTenant.get(tenant)?.get(threadId) ?? []).forEach((watcher) => watcher());
  }

  /** Calls everybody: whatever was missed, they will find. */
  callAll(): void {
    for (const { tenant, threadId } of this.keys()) this.call({ tenant, threadId });
  }

  /** Threads that somebody watches. */
  keys(): readonly ThreadKey[] {
    return Array.from(this.#byTenant, ([tenant, threads]) =>
      Array.from(threads.keys(), (threadId) => ({ tenant, threadId })),
    ).flat();
  }
}

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
