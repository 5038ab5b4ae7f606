/** Runs whose worker is gone, and runs that are ended from outside. */
import { describe, expect, test } from "vitest";
import type { Event } from "../protocol/index.ts";
import { throughArray, verifying } from "../stream/index.ts";
import { endRun, memoryStore, reap } from "./index.ts";
import type { Lease, Store } from "./index.ts";

const KEY = { tenant: "a", threadId: "t", runId: "r" };

async function broken(store: Store, leaseMs: number, more: readonly Event[] = []): Promise<Lease> {
  const started: Event = { type: "RUN_STARTED", threadId: "t", runId: "r" };
  const claimed = await store.claim({ ...KEY, agent: "x", leaseMs, events: [JSON.stringify(started)] });
  if (claimed.type !== "claimed") throw new Error(claimed.type);
  const open: readonly Event[] = [
    { type: "STEP_STARTED", stepName: "look" },
    { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "half a" },
    ...more,
  ];
  const [first = "", ...rest] = open.map((event) => JSON.stringify(event));
  await store.append([{ lease: claimed.lease, number: 1, events: [first, ...rest] }]);
  return claimed.lease;
}

const eventsOf = async (store: Store): Promise<readonly Event[]> =>
  (await store.read(KEY)).events.map(({ json }) => JSON.parse(json));

describe("a run whose lease has expired", () => {
  test("STORE-LSE-3: is closed and ends in worker-lost; its stream verifies, and its worker can write no more", async () => {
    let nowMs = 1000;
    const store = memoryStore({ nowMs: () => nowMs });
    const lease = await broken(store, 500, [
      { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "look", parentMessageId: "m" },
    ]);
    expect(await reap(store)).toEqual([]);
    nowMs += 500;
    expect(await reap(store)).toEqual([KEY]);
    const events = await eventsOf(store);
    expect(events.slice(5).map(({ type }) => type)).toEqual(
      expect.arrayContaining(["TEXT_MESSAGE_END", "TOOL_CALL_END", "STEP_FINISHED"]),
    );
    expect(events.at(-1)).toEqual({
      type: "RUN_ERROR",
      message: expect.stringContaining("lost"),
      code: "worker-lost",
      timestamp: nowMs,
    });
    expect(throughArray(verifying(), events)).toHaveLength(events.length);
    expect(await store.run(KEY)).toMatchObject({
      status: "failed",
      settled: true,
      end: { error: { code: "worker-lost" } },
    });
    expect(await store.append([{ lease, number: 2, events: ["{}"] }])).toEqual([{ type: "fenced" }]);
    expect(await reap(store)).toEqual([]);
  });

  test("that ended just before is left as it is", async () => {
    let nowMs = 1000;
    const store = memoryStore({ nowMs: () => nowMs });
    const lease = await broken(store, 500);
    const end = { status: "finished", interrupts: [], pendingToolCallIds: [] } as const;
    await store.append([{ lease, number: 2, events: ['{"type":"RUN_FINISHED"}'], end }]);
    nowMs += 5000;
    expect(await reap(store)).toEqual([]);
  });
});

describe("a run that somebody ends", () => {
  test("ends cancelled, with its partial text, though its lease still holds", async () => {
    const store = memoryStore();
    await broken(store, 60_000);
    expect(await endRun(store, KEY, "cancelled")).toBe(true);
    const events = await eventsOf(store);
    expect(events.slice(-3).map(({ type }) => type)).toEqual(["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]);
    expect(events.at(-1)).toMatchObject({ outcome: { type: "cancelled" } });
    expect(throughArray(verifying(), events)).toHaveLength(events.length);
    expect(await endRun(store, KEY, "cancelled")).toBe(false);
    expect(await endRun(store, { ...KEY, runId: "nobody" }, "cancelled")).toBe(false);
  });
});
