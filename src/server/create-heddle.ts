/**
 * The server without a transport: agents, a log, runs and viewers.
 *
 * A run is started by a body that is judged here, and goes on to its end whoever watches. Authentication, history,
 * branches and cancelling by a client are not here yet: every thread belongs to one tenant, and runs follow one another.
 */
import type { Agent } from "../agent/index.ts";
import { HeddleError, parseRunInput } from "../protocol/index.ts";
import { normaliseRunInput } from "../protocol/dialects/index.ts";
import { Committer, memoryStore, settleLeftovers } from "../store/index.ts";
import type { Store } from "../store/index.ts";
import { attach } from "./attach.ts";
import type { AttachOptions, Attachment } from "./attach.ts";
import { Errands } from "./errands.ts";
import { Hubs } from "./hubs.ts";
import { Reaper } from "./reaper.ts";
import { Runs, serverClosing } from "./runs.ts";
import type { RunErrorReporter, StartedRun } from "./runs.ts";

/** Whose threads these are as long as nobody is asked who they are. */
export const DEFAULT_TENANT = "default";

/** Options of `createHeddle`. */
export interface HeddleOptions {
  /** The agents that can be run, each under its own name. */
  readonly agents: readonly Agent[];
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
  /** Told what went wrong in a run, with the stack that viewers do not see. Default: a warning of the process. */
  readonly onError?: RunErrorReporter;
  /** Told of what went wrong on the side, and of what is being tried again. Default: a warning of the process. */
  readonly onTrouble?: (error: unknown) => void;
}

/** A server that knows no transport. */
export interface Heddle {
  /** The agents that can be run. */
  readonly agents: readonly Agent[];
  /** Opens the store and ends runs that were left behind. The other methods do so themselves where it was not done. */
  open(): Promise<void>;
  /**
   * Starts a run from a body that nobody has judged yet, or joins the run that has its thread and run id.
   * Resolves when the run's first event is in the log.
   */
  start(agentName: string, body: unknown): Promise<StartedRun>;
  /** Follows a thread, or one of its runs. */
  attach(threadId: string, options?: AttachOptions): Promise<Attachment>;
  /** Takes no more runs, stops those under way, and ends every attachment at its newest event. */
  stop(): Promise<void>;
  /** Stops, gives viewers a second to take what is left for them, and ends everything, the store too if it is our own. */
  close(): Promise<void>;
}

/** How long viewers may take to get what is left for them. */
const CLOSE_GRACE_MS = 1000;

/** Makes a server. Throws `config-invalid` where two agents have one name. */
export function createHeddle(options: HeddleOptions): Heddle {
  const agents = byName(options.agents);
  const { store = memoryStore(), leaseMs = 15_000, pollMs = 5000, onError = warn, onTrouble = warnOf } = options;
  const { heartbeatMs = Math.min(5000, leaseMs / 3), lingerMs = 10, reapMs = leaseMs / 3 } = options;
  const errands = new Errands(onTrouble);
  const committer = new Committer(store, { heartbeatMs, lingerMs, onTrouble });
  const hubs = new Hubs(store, { pollMs, onTrouble });
  const runs = new Runs({ store, committer, hubs, errands, leaseMs, onError });
  const reaper = new Reaper(store, errands, { everyMs: reapMs, leaseMs });
  let accepting = true;
  let opened: Promise<void> | undefined;

  const open = async (): Promise<void> => {
    await store.open();
    await reaper.start();
    errands.run(() => settleLeftovers(store));
  };

  const heddle: Heddle = {
    agents: [...agents.values()],

    open() {
      // What failed once may succeed later.
      opened ??= open().catch((error: unknown) => {
        opened = undefined;
        throw error;
      });
      return opened;
    },

    async start(agentName, body) {
      if (!accepting) throw serverClosing();
      const agent = agents.get(agentName);
      if (agent === undefined) throw unknownAgent(agentName, agents);
      const normalised = normaliseRunInput(body);
      const { value: input, warnings: removed } = parseRunInput(normalised.value);
      const warnings = [...normalised.warnings, ...removed];
      checkId("/threadId", input.threadId);
      checkId("/runId", input.runId);
      await heddle.open();
      const { joined } = await runs.start(DEFAULT_TENANT, agent, input);
      return { threadId: input.threadId, runId: input.runId, joined, warnings };
    },

    async attach(threadId, attachOptions = {}) {
      await heddle.open();
      return attach(store, hubs, { tenant: DEFAULT_TENANT, threadId }, attachOptions);
    },

    async stop() {
      accepting = false;
      reaper.stop();
      await runs.stopAll();
      hubs.end();
    },

    async close() {
      await heddle.stop();
      await withinGrace(hubs.left());
      await errands.done();
      await committer.close();
      if (options.store === undefined) await store.close();
    },
  };
  return heddle;
}

/** Waits for something, but not for ever. */
async function withinGrace(done: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, CLOSE_GRACE_MS);
  await Promise.race([done, promise]);
  clearTimeout(timer);
}

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

function unknownAgent(agentName: string, agents: ReadonlyMap<string, Agent>): HeddleError {
  const names = [...agents.keys()];
  const known = names.length === 0 ? "none is" : `these are: ${names.join(", ")}`;
  return new HeddleError("agent-unknown", `No agent of this name is served here; ${known}.`, { agent: agentName });
}

/** Longest thread or run id. */
const MAX_ID_CHARS = 256;

/** Ids stand in paths and headers: what could not be named there again is refused before a run has it. */
function checkId(path: string, id: string): void {
  if (id !== "" && id !== "." && id !== ".." && id.length <= MAX_ID_CHARS && id.isWellFormed()) return;
  const expected = `1 to ${MAX_ID_CHARS} characters of well-formed text, and not "." or ".."`;
  const received = id.length > 60 ? `${id.length} characters` : JSON.stringify(id);
  throw new HeddleError("input-invalid", `Expected ${expected} at ${path}, received ${received}.`, {
    path,
    expected,
    received,
  });
}
