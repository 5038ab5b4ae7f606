/**
 * The wire layout: which JSON field sits at which protobuf number, and how it is written.
 *
 * This table is all that the codec knows about AG-UI's messages. Numbers are append-only upstream (the ledger of 1.1:
 * 1.0 plus three `encryptedValueType` slots), so a number here never changes; a new field gets a new row. Fields whose
 * JSON form and wire form differ (`content`, `outcome`) appear in their wire form, and `reshape.ts` bridges the two.
 */

/** How one field travels. `json` carries null as a value, `json-not-null` takes null for absent; both are a `Value`. */
export type Scalar = "string" | "bool" | "int64" | "patch-op" | "json" | "json-not-null" | "object";

/** The messages below the events. */
export type MessageName =
  | "Message"
  | "ToolCall"
  | "FunctionCall"
  | "ContentPart"
  | "TextPart"
  | "MediaPart"
  | "PartSource"
  | "DataSource"
  | "UrlSource"
  | "FileSource"
  | "JsonPatchOperation"
  | "RunAgentInput"
  | "Tool"
  | "Context"
  | "ResumeEntry"
  | "Interrupt"
  | "TokenUsage";

/**
 * Whether a field has to be there, and what an empty wire means.
 * `required`: a string without presence (absent reads as ""), or a payload that must be there.
 * `list`: required, an empty wire reads as []. `optional-list`: an empty wire reads as absent.
 * `filled-list`: may be absent in JSON, yet always reads as a list.
 */
export type Presence = "required" | "optional" | "list" | "optional-list" | "filled-list";

/** One field of one wire message. */
export interface Slot {
  /** The protobuf field number. */
  readonly number: number;
  /** How the value travels: a scalar, or the message that it is. */
  readonly kind: Scalar | MessageName;
  /** Whether it has to be there. */
  readonly presence: Presence;
}

/** The fields of a wire message, by JSON name, in ascending order of their numbers. */
export type Fields = Readonly<Record<string, Slot>>;

/** A union by `type`: each member is an arm of a oneof, and `type` itself does not travel. */
export interface Oneof {
  /** Arm number and message of each `type`. */
  readonly arms: Readonly<Record<string, { readonly number: number; readonly message: MessageName }>>;
}

/** Whether a layout is a union by `type`. */
export function isOneof(layout: Fields | Oneof): layout is Oneof {
  return "arms" in layout;
}

/** One event: its arm in the envelope, its number in the `EventType` enum, and its own fields. */
export interface EventLayout {
  /** Number of its arm in the envelope. */
  readonly arm: number;
  /** What `BaseEvent.type` says for it. */
  readonly number: number;
  /** Its fields, beside those of the base event at number 1. */
  readonly fields: Fields;
}

const required = (number: number, kind: Slot["kind"]): Slot => ({ number, kind, presence: "required" });
const optional = (number: number, kind: Slot["kind"]): Slot => ({ number, kind, presence: "optional" });
const list = (number: number, kind: Slot["kind"]): Slot => ({ number, kind, presence: "list" });
const optionalList = (number: number, kind: Slot["kind"]): Slot => ({ number, kind, presence: "optional-list" });
const filledList = (number: number, kind: Slot["kind"]): Slot => ({ number, kind, presence: "filled-list" });
const event = (arm: number, number: number, fields: Fields): EventLayout => ({ arm, number, fields });

/** Where the base event sits in every event. */
export const BASE_EVENT_NUMBER = 1;

/** The base event's fields; number 1 of it is the event's number in the `EventType` enum. */
export const BASE_EVENT: Fields = {
  timestamp: optional(2, "int64"),
  rawEvent: optional(3, "json-not-null"),
  metadata: optional(4, "object"),
};

/** JSON Patch operations by their enum number. */
export const PATCH_OPS = ["add", "remove", "replace", "move", "copy", "test"] as const;

const messageOnly = { messageId: required(2, "string"), subagentRunId: optional(3, "string") };
const stepOnly = { stepName: required(2, "string"), subagentRunId: optional(3, "string") };
const reasoningOnly = { subagentRunId: optional(2, "string"), messageId: required(3, "string") };

/** The 31 events. */
export const EVENTS = {
  TEXT_MESSAGE_START: event(1, 0, {
    messageId: required(2, "string"),
    role: optional(3, "string"),
    name: optional(4, "string"),
    subagentRunId: optional(5, "string"),
  }),
  TEXT_MESSAGE_CONTENT: event(2, 1, {
    messageId: required(2, "string"),
    delta: required(3, "string"),
    subagentRunId: optional(4, "string"),
  }),
  TEXT_MESSAGE_END: event(3, 2, messageOnly),
  TEXT_MESSAGE_CHUNK: event(17, 19, {
    messageId: optional(2, "string"),
    role: optional(3, "string"),
    delta: optional(4, "string"),
    name: optional(5, "string"),
    subagentRunId: optional(6, "string"),
  }),
  TOOL_CALL_START: event(4, 3, {
    toolCallId: required(2, "string"),
    toolCallName: required(3, "string"),
    parentMessageId: optional(4, "string"),
    subagentRunId: optional(5, "string"),
  }),
  TOOL_CALL_ARGS: event(5, 4, {
    toolCallId: required(2, "string"),
    delta: required(3, "string"),
    subagentRunId: optional(4, "string"),
  }),
  TOOL_CALL_END: event(6, 5, { toolCallId: required(2, "string"), subagentRunId: optional(3, "string") }),
  TOOL_CALL_CHUNK: event(18, 20, {
    toolCallId: optional(2, "string"),
    toolCallName: optional(3, "string"),
    parentMessageId: optional(4, "string"),
    delta: optional(5, "string"),
    subagentRunId: optional(6, "string"),
  }),
  TOOL_CALL_RESULT: event(22, 21, {
    subagentRunId: optional(2, "string"),
    messageId: required(3, "string"),
    toolCallId: required(4, "string"),
    content: optional(5, "string"),
    role: optional(6, "string"),
    contentParts: optionalList(7, "ContentPart"),
  }),
  STATE_SNAPSHOT: event(7, 6, { snapshot: required(2, "json"), subagentRunId: optional(3, "string") }),
  STATE_DELTA: event(8, 7, { delta: list(2, "JsonPatchOperation"), subagentRunId: optional(3, "string") }),
  MESSAGES_SNAPSHOT: event(9, 8, { messages: list(2, "Message") }),
  ACTIVITY_SNAPSHOT: event(23, 22, {
    subagentRunId: optional(2, "string"),
    messageId: required(3, "string"),
    activityType: required(4, "string"),
    content: required(5, "object"),
    replace: optional(6, "bool"),
  }),
  ACTIVITY_DELTA: event(24, 23, {
    subagentRunId: optional(2, "string"),
    messageId: required(3, "string"),
    activityType: required(4, "string"),
    patch: list(5, "JsonPatchOperation"),
  }),
  RAW: event(10, 9, {
    event: required(2, "json"),
    source: optional(3, "string"),
    subagentRunId: optional(4, "string"),
  }),
  CUSTOM: event(11, 10, {
    name: required(2, "string"),
    value: required(3, "json"),
    subagentRunId: optional(4, "string"),
  }),
  RUN_STARTED: event(12, 11, {
    threadId: required(2, "string"),
    runId: required(3, "string"),
    parentRunId: optional(4, "string"),
    input: optional(5, "RunAgentInput"),
    protocolVersion: optional(6, "string"),
  }),
  RUN_FINISHED: event(13, 12, {
    threadId: required(2, "string"),
    runId: required(3, "string"),
    result: optional(4, "json-not-null"),
    outcome: optional(5, "string"),
    interrupts: optionalList(6, "Interrupt"),
    usage: optionalList(7, "TokenUsage"),
    pendingToolCallIds: optionalList(8, "string"),
  }),
  RUN_ERROR: event(14, 13, {
    code: optional(2, "string"),
    message: required(3, "string"),
    usage: optionalList(4, "TokenUsage"),
  }),
  STEP_STARTED: event(15, 14, stepOnly),
  STEP_FINISHED: event(16, 15, stepOnly),
  REASONING_START: event(25, 24, reasoningOnly),
  REASONING_MESSAGE_START: event(26, 25, { ...reasoningOnly, role: required(4, "string") }),
  REASONING_MESSAGE_CONTENT: event(27, 26, { ...reasoningOnly, delta: required(4, "string") }),
  REASONING_MESSAGE_END: event(28, 27, reasoningOnly),
  REASONING_MESSAGE_CHUNK: event(29, 28, {
    subagentRunId: optional(2, "string"),
    messageId: optional(3, "string"),
    delta: optional(4, "string"),
  }),
  REASONING_END: event(30, 29, reasoningOnly),
  REASONING_ENCRYPTED_VALUE: event(31, 30, {
    subagentRunId: optional(2, "string"),
    subtype: required(3, "string"),
    entityId: required(4, "string"),
    encryptedValue: required(5, "string"),
    encryptedValueType: optional(6, "string"),
  }),
  SUBAGENT_STARTED: event(19, 16, {
    subagentRunId: required(2, "string"),
    name: required(3, "string"),
    description: optional(4, "string"),
    parentSubagentRunId: optional(5, "string"),
    parentToolCallId: optional(6, "string"),
    parentMessageId: optional(7, "string"),
  }),
  SUBAGENT_FINISHED: event(20, 17, {
    subagentRunId: required(2, "string"),
    result: optional(3, "json-not-null"),
    outcome: optional(4, "string"),
    interruptIds: optionalList(5, "string"),
  }),
  SUBAGENT_ERROR: event(21, 18, {
    subagentRunId: required(2, "string"),
    message: required(3, "string"),
    code: optional(4, "string"),
  }),
} as const satisfies Record<string, EventLayout>;

/** Every message below the events. */
export const MESSAGES: Readonly<Record<MessageName, Fields | Oneof>> = {
  Message: {
    id: required(1, "string"),
    role: required(2, "string"),
    content: optional(3, "string"),
    name: optional(4, "string"),
    toolCalls: optionalList(5, "ToolCall"),
    toolCallId: optional(6, "string"),
    error: optional(7, "string"),
    contentParts: optionalList(8, "ContentPart"),
    metadata: optional(9, "object"),
    subagentRunId: optional(10, "string"),
    encryptedValue: optional(11, "string"),
    activityType: optional(12, "string"),
    activityContent: optional(13, "object"),
    encryptedValueType: optional(14, "string"),
  },
  ToolCall: {
    id: required(1, "string"),
    type: required(2, "string"),
    function: required(3, "FunctionCall"),
    metadata: optional(4, "object"),
    encryptedValue: optional(5, "string"),
    encryptedValueType: optional(6, "string"),
  },
  FunctionCall: { name: required(1, "string"), arguments: required(2, "string") },
  ContentPart: {
    arms: {
      text: { number: 1, message: "TextPart" },
      image: { number: 2, message: "MediaPart" },
      audio: { number: 3, message: "MediaPart" },
      video: { number: 4, message: "MediaPart" },
      document: { number: 5, message: "MediaPart" },
    },
  },
  TextPart: { text: required(1, "string"), id: optional(2, "string"), metadata: optional(3, "json-not-null") },
  MediaPart: { source: required(1, "PartSource"), metadata: optional(2, "json-not-null"), id: optional(3, "string") },
  PartSource: {
    arms: {
      data: { number: 1, message: "DataSource" },
      url: { number: 2, message: "UrlSource" },
      file: { number: 3, message: "FileSource" },
    },
  },
  DataSource: { value: required(1, "string"), mimeType: required(2, "string") },
  UrlSource: { value: required(1, "string"), mimeType: optional(2, "string") },
  FileSource: { value: required(1, "string"), provider: optional(2, "string"), mimeType: optional(3, "string") },
  JsonPatchOperation: {
    op: required(1, "patch-op"),
    path: required(2, "string"),
    from: optional(3, "string"),
    value: optional(4, "json"),
  },
  RunAgentInput: {
    threadId: required(1, "string"),
    runId: required(2, "string"),
    parentRunId: optional(3, "string"),
    state: optional(4, "json-not-null"),
    messages: list(5, "Message"),
    tools: filledList(6, "Tool"),
    context: filledList(7, "Context"),
    forwardedProps: optional(8, "json-not-null"),
    resume: filledList(9, "ResumeEntry"),
    protocolVersion: optional(10, "string"),
  },
  Tool: {
    name: required(1, "string"),
    description: required(2, "string"),
    parameters: optional(3, "json-not-null"),
    metadata: optional(4, "object"),
  },
  Context: { description: required(1, "string"), value: required(2, "string") },
  ResumeEntry: {
    interruptId: required(1, "string"),
    status: required(2, "string"),
    payload: optional(3, "json-not-null"),
    metadata: optional(4, "object"),
  },
  Interrupt: {
    id: required(1, "string"),
    reason: required(2, "string"),
    message: optional(3, "string"),
    toolCallId: optional(4, "string"),
    responseSchema: optional(5, "json-not-null"),
    expiresAt: optional(6, "string"),
    metadata: optional(7, "json-not-null"),
    subagentRunId: optional(8, "string"),
  },
  TokenUsage: {
    provider: optional(1, "string"),
    model: optional(2, "string"),
    inputTokens: optional(3, "int64"),
    outputTokens: optional(4, "int64"),
    totalTokens: optional(5, "int64"),
    reasoningTokens: optional(6, "int64"),
    cachedInputTokens: optional(7, "int64"),
    cacheWriteInputTokens: optional(8, "int64"),
  },
};
