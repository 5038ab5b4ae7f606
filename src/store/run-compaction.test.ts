/** What a writer makes of a run is what would be made of its log, and is not read back. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryStream } from "../../test/arbitrary-stream.ts";
import type { Event } from "../protocol/index.ts";
import { createPreludeState, prelude, stepPrelude } from "../stream/index.ts";
import { Committer, foldBranch, memoryStore, settleRun } from "./index.ts";
import type { CompactedEvent, RunKey, Snapshot, Store } from "./index.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const THREAD = { tenant: "a", threadId: "thread" };

/** The events of a stream, run by run. */
function runsOf(events: readonly Event[]): readonly (readonly Event[])[] {
  const runs: Event[][] = [];
  for (const event of events) {
    if (event.type === "RUN_STARTED") runs.push([]);
    const run = runs.at(-1) ?? [];
    if (!run.some(isTerminal) || event.type === "RUN_ERROR") run.push(event);
  }
  return runs.filter((run) => run.some(isTerminal));
}

const isTerminal = ({ type }: Event): boolean => type === "RUN_FINISHED" || type === "RUN_ERROR";

/** Writes a run behind another, with a run of somebody else between its commits. */
async function write(
  store: Store,
  events: readonly Event[],
  parentRunId: string | undefined,
  own: boolean,
  isAlone = false,
) {
  const [started, ...rest] = events;
  if (started?.type !== "RUN_STARTED") throw new Error("no start");
  const key: RunKey = { ...THREAD, runId: started.runId };
  const state =
    parentRunId === undefined
      ? createPreludeState()
      : (await foldBranch(store, { ...THREAD, runId: parentRunId })).state;
  const stateBefore: unknown = state.reduce.document;
  stepPrelude(state, started);
  const kind = parentRunId === undefined ? undefined : "continue";
  const first = JSON.stringify(started);
  const claimed = await store.claim({ ...key, agent: "x", parentRunId, kind, leaseMs: 60_000, events: [first] });
  if (claimed.type !== "claimed") throw new Error(claimed.type);
  const committer = new Committer(store, { lingerMs: 0 });
  const begun = own ? { events: [started], jsons: [first], lastSeq: claimed.thread.tail, stateBefore } : undefined;
  const writer = committer.writer(claimed.lease, state, {}, begun);
  let isSplit = false;
  for (const [index, event] of rest.entries()) {
    void writer.write(event);
    if (isAlone || index % 3 !== 0 || writer.over) continue;
    isSplit = true;
    await writer.flush();
    const beside = {
      ...THREAD,
      runId: `${key.runId} beside ${index}`,
      agent: "x",
      kind: "spawn",
      parentRunId: key.runId,
    } as const;
    const other: Event = { type: "RUN_STARTED", threadId: THREAD.threadId, runId: beside.runId };
    await store.claim({ ...beside, leaseMs: 60_000, events: [JSON.stringify(other)] });
  }
  await writer.flush();
  await committer.close();
  return { key, isSplit, written: writer.written() };
}

/** What is settled of each run of a stream. */
async function settled(events: readonly Event[], own: boolean, isAlone: boolean) {
  const store = memoryStore();
  const told: { compacted: readonly CompactedEvent[] | undefined; snapshot: Snapshot | undefined }[] = [];
  let parent: string | undefined;
  for (const run of runsOf(events)) {
    const { key, isSplit, written } = await write(store, run, parent, own, isAlone);
    // With somebody else's events in between it is read back too: a note on the run may be among them.
    expect(written?.compacted !== undefined).toBe(own && !isSplit);
    await settleRun(store, key, own ? written : undefined);
    told.push({ compacted: await store.compacted(key), snapshot: await store.snapshot(key) });
    parent = key.runId;
  }
  return told;
}

test.each([true, false])("settling by what was written is settling by what was logged, alone: %s", async (isAlone) => {
  const check = fc.asyncProperty(arbitraryStream({ runs: 3, moves: 14 }), async (events) => {
    expect(await settled(events, true, isAlone)).toEqual(await settled(events, false, isAlone));
  });
  await fc.assert(check, { numRuns: Math.ceil(60 * SCALE) });
});

const say = (count: number): Event => ({
  type: "TEXT_MESSAGE_CONTENT",
  messageId: "m",
  delta: `${count}`.padEnd(1 << 16),
});

test("a run that is too long for it is read back", async () => {
  const store = memoryStore();
  const ids = { threadId: THREAD.threadId, runId: "long" };
  const events: readonly Event[] = [
    { type: "RUN_STARTED", ...ids },
    { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
    ...Array.from({ length: 70 }, (_, count) => say(count)),
    { type: "TEXT_MESSAGE_END", messageId: "m" },
    { type: "RUN_FINISHED", ...ids },
  ];
  const { key, written } = await write(store, events, undefined, true, true);
  expect(written?.compacted).toBe(undefined);
  expect(written?.snapshot.events).toEqual(prelude(events));
  await settleRun(store, key, written);
  expect(await store.compacted(key)).toHaveLength(5);
});
