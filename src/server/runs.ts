/**
 * Runs: started once, and then on their own.
 *
 * A run begins with a claim, which commits its RUN_STARTED; from then on the log knows it, and so does everybody else. It
 * is executed here, under a lease; what is asked about it is asked the log, so a run of another process is followed,
 * joined and stopped like one of ours. A branch has one run at a time.
 */
import type { Agent } from "../agent/index.ts";
import { HeddleError, METADATA_KEY } from "../protocol/index.ts";
import type { Event, RunAgentInput, Warning } from "../protocol/index.ts";
import type { Peer } from "../protocol/dialects/index.ts";
import { endRun, foldBranch, reap } from "../store/index.ts";
import type { ClaimResult, FoldedBranch, RunInfo, RunKey, ThreadInfo } from "../store/index.ts";
import { stepPrelude } from "../stream/index.ts";
import type { Access } from "./access.ts";
import { knownRun } from "./attach.ts";
import { answeredRun } from "./answered-run.ts";
import { awaitEnd } from "./await-end.ts";
import { longBytes } from "./chunk.ts";
import { Executor } from "./executor.ts";
import type { Draft, ExecutorParts } from "./executor.ts";
import type { RunningRun } from "./live-runs.ts";
import { meantRun } from "./meant-run.ts";
import { startingAt } from "./opening.ts";
import { ownSecrets } from "./own-secrets.ts";
import type { Opening } from "./opening.ts";
import type { PostRules } from "./post-rules.ts";
import { ROOT, busy, prepareRun } from "./prepare-run.ts";
import type { RunPlan } from "./prepare-run.ts";
import { failureOf } from "./recent-errors.ts";
import { WAITED, askOf } from "./run-ask.ts";
import type { Ask, AskOptions } from "./run-ask.ts";
import { RunQueue } from "./run-queue.ts";
import { checkSameRun } from "./same-run.ts";
import { traceMetadata } from "./telemetry/index.ts";

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

/** What runs are made of. */
export interface RunsParts extends ExecutorParts {
  /** How long a lease holds. */
  readonly leaseMs: number;
  /** Told of runs whose worker was gone, and that were ended here. */
  readonly onReaped: (runs: readonly RunKey[]) => void;
  /** How posts for an agent are taken. */
  readonly rulesOf: (agentName: string) => PostRules;
  /** An agent by its name. Throws `agent-unknown`. */
  readonly agentOf: (agentName: string) => Agent;
  /** So many runs may wait in a thread. */
  readonly maxQueuedRuns: number;
  /** So many runs of one user may be under way; any number where undefined. */
  readonly maxRunsPerPrincipal: number | undefined;
}

/** What comes of asking for a run. */
type Began = Pick<StartedRun, "joined" | "queued" | "opening" | "warnings"> & { readonly runId: string };

/** The runs that one server executes. */
export class Runs {
  readonly #parts: RunsParts;
  readonly #starting = new Set<Promise<unknown>>();
  readonly #executor: Executor;
  readonly #queue: RunQueue;
  #closing = false;

  constructor(parts: RunsParts) {
    this.#parts = parts;
    const { store, agentOf, errands } = parts;
    this.#executor = new Executor(parts, {
      abandoned: (key) => errands.run(() => this.cancel(key)),
      ended: (key) => {
        if (!this.#closing) errands.run(() => this.#queue.next(key));
      },
    });
    this.#queue = new RunQueue({
      store,
      begin: async (key, { agent, principal: user }, posted) => {
        if (this.#closing) throw serverClosing();
        // It was judged when it was taken.
        const by = { key, user, judge: () => Promise.resolve() };
        await this.#tracked(this.#start(askOf(parts.rulesOf, by, agentOf(agent), posted, WAITED)));
      },
      onRefused: (error, key, { runId, agent, body }) => {
        parts.errors.run({ ...key, runId }, agent, failureOf(error));
        this.#executor.report(error, { agent: agentOf(agent), input: JSON.parse(body), tenant: key.tenant });
      },
    });
  }

  /** How many are under way here. */
  get size(): number {
    return this.#executor.size;
  }

  /** Those of a tenant, in the order in which they began. */
  list(tenant: string): readonly RunningRun[] {
    return this.#executor.list(tenant);
  }

  /** How many repairs there were so far. */
  get repairs(): number {
    return this.#executor.repairs;
  }

  /** Throws `server-closing` where no more runs are taken. */
  checkAccepting(): void {
    if (this.#closing) throw serverClosing();
  }

  /** Starts a run, or joins the one that has its ids. Resolves when its first event is in the log. */
  async start(access: Access, agent: Agent, input: RunAgentInput, options: AskOptions = {}): Promise<Began> {
    if (this.#closing) throw serverClosing();
    const key = access.key(input.threadId);
    const { user } = access.principal;
    const judge = (thread: ThreadInfo | undefined): Promise<void> => access.needToStart(key, thread);
    const ask = askOf(this.#parts.rulesOf, { key, user, judge }, agent, input, options);
    return this.#tracked(this.#startBeside(ask));
  }

  /** Remembers what is starting, so that a server that stops waits for it. */
  #tracked(started: Promise<Began>): Promise<Began> {
    this.#starting.add(started);
    return started.finally(() => this.#starting.delete(started));
  }

  /** Starts a run, and where another is in its way does what was agreed on. */
  async #startBeside(ask: Ask): Promise<Began> {
    const { key, posted, rules } = ask;
    const { store } = this.#parts;
    const { onBusy = "reject" } = rules;
    try {
      return await this.#start(ask);
    } catch (error) {
      const inTheWay = blockerOf(error);
      if (inTheWay === undefined) throw error;
      // It may be somebody else's, who began the thread a moment ago.
      await ask.judge(await store.thread(key));
      // Somebody may have answered the same question a moment ago.
      const answered = await this.#answered(ask);
      if (answered !== undefined) return joined(answered);
      const run = await store.run({ ...key, runId: inTheWay });
      // Whoever is in the way may be gone: a thread is free when the lease is over, not when somebody looks next.
      const isFree = run === undefined || run.end !== undefined || (await this.#reap()) > 0;
      if (isFree) return this.#start(ask);
      if (onBusy === "reject") throw error;
      if (onBusy === "enqueue") return this.#enqueue(ask);
      if (onBusy !== "fork") {
        // Who is refused must not have stopped anybody.
        const place = onBusy === "interrupt" ? run.runId : (run.parentRunId ?? ROOT);
        const fold = (thread: ThreadInfo, runId: string): Promise<FoldedBranch> =>
          foldBranch(store, { ...thread, runId });
        const plan = await prepareRun(store, await store.thread(key), posted, place, rules, fold, true);
        if ("restore" in plan) return joined(await knownRun(store, key, plan.restore));
        await this.cancel(run);
      }
      return onBusy === "interrupt" ? this.#start(ask) : this.#start({ ...ask, place: run.parentRunId ?? ROOT });
    }
  }

  /** Ends what was left behind; how much that was. */
  async #reap(): Promise<number> {
    const runs = await reap(this.#parts.store, this.#parts);
    this.#parts.onReaped(runs);
    return runs.length;
  }

  async #enqueue(ask: Ask): Promise<Began> {
    const { key, user, agent, posted, rules } = ask;
    const { errands, maxQueuedRuns } = this.#parts;
    const { state: _state, ...stateless } = posted;
    // What a part of a state means is known by whoever posted it, who is gone when the run begins.
    const kept = (rules.hiddenState ?? []).length === 0 ? posted : stateless;
    const queued = await this.#queue.add(key, { agent: agent.name, user, posted: kept }, maxQueuedRuns);
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

  async #start(ask: Ask): Promise<Began> {
    const { key: thread, agent, posted, place, rules } = ask;
    const { store, folds } = this.#parts;
    const known = await store.thread(thread);
    await ask.judge(known);
    const meant = await meantRun(store, thread, known, agent, posted, place === ROOT);
    if (meant.type === "join") return joined(await knownRun(store, thread, meant.runId));
    await this.#needRoom(ask);
    const { input } = meant;
    const key = { ...thread, runId: input.runId };
    const fold = (of: ThreadInfo, runId: string): Promise<FoldedBranch> => folds.take(of, runId);
    const plan = await prepareRun(store, known, input, place ?? input.parentRunId, rules, fold);
    if ("restore" in plan) return joined(await knownRun(store, thread, plan.restore));
    const { parentRunId } = plan;
    const parent = parentRunId === undefined ? undefined : { ...thread, runId: parentRunId };
    const messages = await ownSecrets(store, parent, agent.name, plan.input.messages);
    const given = { ...plan.input, messages };
    const draft = await this.#executor.draft({ ...ask, key, input, given, parentRunId });
    const notes = [...ask.changed, ...plan.warnings].flatMap((warning) => draft.notes.ofWarning(warning));
    const beginning = [placed(draft, plan), ...plan.opening, ...notes] as const;
    const stateBefore: unknown = plan.kind === "spawn" ? undefined : plan.state.reduce.document;
    for (const event of beginning) stepPrelude(plan.state, event);
    const [first, ...rest] = beginning;
    const jsons = [JSON.stringify(first), ...rest.map((event) => JSON.stringify(event))] as const;
    const claiming = this.#claim(ask, draft, plan, jsons);
    // The start may hold a whole history, and is shown next: made ready while the log writes it.
    const [claim, bytes] = await Promise.all([claiming, longBytes(jsons)]);
    if (claim.type === "exists") {
      await checkSameRun(store, claim.run, agent, input);
      return joined(claim.run);
    }
    if (claim.type === "busy") throw busy(key.threadId, claim.run.runId);
    if (claim.type === "moved") throw busy(key.threadId, claim.head);
    // Before the agent says more: the state is the writer's from here on.
    const { tail } = claim.thread;
    const opening = plan.differs && !ask.holds ? startingAt(key.runId, tail, plan.state, posted.messages) : undefined;
    const begun = { events: beginning, jsons, lastSeq: tail, stateBefore };
    this.#executor.execute(draft, claim, plan.state, begun, bytes);
    return { joined: false, queued: undefined, opening, runId: key.runId, warnings: plan.warnings };
  }

  /** Throws `runs-full` where whoever asks has as many runs under way as they may. One that waited has its turn. */
  async #needRoom({ key: { tenant }, user, ifQueued }: Ask): Promise<void> {
    const { store, maxRunsPerPrincipal: limit } = this.#parts;
    if (limit === undefined || user === undefined || ifQueued) return;
    if ((await store.runningBy(tenant, user)) < limit) return;
    const message = `${limit} runs of yours are under way already: wait until one has ended, or stop one.`;
    throw new HeddleError("runs-full", message, { limit });
  }

  async #claim(
    { user, ifQueued }: Ask,
    { key, agent, record }: Draft,
    plan: RunPlan,
    events: readonly [string, ...string[]],
  ): Promise<ClaimResult> {
    const { parentRunId, kind, ifHead } = plan;
    const { leaseMs } = this.#parts;
    const place = { parentRunId, kind, ...(ifHead !== undefined && { ifHead }) };
    const by = user === undefined ? {} : { principal: user, owner: user };
    let claim: ClaimResult | undefined;
    try {
      claim = await this.#parts.store.claim({
        ...key,
        ...by,
        agent: agent.name,
        ...place,
        leaseMs,
        ifQueued,
        events,
      });
      return claim;
    } finally {
      if (claim?.type !== "claimed") record.drop();
    }
  }

  /**
   * Stops a run, wherever it is executed: it is asked to, has a while to end by itself, and is ended from outside then.
   * Answers how it ended. One that has ended stays as it is. Throws `run-unknown`.
   */
  async cancel(key: RunKey): Promise<RunInfo> {
    const { store, cancelGraceMs, leaseMs } = this.#parts;
    const waited = await this.#queue.remove(key);
    if (waited !== undefined) return waited;
    const run = await knownRun(store, key, key.runId);
    if (run.end !== undefined) return run;
    if (!this.#executor.stop(key)) await store.requestStop(key);
    if (!(await awaitEnd(store, key, cancelGraceMs))) await endRun(store, key, "cancelled", leaseMs);
    return knownRun(store, key, key.runId);
  }

  /** Somebody watches a run until the signal aborts: matters to runs that stop when nobody does any more. */
  watch(key: RunKey, signal: AbortSignal): void {
    this.#executor.watch(key, signal);
  }

  /**
   * Starts no more, gives the runs that are under way a while to end by themselves, also those that are just starting, and
   * fails the rest. Resolves when all have ended in the log.
   */
  async stopAll(graceMs: number): Promise<void> {
    this.#closing = true;
    await Promise.allSettled(this.#starting);
    await this.#executor.end(graceMs);
  }
}

/** The error for whoever comes too late. */
export function serverClosing(): HeddleError {
  return new HeddleError("server-closing", "The server is shutting down: try again later.", {});
}

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

/** The start of a run as the log has it, with its input and its place in the thread. */
function placed({ first: started, record }: Draft, { parentRunId: parent, kind, logged, warnings }: RunPlan): Event {
  if (started.type !== "RUN_STARTED") return started;
  const lineage = parent === undefined ? {} : { parent, kind };
  const ours = { lineage, ...traceMetadata(record.spans), ...(warnings.length > 0 && { warnings }) };
  return { ...started, input: logged, metadata: { ...started.metadata, [METADATA_KEY]: ours } };
}
