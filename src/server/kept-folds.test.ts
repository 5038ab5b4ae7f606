import { describe, expect, test } from "vitest";
import { agentOf, bodyOf, runToEnd, served } from "../../test/served.ts";
import type { Message, RunAgentInput } from "../protocol/index.ts";
import { endRun, foldBranch, memoryStore } from "../store/index.ts";
import type { Store } from "../store/index.ts";
import { createPreludeState, stepPrelude, view } from "../stream/index.ts";
import { DEFAULT_TENANT } from "./index.ts";
import { KeptFolds } from "./kept-folds.ts";

const KEY = { tenant: DEFAULT_TENANT, threadId: "t1" };
const user = (id: string): Message => ({ id, role: "user", content: id });
const asking = (runId: string, ...ids: readonly string[]): object => bodyOf(runId, { messages: ids.map(user) });

/** A store that counts how often a branch is read. */
function counting(inner: Store = memoryStore()): { readonly store: Store; reads: () => number } {
  let reads = 0;
  const store: Store = {
    ...inner,
    snapshot: (...asked) => ((reads += 1), inner.snapshot(...asked)),
  };
  return { store, reads: () => reads };
}

/** A server whose agent answers each message, and keeps what it was given. */
function answering(store: Store) {
  const inputs: RunAgentInput[] = [];
  const agent = agentOf(async ({ input, emit }) => {
    inputs.push(input);
    await emit.text({ id: `re-${input.runId}` }).write(`re: ${input.messages.at(-1)?.id}`);
  });
  const heddle = served(agent, { store });
  const lastIds = (): readonly string[] | undefined => inputs.at(-1)?.messages.map(({ id }) => id);
  return { heddle, lastIds };
}

/** What the log makes of the thread's head. */
async function foldedIds(store: Store): Promise<readonly string[]> {
  const head = (await store.thread(KEY))?.head ?? "";
  return view((await foldBranch(store, { ...KEY, runId: head })).state.reduce).messages.map(({ id }) => id);
}

const busy: Store["claim"] = async (request) => ({ type: "moved", head: request.runId });

const thread = (threadId: string) => ({ tenant: "a", threadId });

describe("a run that goes on where one has just ended here", () => {
  test("does not read the branch, and has all of it", async () => {
    const { store, reads } = counting();
    const { heddle, lastIds } = answering(store);
    await runToEnd(heddle, asking("r1", "u1"));
    const before = reads();
    for (const run of [2, 3, 4]) await runToEnd(heddle, asking(`r${run}`, `u${run}`));
    expect(reads()).toBe(before);
    expect(lastIds()).toEqual(["u1", "re-r1", "u2", "re-r2", "u3", "re-r3", "u4"]);
    expect(await foldedIds(store)).toEqual(["u1", "re-r1", "u2", "re-r2", "u3", "re-r3", "u4", "re-r4"]);
    await heddle.close();
  });

  test("leaves the snapshot of the run before as it was", async () => {
    const store = memoryStore();
    const { heddle } = answering(store);
    await runToEnd(heddle, asking("r1", "u1"));
    await runToEnd(heddle, asking("r2", "u2"));
    await heddle.close();
    const first = await store.run({ ...KEY, runId: "r1" });
    const snapshot = await store.snapshot({ ...KEY, runId: "r1" });
    expect(snapshot?.seq).toBe(first?.lastSeq);
    expect(snapshot?.events.at(-1)).toMatchObject({ type: "RUN_FINISHED", runId: "r1" });
    expect(JSON.stringify(snapshot?.events)).not.toContain("u2");
  });
});

describe("the log decides", () => {
  test("a branch that another server went on with", async () => {
    const store = memoryStore();
    const [here, there] = [answering(store), answering(store)];
    await runToEnd(here.heddle, asking("r1", "u1"));
    await runToEnd(there.heddle, asking("r2", "u2"));
    await runToEnd(here.heddle, asking("r3", "u3"));
    expect(here.lastIds()).toEqual(["u1", "re-r1", "u2", "re-r2", "u3"]);
    await runToEnd(there.heddle, asking("r4", "u4"));
    expect(there.lastIds()).toEqual(["u1", "re-r1", "u2", "re-r2", "u3", "re-r3", "u4"]);
    await Promise.all([here.heddle.close(), there.heddle.close()]);
  });

  test("a thread that was deleted and begun anew under the same ids", async () => {
    const store = memoryStore();
    const [here, there] = [answering(store), answering(store)];
    await runToEnd(here.heddle, asking("r1", "old"));
    await store.deleteThread(KEY);
    await runToEnd(there.heddle, asking("r1", "new"));
    await runToEnd(here.heddle, asking("r2", "u2"));
    expect(here.lastIds()).toEqual(["new", "re-r1", "u2"]);
    await Promise.all([here.heddle.close(), there.heddle.close()]);
  });

  test("a post that was refused leaves nothing behind", async () => {
    const store = memoryStore();
    const { heddle, lastIds } = answering(store);
    await runToEnd(heddle, asking("r1", "u1"));
    const { claim } = store;
    Object.assign(store, { claim: busy });
    await expect(heddle.start("test", asking("r2", "lost"))).rejects.toMatchObject({ code: "thread-busy" });
    Object.assign(store, { claim });
    await runToEnd(heddle, asking("r3", "u3"));
    expect(lastIds()).toEqual(["u1", "re-r1", "u3"]);
    await heddle.close();
  });

  test("a run that was ended from outside counts as the log has it", async () => {
    const store = memoryStore();
    const reached = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    const inputs: RunAgentInput[] = [];
    const agent = agentOf(async ({ input, emit, signal }) => {
      inputs.push(input);
      if (input.runId !== "r1") return;
      await emit.text({ id: "m1" }).write("said");
      reached.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      over.resolve();
    });
    const heddle = served(agent, { store, leaseMs: 60_000, heartbeatMs: 5 });
    await heddle.start("test", asking("r1", "u1"));
    await reached.promise;
    expect(await endRun(store, { ...KEY, runId: "r1" }, "worker-lost")).toBe(true);
    await over.promise;
    await runToEnd(heddle, asking("r2", "u2"));
    expect(inputs.at(-1)?.messages.map(({ id }) => id)).toEqual(await idsBefore(store, "r2"));
    await heddle.close();
  });
});

/** Messages that the log gives a run to begin with. */
async function idsBefore(store: Store, runId: string): Promise<readonly string[]> {
  const run = await store.run({ ...KEY, runId });
  const { state } = await foldBranch(store, { ...KEY, runId }, run?.firstSeq);
  return view(state.reduce).messages.map(({ id }) => id);
}

/** How many of so many folds are handed over; whichever are not are made of the log. */
async function keeping(threads: number, chars: number, runId = "r", seq = 3): Promise<number> {
  const inner = memoryStore();
  const { store, reads } = counting(inner);
  const folds = new KeptFolds(store);
  const names = Array.from({ length: threads }, (_, index) => `t${index}`);
  for (const threadId of names) {
    const started = { type: "RUN_STARTED", threadId, runId: "r" } as const;
    const finished = { type: "RUN_FINISHED", threadId, runId: "r" } as const;
    const told = {
      type: "MESSAGES_SNAPSHOT",
      messages: [{ id: "m", role: "user", content: "x".repeat(chars) }],
    } as const;
    const key = { ...thread(threadId), runId: "r" };
    const claimed = await inner.claim({ ...key, agent: "x", leaseMs: 1000, events: [JSON.stringify(started)] });
    if (claimed.type !== "claimed") throw new Error(claimed.type);
    const end = { status: "finished", interrupts: [], pendingToolCallIds: [] } as const;
    const events = [JSON.stringify(told), JSON.stringify(finished)] as const;
    await inner.append([{ lease: claimed.lease, number: 1, events, end }]);
    const state = createPreludeState();
    for (const event of [started, told, finished]) stepPrelude(state, event);
    folds.keep({ ...key, runId }, claimed.thread.logId, seq, state);
  }
  for (const threadId of names) {
    const about = await inner.thread(thread(threadId));
    if (about === undefined) throw new Error("no thread");
    const { state } = await folds.take(about, "r");
    expect(view(state.reduce).messages).toHaveLength(1);
  }
  return threads - reads();
}

describe("bounds", () => {
  test("few are kept, and they are handed over once", async () => {
    expect(await keeping(300, 10)).toBe(256);
  });

  test("a fold of another run, or of a part of one, is none of this run", async () => {
    expect(await keeping(1, 10)).toBe(1);
    expect(await keeping(1, 10, "another")).toBe(0);
    expect(await keeping(1, 10, "r", 2)).toBe(0);
  });

  test("not much of all, and nothing that is large", async () => {
    expect(await keeping(12, 1_500_000)).toBe(11);
    expect(await keeping(2, 2_200_000)).toBe(0);
  });
});
