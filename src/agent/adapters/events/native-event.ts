/**
 * What a source with a start and an end of its own says: an agent library, a workflow engine, a process elsewhere.
 *
 * The types are those of seed 004 in lower case, so that such a source can be mapped as it is, or after renaming fields.
 * A source that runs several things at once names the run of each event; one that does not is taken to be strictly
 * nested, and an event without `runId` belongs to the innermost run that is open.
 */
import type {
  ContentPart,
  JsonPatch,
  RunFinishedOutcome,
  State,
  TextMessageRole,
  TokenUsage,
} from "../../../protocol/index.ts";
import type { NativeMessage } from "./native-message.ts";

/** Every type of native event, with the AG-UI event that it becomes; inner runs become subagents instead. */
export const EVENT_MAPPING = {
  run_start: "RUN_STARTED",
  run_end: "RUN_FINISHED",
  run_error: "RUN_ERROR",
  message_start: "TEXT_MESSAGE_START",
  message_delta: "TEXT_MESSAGE_CONTENT",
  message_end: "TEXT_MESSAGE_END",
  tool_call_start: "TOOL_CALL_START",
  tool_call_args: "TOOL_CALL_ARGS",
  tool_call_end: "TOOL_CALL_END",
  tool_call_result: "TOOL_CALL_RESULT",
  step_start: "STEP_STARTED",
  step_end: "STEP_FINISHED",
  step_skipped: "STEP_FINISHED",
  parallel_start: "STEP_STARTED",
  parallel_end: "STEP_FINISHED",
  state_snapshot: "STATE_SNAPSHOT",
  state_delta: "STATE_DELTA",
  messages_snapshot: "MESSAGES_SNAPSHOT",
  activity_snapshot: "ACTIVITY_SNAPSHOT",
  activity_delta: "ACTIVITY_DELTA",
  route_selected: "CUSTOM",
  loop_iteration: "CUSTOM",
} as const;

/** The type of a native event. */
export type NativeEventType = keyof typeof EVENT_MAPPING;

/** What every native event may say. */
export interface NativeContext {
  /** The run of the source that it belongs to; absent means the innermost that is open. */
  readonly runId?: string;
  /** When it happened, in milliseconds since the epoch. */
  readonly timestamp?: number;
}

/** A run of an agent or a workflow begins: the run itself, or one inside it. */
export interface NativeRunStart extends NativeContext {
  /** Which event this is. */
  readonly type: "run_start";
  /** Who runs, shown for an inner run. Default `subagent`. */
  readonly name?: string;
  /** What an inner run is asked to do. */
  readonly description?: string;
  /** The run that starts this one; absent means the innermost that is open. */
  readonly parentRunId?: string;
  /** The tool call that starts this one. */
  readonly parentToolCallId?: string;
}

/** How a run that did not fail ended. */
export interface RunEnding {
  /** What it returned. */
  readonly result?: unknown;
  /** How it ended; absent means success. */
  readonly outcome?: RunFinishedOutcome;
  /** Tokens of the whole execution, inner runs included; only the outermost end carries them. */
  readonly usage?: readonly TokenUsage[];
}

/** A run ends without having failed. */
export interface NativeRunEnd extends NativeContext, RunEnding {
  /** Which event this is. */
  readonly type: "run_end";
}

/** A run fails, and with it everything around it. */
export interface NativeRunError extends NativeContext {
  /** Which event this is. */
  readonly type: "run_error";
  /** What went wrong, for people. */
  readonly message: string;
  /** What went wrong, for programs. */
  readonly code?: string;
  /** Whether the run around it goes on: then only the inner run has failed. */
  readonly isHandled?: boolean;
}

/** A message begins. */
export interface NativeMessageStart extends NativeContext {
  /** Which event this is. */
  readonly type: "message_start";
  /** Id of the message. */
  readonly messageId: string;
  /** Who speaks. Default `assistant`. */
  readonly role?: TextMessageRole;
}

/** A message goes on. */
export interface NativeMessageDelta extends NativeContext {
  /** Which event this is. */
  readonly type: "message_delta";
  /** Id of the message. */
  readonly messageId: string;
  /** The next piece of text. */
  readonly delta: string;
}

/** A message ends. */
export interface NativeMessageEnd extends NativeContext {
  /** Which event this is. */
  readonly type: "message_end";
  /** Id of the message. */
  readonly messageId: string;
}

/** A tool call begins. */
export interface NativeToolCallStart extends NativeContext {
  /** Which event this is. */
  readonly type: "tool_call_start";
  /** Id of the call. */
  readonly toolCallId: string;
  /** Name of the tool. */
  readonly toolCallName: string;
  /** The assistant message that makes the call. */
  readonly parentMessageId?: string;
}

/** The arguments of a tool call go on. */
export interface NativeToolCallArgs extends NativeContext {
  /** Which event this is. */
  readonly type: "tool_call_args";
  /** Id of the call. */
  readonly toolCallId: string;
  /** The next piece of the argument text, JSON once it is whole. */
  readonly delta: string;
}

/** The arguments of a tool call are whole. */
export interface NativeToolCallEnd extends NativeContext {
  /** Which event this is. */
  readonly type: "tool_call_end";
  /** Id of the call. */
  readonly toolCallId: string;
}

/** A tool call is answered. */
export interface NativeToolCallResult extends NativeContext {
  /** Which event this is. */
  readonly type: "tool_call_result";
  /** Id of the call. */
  readonly toolCallId: string;
  /** What the tool returned: text, or parts in order. */
  readonly result: string | readonly ContentPart[];
  /** Id of the message that the result becomes. Default: made from the call's. */
  readonly messageId?: string;
  /** True, or the reason, where the call failed. */
  readonly error?: string | boolean;
}

/** A step, an iteration or a block of parallel steps begins, ends or is left out. */
export interface NativeStep extends NativeContext {
  /** Which event this is. */
  readonly type: "step_start" | "step_end" | "step_skipped" | "parallel_start" | "parallel_end";
  /** Name of the step. */
  readonly stepName: string;
}

/** The whole shared state. */
export interface NativeStateSnapshot extends NativeContext {
  /** Which event this is. */
  readonly type: "state_snapshot";
  /** The state: any JSON value. */
  readonly state: State;
}

/** A change of the shared state. */
export interface NativeStateDelta extends NativeContext {
  /** Which event this is. */
  readonly type: "state_delta";
  /** Operations of RFC 6902. */
  readonly patch: JsonPatch;
}

/** The whole conversation. */
export interface NativeMessagesSnapshot extends NativeContext {
  /** Which event this is. */
  readonly type: "messages_snapshot";
  /** The messages, oldest first. */
  readonly messages: readonly NativeMessage[];
}

/** An activity appears or is replaced, such as an approval that is waited for. */
export interface NativeActivitySnapshot extends NativeContext {
  /** Which event this is. */
  readonly type: "activity_snapshot";
  /** Id of the activity. */
  readonly activityId: string;
  /** What kind of activity. */
  readonly activityType: string;
  /** What is shown for it. */
  readonly content: Readonly<Record<string, unknown>>;
}

/** An activity changes, such as an approval that is given. */
export interface NativeActivityDelta extends NativeContext {
  /** Which event this is. */
  readonly type: "activity_delta";
  /** Id of the activity. */
  readonly activityId: string;
  /** What kind of activity. */
  readonly activityType: string;
  /** Operations of RFC 6902 on its content. */
  readonly patch: JsonPatch;
}

/** A workflow chose its way. */
export interface NativeRouteSelected extends NativeContext {
  /** Which event this is. */
  readonly type: "route_selected";
  /** The step that chose. */
  readonly stepName: string;
  /** What it chose. */
  readonly routeName: string;
}

/** A loop of a workflow goes round. */
export interface NativeLoopIteration extends NativeContext {
  /** Which event this is. */
  readonly type: "loop_iteration";
  /** The step that loops. */
  readonly stepName: string;
  /** Which time this is, from 1. */
  readonly iteration: number;
}

/** Every native event. */
export type NativeEvent =
  | NativeRunStart
  | NativeRunEnd
  | NativeRunError
  | NativeMessageStart
  | NativeMessageDelta
  | NativeMessageEnd
  | NativeToolCallStart
  | NativeToolCallArgs
  | NativeToolCallEnd
  | NativeToolCallResult
  | NativeStep
  | NativeStateSnapshot
  | NativeStateDelta
  | NativeMessagesSnapshot
  | NativeActivitySnapshot
  | NativeActivityDelta
  | NativeRouteSelected
  | NativeLoopIteration;
