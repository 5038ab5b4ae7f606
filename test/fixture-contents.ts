/**
 * What a database that is kept as a fixture holds, and how it is told: threads of two tenants, branches, a run that asks, one
 * that was cut, a thread that retention trimmed, hard texts, runs that are settled and runs that are not, annotations,
 * runs that wait, owners and members.
 *
 * `scripts/make-store-fixture.ts` fills it once for each version of the schema; every later version has to tell the same.
 */
import { createHash } from "node:crypto";
import type { Event } from "../src/protocol/index.ts";
import { endOf, foldBranch, readAll, settleRun } from "../src/store/index.ts";
import type { Lease, RunInfo, Store, ThreadKey } from "../src/store/index.ts";
import type { LineageKind } from "../src/stream/lineage/index.ts";
import { prelude, view } from "../src/stream/index.ts";
import { HARD_EVENTS, noise } from "../src/testing/store-contract/hard-texts.ts";
import { scriptOf } from "./store-children/run-script.ts";

const TENANTS = ["acme", "other"] as const;
const HARD_ID = 'it\'s a \u{1f9f5} % _ \\ "thread"\n';

/** How a run hangs, and whether it is settled. */
interface Shape {
  readonly parent?: string;
  readonly kind?: LineageKind;
  readonly settled?: boolean;
}

/** Writes a run in batches of three, through to its end or up to some event. */
async function write(
  store: Store,
  key: ThreadKey,
  runId: string,
  shape: Shape = {},
  events: readonly Event[] = scriptOf({ threadId: key.threadId, runId }),
): Promise<Lease> {
  const [first, ...rest] = events.map((event) => JSON.stringify(event));
  const { parent: parentRunId, kind, settled = true } = shape;
  const about = {
    agent: "weaver",
    principal: "user 1",
    owner: `owner of ${key.threadId}`,
    parentRunId,
    kind,
    leaseMs: 1,
  };
  const claimed = await store.claim({ ...key, ...about, runId, events: [first ?? ""] });
  if (claimed.type !== "claimed") throw new Error(`${runId}: ${claimed.type}`);
  for (let from = 0; from < rest.length; from += 3) {
    const [one = "", ...more] = rest.slice(from, from + 3);
    const end = endOf(events.slice(from + 1, from + 4));
    await store.append([{ lease: claimed.lease, number: from / 3 + 1, events: [one, ...more], end }]);
  }
  if (settled) await settleRun(store, { ...key, runId });
  return claimed.lease;
}

/** Fills an empty store. */
export async function fillFixture(store: Store): Promise<void> {
  const trimmed = { tenant: "acme", threadId: "trimmed" };
  await write(store, trimmed, "r1");
  await write(store, trimmed, "r2", { parent: "r1", kind: "continue" });
  await store.trim((await store.nowMs()) + 1000);
  await write(store, trimmed, "r3", { parent: "r2", kind: "continue" });

  for (const tenant of TENANTS) {
    const key = { tenant, threadId: "conversation" };
    await write(store, key, "r1");
    await write(store, key, "r2", { parent: "r1", kind: "continue" });
    await write(store, key, "r3", { parent: "r1", kind: "branch", settled: false });
    await write(store, key, "r4", { parent: "r2", kind: "spawn" });
    await write(store, key, "r5", { parent: "r2", kind: "continue" }, asking("r5"));
    const metadata = { tenant, list: [1, null, { deep: "\u0000 \ud800" }] };
    await store.updateThread(key, { title: `Conversation of ${tenant}`, archived: tenant === "other", metadata });
  }

  const cut = { tenant: "acme", threadId: "cut" };
  await write(store, cut, "r1");
  const script = scriptOf({ threadId: "cut", runId: "r2" }).slice(0, 12);
  const lease = await write(store, cut, "r2", { parent: "r1", kind: "continue", settled: false }, script);
  const folded = await foldBranch(store, lease);
  await store.saveSnapshot(cut, { runId: "r2", seq: folded.seq, events: prelude(folded.state) });
  await store.requestStop(lease);

  const waiting = { tenant: "other", threadId: "waiting" };
  await write(store, waiting, "r1");
  const [note, other] = ["liked", "\u2028 \ud83e\uddf5"].map((text) => JSON.stringify(noteOf(text)));
  await store.annotate({ ...waiting, runId: "r1", events: [note ?? "", other ?? ""] });
  await write(store, waiting, "r2", { parent: "r1", kind: "continue", settled: true });
  await store.annotate({ ...waiting, runId: "r1", events: [note ?? ""] });
  for (const runId of ["q2", "q1"]) {
    const body = JSON.stringify({ runId, messages: Array.from({ length: 50 }, () => "Hello") });
    const about = { agent: "weaver", principal: runId === "q1" ? "user 1" : undefined, parentRunId: "r2" };
    await store.enqueue({ ...waiting, ...about, runId, body, limit: 2 });
  }

  for (const [user, role] of [
    ["bob", "collaborator"],
    ["al", "observer"],
    ["eve", "observer"],
    ["eve", null],
  ] as const) {
    await store.setMember(waiting, user, role);
  }

  const hard = { tenant: "acme", threadId: HARD_ID };
  const about = { agent: "", owner: HARD_ID, leaseMs: 1 };
  const claimed = await store.claim({ ...hard, ...about, runId: HARD_ID, events: [HARD_EVENTS[0]] });
  await store.setMember(hard, `not ${HARD_ID}`, "observer");
  if (claimed.type !== "claimed") throw new Error(claimed.type);
  const texts = HARD_EVENTS.filter((text) => text.length < 5000);
  const long = JSON.stringify({ type: "CUSTOM", name: "noise", value: noise(20_000) });
  await store.append([{ lease: claimed.lease, number: 1, events: [long, ...texts] }]);
  await store.append([{ lease: claimed.lease, number: 2, events: ["{}"], end: endOf([failed]) }]);
  // Its events are texts and nothing else: there is nothing to fold.
  const { lastSeq: seq = 0 } = (await store.run({ ...hard, runId: HARD_ID })) ?? {};
  await store.settle({ ...hard, runId: HARD_ID }, { snapshot: { runId: HARD_ID, seq, events: [] }, compacted: [] });
}

const noteOf = (text: string): Event => ({ type: "META", metaType: "note", payload: { text } });

const failed: Event = { type: "RUN_ERROR", message: "hard", code: "hard" };

function asking(runId: string): readonly Event[] {
  const place = { threadId: "conversation", runId };
  const interrupts = [{ id: "question", reason: "approval", message: "Cut the thread?" }];
  return [
    { type: "RUN_STARTED", ...place },
    { type: "STATE_SNAPSHOT", snapshot: { asked: true } },
    { type: "RUN_FINISHED", ...place, outcome: { type: "interrupt", interrupts } },
  ];
}

/** Everything that a store tells, as JSON; of long texts a hash. */
export async function contentsOf(store: Store): Promise<unknown> {
  const told: unknown[] = [];
  for (const tenant of TENANTS) {
    const { threads } = await store.listThreads({ tenant });
    for (const thread of threads) {
      const events: unknown[] = [];
      for await (const event of readAll(store, thread, { afterSeq: thread.floor })) events.push(event);
      const runs: unknown[] = [];
      for (const run of await store.runs(thread)) runs.push(await runContents(store, run));
      const queue = await store.queue(thread);
      const members = await store.members(thread);
      // Versions that knew no queue and no members told of none.
      told.push({
        thread,
        events,
        runs,
        ...(queue.length > 0 && { queue }),
        ...(members.length > 0 && { members }),
      });
    }
  }
  return JSON.parse(JSON.stringify({ threads: told, unsettled: await store.unsettled() }, shortened));
}

function shortened(_key: string, value: unknown): unknown {
  if (typeof value !== "string" || value.length <= 120) return value;
  return `${value.length} characters, ${createHash("sha256").update(value).digest("base64url")}`;
}

async function runContents(store: Store, run: RunInfo): Promise<unknown> {
  const branch = (await store.branch(run)).map(({ runId }) => runId);
  const kept = { snapshot: await store.snapshot(run), compacted: await store.compacted(run) };
  if (run.runId === HARD_ID) return { run, branch, ...kept };
  const { seq, state } = await foldBranch(store, run);
  return { run, branch, ...kept, restored: { seq, view: view(state.reduce) } };
}
