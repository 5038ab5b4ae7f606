/**
 * The log in memory: for tests, for demonstrations, and as the model that other stores are held against.
 *
 * It forgets everything at exit and never lets go of anything before. Every method runs to its end without a pause,
 * which is what makes each of them a transaction.
 */
import { HeddleError } from "../protocol/index.ts";
import { MemoryThread, unknownRun, unknownThread } from "./memory-thread.ts";
import type { MemoryRun } from "./memory-thread.ts";
import { memoryUsage } from "./memory-usage.ts";
import type { ClaimRequest, ClaimResult, EnqueueRequest, EnqueueResult } from "./store.ts";
import type { ListRequest, Store, ThreadDump, ThreadInfo, ThreadKey } from "./store.ts";
import { pageOf } from "./thread-page.ts";
import { ThreadWatchers } from "./thread-watchers.ts";

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /** The clock. Default: `Date.now`. */
  readonly nowMs?: () => number;
}

/** Makes an empty store. */
export function memoryStore({ nowMs = Date.now }: MemoryStoreOptions = {}): Store {
  const threads = new Threads();
  const watchers = new ThreadWatchers();
  let closed = false;

  /** Runs one method as a transaction. */
  const within = async <T>(work: (now: number) => T): Promise<T> => {
    if (closed) throw new HeddleError("store-closed", "The store was closed: open a new one.", {});
    return work(nowMs());
  };

  return {
    kind: "memory",
    open: () => within(() => undefined),
    async close() {
      closed = true;
    },
    claim: (request) =>
      within((now) => {
        const result = claim(threads, request, now);
        if (result.type === "claimed") watchers.call(request);
        return result;
      }),
    append: (batches) =>
      within((now) =>
        batches.map((batch) => {
          const appended = threads.get(batch.lease)?.append(batch, now) ?? { type: "fenced" };
          if (appended.type === "committed") watchers.call(batch.lease);
          return appended;
        }),
      ),
    heartbeat: (leases) =>
      within((now) =>
        leases.map((lease) => {
          const run = threads.get(lease)?.held(lease);
          if (run !== undefined) run.leaseUntilMs = now + lease.leaseMs;
          return { held: run !== undefined, stop: run?.stop ?? false };
        }),
      ),
    takeOver: ({ run: named, leaseMs, limit = 64 }) =>
      within((now) =>
        threads
          .running()
          .filter(({ thread, run }) =>
            named === undefined
              ? run.leaseUntilMs <= now
              : threads.get(named) === thread && run.about.runId === named.runId,
          )
          .slice(0, limit)
          .map(({ thread, run }) => {
            run.fence += 1;
            run.leaseUntilMs = now + leaseMs;
            return thread.leaseOf(run, leaseMs);
          }),
      ),
    requestStop: (key) =>
      within(() => {
        const run = threads.get(key)?.runs.get(key.runId);
        if (run === undefined || run.about.end !== undefined) return false;
        run.stop = true;
        watchers.call(key);
        return true;
      }),
    annotate: (request) =>
      within(() => {
        const thread = threads.need(request);
        const run = thread.runs.get(request.runId);
        if (run === undefined) throw unknownRun(request);
        const annotated = thread.annotate(run, request.events);
        watchers.call(request);
        return annotated;
      }),
    claimToolCall: (request) => within((now) => threads.need(request).claimToolCall(request, now)),
    nowMs: () => within((now) => now),
    watch: (key, watcher) => watchers.add(key, watcher),
    ...queueing(threads, within, watchers),
    ...access(threads, within, watchers),
    ...ticketing(within),
    ...reading(threads, within),
    ...settling(threads, within),
    ...housekeeping(threads, within),
  };
}

type Within = <T>(work: (now: number) => T) => Promise<T>;

type Reading = Pick<Store, "thread" | "run" | "runs" | "branch" | "read" | "snapshot" | "compacted">;

const reading = (threads: Threads, within: Within): Reading => ({
  thread: (key) => within(() => threads.get(key)?.info()),
  run: (key) =>
    within(() => {
      const thread = threads.get(key);
      const run = thread?.runs.get(key.runId);
      return run && thread?.infoOf(run);
    }),
  runs: (key) =>
    within(() => {
      const thread = threads.get(key);
      return thread === undefined ? [] : Array.from(thread.runs.values(), (run) => thread.infoOf(run));
    }),
  branch: (key) =>
    within(() => {
      const thread = threads.get(key);
      return thread === undefined ? [] : thread.branch(key.runId).map((run) => thread.infoOf(run));
    }),
  read: (key, request = {}) => within(() => threads.need(key).read(request)),
  snapshot: (key, throughSeq = Infinity) => within(() => threads.get(key)?.snapshot(key.runId, throughSeq)),
  compacted: (key) => within(() => threads.get(key)?.runs.get(key.runId)?.compacted),
});

type Queueing = Pick<Store, "enqueue" | "queue" | "unqueue" | "waiting">;

const queueing = (threads: Threads, within: Within, watchers: ThreadWatchers): Queueing => ({
  enqueue: (request) =>
    within((now) => {
      const result = enqueue(threads, request, now);
      if (result.type === "queued") watchers.call(request);
      return result;
    }),
  queue: (key) => within(() => (threads.get(key)?.queue ?? []).map(({ order: _order, ...queued }) => queued)),
  unqueue: (key) =>
    within(() => {
      const found = threads.get(key)?.unqueue(key.runId) ?? false;
      if (found) watchers.call(key);
      return found;
    }),
  waiting: (limit = 64) =>
    within(() => {
      const busy = new Set(threads.running().map(({ thread }) => thread));
      return threads
        .all()
        .flatMap((thread) => thread.queue.slice(0, busy.has(thread) ? 0 : 1).map((next) => ({ thread, next })))
        .toSorted((a, b) => a.next.order - b.next.order)
        .slice(0, limit)
        .map(({ thread, next: { order: _order, ...queued } }) => ({ ...keyOf(thread), ...queued }));
    }),
});

type Access = Pick<Store, "setMember" | "members" | "roleIn" | "runningBy">;

const access = (threads: Threads, within: Within, watchers: ThreadWatchers): Access => ({
  setMember: (key, user, role) =>
    within(() => {
      const changed = threads.need(key).setMember(user, role);
      if (changed) watchers.call(key);
      return changed;
    }),
  members: (key) => within(() => threads.get(key)?.members() ?? []),
  roleIn: (key, user) => within(() => threads.get(key)?.roleOf(user)),
  runningBy: (tenant, principal) =>
    within(
      () =>
        threads.running().filter(({ run: { about } }) => about.tenant === tenant && about.principal === principal)
          .length,
    ),
});

type Ticketing = Pick<Store, "saveTicket" | "takeTicket">;

function ticketing(within: Within): Ticketing {
  const tickets = new Map<string, { readonly body: string; readonly untilMs: number }>();
  return {
    saveTicket: ({ hash, body, forMs }) =>
      within((now) => {
        for (const [known, { untilMs }] of tickets) if (untilMs <= now) tickets.delete(known);
        tickets.set(hash, { body, untilMs: now + forMs });
      }),
    takeTicket: (hash) =>
      within((now) => {
        const ticket = tickets.get(hash);
        tickets.delete(hash);
        return ticket !== undefined && ticket.untilMs > now ? ticket.body : undefined;
      }),
  };
}

function enqueue(threads: Threads, request: EnqueueRequest, now: number): EnqueueResult {
  const thread = threads.need(request);
  const { runId, agent, body, principal, parentRunId, limit } = request;
  const run = thread.runs.get(runId);
  if (run !== undefined) return { type: "exists", run: thread.infoOf(run) };
  const { queue } = thread;
  const at = queue.findIndex((queued) => queued.runId === runId);
  if (at >= 0) return { type: "queued", position: at + 1 };
  if (queue.length >= limit) return { type: "full", limit };
  const order = threads.nextOrder();
  return {
    type: "queued",
    position: queue.push({ runId, agent, body, principal, parentRunId, queuedAtMs: now, order }),
  };
}

type Settling = Pick<Store, "saveSnapshot" | "settle" | "unsettled" | "trim">;

const settling = (threads: Threads, within: Within): Settling => ({
  saveSnapshot: (key, snapshot) => within(() => threads.need(key).save(snapshot)),
  settle: (key, { snapshot, compacted }) =>
    within(() => {
      const thread = threads.need(key);
      const run = thread.runs.get(key.runId);
      if (run === undefined) throw unknownRun(key);
      if (run.compacted !== undefined) return;
      thread.save(snapshot);
      run.compacted = compacted;
    }),
  unsettled: (limit = 64) =>
    within(() =>
      threads
        .all()
        .flatMap((thread) => Array.from(thread.runs.values(), (run) => ({ thread, run })))
        .filter(({ run }) => run.about.end !== undefined && run.compacted === undefined)
        .slice(0, limit)
        .map(({ thread, run }) => ({ ...keyOf(thread), runId: run.about.runId })),
    ),
  trim: (endedBeforeMs) =>
    within(() => {
      const gone = threads.all().map((thread) => thread.trim(endedBeforeMs));
      return {
        threads: gone.filter((count) => count > 0).length,
        events: gone.reduce((sum, count) => sum + count, 0),
      };
    }),
});

const keyOf = ({ about: { tenant, threadId } }: MemoryThread): ThreadKey => ({ tenant, threadId });

type Housekeeping = Pick<Store, "listThreads" | "updateThread" | "deleteThread" | "importThread" | "usage">;

const housekeeping = (threads: Threads, within: Within): Housekeeping => ({
  listThreads: (request) => within(() => pageOf(threads.of(request), request)),
  updateThread: (key, { title, archived, metadata, head }) =>
    within((now) => {
      const thread = threads.need(key);
      if (head !== undefined && !thread.runs.has(head)) throw unknownRun({ ...key, runId: head });
      const { about } = thread;
      if (title !== undefined) about.title = title ?? undefined;
      about.archived = archived ?? about.archived;
      about.metadata = metadata ?? about.metadata;
      about.head = head ?? about.head;
      about.updatedAtMs = now;
      return thread.info();
    }),
  deleteThread: (key) => within(() => threads.delete(key)),
  usage: () => within(() => memoryUsage(threads.all())),
  importThread: (key, dump, { owner } = {}) =>
    within((now) => {
      if (threads.get(key) !== undefined) throw threadExists(key);
      threads.add(restored(key, dump, owner, now));
    }),
});

function claim(threads: Threads, request: ClaimRequest, now: number): ClaimResult {
  const known = threads.get(request);
  const { runId, parentRunId, kind, ifHead, ifQueued } = request;
  const same = known?.runs.get(runId);
  if (known !== undefined && same !== undefined) return { type: "exists", run: known.infoOf(same) };
  const parent = parentRunId === undefined ? undefined : known?.runs.get(parentRunId);
  if (parentRunId !== undefined && parent === undefined) throw unknownRun({ ...request, runId: parentRunId });
  if (ifHead !== undefined && (known?.about.head ?? null) !== ifHead) return { type: "moved", head: known?.about.head };
  if (known !== undefined && parent !== undefined && parent.about.end === undefined && kind !== "spawn") {
    return { type: "busy", run: known.infoOf(parent) };
  }
  const waits = known?.queue.some((queued) => queued.runId === runId) ?? false;
  if (ifQueued === true && !waits) throw unknownRun(request);
  const thread = known ?? threads.add(new MemoryThread(request, request.owner, now));
  const run = thread.begin(request, now);
  return { type: "claimed", lease: thread.leaseOf(run, request.leaseMs), thread: thread.info() };
}

/** The error for an import over a thread that is there. */
export function threadExists({ threadId }: ThreadKey): HeddleError<"thread-exists"> {
  const message = "There is a thread of this id already: delete it first, or import under another id.";
  return new HeddleError("thread-exists", message, { threadId });
}

function restored(key: ThreadKey, dump: ThreadDump, owner: string | undefined, now: number): MemoryThread {
  const { thread: info, runs, events, settlements } = dump;
  const thread = new MemoryThread(key, owner, now);
  const { tenant, threadId } = key;
  const { floor, head, title, archived, metadata, createdAtMs, updatedAtMs } = info;
  Object.assign(thread.about, { floor, head, title, archived, metadata, createdAtMs, updatedAtMs });
  for (const run of runs) {
    const about = { ...run, tenant, threadId };
    const taken = { fence: 1, nextBatch: 1, leaseUntilMs: 0, stop: false, compacted: undefined };
    thread.runs.set(run.runId, { about, ...taken });
  }
  for (const event of events) thread.events.push(event);
  for (const { runId, snapshot, compacted } of settlements) {
    thread.save(snapshot);
    const run = thread.runs.get(runId);
    if (run !== undefined) run.compacted = compacted;
  }
  return thread;
}

/** All threads, by tenant and id. */
class Threads {
  readonly #tenants = new Map<string, Map<string, MemoryThread>>();
  #orders = 0;

  /** A place in the order of everything that waits. */
  nextOrder(): number {
    return ++this.#orders;
  }

  get({ tenant, threadId }: ThreadKey): MemoryThread | undefined {
    return this.#tenants.get(tenant)?.get(threadId);
  }

  need(key: ThreadKey): MemoryThread {
    const thread = this.get(key);
    if (thread === undefined) throw unknownThread(key);
    return thread;
  }

  add(thread: MemoryThread): MemoryThread {
    const { tenant, threadId } = thread.about;
    const threads = this.#tenants.get(tenant) ?? new Map<string, MemoryThread>();
    this.#tenants.set(tenant, threads.set(threadId, thread));
    return thread;
  }

  delete({ tenant, threadId }: ThreadKey): boolean {
    return this.#tenants.get(tenant)?.delete(threadId) ?? false;
  }

  of({ tenant, user }: ListRequest): readonly ThreadInfo[] {
    const threads = [...(this.#tenants.get(tenant)?.values() ?? [])];
    const theirs = user === undefined ? threads : threads.filter((thread) => thread.roleOf(user) !== undefined);
    return theirs.map((thread) => thread.info());
  }

  all(): readonly MemoryThread[] {
    return Array.from(this.#tenants.values(), (threads) => [...threads.values()]).flat();
  }

  running(): readonly { readonly thread: MemoryThread; readonly run: MemoryRun }[] {
    return this.all().flatMap((thread) =>
      Array.from(thread.runs.values(), (run) => ({ thread, run })).filter(({ run }) => run.about.end === undefined),
    );
  }
}
