/** Which agent is talked to: the one in the address, else the thread's last one, else the first. */
import type { AgentInfo } from "heddle/client";

/** Who is talked to. */
export interface Choice {
  /** The agent; undefined while it is not known, and where there is none. */
  readonly agent: AgentInfo | undefined;
  /** An agent that was meant and is not there. */
  readonly missing: string | undefined;
}

/** Chooses: `asked` by the address, `last` by the newest run. */
export function chooseAgent(agents: readonly AgentInfo[], asked: string, last: string | undefined): Choice {
  const find = (name: string | undefined): AgentInfo | undefined => agents.find((agent) => agent.name === name);
  if (asked !== "") return { agent: find(asked), missing: find(asked) === undefined ? asked : undefined };
  if (last === undefined) return { agent: agents[0], missing: undefined };
  return { agent: find(last) ?? agents[0], missing: find(last) === undefined ? last : undefined };
}
