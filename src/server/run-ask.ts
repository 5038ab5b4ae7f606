/** What is asked for where a run is: by whom, of which agent, where it hangs, and how the post is taken. */
import { ROOT_CONTEXT } from "@opentelemetry/api";
import type { Context } from "@opentelemetry/api";
import type { Agent } from "../agent/index.ts";
import type { RunAgentInput, Warning } from "../protocol/index.ts";
import type { ThreadInfo, ThreadKey } from "../store/index.ts";
import type { PostRules } from "./post-rules.ts";
import { ROOT } from "./prepare-run.ts";
import type { Place } from "./prepare-run.ts";
import { parentOf } from "./telemetry/index.ts";
import type { TraceRequest } from "./telemetry/index.ts";

/** How a run is started. */
export interface StartOptions extends PostRules {
  /** The run that it hangs on, or `ROOT`. Default: the one that the post names, else the thread's head. */
  readonly parent?: Place;
  /** `cancel` stops the run when the last one who attached to it with a signal is gone. Default: it goes on. */
  readonly onDisconnect?: "cancel" | undefined;
  /** True where whoever asks holds the branch already and follows its log, so that nothing has to be told first. Default false. */
  readonly holds?: boolean | undefined;
  /** The trace that asking is part of, as a request's headers tell it. A span of the host that is active comes before it. */
  readonly trace?: TraceRequest;
}

/** What is asked for. */
export interface Ask {
  /** The thread. */
  readonly key: ThreadKey;
  /** Who asks: the run is theirs, and the thread where it is new. */
  readonly user: string | undefined;
  /** Throws where whoever asks may not write to the thread. */
  readonly judge: (thread: ThreadInfo | undefined) => Promise<void>;
  /** The agent. */
  readonly agent: Agent;
  /** What was posted, naming the run that it hangs on where the options do. */
  readonly posted: RunAgentInput;
  /** Where the run hangs whatever the post says. */
  readonly place: Place;
  /** How the post is taken: as the agent's posts are, and as this one asks. */
  readonly rules: PostRules;
  /** Whether the run stops when the last one who watched it is gone. */
  readonly cancelOnLeave: boolean;
  /** Whether whoever asks holds the branch. */
  readonly holds: boolean;
  /** Whether it begins only if it waits. */
  readonly ifQueued: boolean;
  /** The trace that asking is part of. */
  readonly trace: Context;
  /** What was changed in the body when it was read. */
  readonly changed: readonly Warning[];
}

/** What is said of an ask beside what it is for. */
export interface AskOptions extends StartOptions {
  /** Whether it begins only if it waits. Default false. */
  readonly ifQueued?: boolean;
  /** What was changed in the body when it was read. Default: nothing. */
  readonly changed?: readonly Warning[];
}

/** How a run that has waited begins. Whoever posted it could not know what was said meanwhile. */
export const WAITED: AskOptions = { onStale: "append", ifQueued: true };

/** The ask that a post is, by the rules of its agent. */
export function askOf(
  rulesOf: (agentName: string) => PostRules,
  by: Pick<Ask, "key" | "user" | "judge">,
  agent: Agent,
  input: RunAgentInput,
  options: AskOptions,
): Ask {
  const { parent, onDisconnect, holds = false, ifQueued = false, trace = {}, changed = [], ...rules } = options;
  const posted = typeof parent === "string" ? { ...input, parentRunId: parent } : input;
  const place = parent === ROOT ? ROOT : undefined;
  const all = { ...rulesOf(agent.name), ...rules };
  const cancelOnLeave = onDisconnect === "cancel";
  // Whoever is done here when a run that waited begins has nothing to do with it.
  const part = ifQueued ? ROOT_CONTEXT : parentOf(trace);
  return { ...by, agent, posted, place, rules: all, cancelOnLeave, holds, ifQueued, trace: part, changed };
}
