/** Restoring any branch at any event gives what folding its raw events gives: with snapshots, without, and after trimming. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryStream } from "../../test/arbitrary-stream.ts";
import type { Event } from "../protocol/index.ts";
import { reduceAll, view } from "../stream/index.ts";
import { endOf, foldAt, foldBranch, memoryStore, settleLeftovers, settleRun } from "./index.ts";
import type { RunKey, Store } from "./index.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const KEY = { tenant: "a", threadId: "thread" };

/** A run: what it says, which earlier run it hangs on, and whether it is settled. */
interface Plan {
  readonly body: readonly Event[];
  readonly parent: number;
  readonly settled: boolean;
}

const plans: fc.Arbitrary<readonly Plan[]> = fc.array(
  fc.record({
    body: arbitraryStream({ runs: 1 }),
    parent: fc.nat(4),
    settled: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5 },
);

/** One run out of a generated stream: its first, under an id of ours. */
function oneRun(events: readonly Event[], runId: string): readonly Event[] {
  const first = events.findIndex(({ type }) => type === "RUN_STARTED");
  const end = events.findIndex(({ type }, index) => index > first && (type === "RUN_FINISHED" || type === "RUN_ERROR"));
  if (first < 0 || end < 0) return [];
  return events.slice(first, end + 1).map((event): Event => {
    const named = event.type === "RUN_STARTED" || event.type === "RUN_FINISHED";
    return named ? { ...event, threadId: KEY.threadId, runId } : event;
  });
}

async function write(
  store: Store,
  key: RunKey,
  parentRunId: string | undefined,
  events: readonly Event[],
): Promise<void> {
  const [first = "", ...rest] = events.map((event) => JSON.stringify(event));
  const place = parentRunId === undefined ? {} : ({ parentRunId, kind: "branch" } as const);
  const claimed = await store.claim({ ...key, agent: "x", leaseMs: 1000, events: [first], ...place });
  if (claimed.type !== "claimed") throw new Error(claimed.type);
  const [second = "", ...others] = rest;
  await store.append([{ lease: claimed.lease, number: 1, events: [second, ...others], end: endOf(events) }]);
}

/** Writes the planned runs. Returns all events of each run's branch. */
async function writeAll(store: Store, planned: readonly Plan[]): Promise<ReadonlyMap<string, readonly Event[]>> {
  const branches = new Map<string, readonly Event[]>();
  const made: string[] = [];
  for (const { body, parent, settled } of planned) {
    const runId = `r${made.length}`;
    const events = oneRun(body, runId);
    if (events.length === 0) continue;
    const parentRunId = made.length === 0 ? undefined : made[parent % made.length];
    const before = parentRunId === undefined ? [] : (branches.get(parentRunId) ?? []);
    await write(store, { ...KEY, runId }, parentRunId, events);
    if (settled) await settleRun(store, { ...KEY, runId });
    branches.set(runId, [...before, ...events]);
    made.push(runId);
  }
  return branches;
}

test("at every run and every event, with any runs settled", async () => {
  const restored = fc.asyncProperty(plans, async (planned) => {
    const store = memoryStore();
    for (const [runId, events] of await writeAll(store, planned)) {
      const { state, run } = await foldBranch(store, { ...KEY, runId });
      expect(view(state.reduce)).toEqual(reduceAll(events));
      const own = run.lastSeq - run.firstSeq;
      for (let back = 0; back <= own; back += 3) {
        const at = await foldAt(store, KEY, run.lastSeq - back);
        expect(at.run.runId).toBe(runId);
        expect(view(at.state.reduce)).toEqual(reduceAll(events.slice(0, events.length - back)));
      }
    }
  });
  await fc.assert(restored, { numRuns: Math.ceil(300 * SCALE) });
});

test("after trimming, every run as before, and nothing in the middle of one", async () => {
  const restored = fc.asyncProperty(plans, async (planned) => {
    const store = memoryStore();
    const branches = await writeAll(store, planned);
    await settleLeftovers(store);
    await store.trim(Infinity);
    for (const [runId, events] of branches) {
      const { state, run } = await foldBranch(store, { ...KEY, runId });
      expect(view(state.reduce)).toEqual(reduceAll(events));
      await expect(foldAt(store, KEY, run.lastSeq - 1)).rejects.toMatchObject({ code: "cursor-trimmed" });
    }
    const added = oneRun(
      [
        { type: "RUN_STARTED", threadId: "t", runId: "x" },
        { type: "RUN_ERROR", message: "no" },
      ],
      "new",
    );
    for (const [runId, events] of branches) {
      await write(store, { ...KEY, runId: `${runId}-next` }, runId, added);
      const { state } = await foldBranch(store, { ...KEY, runId: `${runId}-next` });
      expect(view(state.reduce)).toEqual(reduceAll([...events, ...added]));
    }
  });
  await fc.assert(restored, { numRuns: Math.ceil(100 * SCALE) });
});
