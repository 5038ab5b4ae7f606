/**
 * AG-UI's events as the session dialect says them, one step at a time, nothing held back that can be said.
 *
 * | AG-UI | session dialect |
 * | --- | --- |
 * | TEXT_MESSAGE_START, CONTENT, END | nothing (it sets the role), `text-chunk`, `text-message-complete` |
 * | TOOL_CALL_START, ARGS, END | nothing, nothing, `tool-call-chunk`; after the last one `tool-call-complete` |
 * | TOOL_CALL_RESULT | `tool-result-chunk`; after the last one `tool-result-complete` |
 * | REASONING_MESSAGE_START, CONTENT, END | nothing, `thought-chunk`, `thought-complete`; none if switched off |
 * | TEXT_MESSAGE_, TOOL_CALL_, REASONING_MESSAGE_CHUNK | as the start, content and end that they are short for |
 * | STEP_STARTED, FINISHED; SUBAGENT_STARTED, FINISHED, ERROR | `status-update` |
 * | ACTIVITY_SNAPSHOT, ACTIVITY_DELTA | `progress-update` with the content; with the patch |
 * | RUN_FINISHED | `metadata-update` for each entry of `usage`, then `agent-response-complete` |
 * | RUN_ERROR | `metadata-update` for each entry of `usage`, then `agent-error` |
 * | CUSTOM | `metadata-update` with `custom` |
 * | RUN_STARTED, REASONING_START, REASONING_END | nothing: the client asked for the run; messages mark the thoughts |
 * | STATE_SNAPSHOT, STATE_DELTA, MESSAGES_SNAPSHOT | nothing: the dialect has no shared state and no history |
 * | REASONING_ENCRYPTED_VALUE, RAW, META | nothing: not for its clients |
 *
 * An empty delta says nothing. Which call or result is the last is settled in tool-rounds.ts, how results are shown
 * in to-tool-result.ts. The stream is taken to be verified; one that is not gives events of valid form all the same.
 */
import type { Event, RunErrorEvent, RunFinishedEvent, TextMessageRole } from "../generated/model.ts";
import { expandChunks } from "./expand-chunks.ts";
import type { OpenChunks, WholeEvent } from "./expand-chunks.ts";
import { isoTime } from "./iso-time.ts";
import type { AgentErrorInfo, AgentResponseCompleteData, SessionEvent, StatusUpdateData } from "./model.ts";
import { inLane, inMessage } from "./session-event-draft.ts";
import type { SessionEventDraft } from "./session-event-draft.ts";
import { ToolRounds } from "./tool-rounds.ts";
import { usageToMetadata } from "./usage-to-metadata.ts";

/** How a projection is set up. */
export interface SessionProjectionOptions {
  /** The session that the events are for. */
  readonly sessionId: string;
  /** The time in milliseconds, for events that carry none or none that ISO 8601 can write. Default `Date.now`. */
  readonly clock?: () => number;
  /** Whether reasoning is shown. Default true. */
  readonly reasoning?: boolean;
  /** `messageId` of events that belong to no message, such as `agent-error` before any text. Default: absent. */
  readonly messageIdFallback?: string;
}

/** The session events that one AG-UI event gives; to be called with every event of a session, in order. */
export type SessionProjection = (event: Event) => readonly SessionEvent[];

/** The code of an `agent-error` whose RUN_ERROR names none. */
export const AGENT_EXECUTION_ERROR = "AGENT_EXECUTION_ERROR";

interface Projecting {
  readonly showsReasoning: boolean;
  readonly open: OpenChunks;
  readonly roles: Map<string, TextMessageRole>;
  /** Subagents that own messages which are open: what follows the start of one need not say so again. */
  readonly owners: Map<string, string>;
  readonly subagentNames: Map<string, string>;
  readonly rounds: ToolRounds;
  /** The agent's latest message in this run: what usage and the end of the run belong to. */
  answerId: string | undefined;
}

/** Starts a projection. The step that it returns remembers what is open in the current run, and nothing else. */
export function projectToSession(options: SessionProjectionOptions): SessionProjection {
  const { sessionId, clock = Date.now, reasoning = true, messageIdFallback } = options;
  const state: Projecting = {
    showsReasoning: reasoning,
    open: new Map(),
    roles: new Map(),
    owners: new Map(),
    subagentNames: new Map(),
    rounds: new ToolRounds(),
    answerId: undefined,
  };
  return (event) =>
    expandChunks(state.open, event).flatMap((whole) =>
      project(state, whole).map((draft) => ({
        ...inMessage(messageIdFallback),
        ...draft,
        sessionId,
        timestamp: isoTime(whole.timestamp) ?? new Date(clock()).toISOString(),
      })),
    );
}

function project(state: Projecting, event: WholeEvent): readonly SessionEventDraft[] {
  switch (event.type) {
    case "TEXT_MESSAGE_START":
    case "TEXT_MESSAGE_CONTENT":
    case "TEXT_MESSAGE_END":
      return [...state.rounds.settle(event.subagentRunId), ...projectText(state, event)];
    case "TOOL_CALL_START":
      return state.rounds.start(event);
    case "TOOL_CALL_ARGS":
      state.rounds.args(event);
      return [];
    case "TOOL_CALL_END":
      return state.rounds.end(event);
    case "TOOL_CALL_RESULT":
      return [...state.rounds.settle(event.subagentRunId), ...state.rounds.result(event)];
    case "REASONING_MESSAGE_START":
    case "REASONING_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_END":
      return [...state.rounds.settle(event.subagentRunId), ...projectReasoning(state, event)];
    case "STEP_STARTED":
    case "STEP_FINISHED":
    case "SUBAGENT_STARTED":
    case "SUBAGENT_FINISHED":
    case "SUBAGENT_ERROR":
      return projectStatus(state, event);
    case "ACTIVITY_SNAPSHOT":
    case "ACTIVITY_DELTA":
      return [projectActivity(event)];
    case "CUSTOM":
      return [{ type: "metadata-update", data: { custom: { name: event.name, value: event.value } } }];
    case "RUN_STARTED":
    case "RUN_FINISHED":
    case "RUN_ERROR":
      return projectRun(state, event);
    case "REASONING_START":
    case "REASONING_END":
    case "REASONING_ENCRYPTED_VALUE":
    case "STATE_SNAPSHOT":
    case "STATE_DELTA":
    case "MESSAGES_SNAPSHOT":
    case "RAW":
    case "META":
      return [];
  }
}

type TextEvent = Extract<WholeEvent, { readonly type: `TEXT_MESSAGE_${string}` }>;

function projectText(state: Projecting, event: TextEvent): readonly SessionEventDraft[] {
  const { messageId } = event;
  const subagentRunId = ownerOf(state, event);
  if (event.type === "TEXT_MESSAGE_START") {
    const { role = "assistant" } = event;
    state.roles.set(messageId, role);
    if (role === "assistant" && subagentRunId === undefined) state.answerId = messageId;
    return [];
  }
  const role = state.roles.get(messageId) ?? "assistant";
  if (event.type === "TEXT_MESSAGE_END") {
    state.roles.delete(messageId);
    return [{ type: "text-message-complete", messageId, data: { role, isComplete: true, ...inLane(subagentRunId) } }];
  }
  if (event.delta === "") return [];
  const data = { text: event.delta, role, isComplete: false, ...inLane(subagentRunId) };
  return [{ type: "text-chunk", messageId, data }];
}

/** The subagent that a message belongs to: its start says so. */
function ownerOf({ owners }: Projecting, event: TextEvent | ReasoningEvent): string | undefined {
  const { messageId, subagentRunId = owners.get(messageId) } = event;
  if (event.type.endsWith("_END")) owners.delete(messageId);
  else if (subagentRunId !== undefined) owners.set(messageId, subagentRunId);
  return subagentRunId;
}

type ReasoningEvent = Extract<WholeEvent, { readonly type: `REASONING_MESSAGE_${string}` }>;

function projectReasoning(state: Projecting, event: ReasoningEvent): readonly SessionEventDraft[] {
  const subagentRunId = ownerOf(state, event);
  if (!state.showsReasoning || event.type === "REASONING_MESSAGE_START") return [];
  const { messageId } = event;
  if (event.type === "REASONING_MESSAGE_END") {
    return [{ type: "thought-complete", messageId, data: { isComplete: true, ...inLane(subagentRunId) } }];
  }
  if (event.delta === "") return [];
  const data = { thought: event.delta, isComplete: false, ...inLane(subagentRunId) };
  return [{ type: "thought-chunk", messageId, data }];
}

type StatusEvent = Extract<WholeEvent, { readonly type: `STEP_${string}` | `SUBAGENT_${string}` }>;

function projectStatus(state: Projecting, event: StatusEvent): readonly SessionEventDraft[] {
  const settled = event.type === "SUBAGENT_STARTED" ? [] : state.rounds.settle(event.subagentRunId);
  return [...settled, { type: "status-update", data: statusOf(state, event) }];
}

function statusOf(state: Projecting, event: StatusEvent): StatusUpdateData {
  if (event.type === "STEP_STARTED" || event.type === "STEP_FINISHED") {
    const status = event.type === "STEP_STARTED" ? "started" : "finished";
    return { subject: "step", status, name: event.stepName, ...inLane(event.subagentRunId) };
  }
  const { subagentRunId } = event;
  if (event.type === "SUBAGENT_STARTED") {
    state.subagentNames.set(subagentRunId, event.name);
    const message = event.description === undefined ? {} : { message: event.description };
    return { subject: "subagent", status: "started", name: event.name, ...message, subagentRunId };
  }
  const name = state.subagentNames.get(subagentRunId);
  const known = { subject: "subagent", ...(name === undefined ? {} : { name }), subagentRunId } as const;
  if (event.type === "SUBAGENT_FINISHED") {
    return { ...known, status: event.outcome?.type === "suspended" ? "waiting" : "finished" };
  }
  const code = event.code === undefined ? {} : { code: event.code };
  return { ...known, status: "failed", message: event.message, ...code };
}

type ActivityEvent = Extract<WholeEvent, { readonly type: `ACTIVITY_${string}` }>;

function projectActivity(event: ActivityEvent): SessionEventDraft {
  const { messageId, activityType, subagentRunId } = event;
  const shown =
    event.type === "ACTIVITY_DELTA"
      ? { patch: event.patch }
      : { content: event.content, ...(event.replace === undefined ? {} : { replace: event.replace }) };
  return { type: "progress-update", messageId, data: { activityType, ...shown, ...inLane(subagentRunId) } };
}

type RunEvent = Extract<WholeEvent, { readonly type: `RUN_${string}` }>;

function projectRun(state: Projecting, event: RunEvent): readonly SessionEventDraft[] {
  const finished = state.rounds.finish();
  const belongs = inMessage(state.answerId);
  state.roles.clear();
  state.owners.clear();
  state.subagentNames.clear();
  if (event.type === "RUN_STARTED") {
    state.answerId = undefined;
    return finished;
  }
  const figures = (event.usage ?? []).map((usage): SessionEventDraft => ({ ...belongs, ...usageToMetadata(usage) }));
  const last: SessionEventDraft =
    event.type === "RUN_FINISHED"
      ? { type: "agent-response-complete", ...belongs, data: responseOf(event) }
      : { type: "agent-error", ...belongs, data: { error: errorOf(event) } };
  return [...finished, ...figures, last];
}

function responseOf({ runId, result, outcome }: RunFinishedEvent): AgentResponseCompleteData {
  const common = { runId, ...(result === undefined ? {} : { result }) };
  switch (outcome?.type) {
    case "interrupt":
      return { outcome: "interrupt", ...common, interrupts: outcome.interrupts };
    case "cancelled":
      return { outcome: "cancelled", ...common };
    default: {
      const pendingToolCallIds = outcome?.pendingToolCallIds;
      return { outcome: "success", ...common, ...(pendingToolCallIds === undefined ? {} : { pendingToolCallIds }) };
    }
  }
}

function errorOf({ code = AGENT_EXECUTION_ERROR, message, metadata }: RunErrorEvent): AgentErrorInfo {
  return { code, message, ...(metadata === undefined ? {} : { details: metadata }) };
}
