/** The steps of the model test: each asks both stores the same, with everything chosen at random from few ids, so that they meet. */
import type { LineageKind } from "../../stream/lineage/index.ts";
import type {
  Batch,
  ClaimRequest,
  EnqueueRequest,
  Lease,
  MemberRole,
  ReadRequest,
  RunEnd,
  RunInfo,
  RunKey,
  Store,
  ThreadInfo,
  ThreadKey,
  ThreadPatch,
} from "../../store/index.ts";
import { untilPast } from "./contract-case.ts";
import { check } from "./contract-violation.ts";
import { HARD_EVENTS, HARD_METADATA } from "./hard-texts.ts";
import type { Random } from "./random.ts";
import type { Texts } from "./scenario.ts";
import {
  FINISHED,
  LONG_LEASE_MS,
  dumpOf,
  openingOf,
  readAll,
  runKey,
  settlementOf,
  textOf,
  textsOf,
} from "./scenario.ts";

/** Which of the two is asked. */
export type Side = "model" | "store";

/** A lease that both gave for the same claim or take-over, and the batch that came next when it was last used. */
export interface KnownLease {
  /** The lease of each. */
  readonly lease: Readonly<Record<Side, Lease>>;
  /** Number of the batch that comes next. */
  next: number;
}

/** What a step works with. */
export interface ModelWorld {
  /** Decides everything. */
  readonly random: Random;
  /** The memory store. */
  readonly model: Store;
  /** The store under test. */
  readonly store: Store;
  /** Every lease that was given, lost ones among them. */
  readonly leases: KnownLease[];
  /** Asks both the same; fails where they answer otherwise. Undefined where both refused. */
  ask<T>(
    what: string,
    call: (store: Store, side: Side) => Promise<T>,
  ): Promise<readonly [model: T, store: T] | undefined>;
  /** Opens the store under test again, where it can. */
  reopen(): Promise<void>;
}

/** A step. */
export interface ModelStep {
  /** What is done. */
  readonly title: string;
  /** Does it on both. */
  readonly take: (world: ModelWorld) => Promise<void>;
}

/** Every thread that a step may name: the same ids for two tenants. */
export const THREAD_KEYS: readonly [ThreadKey, ...ThreadKey[]] = [
  { tenant: "a", threadId: "t1" },
  { tenant: "a", threadId: "t2%" },
  { tenant: "b", threadId: "t1" },
  { tenant: "b", threadId: "it's" },
];

const RUN_IDS = ["r1", "r2", "r3", "r4", "r5", "r6", "R1", "r'7", "r8"] as const;

const USERS = ["ada", "Ada", "it's", "\u{1f9f5}", "\ufb01"] as const;

const ENDS: readonly [RunEnd, ...RunEnd[]] = [
  FINISHED,
  { status: "cancelled", interrupts: [], pendingToolCallIds: ["c1"] },
  { status: "interrupted", interrupts: [{ id: "q", reason: "approval" }], pendingToolCallIds: [] },
  { status: "failed", interrupts: [], pendingToolCallIds: [], error: { message: "It broke.", code: "worker-lost" } },
];

const someThread = ({ random }: ModelWorld): ThreadKey => random.one(THREAD_KEYS);

const someRunId = ({ random }: ModelWorld): string => random.one(RUN_IDS);

const someRun = (world: ModelWorld): RunKey => runKey(someThread(world), someRunId(world));

/** A run that is there and fits, if there is one. */
async function knownRun(world: ModelWorld, fits: (run: RunInfo) => boolean = () => true): Promise<RunInfo | undefined> {
  return world.random.maybeOne((await world.model.runs(someThread(world))).filter(fits));
}

/** Short ones have always expired when somebody looks. */
const someLeaseMs = ({ random }: ModelWorld): number => (random.chance(30) ? 1 : LONG_LEASE_MS);

function someTexts({ random }: ModelWorld): Texts {
  if (random.chance(10)) return HARD_EVENTS;
  return textsOf(`event ${random.below(1000)}`, random.chance(10) ? 100 : 1 + random.below(4));
}

function someEnd({ random }: ModelWorld): Pick<Batch, "end"> {
  return random.chance(30) ? { end: random.one(ENDS) } : {};
}

async function someClaim(world: ModelWorld): Promise<ClaimRequest> {
  const { random, model } = world;
  const key = someThread(world);
  const head = (await model.thread(key))?.head;
  const parentRunId = random.chance(60) ? head : random.chance(50) ? someRunId(world) : undefined;
  const kind = random.one<LineageKind>(["continue", "continue", "branch", "spawn"]);
  const ifHead = random.one([undefined, undefined, head ?? null, head ?? null, null, someRunId(world)]);
  return {
    ...runKey(key, someRunId(world)),
    agent: "agent",
    leaseMs: someLeaseMs(world),
    events: someTexts(world),
    ...(parentRunId === undefined ? {} : { parentRunId, kind }),
    ...(ifHead === undefined ? {} : { ifHead }),
    ...(random.chance(50) ? { principal: "ada" } : {}),
    ...(random.chance(50) ? { owner: random.one(USERS) } : {}),
    ...(random.chance(10) ? { ifQueued: true } : {}),
  };
}

async function enqueue(world: ModelWorld): Promise<void> {
  const { random } = world;
  const request: EnqueueRequest = {
    ...someRun(world),
    agent: random.one(["agent", "other"]),
    body: random.one(["{}", ...HARD_EVENTS]),
    limit: random.below(5),
    ...(random.chance(50) ? { principal: "ada" } : {}),
    ...(random.chance(50) ? { parentRunId: someRunId(world) } : {}),
  };
  await world.ask("enqueue", (each) => each.enqueue(request));
}

async function unqueue(world: ModelWorld): Promise<void> {
  const run = someRun(world);
  await world.ask("unqueue", (each) => each.unqueue(run));
}

async function waiting(world: ModelWorld): Promise<void> {
  const [key, limit] = [someThread(world), world.random.one([undefined, 1, 2])];
  await world.ask("queue", (each) => each.queue(key));
  await world.ask("waiting", (each) => each.waiting(limit));
}

/** A claim holds for good, or not at all: so nothing depends on how quick a store is. */
async function claimToolCall(world: ModelWorld): Promise<void> {
  const { random } = world;
  const about = { toolCallId: random.one(["c1", "C1", "it's"]), holder: random.one(["tab 1", "tab 2"]) };
  const request = { ...someThread(world), ...about, leaseMs: random.one([0, LONG_LEASE_MS]) };
  await world.ask("claimToolCall", (each) => each.claimToolCall(request));
}

async function setMember(world: ModelWorld): Promise<void> {
  const { random } = world;
  const [key, user, role] = [
    someThread(world),
    random.one(USERS),
    random.one<MemberRole>(["observer", "collaborator"]),
  ];
  const taken = random.chance(30);
  await world.ask("setMember", (each) => each.setMember(key, user, taken ? null : role));
}

async function access(world: ModelWorld): Promise<void> {
  const [key, user] = [someThread(world), world.random.one(USERS)];
  await world.ask("members", (each) => each.members(key));
  await world.ask("roleIn", (each) => each.roleIn(key, user));
  await world.ask("runningBy", (each) => each.runningBy(key.tenant, user));
}

/** A ticket holds for good, or not at all: so nothing depends on how quick a store is. */
async function ticket(world: ModelWorld): Promise<void> {
  const { random } = world;
  const hash = random.one(["h1", "H1", "h2"]);
  const saved = { hash, body: random.one(["", ...HARD_EVENTS]), forMs: random.one([0, LONG_LEASE_MS, LONG_LEASE_MS]) };
  if (random.chance(50)) await world.ask("saveTicket", (each) => each.saveTicket(saved));
  else await world.ask("takeTicket", (each) => each.takeTicket(hash));
}

async function annotate(world: ModelWorld): Promise<void> {
  const run = world.random.chance(80) ? await knownRun(world) : someRun(world);
  const events = someTexts(world);
  if (run !== undefined) await world.ask("annotate", (each) => each.annotate({ ...runKey(run, run.runId), events }));
}

async function claim(world: ModelWorld): Promise<void> {
  const request = await someClaim(world);
  const [model, store] = (await world.ask("claim", (each) => each.claim(request))) ?? [];
  if (model?.type !== "claimed" || store?.type !== "claimed") return;
  world.leases.push({ lease: { model: model.lease, store: store.lease }, next: 1 });
}

async function append(world: ModelWorld): Promise<void> {
  const { random, leases } = world;
  const batches = Array.from({ length: random.below(4) }, () => {
    const known = random.maybeOne(random.chance(80) ? leases.slice(-4) : leases);
    if (known === undefined) return [];
    const number = Math.max(0, random.chance(80) ? known.next : known.next + random.below(5) - 2);
    if (number === known.next) known.next += 1;
    return [{ known, number, events: someTexts(world), ...someEnd(world) }];
  }).flat();
  const answers = await world.ask("append", (each, side) =>
    each.append(batches.map(({ known, ...batch }) => ({ ...batch, lease: known.lease[side] }))),
  );
  for (const [index, answer] of (answers?.[0] ?? []).entries()) {
    const known = batches[index]?.known;
    if (answer.type === "gap" && known !== undefined) known.next = answer.expected;
  }
}

async function heartbeat(world: ModelWorld): Promise<void> {
  const some = world.leases.slice(-6);
  await world.ask("heartbeat", (each, side) => each.heartbeat(some.map(({ lease }) => lease[side])));
}

async function takeOver(world: ModelWorld): Promise<void> {
  const leaseMs = someLeaseMs(world);
  const named = world.random.chance(50) ? ((await knownRun(world)) ?? someRun(world)) : undefined;
  const run = named && runKey(named, named.runId);
  if (run === undefined)
    await Promise.all([world.model, world.store].map(async (each) => untilPast(each, (await each.nowMs()) + 2)));
  const answers = await world.ask("takeOver", async (each) => {
    const leases = await each.takeOver({ leaseMs, limit: 1000, ...(run === undefined ? {} : { run }) });
    return leases.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  });
  for (const [index, model] of (answers?.[0] ?? []).entries()) {
    const store = answers?.[1][index];
    if (store !== undefined) world.leases.push({ lease: { model, store }, next: model.nextBatch });
  }
}

const nameOf = ({ tenant, threadId, runId }: RunKey): string => JSON.stringify([tenant, threadId, runId]);

async function read(world: ModelWorld): Promise<void> {
  const { random, model } = world;
  const key = someThread(world);
  const { tail = 0 } = (await model.thread(key)) ?? {};
  const afterSeq = random.below(tail + 1);
  const request: ReadRequest = {
    limit: random.one([1, 3, 64, 512]),
    ...(random.chance(80) ? { afterSeq } : {}),
    ...(random.chance(30) ? { throughSeq: afterSeq + random.below(tail + 5) } : {}),
    ...(random.chance(30) ? { runIds: [someRunId(world), someRunId(world)] } : {}),
  };
  await world.ask(`read of ${JSON.stringify(request)}`, (each) => readAll(each, key, request));
}

async function look(world: ModelWorld): Promise<void> {
  const run = (await knownRun(world)) ?? someRun(world);
  await world.ask("thread", (each) => each.thread(run));
  await world.ask("run", (each) => each.run(run));
  await world.ask("runs", (each) => each.runs(run));
  await world.ask("branch", (each) => each.branch(run));
  await world.ask("compacted", (each) => each.compacted(run));
}

/** Snapshots in the middle of a run may go when it is settled, so a settled run is asked for at its end only. */
async function snapshot(world: ModelWorld): Promise<void> {
  const { random, model } = world;
  const run = await knownRun(world);
  if (run === undefined) return;
  if (run.end === undefined && random.chance(60)) {
    const events = openingOf(`${run.runId} ${random.below(9)}`, random.one([0, 1, 40]));
    await world.ask("saveSnapshot", (each) => each.saveSnapshot(run, { runId: run.runId, seq: run.lastSeq, events }));
  }
  const at = random.maybeOne(await model.branch(run)) ?? run;
  const seq = at.settled ? at.lastSeq : at.firstSeq + random.below(at.lastSeq - at.firstSeq + 1);
  const throughSeq = random.chance(40) ? undefined : seq;
  await world.ask(`snapshot of ${run.runId} through ${throughSeq}`, (each) => each.snapshot(run, throughSeq));
}

async function settle(world: ModelWorld): Promise<void> {
  const run = await knownRun(world, ({ end }) => end !== undefined);
  if (run === undefined) return;
  const settlement = settlementOf(run, `${run.runId} ${world.random.below(1000)}`);
  await world.ask("settle", (each) => each.settle(run, settlement));
}

const unsettled = (world: ModelWorld): Promise<unknown> =>
  world.ask("unsettled", async (each) => (await each.unsettled(1000)).map(nameOf).toSorted());

async function list(world: ModelWorld): Promise<void> {
  const { random } = world;
  const { tenant } = someThread(world);
  const query = random.one([undefined, "T", "%", "_", "'", "title"]);
  const archived = random.one([undefined, true, false]);
  const user = random.one([undefined, ...USERS]);
  await world.ask("listThreads", async (each) => {
    const threads: ThreadInfo[] = [];
    let after: string | undefined;
    do {
      const page = await each.listThreads({ tenant, user, query, archived, after, limit: 1 });
      threads.push(...page.threads);
      after = page.next;
    } while (after !== undefined);
    const inOrder = threads.every(
      ({ updatedAtMs }, index) => updatedAtMs <= (threads[index - 1]?.updatedAtMs ?? Infinity),
    );
    check(inOrder, "the threads are not in order of change");
    return threads.toSorted((a, b) => (a.threadId < b.threadId ? -1 : 1));
  });
}

async function update(world: ModelWorld): Promise<void> {
  const { random } = world;
  const patch: ThreadPatch = {
    ...(random.chance(40) ? { title: random.one(["Title %", "", null, textOf("title")]) } : {}),
    ...(random.chance(30) ? { archived: random.chance(50) } : {}),
    ...(random.chance(30) ? { metadata: random.maybeOne(HARD_METADATA) ?? {} } : {}),
    ...(random.chance(40) ? { head: someRunId(world) } : {}),
  };
  const key = someThread(world);
  await world.ask("updateThread", (each) => each.updateThread(key, patch));
}

async function requestStop(world: ModelWorld): Promise<void> {
  const run = (await knownRun(world)) ?? someRun(world);
  await world.ask("requestStop", (each) => each.requestStop(run));
}

async function remove(world: ModelWorld): Promise<void> {
  const key = someThread(world);
  if (world.random.chance(40)) await world.ask("deleteThread", (each) => each.deleteThread(key));
}

async function trim(world: ModelWorld): Promise<void> {
  const all = world.random.chance(70);
  await world.ask("trim", async (each) => each.trim(all ? (await each.nowMs()) + 1000 : 0));
}

async function importThread(world: ModelWorld): Promise<void> {
  const [from, to] = [someThread(world), someThread(world)];
  const runs = await world.model.runs(from);
  if (runs.length === 0 || runs.some(({ end }) => end === undefined)) return;
  const dump = await dumpOf(world.model, from);
  const options = world.random.one([undefined, {}, { owner: world.random.one(USERS) }]);
  await world.ask("importThread", (each) => each.importThread(to, dump, options));
}

/** A store with one writer may take all leases for expired when it is opened, since nobody else can hold one: they are renewed. */
async function reopen(world: ModelWorld): Promise<void> {
  await world.reopen();
  await world.ask("heartbeat", (each, side) => each.heartbeat(world.leases.map(({ lease }) => lease[side])));
}

const step = (title: string, weight: number, take: (world: ModelWorld) => Promise<unknown>): readonly ModelStep[] =>
  Array.from({ length: weight }, () => ({
    title,
    take: async (world: ModelWorld): Promise<void> => {
      await take(world);
    },
  }));

/** Every step, the frequent ones several times. */
export const MODEL_STEPS: readonly [ModelStep, ...ModelStep[]] = [
  { title: "claim", take: claim },
  ...step("claim", 7, claim),
  ...step("append", 12, append),
  ...step("heartbeat", 2, heartbeat),
  ...step("takeOver", 2, takeOver),
  ...step("requestStop", 1, requestStop),
  ...step("enqueue", 4, enqueue),
  ...step("unqueue", 1, unqueue),
  ...step("waiting", 2, waiting),
  ...step("claimToolCall", 2, claimToolCall),
  ...step("setMember", 3, setMember),
  ...step("access", 2, access),
  ...step("ticket", 2, ticket),
  ...step("annotate", 4, annotate),
  ...step("read", 5, read),
  ...step("look", 4, look),
  ...step("snapshot", 3, snapshot),
  ...step("settle", 4, settle),
  ...step("unsettled", 1, unsettled),
  ...step("list", 2, list),
  ...step("update", 2, update),
  ...step("delete", 1, remove),
  ...step("trim", 1, trim),
  ...step("import", 2, importThread),
  ...step("reopen", 1, reopen),
];
