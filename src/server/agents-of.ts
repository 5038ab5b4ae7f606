/**
 * The agents that a server is given: made already, or made here with the services of its host. There is no container: what an
 * agent needs is an argument of the function that makes it.
 */
import { isAgent } from "../agent/index.ts";
import type { Agent } from "../agent/index.ts";
import { HeddleError } from "../protocol/index.ts";

/** Makes an agent of the services of its host. */
export type AgentFactory<S> = (services: S) => Agent;

/** An agent, or what makes one. */
export type AgentSource<S> = Agent | AgentFactory<S>;

/** Makes what is not made yet. Each factory is called once. Throws `config-invalid` where one gives no agent. */
export function agentsOf<S>(given: {
  readonly agents: readonly AgentSource<S>[];
  readonly services?: S;
}): readonly Agent[] {
  return given.agents.map((source) => {
    if (typeof source !== "function") return source;
    // Who needs services cannot leave them out: their type says so.
    const agent: unknown = source(given.services as S);
    if (isAgent(agent)) return agent;
    const expected = "an agent made by defineAgent";
    const message = `The factory ${source.name || "of an agent"} gave a ${typeof agent}: expected ${expected}.`;
    throw new HeddleError("config-invalid", message, { setting: "agents", expected, received: typeof agent });
  });
}
