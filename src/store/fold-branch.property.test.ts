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

/** A run: what it says, which earlier run it hangs on, whether it is settled, and which runs are annotated meanwhile and then. */
interface Plan {
  readonly body: readonly Event[];
  readonly parent: number;
  readonly settled: boolean;
  readonly notes: readonly number[];
}

/** The events of a run, and those of its branch before it. */
interface Written {
  readonly before: readonly Event[];
  readonly own: readonly Event[];
}

const NOTE = JSON.stringify({ type: "META", metaType: "thumbs_up", payload: { messageId: "m1" } });

const plans: fc.Arbitrary<readonly Plan[]> = fc.array(
  fc.record({
    body: arbitraryStream({ runs: 1 }),
    parent: fc.nat(4),
    settled: fc.boolean(),
    notes: fc.array(fc.nat(4), { maxLength: 2 }),
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
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<void> {
  const [first = "", ...rest] = events.map((event) => JSON.stringify(event));
  const place = parentRunId === undefined ? {} : ({ parentRunId, kind: "branch" } as const);
  const claimed = await store.claim({ ...key, agent: "x", leaseMs: 1000, events: [first], ...place });
  if (claimed.type !== "claimed") throw new Error(claimed.type);
  const [second = "", ...others] = rest;
  await meanwhile();
  await store.append([{ lease: claimed.lease, number: 1, events: [second, ...others], end: endOf(events) }]);
}

/** Writes the planned runs. Returns the events of each. */
async function writeAll(store: Store, planned: readonly Plan[]): Promise<ReadonlyMap<string, Written>> {
  const written = new Map<string, Written>();
  const made: string[] = [];
  for (const { body, parent, settled, notes } of planned) {
    const runId = `r${made.length}`;
    const own = oneRun(body, runId);
    if (own.length === 0) continue;
    const parentRunId = made.length === 0 ? undefined : made[parent % made.length];
    const known = parentRunId === undefined ? undefined : written.get(parentRunId);
    const annotate = async (): Promise<void> => {
      for (const note of notes) {
        await store.annotate({ ...KEY, runId: [...made, runId][note] ?? runId, events: [NOTE] });
      }
    };
    await write(store, { ...KEY, runId }, parentRunId, own, annotate);
    await annotate();
    if (settled) await settleRun(store, { ...KEY, runId });
    written.set(runId, { before: known === undefined ? [] : [...known.before, ...known.own], own });
    made.push(runId);
  }
  return written;
}

test("at every run and every event, with any runs settled and annotated", async () => {
  let annotated = 0;
  const restored = fc.asyncProperty(plans, async (planned) => {
    const store = memoryStore();
    for (const [runId, { before, own }] of await writeAll(store, planned)) {
      const { state, run } = await foldBranch(store, { ...KEY, runId });
      expect(view(state.reduce)).toEqual(reduceAll([...before, ...own]));
      const logged = (await store.read(KEY, { runIds: [runId] })).events;
      for (const [index, { seq }] of logged.entries()) {
        if (index % 3 !== 0 && seq < run.lastSeq) continue;
        const at = await foldAt(store, KEY, seq);
        expect(at.run.runId).toBe(runId);
        const events = logged.slice(0, index + 1).map(({ json }): Event => JSON.parse(json));
        expect(view(at.state.reduce)).toEqual(reduceAll([...before, ...events]));
        annotated += seq > run.lastSeq ? 1 : 0;
      }
    }
  });
  await fc.assert(restored, { numRuns: Math.ceil(300 * SCALE) });
  expect(annotated).toBeGreaterThan(0);
});

test("after trimming, every run as before, and nothing in the middle of one", async () => {
  const restored = fc.asyncProperty(plans, async (planned) => {
    const store = memoryStore();
    const branches = await writeAll(store, planned);
    await settleLeftovers(store);
    await store.trim(Infinity);
    for (const [runId, { before, own }] of branches) {
      const events = [...before, ...own];
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
    for (const [runId, { before, own }] of branches) {
      const events = [...before, ...own];
      await write(store, { ...KEY, runId: `${runId}-next` }, runId, added);
      const { state } = await foldBranch(store, { ...KEY, runId: `${runId}-next` });
      expect(view(state.reduce)).toEqual(reduceAll([...events, ...added]));
    }
  });
  await fc.assert(restored, { numRuns: Math.ceil(100 * SCALE) });
});
