/** What a reader sees of a thread: values that never change once they are handed out. */
import type { Interrupt, Message, TokenUsage } from "../protocol/index.ts";

/** How the newest run stands. */
export type RunStatus = "none" | "running" | "finished" | "interrupted" | "cancelled" | "failed";

/** The newest run. */
export interface RunView {
  /** How it stands. */
  readonly status: RunStatus;
  /** Its thread. */
  readonly threadId?: string;
  /** Its id. */
  readonly runId?: string;
  /** What it returned. */
  readonly result?: unknown;
  /** Why it failed. */
  readonly error?: { readonly message: string; readonly code?: string };
  /** Tokens that it spent. */
  readonly usage: readonly TokenUsage[];
}

/** A step that is open. */
export interface StepView {
  /** Its name. */
  readonly name: string;
  /** The subagent that it belongs to. */
  readonly subagentRunId?: string;
}

/** A subagent of the newest run. */
export interface SubagentView {
  /** Id of the invocation. */
  readonly subagentRunId: string;
  /** Its name. */
  readonly name: string;
  /** How it stands. */
  readonly status: "running" | "finished" | "suspended" | "failed" | "abandoned";
}

/** A thread as the events so far make it. */
export interface ThreadView {
  /** Messages in order: text, tools, reasoning and activities. */
  readonly messages: readonly Message[];
  /** Shared state. */
  readonly state: unknown;
  /** The newest run. */
  readonly run: RunView;
  /** Steps that are open. */
  readonly steps: readonly StepView[];
  /** Subagents of the newest run. */
  readonly subagents: readonly SubagentView[];
  /** Questions that wait for an answer. */
  readonly interrupts: readonly Interrupt[];
  /** Tool calls of the newest run that nobody has answered, in order. */
  readonly pendingToolCallIds: readonly string[];
}
