/** What is known of subagents: who they are, who started them, how they stand. Read off events, which tell more than messages do. */
import type { Event } from "heddle/protocol";

/** A subagent. */
export interface SubagentFacts {
  readonly name: string;
  readonly description: string | undefined;
  readonly parent: string | undefined;
  readonly status: "running" | "finished" | "suspended" | "failed";
  /** Why it failed. */
  readonly problem: string | undefined;
  /** What it returned. */
  readonly result: unknown;
}

/** Subagents by the id of their invocation. */
export type Subagents = ReadonlyMap<string, SubagentFacts>;

/** Takes an event in; the same map where it tells nothing new. */
export function noteSubagent(known: Subagents, event: Event): Subagents {
  if (event.type === "SUBAGENT_STARTED") {
    const { subagentRunId, name, description, parentSubagentRunId: parent } = event;
    const facts = { name, description, parent, status: "running", problem: undefined, result: undefined } as const;
    return new Map([...known, [subagentRunId, facts]]);
  }
  if (event.type !== "SUBAGENT_FINISHED" && event.type !== "SUBAGENT_ERROR") return known;
  const before = known.get(event.subagentRunId);
  if (before === undefined) return known;
  const now: SubagentFacts =
    event.type === "SUBAGENT_ERROR"
      ? { ...before, status: "failed", problem: event.message }
      : { ...before, status: event.outcome?.type === "suspended" ? "suspended" : "finished", result: event.result };
  return new Map([...known, [event.subagentRunId, now]]);
}
