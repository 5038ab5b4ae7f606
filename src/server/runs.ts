/**
 * Runs: started once, and then on their own.
 *
 * A run begins with a claim, which commits its RUN_STARTED; from then on the log knows it, and so does everybody else. It
 * is executed here, under a lease; what is asked about it is asked the log, so a run of another process is followed,
 * joined and stopped like one of ours. A branch has one run at a time.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { runAgent } from "../agent/index.ts";
import type { Agent } from "../agent/index.ts";
import { HeddleError, METADATA_KEY } from "../protocol/index.ts";
import type { Event, RunAgentInput, Warning } from "../protocol/index.ts";
import type { Peer } from "../protocol/dialects/index.ts";
import { endRun, foldBranch, reap, settleRun } from "../store/index.ts";
import type { Begun, ClaimResult, Committer, FoldedBranch, RunInfo, RunKey, RunListener } from "../store/index.ts";
import type { RunWriter, Store, ThreadInfo, ThreadKey } from "../store/index.ts";
import { stepPrelude } from "../stream/index.ts";
import type { PreludeState } from "../stream/index.ts";
import type { Repair } from "../stream/repair/index.ts";
import { knownRun } from "./attach.ts";
import { answeredRun } from "./answered-run.ts";
import { asError } from "./as-error.ts";
import { awaitEnd } from "./await-end.ts";
import type { Errands } from "./errands.ts";
import type { Hub } from "./hub.ts";
import type { Hubs } from "./hubs.ts";
import { ingesting } from "./ingest.ts";
import type { KeptFolds } from "./kept-folds.ts";
import { LiveRuns } from "./live-runs.ts";
import { meantRun } from "./meant-run.ts";
import { startingAt } from "./opening.ts";
import type { Opening } from "./opening.ts";
import type { PostRules } from "./post-rules.ts";
import { ROOT, busy, prepareRun } from "./prepare-run.ts";
import type { Place, RunPlan } from "./prepare-run.ts";
import { pump } from "./pump.ts";
import type { RunLimits } from "./run-limits.ts";
import { RunQueue } from "./run-queue.ts";
import { runLog } from "./run-log.ts";
import type { LogLine } from "./run-log.ts";
import { checkSameRun } from "./same-run.ts";
import { StopWatch } from "./stop-watch.ts";
import { within } from "./within.ts";

/** What starting or joining a run gives. */
export interface StartedRun {
  /** The thread. */
  readonly threadId: string;
  /** The run, by the id that was asked for. */
  readonly runId: string;
  /** The run in the log. */
  readonly run: { readonly threadId: string; readonly runId: string };
  /** True where the run was there already: nothing was started. */
  readonly joined: boolean;
  /** Its place among those that wait, where it has to; undefined where it has begun. */
  readonly queued: number | undefined;
  /** What whoever started the run is told first, where they hold something else than the branch does. */
  readonly opening: Opening | undefined;
  /** Ids of the messages that were posted: what whoever asked holds. */
  readonly held: readonly string[];
  /** Who asked, as far as the input tells: its version decides how events are shown to it. */
  readonly peer: Peer;
  /** What was translated in the input, taken out of it because AG-UI does not describe it, or does not count. */
  readonly warnings: readonly Warning[];
}

/** How a run is started. */
export interface StartOptions extends PostRules {
  /** The run that it hangs on, or `ROOT`. Default: the one that the post names, else the thread's head. */
  readonly parent?: Place;
  /** `cancel` stops the run when the last one who attached to it with a signal is gone. Default: it goes on. */
  readonly onDisconnect?: "cancel" | undefined;
}

/** One run that is executed here. */
export interface Run {
  /** The input that it was started with. */
  readonly input: RunAgentInput;
  /** Who runs. */
  readonly agent: Agent;
}

/** Told what went wrong in a run, apart from what its viewers see. */
export type RunErrorReporter = (error: unknown, run: Run) => void;

/** Told what had to be put right in the events of an agent. */
export type RepairReporter = (repair: Repair, run: Run) => void;

/** Told what an agent logs while it runs. */
export type RunLogger = (...line: [...Parameters<LogLine>, run: Run]) => void;

/** What runs are made of. */
export interface RunsParts {
  /** The log. */
  readonly store: Store;
  /** What commits for all runs. */
  readonly committer: Committer;
  /** Where what is committed is shown. */
  readonly hubs: Hubs;
  /** Where folds of branches are kept. */
  readonly folds: KeptFolds;
  /** What is done on the side. */
  readonly errands: Errands;
  /** How long a lease holds. */
  readonly leaseMs: number;
  /** How long a run that is stopped may take to end by itself. */
  readonly cancelGraceMs: number;
  /** How much a run may say. */
  readonly limits: RunLimits;
  /** How posts for an agent are taken. */
  readonly rulesOf: (agentName: string) => PostRules;
  /** An agent by its name. Throws `agent-unknown`. */
  readonly agentOf: (agentName: string) => Agent;
  /** So many runs may wait in a thread. */
  readonly maxQueuedRuns: number;
  /** Whether a breach of the rules of order ends a run instead of being repaired. */
  readonly strict: boolean;
  /** Told what went wrong in a run. */
  readonly onError: RunErrorReporter;
  /** Told what had to be put right. */
  readonly onRepair: RepairReporter;
  /** Told what agents log. */
  readonly onLog: RunLogger;
}

/** What comes of asking for a run. */
type Began = Pick<StartedRun, "joined" | "queued" | "opening" | "warnings"> & { readonly runId: string };

/** What is asked for. */
interface Ask {
  readonly key: ThreadKey;
  readonly agent: Agent;
  readonly posted: RunAgentInput;
  readonly options: StartOptions;
  /** Where the run hangs whatever the post says. */
  readonly place?: Place;
  /** Whether it begins only if it waits. */
  readonly ifQueued?: boolean;
}

/** A run before it is claimed. */
interface Draft extends Run {
  readonly key: RunKey;
  readonly stop: AbortController;
  readonly options: StartOptions;
  /** What the agent says, without the start. */
  readonly events: AsyncGenerator<Event, void, undefined>;
}

/** How long a source may stay open behind its terminal event. */
const LATE_MS = 1000;

/** The runs that one server executes. */
export class Runs {
  readonly #parts: RunsParts;
  readonly #starting = new Set<Promise<unknown>>();
  readonly #live = new LiveRuns((key) => this.#parts.errands.run(() => this.cancel(key)));
  readonly #stops: StopWatch;
  readonly #queue: RunQueue;
  #closing = false;
  #repairs = 0;

  constructor(parts: RunsParts) {
    this.#parts = parts;
    const { store, agentOf } = parts;
    this.#queue = new RunQueue({
      store,
      // Whoever waited could not know what was said meanwhile.
      begin: async (key, { agent }, posted) => {
        const options = { onStale: "append" } as const;
        if (this.#closing) throw serverClosing();
        await this.#tracked(this.#start({ key, agent: agentOf(agent), posted, options, ifQueued: true }));
      },
      onRefused: (error, _, { agent, body }) => this.#report(error, { agent: agentOf(agent), input: JSON.parse(body) }),
    });
    this.#stops = new StopWatch(parts.store, () => parts.errands.run(() => parts.committer.beat()));
  }

  /** How many are under way here. */
  get size(): number {
    return this.#live.size;
  }

  /** How many repairs there were so far. */
  get repairs(): number {
    return this.#repairs;
  }

  /** Starts a run, or joins the one that has its ids. Resolves when its first event is in the log. */
  async start(tenant: string, agent: Agent, input: RunAgentInput, options: StartOptions = {}): Promise<Began> {
    if (this.#closing) throw serverClosing();
    const { parent } = options;
    const posted = typeof parent === "string" ? { ...input, parentRunId: parent } : input;
    const ask = { key: { tenant, threadId: input.threadId }, agent, posted, options };
    return this.#tracked(this.#startBeside(ask));
  }

  /** Remembers what is starting, so that a server that stops waits for it. */
  #tracked(started: Promise<Began>): Promise<Began> {
    this.#starting.add(started);
    return started.finally(() => this.#starting.delete(started));
  }

  /** Starts a run, and where another is in its way does what was agreed on. */
  async #startBeside(ask: Ask): Promise<Began> {
    const { key, agent, options, posted } = ask;
    const { store, rulesOf } = this.#parts;
    const { onBusy = "reject" } = { ...rulesOf(agent.name), ...options };
    try {
      return await this.#start(ask);
    } catch (error) {
      const inTheWay = blockerOf(error);
      if (inTheWay === undefined) throw error;
      // Somebody may have answered the same question a moment ago.
      const answered = await this.#answered(ask);
      if (answered !== undefined) return joined(answered);
      const run = await store.run({ ...key, runId: inTheWay });
      // Whoever is in the way may be gone: a thread is free when the lease is over, not when somebody looks next.
      const isFree = run === undefined || run.end !== undefined || (await reap(store, this.#parts)).length > 0;
      if (isFree) return this.#start(ask);
      if (onBusy === "reject") throw error;
      if (onBusy === "enqueue") return this.#enqueue(ask);
      if (onBusy !== "fork") {
        // Who is refused must not have stopped anybody.
        const place = onBusy === "interrupt" ? run.runId : (run.parentRunId ?? ROOT);
        const rules = { ...rulesOf(agent.name), ...options };
        const fold = (thread: ThreadInfo, runId: string): Promise<FoldedBranch> =>
          foldBranch(store, { ...thread, runId });
        const plan = await prepareRun(store, await store.thread(key), posted, place, rules, fold, true);
        if ("restore" in plan) return joined(await knownRun(store, key, plan.restore));
        await this.cancel(run);
      }
      return onBusy === "interrupt" ? this.#start(ask) : this.#start({ ...ask, place: run.parentRunId ?? ROOT });
    }
  }

  async #enqueue(ask: Ask): Promise<Began> {
    const { key, agent, posted } = ask;
    const { errands, maxQueuedRuns } = this.#parts;
    const queued = await this.#queue.add(key, agent.name, posted, maxQueuedRuns);
    if (queued === undefined) return this.#start(ask);
    // What was in the way may have ended just now.
    errands.run(() => this.#queue.next(key));
    return { joined: false, queued, opening: undefined, runId: posted.runId, warnings: [] };
  }

  /** Begins the runs that wait where nothing runs. */
  async startWaiting(): Promise<void> {
    if (!this.#closing) await this.#queue.all();
  }

  async #answered({ key, posted }: Ask): Promise<RunInfo | undefined> {
    const thread = await this.#parts.store.thread(key);
    return thread === undefined ? undefined : answeredRun(this.#parts.store, thread, posted);
  }

  async #start({ key: place, agent, posted, options, place: asked, ifQueued }: Ask): Promise<Began> {
    const { store, folds, rulesOf } = this.#parts;
    const thread = await store.thread(place);
    const isRoot = asked === ROOT || options.parent === ROOT;
    const meant = await meantRun(store, place, thread, agent, posted, isRoot);
    if (meant.type === "join") return joined(await knownRun(store, place, meant.runId));
    const { input } = meant;
    const key = { ...place, runId: input.runId };
    const where = asked ?? (options.parent === ROOT ? ROOT : input.parentRunId);
    const rules = { ...rulesOf(agent.name), ...options };
    const plan = await prepareRun(store, thread, input, where, rules, (...of) => folds.take(...of));
    if ("restore" in plan) return joined(await knownRun(store, place, plan.restore));
    const stop = new AbortController();
    const events = this.#speak({ agent, input }, plan.input, stop.signal);
    const draft = { key, agent, input, stop, options, events };
    const beginning = [placed(await firstOf(events), plan), ...plan.opening] as const;
    const stateBefore: unknown = plan.kind === "spawn" ? undefined : plan.state.reduce.document;
    for (const event of beginning) stepPrelude(plan.state, event);
    const [first, ...rest] = beginning;
    const jsons = [JSON.stringify(first), ...rest.map((event) => JSON.stringify(event))] as const;
    const claim = await this.#claim(draft, plan, jsons, ifQueued);
    if (claim.type === "exists") {
      await checkSameRun(store, claim.run, agent, input);
      return joined(claim.run);
    }
    if (claim.type === "busy") throw busy(key.threadId, claim.run.runId);
    if (claim.type === "moved") throw busy(key.threadId, claim.head);
    // Before the agent says more: the state is the writer's from here on.
    const { tail } = claim.thread;
    const opening = plan.differs ? startingAt(key.runId, tail, plan.state, posted.messages) : undefined;
    this.#execute(draft, claim, jsons, plan.state, { events: beginning, lastSeq: tail, stateBefore });
    return { joined: false, queued: undefined, opening, runId: key.runId, warnings: plan.warnings };
  }

  /** The events of a run: RUN_STARTED at once, and the agent's when more are asked for. */
  #speak(run: Run, input: RunAgentInput, signal: AbortSignal): AsyncGenerator<Event, void, undefined> {
    const { limits, strict, cancelGraceMs, onRepair, onLog } = this.#parts;
    const repaired = (repair: Repair): void => {
      this.#repairs += 1;
      onRepair(repair, run);
    };
    const agent = ingesting(run.agent, { strict, limits, lateMs: LATE_MS, onRepair: repaired });
    // The rest of the grace is for the log.
    const graceMs = cancelGraceMs * 0.75;
    const told = {
      log: runLog((level, message, fields) => onLog(level, message, fields, run), repaired),
      onError: (error: unknown) => this.#report(error, run),
    };
    return runAgent(agent, input, { signal, graceMs, ...told });
  }

  #claim(
    { key, agent }: Draft,
    plan: RunPlan,
    events: readonly [string, ...string[]],
    ifQueued = false,
  ): Promise<ClaimResult> {
    const { parentRunId, kind, ifHead } = plan;
    const { leaseMs } = this.#parts;
    const place = { parentRunId, kind, ...(ifHead !== undefined && { ifHead }) };
    return this.#parts.store.claim({ ...key, agent: agent.name, ...place, leaseMs, ifQueued, events });
  }

  #execute(
    draft: Draft,
    { lease, thread }: Extract<ClaimResult, { type: "claimed" }>,
    opening: readonly string[],
    state: PreludeState,
    begun: Begun,
  ): void {
    const { committer, errands, hubs, store } = this.#parts;
    const { key, stop, options } = draft;
    const hub = hubs.write({ ...thread, tail: thread.tail - opening.length });
    hub.push(thread.tail - opening.length + 1, key.runId, opening);
    const watched = this.#stops.watch(key);
    const listener: RunListener = {
      committed: (firstSeq, jsons) => {
        watched.committed();
        hub.push(firstSeq, key.runId, jsons);
      },
      snapshot: (snapshot) => errands.run(() => store.saveSnapshot(key, snapshot)),
      stopAsked: () => stop.abort(stopped()),
      lost: (error) => stop.abort(error),
    };
    const writer = committer.writer(lease, state, listener, begun);
    const done = this.#run(draft, writer, hub).finally(() => watched.end());
    this.#live.add(key, { stop, done, cancelOnLeave: options.onDisconnect === "cancel" });
  }

  /** Runs the agent to its end in the log. Never rejects. */
  async #run(draft: Draft, writer: RunWriter, hub: Hub): Promise<void> {
    const { errands, folds, hubs, limits, store } = this.#parts;
    const { key, events } = draft;
    try {
      // Whoever asked for the run is answered first: the agent would be in the way.
      await nextTurn();
      await pump(writer, events, (error) => this.#report(error, draft), limits);
      const written = writer.written();
      // From here on the state is for whoever goes on with the branch.
      if (written !== undefined) folds.keep(key, hub.logId, written.snapshot.seq, writer.state);
      errands.run(() => settleRun(store, key, written));
    } catch (error) {
      this.#report(error, draft);
      // Who has the run now ends it. Where nobody has, we do if we can; else it is for whoever finds the lease expired.
      const fenced = error instanceof HeddleError && error.code === "run-fenced";
      if (!fenced) errands.run(() => endRun(store, key, "worker-lost"));
    } finally {
      hubs.endWrite(hub);
      if (!this.#closing) errands.run(() => this.#queue.next(key));
    }
  }

  /** Reports what went wrong in a run. A reporter that fails in its turn must not take the run along. */
  #report(error: unknown, { agent, input }: Run): void {
    this.#parts.errands.run(async () => this.#parts.onError(asError(error), { agent, input }));
  }

  /**
   * Stops a run, wherever it is executed: it is asked to, has a while to end by itself, and is ended from outside then.
   * Answers how it ended. One that has ended stays as it is. Throws `run-unknown`.
   */
  async cancel(key: RunKey): Promise<RunInfo> {
    const { store, cancelGraceMs, leaseMs } = this.#parts;
    if (await store.unqueue(key)) return neverBegan(key);
    const run = await knownRun(store, key, key.runId);
    if (run.end !== undefined) return run;
    const live = this.#live.get(key);
    if (live === undefined) await store.requestStop(key);
    else live.stop.abort(stopped());
    if (!(await awaitEnd(store, key, cancelGraceMs))) await endRun(store, key, "cancelled", leaseMs);
    return knownRun(store, key, key.runId);
  }

  /** Somebody watches a run until the signal aborts: matters to runs that stop when nobody does any more. */
  watch(key: RunKey, signal: AbortSignal): void {
    this.#live.watch(key, signal);
  }

  /**
   * Starts no more, gives the runs that are under way a while to end by themselves, also those that are just starting, and
   * fails the rest. Resolves when all have ended in the log.
   */
  async stopAll(graceMs: number): Promise<void> {
    this.#closing = true;
    await Promise.allSettled(this.#starting);
    await within(graceMs, this.#live.ended());
    this.#live.abortAll(shutDown());
    await this.#live.ended();
    this.#stops.close();
  }
}

/** A run that was stopped while it waited: the log knows nothing of it. */
function neverBegan(key: RunKey): RunInfo {
  const nowMs = Date.now();
  return {
    ...key,
    agent: "",
    parentRunId: undefined,
    kind: undefined,
    status: "cancelled",
    firstSeq: 0,
    lastSeq: 0,
    principal: undefined,
    startedAtMs: nowMs,
    endedAtMs: nowMs,
    end: { status: "cancelled", interrupts: [], pendingToolCallIds: [] },
    settled: true,
  };
}

/** The error for whoever comes too late. */
export function serverClosing(): HeddleError {
  return new HeddleError("server-closing", "The server is shutting down: try again later.", {});
}

/** Why a run is stopped that the server cannot wait for. */
function shutDown(): HeddleError {
  return new HeddleError("server-closing", "The server was shut down before the run had ended: start it again.", {});
}

/** Why a run is stopped that somebody asked to stop. */
const stopped = (): DOMException => new DOMException("The run was stopped.", "AbortError");

/** The run that an error says is in the way; undefined for any other error. */
function blockerOf(error: unknown): string | undefined {
  if (!(error instanceof HeddleError) || error.code !== "thread-busy") return undefined;
  return "runId" in error.details && typeof error.details.runId === "string" ? error.details.runId : undefined;
}

const joined = ({ runId }: RunInfo): Began => ({
  joined: true,
  queued: undefined,
  opening: undefined,
  runId,
  warnings: [],
});

async function firstOf(events: AsyncGenerator<Event, void, undefined>): Promise<Event> {
  const { value } = await events.next();
  if (value === undefined) throw new HeddleError("internal-error", "The run has no beginning.", {});
  return value;
}

/** The start of a run as the log has it, with its input and its place in the thread. */
function placed(started: Event, { parentRunId: parent, kind, logged, warnings }: RunPlan): Event {
  if (started.type !== "RUN_STARTED") return started;
  const lineage = parent === undefined ? {} : { parent, kind };
  const ours = { lineage, ...(warnings.length > 0 && { warnings }) };
  return { ...started, input: logged, metadata: { ...started.metadata, [METADATA_KEY]: ours } };
}
