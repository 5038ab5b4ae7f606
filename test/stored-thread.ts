/** Threads in a store, for tests of what reads them: real runs, branches, questions, and what retention leaves. */
import { endOf, settleLeftovers } from "../src/store/index.ts";
import type { ClaimRequest, Lease, Store, ThreadKey } from "../src/store/index.ts";
import type { Event } from "../src/protocol/index.ts";

/** Where a run hangs, and who started it. */
export type RunPlace = Partial<Pick<ClaimRequest, "parentRunId" | "kind" | "principal" | "agent">>;

/** The start of a run. */
export const startOf = ({ threadId }: ThreadKey, runId: string): Event => ({ type: "RUN_STARTED", threadId, runId });

/** A message that is said in pieces. */
export const said = (id: string, ...deltas: readonly string[]): readonly Event[] => [
  { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
  ...deltas.map((delta) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: id, delta }) as const),
  { type: "TEXT_MESSAGE_END", messageId: id },
];

/** Begins a run with these texts. */
export async function beginRun(
  store: Store,
  key: ThreadKey,
  runId: string,
  place: RunPlace,
  texts: readonly string[],
): Promise<Lease> {
  const [first = "", ...rest] = texts;
  const request = { ...key, runId, agent: "writer", leaseMs: 600_000, ...place };
  const claimed = await store.claim({ ...request, events: [first, ...rest] });
  if (claimed.type !== "claimed") throw new Error(`The claim was answered ${claimed.type}.`);
  return claimed.lease;
}

/** Appends to a run, and ends it where the events do. */
export async function goOn(store: Store, lease: Lease, number: number, events: readonly Event[]): Promise<void> {
  const [first = "", ...rest] = events.map((event) => JSON.stringify(event));
  const [answer] = await store.append([{ lease, number, events: [first, ...rest], end: endOf(events) }]);
  if (answer?.type !== "committed") throw new Error(`The batch was answered ${answer?.type}.`);
}

/** A whole run: it starts, says what it has to say, and ends; without an ending, well. */
export async function wholeRun(
  store: Store,
  key: ThreadKey,
  runId: string,
  place: RunPlace,
  events: readonly Event[],
  ending: Event = { type: "RUN_FINISHED", threadId: key.threadId, runId },
): Promise<void> {
  const lease = await beginRun(store, key, runId, place, [JSON.stringify(startOf(key, runId))]);
  await goOn(store, lease, 1, [...events, ending]);
}

/**
 * A thread of five runs: r1 and r2 have lost their raw events, r3 branches off r1 and fails, r4 continues r2 and asks a
 * question, r5 is spawned and waits for a frontend call.
 */
export async function fillThread(store: Store, key: ThreadKey): Promise<void> {
  const { threadId } = key;
  await wholeRun(store, key, "r1", { principal: "ada" }, [
    { type: "STATE_SNAPSHOT", snapshot: { count: 1 } },
    ...said("m1", "Hel", "lo"),
    { type: "CUSTOM", name: "first", value: 1 },
    { type: "CUSTOM", name: "second", value: 2 },
  ]);
  await wholeRun(store, key, "r2", { parentRunId: "r1", kind: "continue" }, said("m2", "How ", "are ", "you?"));
  await settleLeftovers(store);
  await store.trim((await store.nowMs()) + 600_000);
  const failed = { type: "RUN_ERROR", message: "It broke.", code: "agent-failed" } as const;
  await wholeRun(store, key, "r3", { parentRunId: "r1", kind: "branch" }, said("m3", "Or ", "else"), failed);
  await wholeRun(store, key, "r4", { parentRunId: "r2", kind: "continue" }, said("m4", "Wait"), {
    type: "RUN_FINISHED",
    threadId,
    runId: "r4",
    outcome: { type: "interrupt", interrupts: [{ id: "q1", reason: "approval", message: "May I?" }] },
  });
  const call = { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "pick" } as const;
  await wholeRun(
    store,
    key,
    "r5",
    { parentRunId: "r4", kind: "spawn", agent: "helper" },
    [call, { type: "TOOL_CALL_END", toolCallId: "c1" }],
    { type: "RUN_FINISHED", threadId, runId: "r5", outcome: { type: "success", pendingToolCallIds: ["c1"] } },
  );
  await settleLeftovers(store);
  await store.updateThread(key, { title: "A title", metadata: { tags: ["a", "b"] } });
}
