/**
 * The steps that cases are made of: begin a run, append to it, end it, read everything back.
 *
 * Each step fails where the store refuses what a case needs as its ground, so that a case reads as what it proves. Reading
 * goes page by page and checks what holds of every page.
 */
import type { Event } from "../../protocol/index.ts";
import type {
  Appended,
  ClaimRequest,
  Lease,
  Member,
  QueuedRun,
  ReadRequest,
  RunEnd,
  RunInfo,
  RunKey,
  Settlement,
  Store,
  StoredEvent,
  ThreadDump,
  ThreadInfo,
  ThreadKey,
} from "../../store/index.ts";
import { check, checkPresent, checkSame } from "./contract-violation.ts";

/** Events of a batch. */
export type Texts = readonly [string, ...string[]];

/** A lease that no case outlives. */
export const LONG_LEASE_MS = 600_000;

/** The tenant that most cases work in. */
export const TENANT = "acme";

/** The thread that most cases work in. */
export const THREAD: ThreadKey = { tenant: TENANT, threadId: "thread" };

/** The end of a run that went well. */
export const FINISHED: RunEnd = { status: "finished", interrupts: [], pendingToolCallIds: [] };

/** Names a run of a thread. */
export const runKey = ({ tenant, threadId }: ThreadKey, runId: string): RunKey => ({ tenant, threadId, runId });

/** An event with a name of its own. */
export const textOf = (name: string): string => JSON.stringify({ type: "CUSTOM", name, value: null });

/** Events with names of their own. */
export const textsOf = (name: string, count: number): Texts => [
  textOf(`${name} 1`),
  ...Array.from({ length: count - 1 }, (_, index) => textOf(`${name} ${index + 2}`)),
];

/** What `claim` is asked for a run with one event. */
export const claimOf = (key: ThreadKey, runId: string, rest: Partial<ClaimRequest> = {}): ClaimRequest => ({
  ...runKey(key, runId),
  agent: "agent",
  leaseMs: LONG_LEASE_MS,
  events: [textOf(`${runId} starts`)],
  ...rest,
});

/** Claims a run that can be claimed. */
export async function begin(
  store: Store,
  key: ThreadKey,
  runId: string,
  rest: Partial<ClaimRequest> = {},
): Promise<Lease> {
  const result = await store.claim(claimOf(key, runId, rest));
  check(result.type === "claimed", `the claim of "${runId}" is answered ${result.type}`);
  return result.lease;
}

/** Appends one batch, whatever becomes of it. */
export async function appendOne(
  store: Store,
  lease: Lease,
  number: number,
  events: Texts,
  end?: RunEnd,
): Promise<Appended> {
  const answers = await store.append([{ lease, number, events, ...(end === undefined ? {} : { end }) }]);
  checkSame(answers.length, 1, "answers to one batch");
  return checkPresent(answers[0], "the answer");
}

/** Appends one batch that has to be committed. */
export async function commit(
  store: Store,
  lease: Lease,
  number: number,
  events: Texts,
  end?: RunEnd,
): Promise<Extract<Appended, { type: "committed" }>> {
  const answer = await appendOne(store, lease, number, events, end);
  check(answer.type === "committed", `batch ${number} of "${lease.runId}" is answered ${answer.type}`);
  return answer;
}

/** A whole run: claimed, with one more batch of two events, which ends it. */
export async function runWhole(
  store: Store,
  key: ThreadKey,
  runId: string,
  rest: Partial<ClaimRequest> & { readonly end?: RunEnd } = {},
): Promise<Lease> {
  const { end = FINISHED, ...request } = rest;
  const lease = await begin(store, key, runId, request);
  await commit(store, lease, 1, textsOf(`${runId} goes on`, 2), end);
  return lease;
}

/** A run that has to be there. */
export const runOf = async (store: Store, key: ThreadKey, runId: string): Promise<RunInfo> =>
  checkPresent(await store.run(runKey(key, runId)), `the run "${runId}"`);

/** A thread that has to be there. */
export const threadOf = async (store: Store, key: ThreadKey): Promise<ThreadInfo> =>
  checkPresent(await store.thread(key), `the thread "${key.threadId}"`);

/** Reads to the end of what is asked for, page by page. */
export async function readAll(
  store: Store,
  key: ThreadKey,
  request: ReadRequest = {},
): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  let afterSeq = request.afterSeq ?? 0;
  for (;;) {
    const page = await store.read(key, { ...request, afterSeq });
    const last = page.events.at(-1)?.seq ?? afterSeq;
    const end = Math.min(request.throughSeq ?? page.tail, page.tail);
    check(
      page.events.length <= (request.limit ?? 512),
      `a page holds ${page.events.length} events, more than asked for`,
    );
    check(
      page.events.every(({ seq }) => seq > afterSeq && seq <= end),
      "a page holds what was not asked for",
    );
    check(page.through >= last, `a page goes through ${page.through}, but holds ${last}`);
    check(page.through <= Math.max(end, afterSeq), `a page goes through ${page.through}, beyond the end at ${end}`);
    events.push(...page.events);
    if (page.through >= end) return events;
    check(page.through > afterSeq, `a page after ${afterSeq} of ${end} goes nowhere`);
    afterSeq = page.through;
  }
}

/** Resolves when a watcher that looks each time it is called, and only then, has found what it looks for. */
export function seenByWatcher(store: Store, key: ThreadKey, look: () => Promise<boolean>): Promise<void> {
  const seen = Promise.withResolvers<void>();
  // One that nobody waits for any more, because its case has failed already, fails with it.
  seen.promise.catch(() => undefined);
  store.watch(key, () => void look().then((found) => found && seen.resolve(), seen.reject));
  return seen.promise;
}

/** The opening of a branch as of a run; the texts name the run. */
export const openingOf = (runId: string, messages = 2): readonly Event[] => [
  { type: "RUN_STARTED", threadId: THREAD.threadId, runId },
  {
    type: "MESSAGES_SNAPSHOT",
    messages: Array.from({ length: messages }, (_, index) => ({
      id: `m${index}`,
      role: "user",
      content: `said ${index}`,
    })),
  },
  { type: "STATE_SNAPSHOT", snapshot: { run: runId } },
];

/** A run as it is settled; the texts name the run. */
export const settlementOf = ({ runId, firstSeq, lastSeq }: RunInfo, name = runId): Settlement => ({
  snapshot: { runId, seq: lastSeq, events: openingOf(name) },
  compacted: [{ firstSeq, lastSeq, json: textOf(`${name} compacted`) }],
});

/** Settles a run that has ended; returns what was kept. */
export async function settleRun(store: Store, key: ThreadKey, runId: string): Promise<Settlement> {
  const settlement = settlementOf(await runOf(store, key, runId));
  await store.settle(runKey(key, runId), settlement);
  return settlement;
}

/** Everything that can be read of a thread. */
export interface ThreadView {
  /** The thread. */
  readonly thread: ThreadInfo;
  /** Its events beyond the floor. */
  readonly events: readonly StoredEvent[];
  /** Its runs, and what was made of them. */
  readonly runs: readonly {
    readonly run: RunInfo;
    readonly branch: readonly string[];
    readonly snapshot: unknown;
    readonly compacted: unknown;
  }[];
  /** The runs that wait in it. */
  readonly queue: readonly QueuedRun[];
  /** Its members. */
  readonly members: readonly Member[];
}

/** Reads everything of a thread. */
export async function viewOf(store: Store, key: ThreadKey): Promise<ThreadView> {
  const thread = await threadOf(store, key);
  const runs: ThreadView["runs"][number][] = [];
  for (const run of await store.runs(key)) {
    const branch = (await store.branch(run)).map(({ runId }) => runId);
    runs.push({ run, branch, snapshot: await store.snapshot(run), compacted: await store.compacted(run) });
  }
  const events = await readAll(store, key, { afterSeq: thread.floor });
  return { thread, events, runs, queue: await store.queue(key), members: await store.members(key) };
}

/** A thread as a dump, from what can be read of it. */
export async function dumpOf(store: Store, key: ThreadKey): Promise<ThreadDump> {
  const { thread, events, runs } = await viewOf(store, key);
  const { tenant: _tenant, logId: _logId, owner: _owner, ...info } = thread;
  const settlements: (Settlement & { readonly runId: string })[] = [];
  for (const { run } of runs.filter(({ run }) => run.firstSeq <= thread.floor)) {
    settlements.push({
      runId: run.runId,
      snapshot: checkPresent(await store.snapshot(run), "the snapshot of a run that lost raw events"),
      compacted: checkPresent(await store.compacted(run), "the compacted form of a run that lost raw events"),
    });
  }
  return {
    thread: info,
    runs: runs.map(({ run: { tenant: _tenant, threadId: _threadId, settled: _settled, ...run } }) => run),
    events,
    settlements,
  };
}
