/**
 * The server without a transport: agents, a log, runs and viewers.
 *
 * A run is started by a body that is judged here, and goes on to its end whoever watches. Authentication, history,
 * branches, cancelling by a client and everything durable are not here yet.
 */
import type { Agent } from "../agent/index.ts";
import { HeddleError, parseRunInput } from "../protocol/index.ts";
import { normaliseRunInput } from "../protocol/dialects/index.ts";
import { memoryStore } from "../store/index.ts";
import type { Store } from "../store/index.ts";
import { attach } from "./attach.ts";
import type { AttachOptions, Attachment } from "./attach.ts";
import { Runs } from "./runs.ts";
import type { RunErrorReporter, StartedRun } from "./runs.ts";

/** Options of `createHeddle`. */
export interface HeddleOptions {
  /** The agents that can be run, each under its own name. */
  readonly agents: readonly Agent[];
  /** Where events are kept. Default: a new memory store. */
  readonly store?: Store;
  /** Told what went wrong in a run, with the stack that viewers do not see. Default: a warning of the process. */
  readonly onError?: RunErrorReporter;
}

/** A server that knows no transport. */
export interface Heddle {
  /** The agents that can be run. */
  readonly agents: readonly Agent[];
  /**
   * Starts a run from a body that nobody has judged yet, or joins the run that has its thread and run id.
   * Resolves when the run's first event is in the log.
   */
  start(agentName: string, body: unknown): Promise<StartedRun>;
  /** Follows a thread, or one of its runs. */
  attach(threadId: string, options?: AttachOptions): Promise<Attachment>;
  /** Takes no more runs, stops those under way, and ends every attachment at its newest event. */
  close(): Promise<void>;
}

/** Makes a server. Throws `config-invalid` where two agents have one name. */
export function createHeddle(options: HeddleOptions): Heddle {
  const { store = memoryStore(), onError = warn } = options;
  const agents = byName(options.agents);
  const runs = new Runs(store, onError);
  const closing = new AbortController();
  let accepting = true;

  return {
    agents: [...agents.values()],

    async start(agentName, body) {
      if (!accepting) throw new HeddleError("server-closing", "The server is shutting down: try again later.", {});
      const agent = agents.get(agentName);
      if (agent === undefined) throw unknownAgent(agentName, agents);
      const normalised = normaliseRunInput(body);
      const { value: input, warnings: removed } = parseRunInput(normalised.value);
      const warnings = [...normalised.warnings, ...removed];
      checkId("/threadId", input.threadId);
      checkId("/runId", input.runId);
      const { joined } = await runs.start(agent, input);
      return { threadId: input.threadId, runId: input.runId, joined, warnings };
    },

    attach: (threadId, attachOptions = {}) => attach(store, runs, threadId, attachOptions, closing.signal),

    async close() {
      accepting = false;
      await runs.stopAll();
      closing.abort();
    },
  };
}

const warn: RunErrorReporter = (error, { agent, input }) => {
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.emitWarning(`Run ${input.runId} of the agent ${agent.name} failed: ${cause}`, "HeddleWarning");
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
