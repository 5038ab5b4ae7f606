/**
 * A thread in a component. What it gives is read when it is used: a component that takes only `run` and `status` renders
 * again when the status is another, and not for a single token.
 */
import { useEffect, useMemo } from "react";
import type { NewInput, Run, RunOptions, RunRequest, Thread, ToolResult } from "../index.ts";
import { HeddleError } from "../../protocol/index.ts";
import type { UserMessage } from "../../protocol/index.ts";
import { useModel } from "./thread-context.ts";
import { BLANK_THREAD } from "./thread-model.ts";
import type { ThreadModel, ThreadValues } from "./thread-model.ts";
import { useTracked } from "./tracked.ts";

/** What can be done with a thread: the same functions as long as it is the same thread and agent. */
export interface ThreadActions {
  /** Starts a run. What refuses it is in `error`. */
  readonly run: (request: RunRequest, options?: RunOptions) => Run;
  /** Stops the run that is under way. */
  readonly stop: () => Promise<void>;
  /** Answers a question; answers are sent when all questions that are open have one. */
  readonly answer: (interruptId: string, payload?: unknown) => Promise<void>;
  /** Gives a question up; it counts as its answer. */
  readonly decline: (interruptId: string) => Promise<void>;
  /** Gives the results of calls that were left to the client. */
  readonly result: (results: readonly ToolResult[]) => Promise<void>;
  /** Says a message of the user anew, on a branch of its own. */
  readonly edit: (messageId: string, content: UserMessage["content"]) => Run;
  /** Has a message of the user answered once more, the newest where none is named. */
  readonly regenerate: (messageId?: string) => Run;
  /** Changes the shared state: seen at once, sent with the next run. */
  readonly setState: Thread["setState"];
  /** Shows the branch of a run. */
  readonly switchTo: (runId: string) => Promise<void>;
  /** The thread itself, for all else. */
  readonly thread: Thread;
}

/** A thread in a component. */
export interface ThreadHandle extends ThreadValues, ThreadActions {}

/** How a thread is used. */
export interface UseThreadOptions {
  /** The agent that is run. Default: that of the `ThreadRoot` around, for its thread. */
  readonly agent?: string;
}

/** Follows a thread, by default the one around. Renders again for what was read of it, and for nothing else. */
export function useThread(id?: string, options: UseThreadOptions = {}): ThreadHandle {
  const { model, agent } = useModel(id, options.agent);
  const actions = useMemo(() => actionsOf(model, agent), [model, agent]);
  useEffect(() => model.thread.attach(), [model]);
  // Somebody may have read the branches for the first time.
  useEffect(() => model.refreshBranches());
  return useTracked(model, BLANK_THREAD, actions);
}

function actionsOf(model: ThreadModel, agent: string | undefined): ThreadActions {
  const { thread } = model;
  return {
    thread,
    run: (request: string | NewInput, options) => model.start(() => thread.run(named(agent), request, options)),
    stop: () => model.attempt(async () => model.status === "running" && thread.cancel()),
    answer: (interruptId, payload) => model.answer({ interruptId, status: "resolved", payload }, agent),
    decline: (interruptId) => model.answer({ interruptId, status: "cancelled" }, agent),
    result: (results) =>
      model.attempt(async () => (await thread.answer({ results }, agent === undefined ? {} : { agent })).finished),
    edit: (messageId, content) => model.start(() => thread.edit(named(agent), messageId, content)),
    regenerate: (messageId) => model.start(() => thread.regenerate(named(agent), messageId)),
    setState: (change) => thread.setState(change),
    switchTo: (runId) => model.switchTo(runId),
  };
}

function named(agent: string | undefined): string {
  if (agent !== undefined) return agent;
  const message = "No agent is named: useThread(id, { agent }) or <ThreadRoot agent=…> says which one is run.";
  throw new HeddleError("config-invalid", message, { setting: "agent", expected: "a name", received: "none" });
}
