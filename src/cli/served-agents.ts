/**
 * The agents that `heddle serve` serves: those of files, those that run elsewhere, and a model's where the environment
 * names one, unless an agent of the same name is there already.
 */
import type { Agent } from "../agent/index.ts";
import { remoteAgent } from "../agent/adapters/ag-ui/index.ts";
import { sessionAgent } from "../agent/adapters/session/index.ts";
import { openAiAgent } from "../agent/adapters/openai/index.ts";
import { forwardedHeaders } from "../server/fastify/index.ts";
import { loadAgents } from "./load-agents.ts";
import type { Configuration, Environment } from "./settings.ts";

/** Agents, and what there is to say about them. */
export interface ServedAgents {
  /** The agents. */
  readonly agents: readonly Agent[];
  /** What whoever started the server should know. */
  readonly notes: readonly string[];
}

/** Name of the agent that a model in the environment is served as. */
const MODEL_AGENT = "assistant";

/** How long an agent may be silent: a tool may take its time. */
const IDLE_MS = 600_000;

/** Collects the agents. Throws `config-invalid`, or whatever a file throws while it loads. */
export async function servedAgents(settings: Configuration, env: Environment): Promise<ServedAgents> {
  const own = [...(await loadAgents(settings.files ?? [])), ...remotes(settings)];
  const named = new Set(own.map(({ name }) => name));
  const { OPENAI_API_KEY: key, OPENAI_BASE_URL: url, OPENAI_MODEL: model } = env;
  if ((!key && !url) || named.has(MODEL_AGENT)) return { agents: own, notes: [] };
  const variable = key ? "OPENAI_API_KEY" : "OPENAI_BASE_URL";
  if (!model) {
    const note = `${variable} is set and OPENAI_MODEL is not: name a model to have it served as ${MODEL_AGENT}.`;
    return { agents: own, notes: [note] };
  }
  const agent = openAiAgent({ name: MODEL_AGENT, env });
  return { agents: [...own, agent], notes: [`${MODEL_AGENT} is the model ${model}, since ${variable} is set.`] };
}

/** The scheme says what an agent speaks. What is chosen to be passed on wins over what is set for all. */
function remotes(settings: Configuration): readonly Agent[] {
  const { agents = {}, maxEventsPerRun, agentResponseMs, agentIdleMs = IDLE_MS } = settings;
  const limits = {
    idleTimeoutMs: agentIdleMs,
    ...(agentResponseMs !== undefined && { responseTimeoutMs: agentResponseMs }),
    ...(maxEventsPerRun !== undefined && { maxEvents: maxEventsPerRun }),
  };
  return Object.entries(agents).map(([name, { url, headers }]) => {
    const agentOf = url.startsWith("ws") ? sessionAgent : remoteAgent;
    return agentOf({ name, url, ...limits, headers: () => ({ ...headers, ...forwardedHeaders() }) });
  });
}
