/**
 * How a run ends: everything closed, and the one terminal event.
 *
 * Questions that are open make the outcome an interrupt, whoever asked them. Calls that nobody has answered are named
 * in the success outcome, as frontend tools ask for (R-TOOL-12). What a forwarded run said about its own end is kept.
 */
import { runError, runFinished, subagentFinished } from "../protocol/index.ts";
import type { Event, Interrupt, RunAgentInput, RunFinishedEvent, RunFinishedOutcome } from "../protocol/index.ts";
import { recordOf } from "./answer-record.ts";
import type { SubagentCloser } from "./open-items.ts";
import type { Scope } from "./scope.ts";
import { failed, failureOf } from "./subagent.ts";
import type { Failure } from "./subagent.ts";

/** How a run came to its end. */
export type Ending =
  | { readonly type: "finished" }
  | { readonly type: "cancelled" }
  | { readonly type: "failed"; readonly error: unknown };

/** Closes what is open and sends the terminal event. Whoever writes later gets the reason. */
export function endRun(scope: Scope, input: RunAgentInput, ending: Ending, reason: unknown): void {
  const { channel, interrupts } = scope.run;
  const { end } = scope.forwarder;
  const { threadId, runId } = input;
  const common = { timestamp: Date.now(), ...channel.usage.report() };
  const finish = (
    outcome: RunFinishedOutcome | undefined,
    closer: SubagentCloser,
    extra: readonly Event[] = [],
  ): void => {
    // A run that was stopped has no result (R-LIFE-11).
    const result = outcome?.type === "cancelled" ? {} : resultOf(end);
    const fields = outcome === undefined ? result : { ...result, outcome };
    channel.end([...extra, runFinished({ threadId, runId, ...fields, ...common })], closer, reason);
  };
  const fail = (failure: Failure): void =>
    channel.end([runError({ ...failure, ...common })], (id) => failed(id, failure), reason);

  if (ending.type === "cancelled") {
    return finish({ type: "cancelled" }, (id) => failed(id, { message: "The run was stopped.", code: "cancelled" }));
  }
  if (ending.type === "failed") return fail(failureOf(ending.error));
  if (end?.type === "RUN_ERROR")
    return fail({ message: end.message, ...(end.code === undefined ? {} : { code: end.code }) });
  interrupts.reportUnused();
  const { open, used } = interrupts;
  if (open.length > 0) {
    return finish({ type: "interrupt", interrupts: [...open] }, suspending(open), recordOf(used, open));
  }
  finish(outcomeOf(end, channel.pendingCalls()), (id) =>
    subagentFinished({ subagentRunId: id, timestamp: Date.now() }),
  );
}

/** What a forwarded run returned. */
const resultOf = (end: Event | undefined): { readonly result?: unknown } =>
  end?.type === "RUN_FINISHED" && end.result !== undefined ? { result: end.result } : {};

/** Success, said only where there is something to say with it. */
function outcomeOf(end: RunFinishedEvent | undefined, pending: readonly string[]): RunFinishedOutcome | undefined {
  if (end?.outcome?.type === "cancelled") return end.outcome;
  return pending.length > 0 ? { type: "success", pendingToolCallIds: pending } : end?.outcome;
}

/** A subagent that is open when the run asks waits too, with its own questions if it has any (R-SUB-20). */
function suspending(open: readonly Interrupt[]): SubagentCloser {
  return (subagentRunId) => {
    const asked = open.filter((interrupt) => interrupt.subagentRunId === subagentRunId).map(({ id }) => id);
    const interruptIds = asked.length === 0 ? {} : { interruptIds: asked };
    return subagentFinished({
      subagentRunId,
      outcome: { type: "suspended", ...interruptIds },
      timestamp: Date.now(),
    });
  };
}
