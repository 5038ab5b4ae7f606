/** The table against its two sources: AG-UI's definitions, and upstream's append-only ledger of numbers. */
import { describe, expect, it } from "vitest";
import { ARBITRARY_EVENT_TYPES } from "../../../test/arbitrary-event.ts";
import { definitionSchemas } from "../schema.ts";
import { BASE_EVENT, EVENTS, MESSAGES, isOneof } from "./layout.ts";
import type { EventLayout, Fields, Slot } from "./layout.ts";

interface Definition {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

const definitions = definitionSchemas as unknown as Readonly<Record<string, Definition>>;
const events: Readonly<Record<string, EventLayout>> = EVENTS;

const fieldsOf = (name: keyof typeof MESSAGES): Fields => {
  const layout = MESSAGES[name];
  if (isOneof(layout)) throw new Error(`${name} is a union`);
  return layout;
};

const pascal = (type: string): string =>
  type
    .toLowerCase()
    .split("_")
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");

/** Fields whose JSON form is another than their slots. */
const RESHAPED = {
  ToolCallResultEvent: { content: ["content", "contentParts"] },
  RunFinishedEvent: { outcome: ["outcome", "interrupts", "pendingToolCallIds"] },
  SubagentFinishedEvent: { outcome: ["outcome", "interruptIds"] },
  Message: { content: ["content", "contentParts", "activityContent"] },
} as Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** Fields of a definition without a slot, or with one that disagrees about being required. */
function gaps(definition: string, slots: Fields, layout = definition): string[] {
  const { properties = {}, required = [] } = definitions[definition] ?? {};
  if (Object.keys(properties).length === 0) return [`there is no definition of ${definition}`];
  return Object.keys(properties).filter((field) => {
    const wireFields = RESHAPED[layout]?.[field] ?? [field];
    if (!wireFields.every((wireField) => wireField in slots)) return true;
    // What a message or an operation needs differs by its role or op; `reshape.ts` checks it.
    if (wireFields.length > 1 || ["Message", "JsonPatchOperation"].includes(layout)) return false;
    return ["required", "list"].includes(slots[field]?.presence ?? "") !== required.includes(field);
  });
}

const inOrder = (entries: readonly (readonly [string, number])[]): string =>
  entries
    .toSorted(([, left], [, right]) => left - right)
    .map(([name, number], index) => (number === index + 1 ? name : `${name}=${number}`))
    .join(" ");

const numbers = (fields: Fields): [string, number][] =>
  Object.entries(fields).map(([field, slot]) => [field, slot.number]);

describe("every field of AG-UI has a slot", () => {
  it("there are 31 events", () => {
    expect(Object.keys(EVENTS).toSorted()).toStrictEqual([...ARBITRARY_EVENT_TYPES].toSorted());
    expect(Object.keys(EVENTS)).toHaveLength(31);
  });

  it.each(Object.entries(events))("%s", (type, { fields }) => {
    const typeSlot: Slot = { number: 0, kind: "string", presence: "required" };
    expect(gaps(`${pascal(type)}Event`, { ...fields, ...BASE_EVENT, type: typeSlot })).toStrictEqual([]);
  });

  it.each(["Developer", "System", "Assistant", "User", "Tool", "Activity", "Reasoning"])("%sMessage", (role) => {
    expect(gaps(`${role}Message`, fieldsOf("Message"), "Message")).toStrictEqual([]);
  });

  it.each(["Add", "Remove", "Replace", "Move", "Copy", "Test"])("%sOperation", (op) => {
    expect(gaps(`${op}Operation`, fieldsOf("JsonPatchOperation"), "JsonPatchOperation")).toStrictEqual([]);
  });

  it.each([
    "ToolCall",
    "FunctionCall",
    "RunAgentInput",
    "Tool",
    "Context",
    "ResumeEntry",
    "Interrupt",
    "TokenUsage",
  ] as const)("%s", (name) => {
    expect(gaps(name, fieldsOf(name))).toStrictEqual([]);
  });

  it.each([
    ["TextPart", "TextPart"],
    ["ImagePart", "MediaPart"],
    ["AudioPart", "MediaPart"],
    ["VideoPart", "MediaPart"],
    ["DocumentPart", "MediaPart"],
    ["DataSource", "DataSource"],
    ["UrlSource", "UrlSource"],
    ["FileSource", "FileSource"],
  ] as const)("%s", (definition, name) => {
    const typeSlot: Slot = { number: 0, kind: "string", presence: "required" };
    expect(gaps(definition, { ...fieldsOf(name), type: typeSlot })).toStrictEqual([]);
  });
});

/** Number of each slot in upstream's ledger for 1.1, message by message, in the order of the numbers. */
const LEDGER: Readonly<Record<string, string>> = {
  BaseEvent: "type timestamp rawEvent metadata",
  TEXT_MESSAGE_START: "base messageId role name subagentRunId",
  TEXT_MESSAGE_CONTENT: "base messageId delta subagentRunId",
  TEXT_MESSAGE_END: "base messageId subagentRunId",
  TEXT_MESSAGE_CHUNK: "base messageId role delta name subagentRunId",
  TOOL_CALL_START: "base toolCallId toolCallName parentMessageId subagentRunId",
  TOOL_CALL_ARGS: "base toolCallId delta subagentRunId",
  TOOL_CALL_END: "base toolCallId subagentRunId",
  TOOL_CALL_CHUNK: "base toolCallId toolCallName parentMessageId delta subagentRunId",
  TOOL_CALL_RESULT: "base subagentRunId messageId toolCallId content role contentParts",
  STATE_SNAPSHOT: "base snapshot subagentRunId",
  STATE_DELTA: "base delta subagentRunId",
  MESSAGES_SNAPSHOT: "base messages",
  ACTIVITY_SNAPSHOT: "base subagentRunId messageId activityType content replace",
  ACTIVITY_DELTA: "base subagentRunId messageId activityType patch",
  RAW: "base event source subagentRunId",
  CUSTOM: "base name value subagentRunId",
  RUN_STARTED: "base threadId runId parentRunId input protocolVersion",
  RUN_FINISHED: "base threadId runId result outcome interrupts usage pendingToolCallIds",
  RUN_ERROR: "base code message usage",
  STEP_STARTED: "base stepName subagentRunId",
  STEP_FINISHED: "base stepName subagentRunId",
  REASONING_START: "base subagentRunId messageId",
  REASONING_MESSAGE_START: "base subagentRunId messageId role",
  REASONING_MESSAGE_CONTENT: "base subagentRunId messageId delta",
  REASONING_MESSAGE_END: "base subagentRunId messageId",
  REASONING_MESSAGE_CHUNK: "base subagentRunId messageId delta",
  REASONING_END: "base subagentRunId messageId",
  REASONING_ENCRYPTED_VALUE: "base subagentRunId subtype entityId encryptedValue encryptedValueType",
  SUBAGENT_STARTED: "base subagentRunId name description parentSubagentRunId parentToolCallId parentMessageId",
  SUBAGENT_FINISHED: "base subagentRunId result outcome interruptIds",
  SUBAGENT_ERROR: "base subagentRunId message code",
  Message:
    "id role content name toolCalls toolCallId error contentParts metadata subagentRunId encryptedValue activityType " +
    "activityContent encryptedValueType",
  ToolCall: "id type function metadata encryptedValue encryptedValueType",
  FunctionCall: "name arguments",
  TextPart: "text id metadata",
  MediaPart: "source metadata id",
  DataSource: "value mimeType",
  UrlSource: "value mimeType",
  FileSource: "value provider mimeType",
  JsonPatchOperation: "op path from value",
  RunAgentInput: "threadId runId parentRunId state messages tools context forwardedProps resume protocolVersion",
  Tool: "name description parameters metadata",
  Context: "description value",
  ResumeEntry: "interruptId status payload metadata",
  Interrupt: "id reason message toolCallId responseSchema expiresAt metadata subagentRunId",
  TokenUsage:
    "provider model inputTokens outputTokens totalTokens reasoningTokens cachedInputTokens cacheWriteInputTokens",
  ContentPart: "text image audio video document",
  PartSource: "data url file",
};

/** Arms of the envelope, in the order of their numbers from 1. */
const ARMS =
  "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END " +
  "STATE_SNAPSHOT STATE_DELTA MESSAGES_SNAPSHOT RAW CUSTOM RUN_STARTED RUN_FINISHED RUN_ERROR STEP_STARTED " +
  "STEP_FINISHED TEXT_MESSAGE_CHUNK TOOL_CALL_CHUNK SUBAGENT_STARTED SUBAGENT_FINISHED SUBAGENT_ERROR " +
  "TOOL_CALL_RESULT ACTIVITY_SNAPSHOT ACTIVITY_DELTA REASONING_START REASONING_MESSAGE_START " +
  "REASONING_MESSAGE_CONTENT REASONING_MESSAGE_END REASONING_MESSAGE_CHUNK REASONING_END REASONING_ENCRYPTED_VALUE";

/** The `EventType` enum, in the order of its numbers from 0. */
const TYPES =
  "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END " +
  "STATE_SNAPSHOT STATE_DELTA MESSAGES_SNAPSHOT RAW CUSTOM RUN_STARTED RUN_FINISHED RUN_ERROR STEP_STARTED " +
  "STEP_FINISHED SUBAGENT_STARTED SUBAGENT_FINISHED SUBAGENT_ERROR TEXT_MESSAGE_CHUNK TOOL_CALL_CHUNK " +
  "TOOL_CALL_RESULT ACTIVITY_SNAPSHOT ACTIVITY_DELTA REASONING_START REASONING_MESSAGE_START " +
  "REASONING_MESSAGE_CONTENT REASONING_MESSAGE_END REASONING_MESSAGE_CHUNK REASONING_END REASONING_ENCRYPTED_VALUE";

describe("every slot has the number of the ledger", () => {
  it("arms and types", () => {
    expect(inOrder(Object.entries(events).map(([type, { arm }]) => [type, arm]))).toBe(ARMS);
    expect(inOrder(Object.entries(events).map(([type, { number }]) => [type, number + 1]))).toBe(TYPES);
    expect(inOrder([["type", 1], ...numbers(BASE_EVENT)])).toBe(LEDGER["BaseEvent"]);
  });

  it.each(Object.entries(events))("%s", (type, { fields }) => {
    expect(inOrder([["base", 1], ...numbers(fields)])).toBe(LEDGER[type]);
  });

  it.each(Object.entries(MESSAGES))("%s", (name, layout) => {
    const entries = isOneof(layout)
      ? Object.entries(layout.arms).map(([type, arm]): [string, number] => [type, arm.number])
      : numbers(layout);
    expect(inOrder(entries)).toBe(LEDGER[name]);
  });

  it("rows are written in ascending order, since that is the order of the bytes", () => {
    const messages = Object.values(MESSAGES).filter((layout) => !isOneof(layout)) as Fields[];
    for (const fields of [...Object.values(events).map((layout) => layout.fields), ...messages]) {
      const written = numbers(fields).map(([, number]) => number);
      expect(written).toStrictEqual(written.toSorted((left, right) => left - right));
    }
  });
});
