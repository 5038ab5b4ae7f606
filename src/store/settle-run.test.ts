/** Runs that a crash left unsettled: those that can be settled are, whatever the others hold. */
import { expect, test } from "vitest";
import { HeddleError } from "../protocol/index.ts";
import { memoryStore, settleLeftovers } from "./index.ts";
import type { Store } from "./index.ts";

const END = { status: "finished", interrupts: [], pendingToolCallIds: [] } as const;

/** Runs that have ended, in a thread each; some hold what cannot be folded. */
async function ended(store: Store, runs: number, broken: (index: number) => boolean): Promise<void> {
  for (let index = 0; index < runs; index++) {
    const key = { tenant: "a", threadId: `t${index}`, runId: "r" };
    const events = [JSON.stringify({ type: "RUN_STARTED", threadId: key.threadId, runId: "r" })] as const;
    const claimed = await store.claim({ ...key, agent: "x", leaseMs: 1000, events });
    if (claimed.type !== "claimed") throw new Error(claimed.type);
    const last = broken(index)
      ? { type: "TEXT_MESSAGE_CONTENT", messageId: "never begun", delta: "x" }
      : { type: "RUN_FINISHED", threadId: key.threadId, runId: "r" };
    await store.append([{ lease: claimed.lease, number: 1, events: [JSON.stringify(last)], end: END }]);
  }
}

test("one that cannot be folded holds up no other, and is named in the end", async () => {
  const store = memoryStore();
  // More than are looked for at a time, and in front of the others.
  await ended(store, 100, (index) => index < 80);
  const failure: unknown = await settleLeftovers(store).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(HeddleError);
  expect(failure).toMatchObject({ code: "store-corrupt", cause: expect.any(Error) });
  const left = await store.unsettled(1000);
  expect(left.map(({ threadId }) => threadId)).toEqual(Array.from({ length: 80 }, (_, index) => `t${index}`));
  expect(failure).toMatchObject({ details: { runs: left.map((key) => ({ ...key, reason: expect.any(String) })) } });
});

test("a store that fails is told as what it is, at once", async () => {
  const inner = memoryStore();
  await ended(inner, 3, () => false);
  let asked = 0;
  const settle: Store["settle"] = async () => {
    asked++;
    throw new HeddleError("store-unavailable", "The database is away: it is tried again.", {});
  };
  await expect(settleLeftovers({ ...inner, settle })).rejects.toMatchObject({ code: "store-unavailable" });
  expect(asked).toBe(1);
});

test("without any of them there is nothing to tell but how many were settled", async () => {
  const store = memoryStore();
  await ended(store, 70, () => false);
  expect([await settleLeftovers(store), await settleLeftovers(store)]).toEqual([70, 0]);
});
