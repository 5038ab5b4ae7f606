/** Export and import on generated threads: branches, spawned and interleaved runs, every kind of end, retention, open runs. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryStream } from "../../test/arbitrary-stream.ts";
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { createPreludeState, stepPrelude } from "../stream/index.ts";
import { exportThread } from "./export-thread.ts";
import { foldBranch, readAll } from "./fold-branch.ts";
import { importThread } from "./import-thread.ts";
import { memoryStore } from "./memory-store.ts";
import { endRun } from "./reap.ts";
import { endOf } from "./run-end.ts";
import { settleLeftovers } from "./settle-run.ts";
import type { Lease, RunKey, Store, ThreadKey } from "./store.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const RUNS = { numRuns: Math.ceil(300 * SCALE) };

const KEY: ThreadKey = { tenant: "acme", threadId: "thread" };
const FAR_MS = 1_000_000;

interface PlannedRun {
  readonly events: readonly Event[];
  /** Which of the runs that are there it hangs on; 0 for none. */
  readonly parent: number;
  readonly kind: "continue" | "branch" | "spawn";
  /** Whether it goes on while the next one begins. */
  readonly slow: boolean;
  /** Whether it never ends. */
  readonly open: boolean;
  readonly batch: number;
  /** Where an annotation is among what it says; 0 for nowhere. */
  readonly note: number;
  /** Which of the runs that are there somebody annotates, once it has begun. */
  readonly noted: readonly number[];
}

const plannedRun: fc.Arbitrary<PlannedRun> = fc.record({
  events: arbitraryStream({ runs: 1, moves: 12 }),
  parent: fc.nat(8),
  kind: fc.constantFrom("continue", "branch", "spawn"),
  slow: fc.boolean(),
  open: fc.constantFrom(false, false, false, true),
  batch: fc.integer({ min: 1, max: 7 }),
  note: fc.nat(4),
  noted: fc.array(fc.nat(8), { maxLength: 2 }),
});

interface Plan {
  readonly before: readonly PlannedRun[];
  readonly after: readonly PlannedRun[];
  /** How far retention went: a share of the runs. */
  readonly trimmed: number;
  readonly title: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly archived: boolean;
}

const plan: fc.Arbitrary<Plan> = fc.record({
  before: fc.array(plannedRun, { maxLength: 4 }),
  after: fc.array(plannedRun, { minLength: 1, maxLength: 4 }),
  trimmed: fc.constantFrom(0, 0.5, 1),
  title: fc.option(fc.string({ unit: "binary" }), { nil: null }),
  metadata: fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()),
  archived: fc.boolean(),
});

const NOTE: Event = { type: "META", metaType: "thumbs_up", payload: { messageId: "m1", by: "\u2028 \ud83e\uddf5" } };

/** A store whose clock moves with every look at it. */
function tickingStore(): { readonly store: Store; readonly clock: { nowMs: number } } {
  const clock = { nowMs: 1000 };
  return { store: memoryStore({ nowMs: () => (clock.nowMs += 1) }), clock };
}

/** A run on its way into the log. */
class Going {
  readonly #store: Store;
  readonly #lease: Lease;
  readonly #batches: (readonly Event[])[];
  #number = 1;

  constructor(store: Store, lease: Lease, batches: readonly (readonly Event[])[]) {
    this.#store = store;
    this.#lease = lease;
    this.#batches = [...batches];
  }

  async step(): Promise<boolean> {
    const batch = this.#batches.shift();
    const [first, ...rest] = batch?.map((event) => JSON.stringify(event)) ?? [];
    if (first === undefined) return false;
    const end = this.#batches.length === 0 ? endOf(batch ?? []) : undefined;
    await this.#store.append([{ lease: this.#lease, number: this.#number++, events: [first, ...rest], end }]);
    return true;
  }
}

/** Begins a run where its place allows it. */
async function begin(store: Store, planned: PlannedRun, runId: string): Promise<Going | undefined> {
  const runs = await store.runs(KEY);
  const parent = planned.parent === 0 ? undefined : runs[(planned.parent - 1) % Math.max(1, runs.length)];
  const spawned = parent !== undefined && planned.kind === "spawn";
  if (parent !== undefined && parent.end === undefined && !spawned) return undefined;
  const named = planned.events.map((event): Event => ("runId" in event ? { ...event, runId } : event));
  if (planned.note > 0) named.splice(planned.note % named.length, 0, NOTE);
  const ended = named.findIndex((event) => endOf([event]) !== undefined);
  const events = planned.open ? named.slice(0, Math.max(0, Math.min(ended, planned.batch * 2))) : named;
  const fold = parent === undefined || spawned ? createPreludeState() : (await foldBranch(store, parent)).state;
  if (!verifies(() => events.forEach((event) => stepPrelude(fold, event)))) return undefined;
  const size = planned.batch;
  const batches = Array.from({ length: Math.ceil(events.length / size) }, (_, at) =>
    events.slice(at * size, at * size + size),
  );
  const [first = []] = batches;
  const [text, ...texts] = first.map((event) => JSON.stringify(event));
  if (text === undefined) return undefined;
  const place = { parentRunId: parent?.runId, kind: parent === undefined ? undefined : planned.kind };
  const principal = planned.slow ? "ada" : undefined;
  // A claim cannot end a run: what would end with its first batch is split.
  const whole = batches.length === 1 && !planned.open;
  const request = { ...KEY, runId, agent: `agent of ${runId}`, leaseMs: FAR_MS, principal, ...place };
  const claimed = await store.claim({ ...request, events: whole ? [text] : [text, ...texts] });
  if (claimed.type !== "claimed") throw new Error(claimed.type);
  const rest = whole ? [first.slice(1)] : batches.slice(1);
  return new Going(store, claimed.lease, rest);
}

function verifies(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (error instanceof HeddleError && error.code === "sequence-violation") return false;
    throw error;
  }
}

async function addRuns(store: Store, planned: readonly PlannedRun[], name: string): Promise<void> {
  let going: Going[] = [];
  for (const [index, each] of planned.entries()) {
    // A lone RUN_ERROR cannot be both the claim and the end.
    if (each.events.length < 2) continue;
    const run = await begin(store, each, `${name}${index}`);
    if (run !== undefined) going.push(run);
    await annotate(store, each.noted);
    if (each.slow) {
      for (const other of going) await other.step();
      continue;
    }
    for (const other of going) while (await other.step());
    going = [];
  }
  for (let more = true; more;) {
    more = false;
    for (const other of going) more = (await other.step()) || more;
  }
  await annotate(store, planned.at(-1)?.noted ?? []);
}

async function annotate(store: Store, noted: readonly number[]): Promise<void> {
  const runs = await store.runs(KEY);
  for (const index of runs.length === 0 ? [] : noted) {
    const { runId = "" } = runs[index % runs.length] ?? {};
    await store.annotate({ ...KEY, runId, events: [JSON.stringify(NOTE)] });
  }
}

async function makeThread(made: Plan): Promise<Store> {
  const { store, clock } = tickingStore();
  await addRuns(store, made.before, "old");
  await settleLeftovers(store);
  const ends = (await store.runs(KEY)).map(({ endedAtMs }) => endedAtMs ?? clock.nowMs).toSorted((a, b) => a - b);
  await store.trim((ends[Math.floor(made.trimmed * (ends.length - 1))] ?? 0) + (made.trimmed === 0 ? 0 : 1));
  await addRuns(store, made.after, "new");
  await settleLeftovers(store);
  if ((await store.thread(KEY)) !== undefined) {
    const { title, metadata, archived } = made;
    await store.updateThread(KEY, { title, metadata, archived });
  }
  return store;
}

/** Everything that can be read of a thread, but for its log's id. */
async function viewOf(store: Store, key: ThreadKey) {
  const thread = await store.thread(key);
  if (thread === undefined) return undefined;
  const { tenant: _tenant, logId: _logId, ...info } = thread;
  const runs = [];
  for (const { tenant: _, ...run } of await store.runs(key)) {
    const named: RunKey = { ...key, runId: run.runId };
    const branch = (await store.branch(named)).map(({ runId }) => runId);
    runs.push({ run, branch, snapshot: await store.snapshot(named), compacted: await store.compacted(named) });
  }
  return { info, runs, events: await listOf(readAll(store, key, { afterSeq: thread.floor })) };
}

async function listOf<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));

test("an import of an export is accepted and reads the same, snapshots and compacted runs too", async () => {
  const seen = { trimmed: 0, partly: 0, branched: 0, spawned: 0, failed: 0, meta: 0, annotated: 0 };
  const check = async (made: Plan): Promise<void> => {
    const planned = { ...made, before: ended(made.before), after: ended(made.after) };
    const store = await makeThread(planned);
    const before = await viewOf(store, KEY);
    if (before === undefined) return;
    const lines = await listOf(exportThread(store, KEY));
    const other = memoryStore({ nowMs: () => FAR_MS });
    const imported = await importThread(other, { tenant: "other" }, lines);
    expect(imported).toEqual({
      threadId: KEY.threadId,
      runs: before.runs.length,
      events: before.events.length,
      closedRunIds: [],
    });
    const after = await viewOf(other, { ...KEY, tenant: "other" });
    expect(after?.events).toEqual(before.events);
    expect(asJson(after)).toEqual(asJson(before));
    expect(await listOf(exportThread(other, { ...KEY, tenant: "other" }))).toEqual(lines);
    const { floor } = before.info;
    if (floor > 0) seen.trimmed += 1;
    if (before.runs.some(({ run }) => run.firstSeq <= floor && run.lastSeq > floor)) seen.partly += 1;
    if (before.runs.some(({ run }) => run.kind === "branch")) seen.branched += 1;
    if (before.runs.some(({ run }) => run.kind === "spawn")) seen.spawned += 1;
    if (before.runs.some(({ run }) => run.status === "failed")) seen.failed += 1;
    if (before.events.some(({ json }) => json.includes('"META"'))) seen.meta += 1;
    const lastSeqs = new Map(before.runs.map(({ run }) => [run.runId, run.lastSeq]));
    if (before.events.some(({ seq, runId }) => seq > (lastSeqs.get(runId) ?? seq))) seen.annotated += 1;
  };
  await fc.assert(fc.asyncProperty(plan, check), RUNS);
  for (const [kind, count] of Object.entries(seen)) expect(count, `threads that were ${kind}`).toBeGreaterThan(0);
});

const ended = (runs: readonly PlannedRun[]): readonly PlannedRun[] => runs.map((run) => ({ ...run, open: false }));

test("runs that had not ended are closed by the import as they would have been where they were", async () => {
  let open = 0;
  const check = async (made: Plan): Promise<void> => {
    const store = await makeThread(made);
    if ((await store.thread(KEY)) === undefined) return;
    const running = (await store.runs(KEY)).filter(({ end }) => end === undefined).map(({ runId }) => runId);
    const lines = await listOf(exportThread(store, KEY));
    const other = memoryStore({ nowMs: () => 2 * FAR_MS });
    const imported = await importThread(other, KEY, lines);
    expect(imported.closedRunIds).toEqual(running);
    for (const runId of running) expect(await endRun(store, { ...KEY, runId }, "worker-lost")).toBe(true);
    open += running.length;
    const [after, wanted] = [await viewOf(other, KEY), await viewOf(store, KEY)];
    expect(untimed(after)).toEqual(untimed(wanted));
  };
  await fc.assert(fc.asyncProperty(plan, check), RUNS);
  expect(open).toBeGreaterThan(0);
});

/** Without the times, which only the store that closes a run can know. */
const untimed = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value ?? null, (key, held: unknown) => (TIMES.has(key) ? undefined : timeless(held))));

const TIMES: ReadonlySet<string> = new Set(["endedAtMs", "updatedAtMs", "timestamp"]);
const timeless = (held: unknown): unknown =>
  typeof held === "string" && held.startsWith('{"type":') ? held.replace(/"timestamp":\d+/, "") : held;
