/** STORE-ACK: what was acknowledged is there, and a store that was closed does nothing more. */
import type { Store } from "../../store/index.ts";
import { contractCase } from "./contract-case.ts";
import { checkPresent, checkRejected, checkSame } from "./contract-violation.ts";
import {
  FINISHED,
  LONG_LEASE_MS,
  THREAD,
  appendOne,
  begin,
  claimOf,
  commit,
  dumpOf,
  openingOf,
  readAll,
  runKey,
  runWhole,
  settleRun,
  settlementOf,
  textOf,
  textsOf,
  viewOf,
} from "./scenario.ts";

const OTHER = { tenant: "other", threadId: "thread" };

/** Does everything that a store can be asked to keep. */
async function fill(store: Store): Promise<void> {
  await runWhole(store, THREAD, "r1", { principal: "ada", owner: "ada", agent: "writer" });
  await store.setMember(THREAD, "bob", "collaborator");
  await settleRun(store, THREAD, "r1");
  await store.trim((await store.nowMs()) + 1000);
  const lease = await begin(store, THREAD, "r2", { parentRunId: "r1", kind: "continue", events: textsOf("long", 300) });
  for (let number = 1; number <= 70; number++) await commit(store, lease, number, textsOf(`r2 ${number}`, 2));
  await store.saveSnapshot(THREAD, { runId: "r2", seq: 100, events: openingOf("r2", 70) });
  await begin(store, THREAD, "spawned", { parentRunId: "r2", kind: "spawn" });
  await store.updateThread(THREAD, {
    title: "A title",
    archived: true,
    metadata: { deep: [{ er: null }] },
    head: "r1",
  });
  await store.importThread({ ...THREAD, threadId: "copy" }, await dumpOf(store, THREAD));
  const failed = { status: "failed", interrupts: [], pendingToolCallIds: [], error: { message: "It broke." } } as const;
  await runWhole(store, OTHER, "r1", { end: failed });
  await store.annotate({ ...runKey(OTHER, "r1"), events: textsOf("note", 2) });
  await store.enqueue({ ...runKey(OTHER, "r2"), agent: "writer", body: "[1]", principal: "ada", limit: 2 });
  await begin(store, { ...THREAD, threadId: "deleted" }, "r1");
  await store.deleteThread({ ...THREAD, threadId: "deleted" });
}

async function everythingIn(store: Store): Promise<unknown> {
  const threads = [
    ...(await store.listThreads({ tenant: THREAD.tenant })).threads,
    ...(await store.listThreads({ tenant: OTHER.tenant })).threads,
  ];
  const views: unknown[] = [];
  for (const thread of threads) views.push(await viewOf(store, thread));
  return { views, unsettled: await store.unsettled(), waiting: await store.waiting() };
}

/** Every method, as somebody would call it. */
const calls = (store: Store): readonly (readonly [name: string, call: () => Promise<unknown>])[] => {
  const key = runKey(THREAD, "r1");
  const run = {
    ...key,
    agent: "a",
    parentRunId: undefined,
    kind: undefined,
    status: "finished",
    principal: undefined,
  } as const;
  const settlement = settlementOf({
    ...run,
    firstSeq: 1,
    lastSeq: 1,
    startedAtMs: 0,
    endedAtMs: 0,
    end: FINISHED,
    settled: false,
  });
  return [
    ["open", () => store.open()],
    ["claim", () => store.claim(claimOf(THREAD, "r9"))],
    ["append", () => store.append([])],
    ["heartbeat", () => store.heartbeat([])],
    ["takeOver", () => store.takeOver({ leaseMs: LONG_LEASE_MS })],
    ["requestStop", () => store.requestStop(key)],
    ["enqueue", () => store.enqueue({ ...key, agent: "a", body: "{}", limit: 1 })],
    ["queue", () => store.queue(key)],
    ["unqueue", () => store.unqueue(key)],
    ["waiting", () => store.waiting()],
    ["claimToolCall", () => store.claimToolCall({ ...THREAD, toolCallId: "c", holder: "h", leaseMs: 1 })],
    ["setMember", () => store.setMember(key, "u", "observer")],
    ["members", () => store.members(key)],
    ["roleIn", () => store.roleIn(key, "u")],
    ["runningBy", () => store.runningBy(key.tenant, "u")],
    ["saveTicket", () => store.saveTicket({ hash: "h", body: "b", forMs: 1 })],
    ["takeTicket", () => store.takeTicket("h")],
    ["annotate", () => store.annotate({ ...key, events: ["{}"] })],
    ["thread", () => store.thread(key)],
    ["run", () => store.run(key)],
    ["runs", () => store.runs(key)],
    ["branch", () => store.branch(key)],
    ["read", () => store.read(key)],
    ["snapshot", () => store.snapshot(key)],
    ["saveSnapshot", () => store.saveSnapshot(key, settlement.snapshot)],
    ["settle", () => store.settle(key, settlement)],
    ["unsettled", () => store.unsettled()],
    ["compacted", () => store.compacted(key)],
    ["listThreads", () => store.listThreads({ tenant: key.tenant })],
    ["updateThread", () => store.updateThread(key, {})],
    ["deleteThread", () => store.deleteThread(key)],
    ["trim", () => store.trim(0)],
    ["usage", () => store.usage()],
    ["nowMs", () => store.nowMs()],
  ];
};

/** Cases of `close` and of what is there afterwards. */
export const ackCases = [
  contractCase(
    "STORE-ACK-1: everything that was acknowledged is there when the store is opened again",
    async ({ store, reopen }) => {
      await fill(store);
      const before = await everythingIn(store);
      const again = await reopen();
      checkSame(await everythingIn(again), before, "the store after it was opened again");
      checkSame(await everythingIn(await reopen()), before, "the store after the second time");
    },
    "durable",
  ),

  contractCase(
    "STORE-ACK-1: fences, batches and stops outlive the store, so a batch is written once across a restart",
    async ({ store, reopen }) => {
      const zombie = await begin(store, THREAD, "r1");
      const [taken] = await store.takeOver({ run: zombie, leaseMs: LONG_LEASE_MS });
      const lease = checkPresent(taken, "the lease that was taken over");
      await commit(store, lease, 1, textsOf("one", 2));
      await store.requestStop(zombie);
      const again = await reopen();
      checkSame(await appendOne(again, zombie, 1, textsOf("zombie", 1)), { type: "fenced" }, "an old holder's batch");
      const repeated = { type: "repeated", lastSeq: 3, stop: true };
      checkSame(await appendOne(again, lease, 1, textsOf("one", 2)), repeated, "a batch that was there");
      checkSame(await appendOne(again, lease, 3, [textOf("three")]), { type: "gap", expected: 2 }, "a batch too early");
      checkSame((await commit(again, lease, 2, [textOf("two")], FINISHED)).firstSeq, 4, "where the next batch is");
      checkSame((await readAll(again, THREAD)).length, 4, "how many events there are");
    },
    "durable",
  ),

  contractCase(
    "STORE-ACK-1: what is under way when a store is closed is finished first",
    async ({ store, reopen }) => {
      const lease = await begin(store, THREAD, "r1");
      const [append, claim] = [commit(store, lease, 1, textsOf("last", 3)), begin(store, OTHER, "r1")];
      const closed = store.close();
      await Promise.all([append, claim, closed]);
      const again = await reopen();
      checkSame((await readAll(again, THREAD)).length, 4, "events of the thread that was written to");
      checkSame((await readAll(again, OTHER)).length, 1, "events of the thread that was begun");
    },
    "durable",
  ),

  contractCase("STORE-ACK-1: a closed store fails with `store-closed`, and can be closed again", async ({ store }) => {
    await begin(store, THREAD, "r1");
    await Promise.all([store.close(), store.close()]);
    await store.close();
    for (const [name, call] of calls(store)) await checkRejected(call(), "store-closed", `${name} of a closed store`);
  }),
];
