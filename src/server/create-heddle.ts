/**
 * The server without a transport: agents, a log, runs and viewers.
 *
 * A run goes on to its end whoever watches, unless somebody stops it. Whoever asks is known already: `as` gives what they may
 * do, and the server itself acts as anybody does where nobody is asked who they are.
 */
import type { Agent } from "../agent/index.ts";
import { agentsOf } from "./agents-of.ts";
import type { AgentSource } from "./agents-of.ts";
import { HeddleError } from "../protocol/index.ts";
import type { AgentCapabilities } from "../protocol/index.ts";
import { CLOSINGS, Committer, memoryStore, settleLeftovers } from "../store/index.ts";
import type { QueuedRun, RunInfo, RunKey, Store } from "../store/index.ts";
import type { AttachOptions, Attachment } from "./attach.ts";
import { ticketOffice } from "./auth/index.ts";
import type { Ticket } from "./auth/index.ts";
import { checkHealth } from "./check-health.ts";
import type { Health } from "./check-health.ts";
import { actingAs } from "./conversations.ts";
import type { ConnectOptions, Conversations, ConversationsParts } from "./conversations.ts";
import { Errands } from "./errands.ts";
import { Hubs } from "./hubs.ts";
import { KeptFolds } from "./kept-folds.ts";
import { KeptUsage } from "./kept-usage.ts";
import { LiveAccess } from "./live-access.ts";
import { LiveLists } from "./live-lists.ts";
import type { PostRules } from "./post-rules.ts";
import { DEFAULT_LIMITS } from "./run-limits.ts";
import type { RunLimits } from "./run-limits.ts";
import { ANYBODY } from "./auth/index.ts";
import type { Principal } from "./auth/index.ts";
import { Reaper } from "./reaper.ts";
import { RecentErrors } from "./recent-errors.ts";
import { Runs } from "./runs.ts";
import type { RepairReporter, RunErrorReporter, RunLogger } from "./executor.ts";
import type { StartOptions } from "./run-ask.ts";
import type { StartedRun } from "./runs.ts";
import { StatusBoard } from "./server-status.ts";
import type { ServerStatus } from "./server-status.ts";
import { Telemetry } from "./telemetry/index.ts";
import type { TelemetryOptions } from "./telemetry/index.ts";
import type { Threads } from "./threads.ts";
import { hiddenIn } from "./view-rules.ts";
import type { Views } from "./view-rules.ts";
import { within } from "./within.ts";

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
  /** So many runs of one user may be under way. Default: any number. */
  readonly maxRunsPerPrincipal?: number | undefined;
  /** How often those who watch a thread are looked for whose role in it another process may have changed. Default 5,000. */
  readonly accessMs?: number;
  /** How often the store is asked, at most, how much it holds: for `status`. Default 5,000. */
  readonly usageMs?: number;
  /** How posts are taken where there is a choice: by the agent's name, and `*` for all. */
  readonly rules?: Readonly<Record<string, PostRules>>;
  /** What each role gets to see of threads: raw events, reasoning, places of the state. Default: `VIEW_DEFAULTS`. */
  readonly views?: Views;
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

/** A server that knows no transport. What it does by itself it does as anybody. */
export interface Heddle extends Conversations {
  /** The agents that can be run. */
  readonly agents: readonly Agent[];
  /** What is counted and traced here. */
  readonly telemetry: Telemetry;
  /** Whether it was told to stop. */
  readonly closing: boolean;
  /** Opens the store and ends runs that were left behind. The other methods do so themselves where it was not done. */
  open(): Promise<void>;
  /** What somebody does here, within what they may. */
  as(principal: Principal): Conversations;
  /** Who a ticket was given to; it is used up. Throws `unauthenticated`. */
  redeem(ticket: string): Promise<Principal>;
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
  readonly #conversations: ConversationsParts;
  readonly #anybody: Conversations;
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
    const errors = new RecentErrors();
    const onTrouble = (error: unknown): void => {
      telemetry.failed(error);
      errors.trouble(error);
      (options.onTrouble ?? warnOf)(error);
    };
    const onCommit = (durationMs: number, batches: number): void => telemetry.committed(durationMs, batches);
    const errands = (this.#errands = new Errands(onTrouble));
    const committer = (this.#committer = new Committer(store, { heartbeatMs, lingerMs, onTrouble, onCommit }));
    const lists = (this.#lists = new LiveLists(store, { pollMs: LIST_POLL_MS, onTrouble }));
    const hubs = (this.#hubs = new Hubs(store, { pollMs, onTrouble, onWriter: () => lists.look() }));
    const folds = new KeptFolds(store);
    const onReaped = (runs: readonly RunKey[]): void => {
      telemetry.reaped(runs.length);
      for (const run of runs) errors.run(run, undefined, { code: "worker-lost", message: CLOSINGS["worker-lost"] });
    };
    const told = { telemetry, errors, onError, onRepair, onLog, onReaped };
    const parts = { store, committer, hubs, folds, errands, leaseMs, cancelGraceMs, strict, ...told };
    const { rules = {}, views } = options;
    const rulesOf = (name: string): PostRules => ({ ...rules["*"], ...rules[name] });
    const { maxQueuedRuns = 16 } = options;
    const agentOf = (name: string): Agent => this.#agent(name);
    const { maxRunsPerPrincipal } = options;
    this.#runs = new Runs({
      ...parts,
      limits: limitsOf(options),
      hidden: hiddenIn(views),
      rulesOf,
      agentOf,
      maxQueuedRuns,
      maxRunsPerPrincipal,
    });
    this.#reaper = new Reaper(store, errands, {
      everyMs: reapMs,
      leaseMs,
      renew: () => committer.beat(),
      onReaped,
      afterwards: () => this.#runs.startWaiting(),
    });
    const live = new LiveAccess({ everyMs: options.accessMs ?? 5000, onTrouble });
    const open = (): Promise<void> => this.open();
    const watched = { hubs, lists, live };
    const tickets = ticketOffice(store);
    const usage = new KeptUsage(store, { everyMs: options.usageMs ?? 5000, onTrouble });
    const health = (): Promise<Health> => this.health();
    const counted = { kind: store.kind, usage, telemetry, hubs, errors, health };
    const status = new StatusBoard({ ...counted, runs: this.#runs });
    const beside = { errands, telemetry, tickets, status, views };
    this.#conversations = { store, open, ...watched, ...beside, runs: this.#runs, agentOf };
    this.#anybody = this.as(ANYBODY);
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

  as(principal: Principal): Conversations {
    return actingAs(this.#conversations, principal);
  }

  get principal(): Principal {
    return this.#anybody.principal;
  }

  get threads(): Threads {
    return this.#anybody.threads;
  }

  start(agentName: string, body: unknown, options?: StartOptions): Promise<StartedRun> {
    return this.#anybody.start(agentName, body, options);
  }

  attach(threadId: string, options?: AttachOptions): Promise<Attachment> {
    return this.#anybody.attach(threadId, options);
  }

  connect(agentName: string, body: unknown, options?: ConnectOptions): Promise<Attachment> {
    return this.#anybody.connect(agentName, body, options);
  }

  cancel(threadId: string, runId: string): Promise<RunInfo> {
    return this.#anybody.cancel(threadId, runId);
  }

  waiting(threadId: string, runId: string): Promise<QueuedRun | undefined> {
    return this.#anybody.waiting(threadId, runId);
  }

  run(threadId: string, runId: string): Promise<RunInfo> {
    return this.#anybody.run(threadId, runId);
  }

  ticket(): Promise<Ticket> {
    return this.#anybody.ticket();
  }

  status(): Promise<ServerStatus> {
    return this.#anybody.status();
  }

  async redeem(ticket: string): Promise<Principal> {
    await this.open();
    return this.#conversations.tickets.redeem(ticket);
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
