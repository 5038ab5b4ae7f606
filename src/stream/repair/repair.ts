/**
 * Repair: what an agent got wrong in sequence, put right as it passes. Heddle's gateway mode.
 *
 * Takes any sequence of well-formed events; what comes out always verifies, and its deltas apply. A valid stream passes
 * as it is, the same objects. Nothing is lost in silence: what is changed, put in or dropped is reported, once where a
 * change follows from an earlier one (a message goes on under a new id). Values are never repaired, outcomes never
 * bettered, and a late RUN_ERROR stays. Pure and deterministic: ids that have to be made come from those that are there.
 */
import type { Event, SubagentStartedEvent, ToolCallResultEvent } from "../../protocol/index.ts";
import { expand } from "../expand.ts";
import { jsonEqual } from "../json-value.ts";
import {
  repairActivityDelta,
  repairActivitySnapshot,
  repairMessagesSnapshot,
  repairStateDelta,
} from "./repair-document.ts";
import { repairCall, repairCallStart, repairMessage, repairSpan, rightlyOwned, rightlyTagged } from "./repair-item.ts";
import type { Repair } from "./repair-rules.ts";
import { finishRun, openRun, startRun, truncate } from "./repair-run.ts";
import { amend, createRepairState, emit, nameOf, rename, report, reportDropped } from "./repair-state.ts";
import type { RepairOptions, RepairState, RepairStep } from "./repair-state.ts";
import type { Stage } from "../stage.ts";

export { REPAIRS } from "./repair-rules.ts";
export type { Repair } from "./repair-rules.ts";
export { createRepairState } from "./repair-state.ts";
export type { RepairOptions, RepairState } from "./repair-state.ts";

/** What comes in place of one event. */
export interface Repaired {
  /** The events that verify. */
  readonly events: readonly Event[];
  /** What was wrong, in order. */
  readonly repairs: readonly Repair[];
}

/** Puts one event right. */
export function repair(state: RepairState, event: Event): Repaired {
  const step: RepairStep = { state, event, events: [], repairs: [] };
  for (const each of expanded(step, event)) repairEvent(step, each);
  return { events: step.events, repairs: step.repairs };
}

function expanded(step: RepairStep, event: Event): readonly Event[] {
  try {
    return expand(step.state.chunks, event);
  } catch (error) {
    reportDropped(step, error);
    return [];
  }
}

/** Ends the stream: closes what is open and says that it broke off, or nothing where the run has ended. */
export function repairEnd(state: RepairState): Repaired {
  const step: RepairStep = { state, event: undefined, events: [], repairs: [] };
  truncate(step);
  return { events: step.events, repairs: step.repairs };
}

/** Options of `repairing`. */
export interface RepairingOptions extends RepairOptions {
  /** Told what was wrong. */
  readonly onRepair?: (repair: Repair) => void;
}

/** A stage that repairs. */
export function repairing({ onRepair, ...options }: RepairingOptions = {}): Stage {
  const state = createRepairState(options);
  const told = ({ events, repairs }: Repaired): readonly Event[] => {
    if (onRepair !== undefined) repairs.forEach((each) => onRepair(each));
    return events;
  };
  return { push: (event) => told(repair(state, event)), end: () => told(repairEnd(state)) };
}

function repairEvent(step: RepairStep, event: Event): void {
  const { verified } = step.state;
  if (event.type === "RUN_STARTED") return startRun(step, event);
  const standsAlone = event.type === "META" || event.type === "RUN_ERROR";
  if (verified.phase === "before" && !standsAlone) openRun(step, event);
  if (verified.phase === "running" && !standsAlone) repairWithin(step, event);
  else emit(step, event);
}

type Within = Exclude<Event, { readonly type: "RUN_STARTED" | "RUN_ERROR" | "META" }>;

function repairWithin(step: RepairStep, event: Within): void {
  switch (event.type) {
    case "TEXT_MESSAGE_START":
    case "TEXT_MESSAGE_CONTENT":
    case "TEXT_MESSAGE_END":
    case "REASONING_MESSAGE_START":
    case "REASONING_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_END":
      return repairMessage(step, event);
    case "REASONING_START":
    case "REASONING_END":
      return repairSpan(step, event);
    case "TOOL_CALL_START":
      return repairCallStart(step, event);
    case "TOOL_CALL_ARGS":
    case "TOOL_CALL_END":
      return repairCall(step, event);
    case "TOOL_CALL_RESULT":
      return repairResult(step, event);
    case "STEP_STARTED":
    case "STEP_FINISHED":
      return repairStep(step, event);
    case "REASONING_ENCRYPTED_VALUE":
      return repairEncrypted(step, event);
    case "SUBAGENT_STARTED":
      return repairSubagent(step, event);
    case "SUBAGENT_FINISHED":
    case "SUBAGENT_ERROR": {
      const subagentRunId = nameOf(step, step.state.subagents, event.subagentRunId);
      return void emit(step, amend(event, { subagentRunId }));
    }
    case "STATE_DELTA":
      return repairStateDelta(step, event);
    case "ACTIVITY_DELTA":
      return repairActivityDelta(step, event);
    case "ACTIVITY_SNAPSHOT":
      return repairActivitySnapshot(step, event);
    case "MESSAGES_SNAPSHOT":
      return repairMessagesSnapshot(step, event);
    case "RUN_FINISHED":
      return finishRun(step, event);
    case "STATE_SNAPSHOT":
      step.state.document = event.snapshot;
      return void emit(step, rightlyTagged(step, event));
    default:
      emit(step, rightlyTagged(step, event));
  }
}

/** An answer that only says again what was said is dropped. */
function repairResult(step: RepairStep, event: ToolCallResultEvent): void {
  const { results, ids } = step.state;
  const { toolCallId, messageId, content } = event;
  const before = results.get(toolCallId);
  if (before !== undefined && (before.messageId === messageId || jsonEqual(before.content, content))) {
    return report(step, "result-duplicate", `The tool call ${toolCallId} is answered already. It is dropped.`);
  }
  results.set(toolCallId, event);
  ids.add(messageId);
  emit(step, rightlyTagged(step, event));
}

/** A step is finished under the owner that began it, where only one can be meant. */
function repairStep(step: RepairStep, event: Extract<Event, { readonly type: `STEP_${string}` }>): void {
  const { steps } = step.state.verified;
  const { stepName } = event;
  const isOpenUnder = (owner: string | undefined): boolean => steps.get(owner)?.has(stepName) === true;
  const tagged = rightlyTagged(step, event);
  if (event.type === "STEP_STARTED" || isOpenUnder(tagged.subagentRunId)) return void emit(step, tagged);
  const [owner, ...others] = [...steps.keys()].filter(isOpenUnder);
  if (others.length > 0 || !isOpenUnder(owner)) return void emit(step, event);
  if (owner !== event.subagentRunId) {
    report(step, "owner-mismatch", `The step ${stepName} belongs to ${owner ?? "the agent itself"}.`);
  }
  emit(step, amend(event, { subagentRunId: owner }));
}

function repairEncrypted(
  step: RepairStep,
  event: Extract<Event, { readonly type: "REASONING_ENCRYPTED_VALUE" }>,
): void {
  const { texts, thoughts, verified } = step.state;
  const { callOwners, messageOwners, thoughtOwners } = verified;
  if (event.subtype === "tool-call") return void emit(step, rightlyOwned(step, event, callOwners, event.entityId));
  const text = nameOf(step, texts, event.entityId);
  const entityId = text === event.entityId ? nameOf(step, thoughts, text) : text;
  const named = amend(event, { entityId });
  emit(step, rightlyOwned(step, named, messageOwners.has(entityId) ? messageOwners : thoughtOwners, entityId));
}

/** An invocation that goes by the id of an earlier one gets a name of its own; an unknown parent is left out. */
function repairSubagent(step: RepairStep, event: SubagentStartedEvent): void {
  const { subagents, texts, ids, verified } = step.state;
  let subagentRunId = nameOf(step, subagents, event.subagentRunId);
  let parentSubagentRunId = nameOf(step, subagents, event.parentSubagentRunId);
  if (verified.subagents.get(subagentRunId) === false) {
    subagentRunId = rename(ids, subagents, event.subagentRunId);
    report(step, "subagent-reused", `${event.subagentRunId} was used before in this run: it becomes ${subagentRunId}.`);
  }
  ids.add(subagentRunId);
  if (parentSubagentRunId !== undefined && !verified.subagents.has(parentSubagentRunId)) {
    report(step, "subagent-parent", `The parent ${parentSubagentRunId} was never announced: it is left out.`);
    parentSubagentRunId = undefined;
  }
  const parentMessageId = nameOf(step, texts, event.parentMessageId);
  emit(step, amend(event, { subagentRunId, parentSubagentRunId, parentMessageId }));
}
