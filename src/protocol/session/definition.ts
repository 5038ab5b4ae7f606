/**
 * The session dialect, once: types, checks and JSON Schema all follow from the tables in this file.
 *
 * A shape is a word. `string`, `boolean`, `count` (an integer from 0), `time` (ISO 8601), `json` (any value, null
 * included), `open` (an object that is not ours to judge), `content` (text or content parts) and `true` are
 * built in; `=x` is the constant x; any other word names an entry of `ENUMS`, `OBJECTS` or `UNIONS`; `X[]` is a list
 * of X; an object in place of a word is an object. A field whose name ends with `?` may be absent, and null there
 * means absent.
 */
import type { ContentPart } from "../generated/model.ts";

/** What a value may be: a word, or the fields of an object. */
export type Shape = string | Fields;

/** Shapes by field name; a name that ends with `?` may be absent. */
export interface Fields {
  /** The shape of the field. */
  readonly [name: string]: Shape;
}

/** Closed sets of strings. */
export const ENUMS = {
  TextRole: ["developer", "system", "assistant", "user"],
  SessionEndReason: ["completed", "timeout", "error", "shutdown"],
  StatusSubject: ["run", "step", "subagent"],
  Status: ["queued", "started", "waiting", "finished", "failed"],
  ResponseOutcome: ["success", "interrupt", "cancelled"],
  ResumeStatus: ["resolved", "cancelled"],
} as const;

const MEDIA = { source: "PartSource", "id?": "string", "metadata?": "json" } as const;
const TOOL_CALL = { toolCallId: "string", toolName: "string", arguments: "json", "argumentsText?": "string" } as const;
const TOOL_RESULT = {
  toolCallId: "string",
  result: "string",
  isError: "boolean",
  "error?": "string",
  "parts?": "ContentPart[]",
} as const;
const MESSAGE = { "id?": "string", "name?": "string" } as const;
const ERROR = { code: "string", message: "string", "details?": "open" } as const;
/** Which subagent it belongs to: the seed has no place for it, clients built to the seed overlook it. */
const LANE = { "subagentRunId?": "string" } as const;

/** What `data` holds, for each of the sixteen event types. */
export const EVENT_DATA = {
  "session-started": { session: "SessionMetadata", "isResumed?": "boolean" },
  "session-ended": { reason: "SessionEndReason", "error?": ERROR },
  "session-error": { error: { ...ERROR, isFatal: "boolean" } },
  "text-chunk": { text: "string", role: "TextRole", isComplete: "boolean", ...LANE },
  "text-message-complete": { role: "TextRole", isComplete: "true", ...LANE },
  "tool-call-chunk": { ...TOOL_CALL, isComplete: "boolean", ...LANE },
  "tool-call-complete": { toolCallIds: "string[]", isComplete: "true", ...LANE },
  "tool-result-chunk": { ...TOOL_RESULT, isComplete: "boolean", ...LANE },
  "tool-result-complete": { toolCallIds: "string[]", isComplete: "true", ...LANE },
  "thought-chunk": { thought: "string", isComplete: "boolean", ...LANE },
  "thought-complete": { isComplete: "true", ...LANE },
  "status-update": {
    subject: "StatusSubject",
    status: "Status",
    "name?": "string",
    "message?": "string",
    "code?": "string",
    ...LANE,
  },
  "progress-update": {
    activityType: "string",
    "content?": "open",
    "patch?": "json[]",
    "replace?": "boolean",
    ...LANE,
  },
  "agent-response-complete": {
    outcome: "ResponseOutcome",
    "runId?": "string",
    "result?": "json",
    "interrupts?": "Interrupt[]",
    "pendingToolCallIds?": "string[]",
  },
  "agent-error": { error: ERROR },
  "metadata-update": {
    "usage?": "SessionUsage",
    "provider?": "string",
    "model?": "string",
    "custom?": { name: "string", value: "json" },
  },
} as const;

/** The types of all session events, in the order of the seed. */
export const SESSION_EVENT_TYPES = Object.keys(EVENT_DATA).filter((type): type is keyof typeof EVENT_DATA =>
  Object.hasOwn(EVENT_DATA, type),
);

/** The envelope that every event shares; `type` and `data` differ. */
const ENVELOPE = { sessionId: "string", "messageId?": "string", timestamp: "time" } as const;

type EventFields<T extends keyof typeof EVENT_DATA> = { readonly type: `=${T}` } & typeof ENVELOPE & {
    readonly data: (typeof EVENT_DATA)[T];
  };

/** Objects by name, the envelopes of the events excepted. */
export const OBJECTS = {
  SessionRunInput: {
    type: "=run-agent",
    "sessionId?": "string",
    data: { messages: "AgentMessage[]", "options?": "open", "resume?": "ResumeEntry[]" },
  },
  AssistantAgentMessage: {
    role: "=assistant",
    "content?": "string",
    "toolCalls?": "ToolCall[]",
    ...MESSAGE,
  },
  UserAgentMessage: { role: "=user", content: "content", ...MESSAGE },
  SystemAgentMessage: { role: "=system", content: "string", ...MESSAGE },
  DeveloperAgentMessage: { role: "=developer", content: "string", ...MESSAGE },
  ToolAgentMessage: {
    role: "=tool",
    toolCallId: "string",
    content: "content",
    "isError?": "boolean",
    ...MESSAGE,
  },
  ToolCall: TOOL_CALL,
  ToolResult: TOOL_RESULT,
  ThoughtBlock: { thought: "string", isComplete: "boolean" },
  SessionMetadata: {
    sessionId: "string",
    createdAt: "time",
    lastActivityAt: "time",
    "usage?": "SessionUsage",
    "metadata?": "open",
  },
  SessionUsage: {
    "promptTokens?": "count",
    "completionTokens?": "count",
    "totalTokens?": "count",
    "reasoningTokens?": "count",
    "cachedPromptTokens?": "count",
    "cacheWritePromptTokens?": "count",
  },
  Interrupt: {
    id: "string",
    reason: "string",
    "message?": "string",
    "toolCallId?": "string",
    "responseSchema?": "open",
    "expiresAt?": "string",
    "metadata?": "open",
    ...LANE,
  },
  ResumeEntry: { interruptId: "string", status: "ResumeStatus", "payload?": "json", "metadata?": "open" },
  TextPart: { type: "=text", text: "string", "id?": "string", "metadata?": "json" },
  ImagePart: { type: "=image", ...MEDIA },
  AudioPart: { type: "=audio", ...MEDIA },
  VideoPart: { type: "=video", ...MEDIA },
  DocumentPart: { type: "=document", ...MEDIA },
  DataSource: { type: "=data", value: "string", mimeType: "string" },
  UrlSource: { type: "=url", value: "string", "mimeType?": "string" },
  FileSource: { type: "=file", value: "string", "provider?": "string", "mimeType?": "string" },
} as const;

/** Unions, told apart by one field: the object for each of its values. */
export const UNIONS = {
  AgentMessage: {
    by: "role",
    members: {
      user: "UserAgentMessage",
      assistant: "AssistantAgentMessage",
      tool: "ToolAgentMessage",
      system: "SystemAgentMessage",
      developer: "DeveloperAgentMessage",
    },
  },
  ContentPart: {
    by: "type",
    members: {
      text: "TextPart",
      image: "ImagePart",
      audio: "AudioPart",
      video: "VideoPart",
      document: "DocumentPart",
    },
  },
  PartSource: { by: "type", members: { data: "DataSource", url: "UrlSource", file: "FileSource" } },
} as const;

/** The fields of one event: the envelope around its data. */
export function eventFields<T extends keyof typeof EVENT_DATA>(type: T): EventFields<T> {
  return { type: `=${type}`, ...ENVELOPE, data: EVENT_DATA[type] };
}

type Enums = typeof ENUMS;
type Objects = typeof OBJECTS;
type Unions = typeof UNIONS;

/** Every name that a value can be checked as. */
export type SessionDefinition = "SessionEvent" | keyof Objects | keyof Unions;

interface BuiltIn {
  readonly string: string;
  readonly boolean: boolean;
  readonly count: number;
  readonly time: string;
  readonly json: unknown;
  readonly open: Readonly<Record<string, unknown>>;
  readonly content: string | readonly ContentPart[];
  readonly true: true;
}

/** The type of what a shape allows. */
export type Shaped<S> = S extends `${infer E}[]`
  ? readonly Shaped<E>[]
  : S extends `=${infer C}`
    ? C
    : S extends keyof BuiltIn
      ? BuiltIn[S]
      : S extends keyof Enums
        ? Enums[S][number]
        : S extends keyof Objects
          ? ShapedObject<Objects[S]>
          : S extends keyof Unions
            ? Shaped<Unions[S]["members"][keyof Unions[S]["members"]]>
            : S extends "SessionEvent"
              ? { [T in keyof typeof EVENT_DATA]: ShapedObject<EventFields<T>> }[keyof typeof EVENT_DATA]
              : S extends Fields
                ? ShapedObject<S>
                : never;

type ShapedObject<F> = Flat<
  { readonly [K in keyof F as K extends `${string}?` ? never : K]: Shaped<F[K]> } & {
    readonly [K in keyof F as K extends `${infer N}?` ? N : never]?: Shaped<F[K]>;
  }
>;

type Flat<T> = { [K in keyof T]: T[K] };

const leapYear = "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
const monthAndDay =
  "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))";
const timeOfDay = "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?";
const zone = "(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)";

/** A `time`: a date that exists, the time with seconds, and the zone; ISO 8601 as RFC 3339 narrows it. */
export const TIME_PATTERN = `^(?:\\d{4}-${monthAndDay}|${leapYear}-02-29)T${timeOfDay}${zone}$`;
