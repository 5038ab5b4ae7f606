/**
 * Arbitrary valid AG-UI 1.1 events and run inputs, for property tests.
 *
 * Every optional field is there in some and absent in others; every union member comes up; strings hold any Unicode
 * scalar value, and open JSON is nested. Lone surrogates and `__proto__` keys are left out: not every wire can carry
 * the first, not every oracle the second, so tests name those cases themselves.
 */
import fc from "fast-check";
import type { ContentPart, Event, JsonPatch, Message, MetaEvent, RunAgentInput } from "../src/protocol/index.ts";

/** One of the 31 events; META, Heddle's own, is not among them. */
export type ArbitraryEvent = Exclude<Event, MetaEvent>;

/** A JSON object. */
export type JsonObject = { readonly [field: string]: unknown };

type Fields = { readonly [field: string]: fc.Arbitrary<unknown> };

/** Ids, names and texts: short, empty, long enough for a two-byte length, and of any script. */
export function arbitraryText(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.string({ maxLength: 40 }) },
    { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 24 }) },
    { weight: 1, arbitrary: fc.string({ unit: "grapheme", minLength: 40, maxLength: 160 }) },
    { weight: 1, arbitrary: fc.constantFrom(...NOTABLE_TEXTS) },
  );
}

const NOTABLE_TEXTS = [
  "",
  "\0",
  "\uFEFFmarked",
  "\u2028\u2029\r\n",
  "e\u0301",
  "👩‍👩‍👧‍👦",
  "\u{10FFFF}",
  "undefined",
  "é".repeat(64),
  "a".repeat(127),
  "a".repeat(128),
];

/** Any JSON value, null included. */
export function arbitraryJson(): fc.Arbitrary<unknown> {
  return JSON_TREE.json;
}

/** A JSON object with any keys. */
export function arbitraryJsonObject(): fc.Arbitrary<JsonObject> {
  return JSON_TREE.object as fc.Arbitrary<JsonObject>;
}

const text = arbitraryText();
const scalar = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  text,
  fc.integer(),
  fc.maxSafeInteger(),
  // JSON writes -0 as 0.
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number)),
);
const jsonKey = fc
  .oneof(
    fc.string({ maxLength: 8 }),
    fc.string({ unit: "binary", maxLength: 4 }),
    fc.constantFrom("", "1", "0", "constructor"),
  )
  .filter((key) => key !== "__proto__");
const JSON_TREE = fc.letrec((tie) => ({
  json: fc.oneof({ depthSize: "small", withCrossShrink: true }, scalar, tie("object"), tie("list")),
  object: fc.dictionary(jsonKey, tie("json"), { maxKeys: 4, noNullPrototype: true, depthIdentifier: "json" }),
  list: fc.array(tie("json"), { maxLength: 4, depthIdentifier: "json" }),
}));
const json = arbitraryJson();
const jsonNotNull = json.filter((value) => value !== null);
const jsonObject = arbitraryJsonObject();
const int53 = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(0, -1, 2 ** 53 - 1, -(2 ** 53) + 1, 2 ** 31, 2 ** 32),
);
const uint53 = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constantFrom(0, 2 ** 53 - 1, 2 ** 31, 2 ** 32));

function object(required: Fields, optional: Fields = {}): fc.Arbitrary<JsonObject> {
  return fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required), noNullPrototype: true });
}

function list<T>(element: fc.Arbitrary<T>, minLength = 0): fc.Arbitrary<T[]> {
  return fc.array(element, { minLength, maxLength: 3 });
}

const dataSource = object({ type: fc.constant("data"), value: text, mimeType: text });
const urlSource = object({ type: fc.constant("url"), value: text }, { mimeType: text });
const fileSource = object({ type: fc.constant("file"), value: text }, { provider: text, mimeType: text });
const source = fc.oneof(dataSource, urlSource, fileSource);
const textPart = object({ type: fc.constant("text"), text }, { id: text, metadata: jsonNotNull });
const mediaPart = object(
  { type: fc.constantFrom("image", "audio", "video", "document"), source },
  { id: text, metadata: jsonNotNull },
);
const contentPart = fc.oneof(textPart, mediaPart);

/** One content part of a user or tool message. */
export function arbitraryContentPart(): fc.Arbitrary<ContentPart> {
  return contentPart as fc.Arbitrary<unknown> as fc.Arbitrary<ContentPart>;
}

const functionCall = object({ name: text, arguments: text });
const toolCall = object(
  { id: text, type: fc.constant("function"), function: functionCall },
  { encryptedValue: text, encryptedValueType: text, metadata: jsonObject },
);
const attributed = { subagentRunId: text, metadata: jsonObject };
const encrypted = { encryptedValue: text, encryptedValueType: text };
const textOrParts = fc.oneof(text, list(contentPart));
const message = fc.oneof(
  ...["developer", "system"].map((role) =>
    object({ id: text, role: fc.constant(role), content: text }, { name: text, ...encrypted, ...attributed }),
  ),
  object(
    { id: text, role: fc.constant("assistant") },
    { content: text, toolCalls: list(toolCall), name: text, ...encrypted, ...attributed },
  ),
  object({ id: text, role: fc.constant("user"), content: textOrParts }, { name: text, ...encrypted, ...attributed }),
  object(
    { id: text, role: fc.constant("tool"), content: textOrParts, toolCallId: text },
    { error: text, ...encrypted, ...attributed },
  ),
  object({ id: text, role: fc.constant("activity"), activityType: text, content: jsonObject }, attributed),
  object({ id: text, role: fc.constant("reasoning"), content: text }, { ...encrypted, ...attributed }),
);

/** One message of any role. */
export function arbitraryMessage(): fc.Arbitrary<Message> {
  return message as fc.Arbitrary<unknown> as fc.Arbitrary<Message>;
}

const pointer = fc
  .array(fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom("", "-", "0", "a~b", "a/b", "ü")), { maxLength: 4 })
  .map((steps) => steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join(""));
const patchOperation = fc.oneof(
  object({ op: fc.constantFrom("add", "replace", "test"), path: pointer, value: json }),
  object({ op: fc.constant("remove"), path: pointer }, { value: json }),
  object({ op: fc.constantFrom("move", "copy"), from: pointer, path: pointer }),
  object({ op: fc.constantFrom("add", "remove"), path: pointer, value: json, comment: json }),
);

/** A JSON Patch; some operations carry a member of their own, which RFC 6902 allows. */
export function arbitraryPatch(): fc.Arbitrary<JsonPatch> {
  return list(patchOperation) as fc.Arbitrary<unknown> as fc.Arbitrary<JsonPatch>;
}

const patch = arbitraryPatch();
const tool = object({ name: text, description: text }, { parameters: jsonNotNull, metadata: jsonObject });
const context = object({ description: text, value: text });
const resumeEntry = object(
  { interruptId: text, status: fc.constantFrom("resolved", "cancelled") },
  { payload: jsonNotNull, metadata: jsonObject },
);
const runInput = object(
  { threadId: text, runId: text, messages: list(message) },
  {
    protocolVersion: fc.constantFrom("1.0", "1.1", ""),
    parentRunId: text,
    state: jsonNotNull,
    tools: list(tool),
    context: list(context),
    forwardedProps: jsonNotNull,
    resume: list(resumeEntry),
  },
);

/** A run input (`RunAgentInput`). */
export function arbitraryRunInput(): fc.Arbitrary<RunAgentInput> {
  return runInput as fc.Arbitrary<unknown> as fc.Arbitrary<RunAgentInput>;
}

const usage = list(
  object(
    {},
    {
      provider: text,
      model: text,
      inputTokens: uint53,
      outputTokens: uint53,
      totalTokens: uint53,
      reasoningTokens: uint53,
      cachedInputTokens: uint53,
      cacheWriteInputTokens: uint53,
    },
  ),
);
const interrupt = object(
  { id: text, reason: text },
  {
    message: text,
    toolCallId: text,
    responseSchema: jsonObject,
    expiresAt: text,
    metadata: jsonObject,
    subagentRunId: text,
  },
);
const runOutcome = fc.oneof(
  object({ type: fc.constant("success") }, { pendingToolCallIds: list(text) }),
  object({ type: fc.constant("interrupt"), interrupts: list(interrupt, 1) }),
  object({ type: fc.constant("cancelled") }),
);
const subagentOutcome = fc.oneof(
  object({ type: fc.constant("success") }),
  object({ type: fc.constant("suspended") }, { interruptIds: list(text) }),
);

const base = { timestamp: int53, rawEvent: jsonNotNull, metadata: jsonObject };
const lane = { subagentRunId: text };
const textRole = fc.constantFrom("developer", "system", "assistant", "user");

function event(type: string, required: Fields, optional: Fields): fc.Arbitrary<ArbitraryEvent> {
  return object(
    { type: fc.constant(type), ...required },
    { ...optional, ...base },
  ) as fc.Arbitrary<unknown> as fc.Arbitrary<ArbitraryEvent>;
}

const ARBITRARIES = Object.fromEntries(
  Object.entries({
    TEXT_MESSAGE_START: [{ messageId: text }, { role: textRole, name: text, ...lane }],
    TEXT_MESSAGE_CONTENT: [{ messageId: text, delta: text }, lane],
    TEXT_MESSAGE_END: [{ messageId: text }, lane],
    TEXT_MESSAGE_CHUNK: [{}, { messageId: text, role: textRole, delta: text, name: text, ...lane }],
    TOOL_CALL_START: [
      { toolCallId: text, toolCallName: text },
      { parentMessageId: text, ...lane },
    ],
    TOOL_CALL_ARGS: [{ toolCallId: text, delta: text }, lane],
    TOOL_CALL_END: [{ toolCallId: text }, lane],
    TOOL_CALL_CHUNK: [{}, { toolCallId: text, toolCallName: text, parentMessageId: text, delta: text, ...lane }],
    TOOL_CALL_RESULT: [
      { messageId: text, toolCallId: text, content: textOrParts },
      { role: fc.constant("tool"), ...lane },
    ],
    STATE_SNAPSHOT: [{ snapshot: json }, lane],
    STATE_DELTA: [{ delta: patch }, lane],
    MESSAGES_SNAPSHOT: [{ messages: list(message) }, {}],
    ACTIVITY_SNAPSHOT: [
      { messageId: text, activityType: text, content: jsonObject },
      { replace: fc.boolean(), ...lane },
    ],
    ACTIVITY_DELTA: [{ messageId: text, activityType: text, patch }, lane],
    RAW: [{ event: json }, { source: text, ...lane }],
    CUSTOM: [{ name: text, value: json }, lane],
    RUN_STARTED: [
      { threadId: text, runId: text },
      { protocolVersion: fc.constantFrom("1.0", "1.1", ""), parentRunId: text, input: runInput },
    ],
    RUN_FINISHED: [
      { threadId: text, runId: text },
      { result: jsonNotNull, outcome: runOutcome, usage },
    ],
    RUN_ERROR: [{ message: text }, { code: text, usage }],
    STEP_STARTED: [{ stepName: text }, lane],
    STEP_FINISHED: [{ stepName: text }, lane],
    REASONING_START: [{ messageId: text }, lane],
    REASONING_MESSAGE_START: [{ messageId: text, role: fc.constant("reasoning") }, lane],
    REASONING_MESSAGE_CONTENT: [{ messageId: text, delta: text }, lane],
    REASONING_MESSAGE_END: [{ messageId: text }, lane],
    REASONING_MESSAGE_CHUNK: [{}, { messageId: text, delta: text, ...lane }],
    REASONING_END: [{ messageId: text }, lane],
    REASONING_ENCRYPTED_VALUE: [
      { subtype: fc.constantFrom("tool-call", "message"), entityId: text, encryptedValue: text },
      { encryptedValueType: text, ...lane },
    ],
    SUBAGENT_STARTED: [
      { subagentRunId: text, name: text },
      { description: text, parentSubagentRunId: text, parentToolCallId: text, parentMessageId: text },
    ],
    SUBAGENT_FINISHED: [{ subagentRunId: text }, { result: jsonNotNull, outcome: subagentOutcome }],
    SUBAGENT_ERROR: [{ subagentRunId: text, message: text }, { code: text }],
  } satisfies Record<string, [Fields, Fields]>).map(([type, [required, optional]]) => [
    type,
    event(type, required, optional),
  ]),
);

/** The 31 event types, as this file knows them. */
export const ARBITRARY_EVENT_TYPES = Object.keys(ARBITRARIES) as readonly ArbitraryEvent["type"][];

/** One valid event: of the given type, or of any of the 31. */
export function arbitraryEvent(type?: ArbitraryEvent["type"]): fc.Arbitrary<ArbitraryEvent> {
  const chosen = type === undefined ? Object.values(ARBITRARIES) : [ARBITRARIES[type]];
  return fc.oneof(...chosen.filter((arbitrary) => arbitrary !== undefined));
}
