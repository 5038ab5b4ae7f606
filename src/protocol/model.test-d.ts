/**
 * Type test, checked by `tsc -p tsconfig.json` and never run: our types against those of `@ag-ui/core` 1.0.0, both
 * ways, and what users do with ours. It stops compiling when AG-UI adds an event, or either side changes a field.
 */
import type * as Theirs from "@ag-ui/core";
import { EventType, parseEvent, parseRunInput, textMessageStart } from "./index.ts";
import { parseAs } from "./parse-as.ts";
import type { Definitions, Event, Message, MetaEvent, RunAgentInput } from "./index.ts";

/** Their types by the names of ours. */
interface TheirDefinitions {
  readonly RunStartedEvent: Theirs.RunStartedEvent;
  readonly RunFinishedEvent: Theirs.RunFinishedEvent;
  readonly RunErrorEvent: Theirs.RunErrorEvent;
  readonly StepStartedEvent: Theirs.StepStartedEvent;
  readonly StepFinishedEvent: Theirs.StepFinishedEvent;
  readonly TextMessageStartEvent: Theirs.TextMessageStartEvent;
  readonly TextMessageContentEvent: Theirs.TextMessageContentEvent;
  readonly TextMessageEndEvent: Theirs.TextMessageEndEvent;
  readonly TextMessageChunkEvent: Theirs.TextMessageChunkEvent;
  readonly ToolCallStartEvent: Theirs.ToolCallStartEvent;
  readonly ToolCallArgsEvent: Theirs.ToolCallArgsEvent;
  readonly ToolCallEndEvent: Theirs.ToolCallEndEvent;
  readonly ToolCallChunkEvent: Theirs.ToolCallChunkEvent;
  readonly ToolCallResultEvent: Theirs.ToolCallResultEvent;
  readonly StateSnapshotEvent: Theirs.StateSnapshotEvent;
  readonly StateDeltaEvent: Theirs.StateDeltaEvent;
  readonly MessagesSnapshotEvent: Theirs.MessagesSnapshotEvent;
  readonly ActivitySnapshotEvent: Theirs.ActivitySnapshotEvent;
  readonly ActivityDeltaEvent: Theirs.ActivityDeltaEvent;
  readonly ReasoningStartEvent: Theirs.ReasoningStartEvent;
  readonly ReasoningMessageStartEvent: Theirs.ReasoningMessageStartEvent;
  readonly ReasoningMessageContentEvent: Theirs.ReasoningMessageContentEvent;
  readonly ReasoningMessageEndEvent: Theirs.ReasoningMessageEndEvent;
  readonly ReasoningMessageChunkEvent: Theirs.ReasoningMessageChunkEvent;
  readonly ReasoningEndEvent: Theirs.ReasoningEndEvent;
  readonly ReasoningEncryptedValueEvent: Theirs.ReasoningEncryptedValueEvent;
  readonly SubagentStartedEvent: Theirs.SubagentStartedEvent;
  readonly SubagentFinishedEvent: Theirs.SubagentFinishedEvent;
  readonly SubagentErrorEvent: Theirs.SubagentErrorEvent;
  readonly RawEvent: Theirs.RawEvent;
  readonly CustomEvent: Theirs.CustomEvent;
  readonly Event: Theirs.Event;
  readonly TextMessageRole: Theirs.TextMessageRole;
  readonly ReasoningEncryptedValueSubtype: Theirs.ReasoningEncryptedValueSubtype;
  readonly DeveloperMessage: Theirs.DeveloperMessage;
  readonly SystemMessage: Theirs.SystemMessage;
  readonly AssistantMessage: Theirs.AssistantMessage;
  readonly UserMessage: Theirs.UserMessage;
  readonly ToolMessage: Theirs.ToolMessage;
  readonly ActivityMessage: Theirs.ActivityMessage;
  readonly ReasoningMessage: Theirs.ReasoningMessage;
  readonly Message: Theirs.Message;
  readonly Role: Theirs.Role;
  readonly ToolCall: Theirs.ToolCall;
  readonly FunctionCall: Theirs.FunctionCall;
  readonly TextPart: Theirs.TextPart;
  readonly ImagePart: Theirs.ImagePart;
  readonly AudioPart: Theirs.AudioPart;
  readonly VideoPart: Theirs.VideoPart;
  readonly DocumentPart: Theirs.DocumentPart;
  readonly ContentPart: Theirs.ContentPart;
  readonly DataSource: Theirs.DataSource;
  readonly UrlSource: Theirs.UrlSource;
  readonly FileSource: Theirs.FileSource;
  readonly PartSource: Theirs.PartSource;
  readonly RunFinishedSuccessOutcome: Theirs.RunFinishedSuccessOutcome;
  readonly RunFinishedInterruptOutcome: Theirs.RunFinishedInterruptOutcome;
  readonly RunFinishedCancelledOutcome: Theirs.RunFinishedCancelledOutcome;
  readonly RunFinishedOutcome: Theirs.RunFinishedOutcome;
  readonly SubagentFinishedSuccessOutcome: Theirs.SubagentFinishedSuccessOutcome;
  readonly SubagentFinishedSuspendedOutcome: Theirs.SubagentFinishedSuspendedOutcome;
  readonly SubagentFinishedOutcome: Theirs.SubagentFinishedOutcome;
  readonly Interrupt: Theirs.Interrupt;
  readonly ResumeEntry: Theirs.ResumeEntry;
  readonly ResumeStatus: Theirs.ResumeStatus;
  readonly TokenUsage: Theirs.TokenUsage;
  readonly RunAgentInput: Theirs.RunAgentInput;
  readonly Tool: Theirs.Tool;
  readonly Context: Theirs.Context;
  readonly AddOperation: Theirs.AddOperation;
  readonly RemoveOperation: Theirs.RemoveOperation;
  readonly ReplaceOperation: Theirs.ReplaceOperation;
  readonly MoveOperation: Theirs.MoveOperation;
  readonly CopyOperation: Theirs.CopyOperation;
  readonly TestOperation: Theirs.TestOperation;
  readonly JsonPatchOperation: Theirs.JsonPatchOperation;
  readonly JsonPatch: Theirs.JsonPatch;
  readonly JsonPointer: Theirs.JsonPointer;
  readonly Metadata: Theirs.Metadata;
  readonly State: Theirs.State;
  readonly SubagentRunId: Theirs.SubagentRunId;
  readonly AgentCapabilities: Theirs.AgentCapabilities;
  readonly IdentityCapabilities: Theirs.IdentityCapabilities;
  readonly TransportCapabilities: Theirs.TransportCapabilities;
  readonly ToolsCapabilities: Theirs.ToolsCapabilities;
  readonly OutputCapabilities: Theirs.OutputCapabilities;
  readonly StateCapabilities: Theirs.StateCapabilities;
  readonly MultiAgentCapabilities: Theirs.MultiAgentCapabilities;
  readonly SubagentInfo: Theirs.SubagentInfo;
  readonly ReasoningCapabilities: Theirs.ReasoningCapabilities;
  readonly MultimodalCapabilities: Theirs.MultimodalCapabilities;
  readonly MultimodalInputCapabilities: Theirs.MultimodalInputCapabilities;
  readonly MultimodalOutputCapabilities: Theirs.MultimodalOutputCapabilities;
  readonly ExecutionCapabilities: Theirs.ExecutionCapabilities;
  readonly HumanInTheLoopCapabilities: Theirs.HumanInTheLoopCapabilities;
}

type IsAny<T> = 0 extends 1 & T ? true : false;

/** A type of theirs, readonly at every depth, enum members as their strings, and what they leave open as unknown. */
type Plain<T> =
  IsAny<T> extends true
    ? unknown
    : T extends string
      ? `${T}`
      : T extends readonly (infer E)[]
        ? readonly Plain<E>[]
        : T extends Theirs.RunAgentInput
          ? PlainInput
          : T extends object
            ? PlainObject<T>
            : T;

type PlainObject<T> = { readonly [K in keyof T]: Plain<T[K]> };

/** Their input type is what their parser returns, with `tools` and `context` filled in; on the wire both are optional (R-IN-14). */
type PlainInput = Omit<PlainObject<Theirs.RunAgentInput>, "tools" | "context"> &
  Partial<Pick<PlainObject<Theirs.RunAgentInput>, "tools" | "context">>;

type OursOf<K extends keyof TheirDefinitions> = K extends "Event" ? Exclude<Event, MetaEvent> : Definitions[K];

/** Names whose type of theirs cannot be assigned to ours. */
type NotToOurs = {
  [K in keyof TheirDefinitions]: [TheirDefinitions[K]] extends [Definitions[K]] ? never : K;
}[keyof TheirDefinitions];

/** Names whose type of ours cannot be assigned to the plain form of theirs. */
type NotToTheirs = {
  [K in keyof TheirDefinitions]: [OursOf<K>] extends [Plain<TheirDefinitions[K]>] ? never : K;
}[keyof TheirDefinitions];

/** Names of what is neither open nor a list, where the fields can be compared. */
type Closed = Exclude<keyof TheirDefinitions, "State" | "Metadata" | "JsonPatch">;

/** Names where ours has a field that theirs does not know, apart from what 1.1 adds. */
type ExtraFields = {
  [K in Closed]: [Exclude<keyof OursOf<K>, keyof TheirDefinitions[K] | "encryptedValueType">] extends [never]
    ? never
    : K;
}[Closed];

/** Names where theirs has a field that ours does not know. */
type MissingFields = {
  [K in Closed]: [Exclude<keyof TheirDefinitions[K], keyof OursOf<K>>] extends [never] ? never : K;
}[Closed];

type DeepReadonly<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** Whether two types are one and the same, modifiers included. */
type Identical<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Names of ours that can be written to, somewhere in them. */
type Writable = {
  [K in keyof Definitions]: Identical<Definitions[K], DeepReadonly<Definitions[K]>> extends true ? never : K;
}[keyof Definitions];

type None<T extends never> = T;
type Same<A, B> = [A, B] extends [B, A] ? true : false;
type Yes<T extends true> = T;

/** All of it holds, or this does not compile; the error names the definition. */
export type Agreement = [
  theirsToOurs: None<NotToOurs>,
  oursToTheirs: None<NotToTheirs>,
  noExtraFields: None<ExtraFields>,
  noMissingFields: None<MissingFields>,
  nothingCanBeWritten: None<Writable>,
  noEventLacks: None<Exclude<`${Theirs.EventType}`, EventType>>,
  onlyMetaIsOurs: Yes<Same<Exclude<EventType, `${Theirs.EventType}`>, "META">>,
  everyEventIsInTheUnion: Yes<Same<Event["type"], EventType>>,
  everyDefinitionIsCompared: Yes<Same<Exclude<keyof Definitions, keyof TheirDefinitions>, "MetaEvent">>,
  // The helpers themselves can say no.
  someoneIsMissed: Yes<Same<Exclude<"RUN_STARTED" | "NEW_EVENT", EventType>, "NEW_EVENT">>,
  stringIsNoNumber: Yes<Same<[{ a: string }] extends [Plain<{ a: number }>] ? true : false, false>>,
  writableIsNotReadonly: Yes<Same<Identical<{ a: 1 }, DeepReadonly<{ a: 1 }>>, false>>,
  enumsAreStrings: Yes<Same<Plain<Theirs.RawEvent>["type"], "RAW">>,
];

/** Values of theirs go into our functions as they are. */
export function takesTheirs(event: Theirs.Event, input: Theirs.RunAgentInput): [Event, RunAgentInput] {
  return [event, input];
}

/** Narrowing on `type` needs no cast. */
export function textOf(event: Event): string {
  switch (event.type) {
    case "TEXT_MESSAGE_CONTENT":
    case EventType.TOOL_CALL_ARGS:
      return event.delta;
    case "TOOL_CALL_RESULT":
      return typeof event.content === "string" ? event.content : event.content.map(partText).join("");
    case "RUN_FINISHED":
      return event.outcome?.type === "interrupt" ? (event.outcome.interrupts[0]?.reason ?? "") : "";
    case "STATE_DELTA":
      return event.delta.map((operation) => (operation.op === "move" ? operation.from : operation.path)).join();
    case "META":
      return event.metaType;
    default:
      return event.type;
  }
}

type Part = Definitions["ContentPart"];

const partText = (part: Part): string => (part.type === "text" ? part.text : part.source.value);

/** Narrowing on `role` needs no cast, and is known to be exhaustive. */
export function contentOf(message: Message): string | object {
  switch (message.role) {
    case "assistant":
      return message.content ?? message.toolCalls?.map((call) => call.function.arguments).join("") ?? "";
    case "user":
    case "tool":
      return message.content;
    case "activity":
      return message.content;
    case "developer":
    case "system":
    case "reasoning":
      return message.content.trim();
  }
}

/** What parsing returns says what it is. */
export function parsed(value: unknown): readonly [string, string, string | undefined] {
  const event = parseEvent(value).value;
  const { threadId } = parseRunInput(value).value;
  return [event === undefined ? "dropped" : event.type, threadId, parseAs("Tool", value).value?.name];
}

/** Every use here is wrong, and the compiler says so. */
export function wrongUses(event: Event, message: Message): readonly unknown[] {
  // @ts-expect-error Nothing of an event can be written.
  event.timestamp = 1;
  // @ts-expect-error Nor in a list of it.
  if (event.type === "MESSAGES_SNAPSHOT") event.messages.push(message);
  // @ts-expect-error Nor in metadata.
  if (event.metadata !== undefined) event.metadata.key = 1;
  // @ts-expect-error Not every event has a delta.
  const delta: unknown = event.delta;
  // @ts-expect-error There is no such event.
  const unheardOf = event.type === "THINKING_START";
  // @ts-expect-error A streamed text message is never of a tool.
  textMessageStart({ messageId: "m", role: "tool" });
  // @ts-expect-error Null is no way to leave a field out.
  textMessageStart({ messageId: "m", name: null });
  // @ts-expect-error The id is required.
  textMessageStart({});
  // @ts-expect-error There is no such field.
  textMessageStart({ messageId: "m", nickname: "n" });
  // @ts-expect-error An event dropped as unknown has no type.
  const dropped = parseEvent(event).value.type;
  // @ts-expect-error There is no such definition.
  parseAs("Nonsense", event);
  // @ts-expect-error The state of an input is of no known type.
  const state: object = parseRunInput(event).value.state;
  return [delta, unheardOf, dropped, state];
}
