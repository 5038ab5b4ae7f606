/** The newest run of a thread in a component: how it stands, what it works at, and what starts and stops it. */
import type { SubagentView, RunStatus, RunView, StepView } from "../../stream/index.ts";
import type { Failure } from "./thread-model.ts";
import { useThread } from "./use-thread.ts";
import type { ThreadActions, UseThreadOptions } from "./use-thread.ts";

/** The newest run of a thread. */
export interface RunHandle extends Pick<ThreadActions, "run" | "stop" | "regenerate"> {
  /** Its id. */
  readonly runId: string | undefined;
  /** How it stands. */
  readonly status: RunStatus;
  /** Whether it is under way. */
  readonly isRunning: boolean;
  /** What it returned. */
  readonly result: unknown;
  /** Tokens that it spent. */
  readonly usage: RunView["usage"];
  /** Why it failed, or could not be started. */
  readonly error: Failure | undefined;
  /** Steps that are open. */
  readonly steps: readonly StepView[];
  /** Its subagents. */
  readonly subagents: readonly SubagentView[];
}

/** The newest run of a thread, by default of the one around. Renders again when it stands otherwise. */
export function useRun(id?: string, options?: UseThreadOptions): RunHandle {
  const { newest, error, steps, subagents, run, stop, regenerate } = useThread(id, options);
  const { runId, status, result, usage } = newest;
  const isRunning = status === "running";
  return { runId, status, isRunning, result, usage, error, steps, subagents, run, stop, regenerate };
}
