/**
 * The steps and subagents of a run, as the session dialect tells of them.
 *
 * A `status-update` becomes the AG-UI event that it stands for where that may come now. Everything else that a server
 * can say in one, such as that the run waits in a queue, has no place in AG-UI and is left to the caller.
 */
import type { Event } from "../generated/model.ts";
import type { AgentErrorInfo, StatusUpdateData } from "./model.ts";
import { inLane } from "./session-event-draft.ts";

/** The steps and subagents of one run. */
export class SessionStatus {
  /** Names of open steps, by lane. */
  readonly #steps = new Map<string | undefined, Set<string>>();
  /** Subagents that were announced: true while they are active. */
  readonly #subagents = new Map<string, boolean>();

  /** The event that an update stands for; undefined where there is none, or it may not come now. */
  update(data: StatusUpdateData): Event | undefined {
    switch (data.subject) {
      case "step":
        return this.#step(data);
      case "subagent":
        return data.subagentRunId === undefined ? undefined : this.#subagent(data, data.subagentRunId);
      case "run":
        return undefined;
    }
  }

  /** Closes what is open: subagents with the error, where one ended the run. */
  closeAll(error?: Pick<AgentErrorInfo, "code" | "message">): readonly Event[] {
    const steps = [...this.#steps].flatMap(([lane, names]) =>
      [...names].map((stepName): Event => ({ type: "STEP_FINISHED", stepName, ...inLane(lane) })),
    );
    const subagents = [...this.#subagents].flatMap(([subagentRunId, isActive]): readonly Event[] => {
      if (!isActive) return [];
      if (error === undefined) return [{ type: "SUBAGENT_FINISHED", subagentRunId }];
      return [{ type: "SUBAGENT_ERROR", subagentRunId, message: error.message, code: error.code }];
    });
    this.#steps.clear();
    this.#subagents.clear();
    return [...steps, ...subagents];
  }

  #step({ status, name: stepName, subagentRunId: lane }: StatusUpdateData): Event | undefined {
    if (stepName === undefined) return undefined;
    const names = this.#steps.get(lane) ?? new Set<string>();
    this.#steps.set(lane, names);
    if (status === "started" && !names.has(stepName)) {
      names.add(stepName);
      return { type: "STEP_STARTED", stepName, ...inLane(lane) };
    }
    if (status !== "finished" || !names.delete(stepName)) return undefined;
    return { type: "STEP_FINISHED", stepName, ...inLane(lane) };
  }

  #subagent({ status, name, message, code }: StatusUpdateData, subagentRunId: string): Event | undefined {
    const isActive = this.#subagents.get(subagentRunId);
    if (status === "started") {
      if (isActive !== undefined || name === undefined) return undefined;
      this.#subagents.set(subagentRunId, true);
      const description = message === undefined ? {} : { description: message };
      return { type: "SUBAGENT_STARTED", subagentRunId, name, ...description };
    }
    if (isActive !== true || status === "queued") return undefined;
    this.#subagents.set(subagentRunId, false);
    if (status === "finished") return { type: "SUBAGENT_FINISHED", subagentRunId };
    if (status === "waiting") return { type: "SUBAGENT_FINISHED", subagentRunId, outcome: { type: "suspended" } };
    const failure = { message: message ?? "The subagent failed.", ...(code === undefined ? {} : { code }) };
    return { type: "SUBAGENT_ERROR", subagentRunId, ...failure };
  }
}
