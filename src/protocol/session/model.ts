/**
 * The types of the session dialect: sixteen events in one envelope, the request `run-agent`, and what they hold.
 *
 * Written out for the reader; the tables in definition.ts are the source, and the compiler refuses a type that
 * differs from them. Where the seed shows a form, the fields it shows are here under its names. Where it leaves a
 * form open, or has no place for what AG-UI carries, the comment says what we put there; such fields are optional
 * wherever the seed's own form would otherwise no longer be valid.
 */
import type { ContentPart, Interrupt, ResumeEntry, TextMessageRole } from "../generated/model.ts";

/** What the `data` of each event holds, by event type. */
export interface SessionEventData {
  /** The connection stands; always the first event. */
  readonly "session-started": SessionStartedData;
  /** Nothing follows; always the last event. */
  readonly "session-ended": SessionEndedData;
  /** Something failed outside of any run, or the request could not be read. */
  readonly "session-error": SessionErrorData;
  /** The next piece of a text message. */
  readonly "text-chunk": TextChunkData;
  /** A text message is whole. */
  readonly "text-message-complete": TextMessageCompleteData;
  /** A tool call with all of its arguments. */
  readonly "tool-call-chunk": ToolCallChunkData;
  /** All calls of one message have been sent. */
  readonly "tool-call-complete": ToolCallCompleteData;
  /** What one tool call returned. */
  readonly "tool-result-chunk": ToolResultChunkData;
  /** All results that will come for one message's calls have been sent. */
  readonly "tool-result-complete": ToolResultCompleteData;
  /** The next piece of reasoning. */
  readonly "thought-chunk": ThoughtChunkData;
  /** A block of reasoning is whole. */
  readonly "thought-complete": ThoughtCompleteData;
  /** A run, step or subagent changed its state. */
  readonly "status-update": StatusUpdateData;
  /** Something shown to people while they wait was made or changed. */
  readonly "progress-update": ProgressUpdateData;
  /** The run is over and did not fail; `outcome` says how it ended. */
  readonly "agent-response-complete": AgentResponseCompleteData;
  /** The run failed. */
  readonly "agent-error": AgentErrorData;
  /** Figures and extras about the run. */
  readonly "metadata-update": MetadataUpdateData;
}

/** The type of a session event. */
export type SessionEventType = keyof SessionEventData;

/** What every session event is wrapped in. */
export interface SessionEnvelope<T extends string, D> {
  /** Which event this is. */
  readonly type: T;
  /** The session that it belongs to. */
  readonly sessionId: string;
  /** The message that it belongs to; absent where there is none. */
  readonly messageId?: string;
  /** When it was made, ISO 8601. Never an order: arrival is. */
  readonly timestamp: string;
  /** What it says. */
  readonly data: D;
}

/** One event by its type, such as `SessionEventOf<"text-chunk">`. */
export type SessionEventOf<T extends SessionEventType> = {
  [K in T]: SessionEnvelope<K, SessionEventData[K]>;
}[T];

/** Every session event; `type` tells them apart. */
export type SessionEvent = SessionEventOf<SessionEventType>;

/** What most events can say besides: the seed has no field for it. */
export interface FromSubagent {
  /** The subagent invocation that this belongs to; absent for the agent itself. */
  readonly subagentRunId?: string;
}

/** Data of `session-started`; open in the seed, which asks only for the session's id. */
export interface SessionStartedData {
  /** The session. */
  readonly session: SessionMetadata;
  /** Whether the session existed before this connection. */
  readonly isResumed?: boolean;
}

/** Data of `session-ended`; open in the seed, which asks only that an error can be told. */
export interface SessionEndedData {
  /** Why it ended: in good order, by being idle too long, by an error, or with the server. */
  readonly reason: "completed" | "timeout" | "error" | "shutdown";
  /** The error, where one ended it. */
  readonly error?: AgentErrorInfo;
}

/** Data of `session-error`. */
export interface SessionErrorData {
  /** What went wrong. */
  readonly error: SessionErrorInfo;
}

/** A failure: a code for programs and a sentence for people. */
export interface AgentErrorInfo {
  /** What went wrong, for programs. */
  readonly code: string;
  /** What went wrong, for people. */
  readonly message: string;
  /** Anything else about it. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** A failure of the session. */
export interface SessionErrorInfo extends AgentErrorInfo {
  /** Whether the session ends with it; `session-ended` follows then. */
  readonly isFatal: boolean;
}

/** Data of `text-chunk`. */
export interface TextChunkData extends FromSubagent {
  /** The piece of text. */
  readonly text: string;
  /** Who speaks. */
  readonly role: TextMessageRole;
  /** False: `text-message-complete` says when the message is whole. */
  readonly isComplete: boolean;
}

/** Data of `text-message-complete`; open in the seed. The text is not repeated. */
export interface TextMessageCompleteData extends FromSubagent {
  /** Who spoke. */
  readonly role: TextMessageRole;
  /** Always true. */
  readonly isComplete: true;
}

/** A tool call. */
export interface ToolCall {
  /** Id of the call. */
  readonly toolCallId: string;
  /** Name of the tool. */
  readonly toolName: string;
  /** The arguments, parsed; null where `argumentsText` is there. */
  readonly arguments: unknown;
  /** The arguments as the model wrote them, only where that is not JSON or is nested too deep to be parsed. */
  readonly argumentsText?: string;
}

/** Data of `tool-call-chunk`. */
export interface ToolCallChunkData extends ToolCall, FromSubagent {
  /** False: `tool-call-complete` says when all calls of the message are there. The arguments are whole already. */
  readonly isComplete: boolean;
}

/** Data of `tool-call-complete`; open in the seed. */
export interface ToolCallCompleteData extends FromSubagent {
  /** The calls that were sent, in order. */
  readonly toolCallIds: readonly string[];
  /** Always true. */
  readonly isComplete: true;
}

/** What a tool call returned. */
export interface ToolResult {
  /** Id of the call. */
  readonly toolCallId: string;
  /** The result as text. An image or other medium stands in it as a note in brackets. */
  readonly result: string;
  /** Whether the call failed. */
  readonly isError: boolean;
  /** Why it failed, where that was said apart from the result. */
  readonly error?: string;
  /** The result as AG-UI's content parts, only where it is not plain text. */
  readonly parts?: readonly ContentPart[];
}

/** Data of `tool-result-chunk`. */
export interface ToolResultChunkData extends ToolResult, FromSubagent {
  /** False: `tool-result-complete` says when all results are there. This one is whole already. */
  readonly isComplete: boolean;
}

/** Data of `tool-result-complete`; open in the seed. */
export interface ToolResultCompleteData extends FromSubagent {
  /** The calls that were answered, in the order of their results. */
  readonly toolCallIds: readonly string[];
  /** Always true. */
  readonly isComplete: true;
}

/** A block of reasoning, or a piece of one. */
export interface ThoughtBlock {
  /** The text. */
  readonly thought: string;
  /** Whether it is whole. */
  readonly isComplete: boolean;
}

/** Data of `thought-chunk`; `isComplete` is false, `thought-complete` says when the block is whole. */
export interface ThoughtChunkData extends ThoughtBlock, FromSubagent {}

/** Data of `thought-complete`; open in the seed. The text is not repeated. */
export interface ThoughtCompleteData extends FromSubagent {
  /** Always true. */
  readonly isComplete: true;
}

/** Data of `status-update`; open in the seed. */
export interface StatusUpdateData extends FromSubagent {
  /** What changed. */
  readonly subject: "run" | "step" | "subagent";
  /** What it is now. `waiting`: it stopped to ask someone. */
  readonly status: "queued" | "started" | "waiting" | "finished" | "failed";
  /** Name of the step or subagent. */
  readonly name?: string;
  /** More about it, for people. */
  readonly message?: string;
  /** What went wrong, for programs, where it failed. */
  readonly code?: string;
}

/** Data of `progress-update`; open in the seed. It is AG-UI's activity, under the id in `messageId`. */
export interface ProgressUpdateData extends FromSubagent {
  /** What kind of activity. */
  readonly activityType: string;
  /** What is shown for it; replaces what was there. */
  readonly content?: Readonly<Record<string, unknown>>;
  /** Operations of JSON Patch (RFC 6902) on what is shown, in place of `content`. */
  readonly patch?: readonly unknown[];
  /** False leaves an activity that is there already alone. */
  readonly replace?: boolean;
}

/** Data of `agent-response-complete`; open in the seed. */
export interface AgentResponseCompleteData {
  /** How it ended: done, stopped to ask someone, or stopped on purpose. */
  readonly outcome: "success" | "interrupt" | "cancelled";
  /** Id of the run. */
  readonly runId?: string;
  /** What the run returned. */
  readonly result?: unknown;
  /** What is asked, where the outcome is `interrupt`; the next `run-agent` answers in `data.resume`. */
  readonly interrupts?: readonly Interrupt[];
  /** Calls that the client has to answer, in order. */
  readonly pendingToolCallIds?: readonly string[];
}

/** Data of `agent-error`. */
export interface AgentErrorData {
  /** What went wrong. */
  readonly error: AgentErrorInfo;
}

/** Data of `metadata-update`; the seed shows `usage`, the rest is ours. */
export interface MetadataUpdateData {
  /** Tokens spent with one model. */
  readonly usage?: SessionUsage;
  /** The model's provider. */
  readonly provider?: string;
  /** The model. */
  readonly model?: string;
  /** An event of the application's own. */
  readonly custom?: SessionCustomValue;
}

/** An event of the application's own: AG-UI's CUSTOM. */
export interface SessionCustomValue {
  /** Which one. */
  readonly name: string;
  /** What it carries; null is a value too. */
  readonly value: unknown;
}

/** Tokens spent. An absent count is unknown, not zero. */
export interface SessionUsage {
  /** All prompt tokens, cached ones included. */
  readonly promptTokens?: number;
  /** All generated tokens, reasoning included. */
  readonly completionTokens?: number;
  /** Prompt and completion. */
  readonly totalTokens?: number;
  /** Part of the completion. */
  readonly reasoningTokens?: number;
  /** Part of the prompt, read from a cache. */
  readonly cachedPromptTokens?: number;
  /** Part of the prompt, written to a cache. */
  readonly cacheWritePromptTokens?: number;
}

/** What is known about a session. */
export interface SessionMetadata {
  /** Id of the session. */
  readonly sessionId: string;
  /** When it began, ISO 8601. */
  readonly createdAt: string;
  /** When something last happened in it, ISO 8601. */
  readonly lastActivityAt: string;
  /** Tokens spent in it so far. */
  readonly usage?: SessionUsage;
  /** Extra information, open by key. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The request of a client: AG-UI's run input in this dialect. */
export interface SessionRunInput {
  /** Always `run-agent`. */
  readonly type: "run-agent";
  /** The session to go on with; absent for the one that the connection began. */
  readonly sessionId?: string;
  /** What is asked. */
  readonly data: SessionRunData;
}

/** Data of `run-agent`. */
export interface SessionRunData {
  /** The conversation so far, oldest first. */
  readonly messages: readonly AgentMessage[];
  /** Options for the agent, such as `modelId`, `temperature` and `maxTokens`; the server gives them no meaning. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Answers to interrupts; the seed knows none. */
  readonly resume?: readonly ResumeEntry[];
}

interface AgentMessageBase<R extends string> {
  /** Whose message this is. */
  readonly role: R;
  /** Id of the message; clients built to the seed send none. */
  readonly id?: string;
  /** Name to show for the author. */
  readonly name?: string;
}

/** What the person said. */
export interface UserAgentMessage extends AgentMessageBase<"user"> {
  /** Text, or AG-UI's content parts in order. */
  readonly content: string | readonly ContentPart[];
}

/** What the agent said, and the tools that it called. */
export interface AssistantAgentMessage extends AgentMessageBase<"assistant"> {
  /** The text; absent where there are only calls. */
  readonly content?: string;
  /** The calls, in order. */
  readonly toolCalls?: readonly ToolCall[];
}

/** What a tool returned. */
export interface ToolAgentMessage extends AgentMessageBase<"tool"> {
  /** The call that it answers. */
  readonly toolCallId: string;
  /** Text, or AG-UI's content parts in order. */
  readonly content: string | readonly ContentPart[];
  /** Whether the call failed. */
  readonly isError?: boolean;
}

/** Instructions of the system. */
export interface SystemAgentMessage extends AgentMessageBase<"system"> {
  /** The text. */
  readonly content: string;
}

/** Instructions of the application. */
export interface DeveloperAgentMessage extends AgentMessageBase<"developer"> {
  /** The text. */
  readonly content: string;
}

/** A message of the conversation; `role` tells them apart. */
export type AgentMessage =
  | UserAgentMessage
  | AssistantAgentMessage
  | ToolAgentMessage
  | SystemAgentMessage
  | DeveloperAgentMessage;
