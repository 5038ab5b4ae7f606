/**
 * Repairs at the boundaries of runs: a run that nobody opened, one inside another, wrong ids, what is open at the end.
 *
 * What is open is closed innermost first, so that children go before their parents. The outcome that the agent gave
 * stands: a subagent that is open when the run asks a question is suspended, one that is cut off has failed.
 */
import { PROTOCOL_VERSION } from "../../protocol/index.ts";
import type { Event, Interrupt, RunFinishedEvent, RunFinishedOutcome, RunStartedEvent } from "../../protocol/index.ts";
import { jsonEqual } from "../json-value.ts";
import { add, amend, createNames, emit, learn, nameOf, rename, report } from "./repair-state.ts";
import type { RepairStep } from "./repair-state.ts";
import type { Rule } from "../rules.ts";

/** Opens the run that an event takes for granted. */
export function openRun(step: RepairStep, event: Event): void {
  const { options } = step.state;
  const said = event.type === "RUN_FINISHED" ? event : { threadId: "thread", runId: "run" };
  const { threadId = said.threadId, runId = said.runId } = options;
  report(step, "first-event", `${event.type} came first: RUN_STARTED is put before it.`);
  add(step, { type: "RUN_STARTED", threadId, runId, protocolVersion: PROTOCOL_VERSION });
}

/** Begins a run. One that is open is finished first, unless it is the same. */
export function startRun(step: RepairStep, event: RunStartedEvent): void {
  const { state } = step;
  const { verified, options } = state;
  const { phase, runId: open } = verified;
  if (state.alias === undefined && (open === undefined || phase === "running")) {
    state.alias = { theirs: event.runId, ours: open ?? options.runId ?? event.runId };
  }
  const runId = event.runId === state.alias?.theirs ? state.alias.ours : event.runId;
  if (phase === "running" && open !== undefined) {
    if (runId === open) return void emit(step, event);
    report(step, "nested-run", `The run ${open} has not ended: it is finished first.`);
    close(step, "nested-run");
    add(step, { type: "RUN_FINISHED", threadId: verified.threadId ?? "", runId: open });
  }
  const corrected = withIds(step, event, verified.threadId ?? options.threadId ?? event.threadId, runId);
  if (!emit(step, corrected)) return;
  for (const names of [state.subagents.current, state.subagents.made, state.results]) names.clear();
  const { messages = [], state: document } = event.input ?? {};
  learn(
    state,
    messages.filter(({ id }) => !state.activities.has(id)),
  );
  if (state.document === undefined) state.document = document;
}

/** Finishes a run: closes what is open, and corrects what the boundary says of the run. */
export function finishRun(step: RepairStep, event: RunFinishedEvent): void {
  const { threadId = "", runId = "" } = step.state.verified;
  const outcome = event.outcome === undefined ? undefined : withOutcome(step, event.outcome);
  close(step, "open-at-finish", outcome);
  emit(step, amend(withIds(step, event, threadId, runId), { outcome }));
}

/** Ends a stream that stopped too early. */
export function truncate(step: RepairStep): void {
  const { phase } = step.state.verified;
  if (phase !== "before" && phase !== "running") return;
  close(step, "truncated");
  const message = "The stream ended before the run did.";
  report(step, "truncated", message);
  add(step, { type: "RUN_ERROR", message, code: "truncated" });
}

function withIds<T extends RunStartedEvent | RunFinishedEvent>(
  step: RepairStep,
  event: T,
  threadId: string,
  runId: string,
): T {
  const { type } = event;
  const becomes = (rule: Rule, said: string, id: string): void => {
    if (said !== id) report(step, rule, `${type} names ${said}: it becomes ${id}.`);
  };
  const isSecond = type === "RUN_STARTED" && step.state.verified.threadId !== undefined;
  becomes(isSecond ? "second-thread" : "thread-id", event.threadId, threadId);
  becomes("run-id", event.runId, runId);
  return amend(event, { threadId, runId });
}

function withOutcome(step: RepairStep, outcome: RunFinishedOutcome): RunFinishedOutcome {
  if (outcome.type === "interrupt") {
    const interrupts = withInterruptIds(step, outcome.interrupts);
    const isSame = interrupts.every((interrupt, index) => interrupt === outcome.interrupts[index]);
    return isSame ? outcome : { ...outcome, interrupts };
  }
  const named = outcome.type === "success" ? outcome.pendingToolCallIds : undefined;
  if (named === undefined) return outcome;
  const pending = [...step.state.verified.answered].flatMap(([id, answered]) => (answered ? [] : [id]));
  if (jsonEqual(named, pending)) return outcome;
  report(step, "pending-calls", `The calls that wait are: ${pending.join(", ") || "none"}.`);
  return { type: "success", pendingToolCallIds: pending };
}

/** One id for each question, and the subagents by the names that they have now. */
function withInterruptIds(step: RepairStep, interrupts: readonly Interrupt[]): readonly Interrupt[] {
  const ids = new Set(interrupts.map(({ id }) => id));
  const names = createNames();
  const taken = new Set<string>();
  return interrupts.map((interrupt) => {
    let { id } = interrupt;
    if (taken.has(id)) {
      id = rename(ids, names, id);
      report(step, "interrupt-ids", `Two interrupts have the id ${interrupt.id}: one becomes ${id}.`);
    }
    taken.add(id);
    return amend(interrupt, { id, subagentRunId: nameOf(step, step.state.subagents, interrupt.subagentRunId) });
  });
}

/** Closes what is open, innermost first. */
function close(step: RepairStep, rule: Rule, outcome?: RunFinishedOutcome): void {
  const { messages, messageOwners, thoughts, thoughtOwners, calls, callOwners, spans, steps, subagents } =
    step.state.verified;
  const closeEach = (
    ids: Iterable<string>,
    ownerOf: (id: string) => string | undefined,
    end: (id: string) => Event,
  ) => {
    for (const id of [...ids].toReversed()) {
      const closer = end(id);
      report(step, rule, `${id} is still open: ${closer.type} is put before the end of the run.`);
      add(step, closer, ownerOf(id));
    }
  };
  const thinker = (id: string) => thoughtOwners.get(id);
  closeEach(
    messages,
    (id) => messageOwners.get(id),
    (messageId) => ({ type: "TEXT_MESSAGE_END", messageId }),
  );
  closeEach(thoughts, thinker, (messageId) => ({ type: "REASONING_MESSAGE_END", messageId }));
  closeEach(
    calls,
    (id) => callOwners.get(id),
    (toolCallId) => ({ type: "TOOL_CALL_END", toolCallId }),
  );
  closeEach(spans, thinker, (messageId) => ({ type: "REASONING_END", messageId }));
  for (const [owner, names] of [...steps].toReversed()) {
    closeEach(
      names,
      () => owner,
      (stepName) => ({ type: "STEP_FINISHED", stepName }),
    );
  }
  const active = [...subagents.keys()].filter((id) => subagents.get(id));
  closeEach(
    active,
    (id) => id,
    (id) => subagentCloser(id, rule, outcome),
  );
}

function subagentCloser(subagentRunId: string, rule: Rule, outcome: RunFinishedOutcome | undefined): Event {
  if (rule === "truncated") {
    const message = "The stream ended before the subagent did.";
    return { type: "SUBAGENT_ERROR", subagentRunId, message, code: "truncated" };
  }
  if (outcome?.type !== "interrupt") return { type: "SUBAGENT_FINISHED", subagentRunId };
  const asked = outcome.interrupts.filter((interrupt) => interrupt.subagentRunId === subagentRunId);
  const interruptIds = asked.length === 0 ? {} : { interruptIds: asked.map(({ id }) => id) };
  return { type: "SUBAGENT_FINISHED", subagentRunId, outcome: { type: "suspended", ...interruptIds } };
}
