/**
 * The server without a transport: agents, a log, runs and viewers.
 *
 * A run is started by a body that is judged here, and goes on to its end whoever watches, unless somebody stops it.
 * Authentication and branches by what is posted are not here yet: every thread belongs to one tenant.
 */
import type { Agent } from "../agent/index.ts";
import { agentsOf } from "./agents-of.ts";
import type { AgentSource } from "./agents-of.ts";
import { HeddleError } from "../protocol/index.ts";
import type { AgentCapabilities } from "../protocol/index.ts";
import { Committer, memoryStore, settleLeftovers } from "../store/index.ts";
import type { QueuedRun, RunInfo, Store, ThreadKey } from "../store/index.ts";
import { NOTHING, attach, knownRun } from "./attach.ts";
import type { AttachOptions, Attachment } from "./attach.ts";
import { attachLater } from "./attach-later.ts";
import { awaitStart } from "./await-start.ts";
import { checkHealth } from "./check-health.ts";
import type { Health } from "./check-health.ts";
import { Errands } from "./errands.ts";
import { Hubs } from "./hubs.ts";
import { KeptFolds } from "./kept-folds.ts";
import { knownThread } from "./known-thread.ts";
import { LiveLists } from "./live-lists.ts";
import type { PostRules } from "./post-rules.ts";
import { DEFAULT_LIMITS } from "./run-limits.ts";
import type { RunLimits } from "./run-limits.ts";
import { readRunBody, readThreadId } from "./read-run-body.ts";
import { Reaper } from "./reaper.ts";
import { Runs, serverClosing } from "./runs.ts";
import type { RepairReporter, RunErrorReporter, RunLogger } from "./executor.ts";
import type { StartOptions, StartedRun } from "./runs.ts";
import type { ShowOptions } from "./show.ts";
import { Telemetry } from "./telemetry/index.ts";
import type { TelemetryOptions } from "./telemetry/index.ts";
import { Threads } from "./threads.ts";
import { within } from "./within.ts";

/** Whose threads these are as long as nobody is asked who they are. */
export const DEFAULT_TENANT = "default";

/** Options of `createHeddle`. */
export interface HeddleOptions<S = undefined> {
  /** The agents that can be run, each under its own name, or what makes them of the services. */
  readonly agents: readonly AgentSource<NoInfer<S>>[];
  /** Whatever agents are made with: what the host has and they need. */
  readonly services?: S;
  /** Where events are kept; whoever made it closes it. Default: a new memory store. */
  readonly store?: Store;
  /** How long a run may be silent towards the store before it counts as lost. Default 15,000. */
  readonly leaseMs?: number;
  /** How often the leases of silent runs are renewed. Default 5,000, or a third of `leaseMs` where that is less. */
  readonly heartbeatMs?: number;
  /** Longest time that an event waits for company on its way into the store. Default 10. */
  readonly lingerMs?: number;
  /** How often the server looks for runs that were lost. Default: a third of `leaseMs`. */
  readonly reapMs?: number;
  /** How often viewers look into the store although nothing hinted at news. Default 5,000. */
  readonly pollMs?: number;
  /** How long a run that is stopped may take to end by itself before it is ended from outside. Default 1,000. */
  readonly cancelGraceMs?: number;
  /** How long runs may take to end by themselves when the server stops; then they fail as `server-closing`. Default 5,000. */
  readonly shutdownGraceMs?: number;
  /** Largest event that an agent may send, as bytes of JSON. Default 1 MiB. */
  readonly maxEventBytes?: number;
  /** Most events of one run. Default 1,000,000. */
  readonly maxEventsPerRun?: number;
  /** Most that one run may say in all, as characters of JSON. Default 67,108,864. */
  readonly maxRunChars?: number;
  /** Most messages, calls, steps and subagents of a run that are open at a time. Default 10,000. */
  readonly maxOpenItems?: number;
  /** So many runs may wait in a thread. Default 16. */
  readonly maxQueuedRuns?: number;
  /** How posts are taken where there is a choice: by the agent's name, and `*` for all. */
  readonly rules?: Readonly<Record<string, PostRules>>;
  /** Whether a breach of AG-UI's rules of order ends a run. Default false: it is repaired. */
  readonly strict?: boolean;
  /** Told what had to be put right in the events of an agent. Default: nobody; repairs are counted. */
  readonly onRepair?: RepairReporter;
  /** Told what agents log, what was dropped because nobody knows it, and of runs and tool calls. Default: nobody. */
  readonly onLog?: RunLogger;
  /** Where spans and numbers go beside `/metrics`. Default: where OpenTelemetry is set up to, in this process. */
  readonly telemetry?: TelemetryOptions;
  /** Told what went wrong in a run, with the stack that viewers do not see. Default: a warning of the process. */
  readonly onError?: RunErrorReporter;
  /** Told of what went wrong on the side, and of what is being tried again. Default: a warning of the process. */
  readonly onTrouble?: (error: unknown) => void;
}

/** How somebody connects. */
export interface ConnectOptions extends Omit<ShowOptions, "names" | "alias"> {
  /** Aborts when the viewer is gone. */
  readonly signal?: AbortSignal | undefined;
}

/** A server that knows no transport. */
export interface Heddle {
  /** The agents that can be run. */
  readonly agents: readonly Agent[];
  /** What is done with whole threads: list, watch, change, delete, export, import. */
  readonly threads: Threads;
  /** What is counted and traced here. */
  readonly telemetry: Telemetry;
  /** Whether it was told to stop. */
  readonly closing: boolean;
  /** Opens the store and ends runs that were left behind. The other methods do so themselves where it was not done. */
  open(): Promise<void>;
  /**
   * Starts a run from a body that nobody has judged yet, or joins the run that has its thread and run id.
   * Resolves when the run's first event is in the log.
   */
  start(agentName: string, body: unknown, options?: StartOptions): Promise<StartedRun>;
  /** Follows a branch of a thread, one of its runs, or its whole log. */
  attach(threadId: string, options?: AttachOptions): Promise<Attachment>;
  /**
   * Where a thread stands, for a client that has nothing: a prelude of its head, and then live to the end of that run. An
   * idle thread is told as a closed run; one that does not exist gives nothing.
   */
  connect(agentName: string, body: unknown, options?: ConnectOptions): Promise<Attachment>;
  /** Stops a run wherever it is executed, and answers how it ended; one that has ended stays as it is. */
  cancel(threadId: string, runId: string): Promise<RunInfo>;
  /** A run that waits for its turn; undefined where it does not. */
  waiting(threadId: string, runId: string): Promise<QueuedRun | undefined>;
  /** What is known of a run. Throws `thread-unknown` and `run-unknown`. */
  run(threadId: string, runId: string): Promise<RunInfo>;
  /** What an agent can do here, in AG-UI's shape. Throws `agent-unknown`. */
  capabilities(agentName: string): AgentCapabilities;
  /** How the server is. Never rejects. */
  health(): Promise<Health>;
  /** Takes no more runs, ends those under way, and ends every attachment at its newest event. */
  stop(): Promise<void>;
  /** Stops, gives viewers a second to take what is left for them, and ends everything, the store too if it is our own. */
  close(): Promise<void>;
}

/** How often lists of threads look for what other processes changed. */
const LIST_POLL_MS = 1000;

/** How long viewers may take to get what is left for them. */
const CLOSE_GRACE_MS = 1000;

/** Makes a server. Throws `config-invalid` where two agents have one name. */
export const createHeddle = <S = undefined>(options: HeddleOptions<S>): Heddle =>
  new Server({ ...options, agents: agentsOf(options), services: undefined });

class Server implements Heddle {
  readonly agents: readonly Agent[];
  readonly threads: Threads;
  readonly telemetry: Telemetry;
  readonly #byName: ReadonlyMap<string, Agent>;
  readonly #store: Store;
  readonly #ownsStore: boolean;
  readonly #errands: Errands;
  readonly #committer: Committer;
  readonly #hubs: Hubs;
  readonly #lists: LiveLists;
  readonly #runs: Runs;
  readonly #reaper: Reaper;
  readonly #shutdownGraceMs: number;
  #accepting = true;
  #opened: Promise<void> | undefined;

  constructor(options: HeddleOptions & { readonly agents: readonly Agent[] }) {
    const { store = memoryStore(), leaseMs = 15_000, pollMs = 5000, onError = warn } = options;
    const { heartbeatMs = Math.min(5000, leaseMs / 3), lingerMs = 10, reapMs = leaseMs / 3 } = options;
    const { cancelGraceMs = 1000, strict = false, onRepair = () => undefined, onLog = () => undefined } = options;
    this.#shutdownGraceMs = options.shutdownGraceMs ?? 5000;
    this.#byName = byName(options.agents);
    this.agents = [...this.#byName.values()];
    this.#store = store;
    this.#ownsStore = options.store === undefined;
    const telemetry = (this.telemetry = new Telemetry(options.telemetry ?? {}, this.agents, {
      runsRunning: () => this.#runs.size,
      viewers: () => this.#hubs.viewers,
      viewerLag: () => this.#hubs.lag,
    }));
    const onTrouble = (error: unknown): void => {
      telemetry.failed(error);
      (options.onTrouble ?? warnOf)(error);
    };
    const onCommit = (durationMs: number, batches: number): void => telemetry.committed(durationMs, batches);
    const errands = (this.#errands = new Errands(onTrouble));
    const committer = (this.#committer = new Committer(store, { heartbeatMs, lingerMs, onTrouble, onCommit }));
    const lists = (this.#lists = new LiveLists(store, { pollMs: LIST_POLL_MS, onTrouble }));
    const hubs = (this.#hubs = new Hubs(store, { pollMs, onTrouble, onWriter: () => lists.look() }));
    const folds = new KeptFolds(store);
    const told = { telemetry, onError, onRepair, onLog };
    const parts = { store, committer, hubs, folds, errands, leaseMs, cancelGraceMs, strict, ...told };
    const { rules = {} } = options;
    const rulesOf = (name: string): PostRules => ({ ...rules["*"], ...rules[name] });
    const { maxQueuedRuns = 16 } = options;
    const agentOf = (name: string): Agent => this.#agent(name);
    this.#runs = new Runs({ ...parts, limits: limitsOf(options), rulesOf, agentOf, maxQueuedRuns });
    this.#reaper = new Reaper(store, errands, {
      everyMs: reapMs,
      leaseMs,
      renew: () => committer.beat(),
      onReaped: (runs) => telemetry.reaped(runs),
      afterwards: () => this.#runs.startWaiting(),
    });
    this.threads = new Threads({
      tenant: DEFAULT_TENANT,
      store: () => this.open().then(() => store),
      hubs,
      lists,
      errands,
      telemetry,
      cancel: (run) => this.#runs.cancel(run),
    });
  }

  get closing(): boolean {
    return !this.#accepting;
  }

  open(): Promise<void> {
    // What failed once may succeed later.
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #open(): Promise<void> {
    await this.#store.open();
    await this.#reaper.start();
    this.#errands.run(() => settleLeftovers(this.#store));
  }

  async start(agentName: string, body: unknown, options: StartOptions = {}): Promise<StartedRun> {
    if (!this.#accepting) throw serverClosing();
    const agent = this.#agent(agentName);
    const { input, peer, warnings } = readRunBody(body);
    const { threadId, runId } = input;
    await this.open();
    const began = await this.#runs.start(DEFAULT_TENANT, agent, input, options);
    const told = [...warnings, ...began.warnings];
    return {
      threadId,
      runId,
      run: { threadId, runId: began.runId },
      joined: began.joined,
      queued: began.queued,
      opening: began.opening,
      held: input.messages.map(({ id }) => id),
      peer,
      warnings: told,
    };
  }

  async attach(threadId: string, options: AttachOptions = {}): Promise<Attachment> {
    await this.open();
    const { runId, signal } = options;
    if (options.queued === true && runId !== undefined) return this.#attachLater(threadId, runId, options);
    const attachment = await attach(this.#store, this.#hubs, keyOf(threadId), options);
    if (runId !== undefined && signal !== undefined) this.#runs.watch({ ...keyOf(threadId), runId }, signal);
    return attachment;
  }

  /** Follows a run that waits, once it has begun. */
  #attachLater(threadId: string, runId: string, options: AttachOptions): Attachment {
    const key = { ...keyOf(threadId), runId };
    return attachLater(async () => {
      const run = await awaitStart(this.#store, key, options.signal);
      return run === undefined ? undefined : this.attach(threadId, { ...options, queued: false });
    });
  }

  async connect(agentName: string, body: unknown, options: ConnectOptions = {}): Promise<Attachment> {
    this.#agent(agentName);
    const { threadId, held, peer } = readThreadId(body);
    await this.open();
    const thread = await this.#store.thread(keyOf(threadId));
    if (thread?.head === undefined) return NOTHING;
    return this.attach(threadId, { peer, ...options, runId: thread.head, prelude: true, held });
  }

  async cancel(threadId: string, runId: string): Promise<RunInfo> {
    await this.open();
    await knownThread(this.#store, keyOf(threadId));
    return this.#runs.cancel({ ...keyOf(threadId), runId });
  }

  async waiting(threadId: string, runId: string): Promise<QueuedRun | undefined> {
    await this.open();
    return (await this.#store.queue(keyOf(threadId))).find((queued) => queued.runId === runId);
  }

  async run(threadId: string, runId: string): Promise<RunInfo> {
    await this.open();
    await knownThread(this.#store, keyOf(threadId));
    return knownRun(this.#store, keyOf(threadId), runId);
  }

  capabilities(agentName: string): AgentCapabilities {
    const { capabilities } = this.#agent(agentName);
    return { ...capabilities, transport: { ...capabilities.transport, streaming: true, resumable: true } };
  }

  async health(): Promise<Health> {
    const store = await checkHealth(this.#store);
    const { size: runs, repairs } = this.#runs;
    return { ready: this.#accepting && store === "ok", store, runs, viewers: this.#hubs.viewers, repairs };
  }

  async stop(): Promise<void> {
    this.#accepting = false;
    this.#reaper.stop();
    await this.#runs.stopAll(this.#shutdownGraceMs);
    this.#hubs.end();
    this.#lists.end();
  }

  async close(): Promise<void> {
    await this.stop();
    await within(CLOSE_GRACE_MS, this.#hubs.left());
    await this.#errands.done();
    await this.#committer.close();
    if (this.#ownsStore) await this.#store.close();
    await this.telemetry.close();
  }

  #agent(agentName: string): Agent {
    const agent = this.#byName.get(agentName);
    if (agent !== undefined) return agent;
    const names = [...this.#byName.keys()];
    const known = names.length === 0 ? "none is" : `these are: ${names.join(", ")}`;
    throw new HeddleError("agent-unknown", `No agent of this name is served here; ${known}.`, { agent: agentName });
  }
}

const keyOf = (threadId: string): ThreadKey => ({ tenant: DEFAULT_TENANT, threadId });

const limitsOf = (options: HeddleOptions): RunLimits => ({
  maxEventBytes: options.maxEventBytes ?? DEFAULT_LIMITS.maxEventBytes,
  maxEvents: options.maxEventsPerRun ?? DEFAULT_LIMITS.maxEvents,
  maxChars: options.maxRunChars ?? DEFAULT_LIMITS.maxChars,
  maxOpen: options.maxOpenItems ?? DEFAULT_LIMITS.maxOpen,
});

const causeOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

const warn: RunErrorReporter = (error, { agent, input }) => {
  process.emitWarning(`Run ${input.runId} of the agent ${agent.name} failed: ${causeOf(error)}`, "HeddleWarning");
};

const warnOf = (error: unknown): void => {
  process.emitWarning(`The server has trouble with its store: ${causeOf(error)}`, "HeddleWarning");
};

function byName(agents: readonly Agent[]): ReadonlyMap<string, Agent> {
  const named = new Map<string, Agent>();
  for (const agent of agents) {
    const { name } = agent;
    if (named.has(name)) {
      const details = { setting: "agents", expected: "agents of different names", received: `two named ${name}` };
      throw new HeddleError("config-invalid", `Two agents are named ${name}: give each a name of its own.`, details);
    }
    named.set(name, agent);
  }
  return named;
}
