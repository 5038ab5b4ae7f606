/**
 * Every field of every definition: present, absent, null and of each wrong type.
 *
 * `PINNED` is transcribed by hand from section 2 of the rules, so that a slip in the definitions is found here; the
 * cases are then generated from the definitions, and judged by the words of the rules in `variants` below.
 */
import { describe, expect, it } from "vitest";
import { definitions } from "./definition/index.ts";
import type { Shape } from "./definition/index.ts";
import { parseEvent, parseRunInput } from "./enforce.ts";
import { parseAs } from "./parse-as.ts";
import type { Enforced } from "./enforce.ts";
import type { Judgeable } from "./parse-as.ts";
import { HeddleError } from "./errors.ts";

const BASE = "timestamp?:int rawEvent?:any!null metadata?:object";
const ATTR = "subagentRunId?:string";
const BOTH = `${BASE} ${ATTR}`;
const SECRET = "encryptedValue?:string encryptedValueType?:string";
const MESSAGE = `id:string name?:string ${SECRET} metadata?:object ${ATTR}`;
const PARTS = "string|ContentPart[]";
const all = (kind: string, fields: string): string => fields.replaceAll(/\w+/g, (field) => `${field}?:${kind}`);
const MEDIA = "id?:string source:PartSource metadata?:any!null";

/** Section 2.3 to 2.10, by hand. `?` is optional, `=x` a constant, `#E` an enum, `[1+]` a list that is never empty. */
const PINNED: Readonly<Record<string, string>> = {
  TextMessageStartEvent: `type:=TEXT_MESSAGE_START messageId:string role?:#TextMessageRole name?:string ${BOTH}`,
  TextMessageContentEvent: `type:=TEXT_MESSAGE_CONTENT messageId:string delta:string ${BOTH}`,
  TextMessageEndEvent: `type:=TEXT_MESSAGE_END messageId:string ${BOTH}`,
  TextMessageChunkEvent: `type:=TEXT_MESSAGE_CHUNK messageId?:string role?:#TextMessageRole delta?:string name?:string ${BOTH}`,
  ToolCallStartEvent: `type:=TOOL_CALL_START toolCallId:string toolCallName:string parentMessageId?:string ${BOTH}`,
  ToolCallArgsEvent: `type:=TOOL_CALL_ARGS toolCallId:string delta:string ${BOTH}`,
  ToolCallEndEvent: `type:=TOOL_CALL_END toolCallId:string ${BOTH}`,
  ToolCallChunkEvent: `type:=TOOL_CALL_CHUNK toolCallId?:string toolCallName?:string parentMessageId?:string delta?:string ${BOTH}`,
  ToolCallResultEvent: `type:=TOOL_CALL_RESULT messageId:string toolCallId:string content:${PARTS} role?:=tool ${BOTH}`,
  StateSnapshotEvent: `type:=STATE_SNAPSHOT snapshot:any ${BOTH}`,
  StateDeltaEvent: `type:=STATE_DELTA delta:JsonPatchOperation[] ${BOTH}`,
  MessagesSnapshotEvent: `type:=MESSAGES_SNAPSHOT messages:Message[] ${BASE}`,
  ActivitySnapshotEvent: `type:=ACTIVITY_SNAPSHOT messageId:string activityType:string content:object replace?:boolean ${BOTH}`,
  ActivityDeltaEvent: `type:=ACTIVITY_DELTA messageId:string activityType:string patch:JsonPatchOperation[] ${BOTH}`,
  RawEvent: `type:=RAW event:any source?:string ${BOTH}`,
  CustomEvent: `type:=CUSTOM name:string value:any ${BOTH}`,
  RunStartedEvent: `type:=RUN_STARTED threadId:string runId:string protocolVersion?:string parentRunId?:string input?:RunAgentInput ${BASE}`,
  RunFinishedEvent: `type:=RUN_FINISHED threadId:string runId:string result?:any!null outcome?:RunFinishedOutcome usage?:TokenUsage[] ${BASE}`,
  RunErrorEvent: `type:=RUN_ERROR message:string code?:string usage?:TokenUsage[] ${BASE}`,
  StepStartedEvent: `type:=STEP_STARTED stepName:string ${BOTH}`,
  StepFinishedEvent: `type:=STEP_FINISHED stepName:string ${BOTH}`,
  ReasoningStartEvent: `type:=REASONING_START messageId:string ${BOTH}`,
  ReasoningEndEvent: `type:=REASONING_END messageId:string ${BOTH}`,
  ReasoningMessageStartEvent: `type:=REASONING_MESSAGE_START messageId:string role:=reasoning ${BOTH}`,
  ReasoningMessageContentEvent: `type:=REASONING_MESSAGE_CONTENT messageId:string delta:string ${BOTH}`,
  ReasoningMessageEndEvent: `type:=REASONING_MESSAGE_END messageId:string ${BOTH}`,
  ReasoningMessageChunkEvent: `type:=REASONING_MESSAGE_CHUNK messageId?:string delta?:string ${BOTH}`,
  ReasoningEncryptedValueEvent: `type:=REASONING_ENCRYPTED_VALUE subtype:#ReasoningEncryptedValueSubtype entityId:string encryptedValue:string encryptedValueType?:string ${BOTH}`,
  SubagentStartedEvent: `type:=SUBAGENT_STARTED subagentRunId:string name:string description?:string parentSubagentRunId?:string parentToolCallId?:string parentMessageId?:string ${BASE}`,
  SubagentFinishedEvent: `type:=SUBAGENT_FINISHED subagentRunId:string result?:any!null outcome?:SubagentFinishedOutcome ${BASE}`,
  SubagentErrorEvent: `type:=SUBAGENT_ERROR subagentRunId:string message:string code?:string ${BASE}`,
  MetaEvent: `type:=META metaType:string payload:object ${BASE}`,
  RunFinishedSuccessOutcome: "type:=success pendingToolCallIds?:string[]",
  RunFinishedInterruptOutcome: "type:=interrupt interrupts:Interrupt[1+]",
  RunFinishedCancelledOutcome: "type:=cancelled",
  SubagentFinishedSuccessOutcome: "type:=success",
  SubagentFinishedSuspendedOutcome: "type:=suspended interruptIds?:string[]",
  Interrupt: `id:string reason:string message?:string toolCallId?:string responseSchema?:object expiresAt?:string metadata?:object ${ATTR}`,
  ResumeEntry: "interruptId:string status:#ResumeStatus payload?:any!null metadata?:object",
  TokenUsage: `provider?:string model?:string ${all("uint", "inputTokens outputTokens totalTokens reasoningTokens cachedInputTokens cacheWriteInputTokens")}`,
  DeveloperMessage: `role:=developer content:string ${MESSAGE}`,
  SystemMessage: `role:=system content:string ${MESSAGE}`,
  AssistantMessage: `role:=assistant content?:string toolCalls?:ToolCall[] ${MESSAGE}`,
  UserMessage: `role:=user content:${PARTS} ${MESSAGE}`,
  ToolMessage: `id:string role:=tool content:${PARTS} toolCallId:string error?:string ${SECRET} metadata?:object ${ATTR}`,
  ActivityMessage: `id:string role:=activity activityType:string content:object metadata?:object ${ATTR}`,
  ReasoningMessage: `id:string role:=reasoning content:string ${SECRET} metadata?:object ${ATTR}`,
  ToolCall: `id:string type:=function function:FunctionCall ${SECRET} metadata?:object`,
  FunctionCall: "name:string arguments:string",
  TextPart: "type:=text id?:string text:string metadata?:any!null",
  ImagePart: `type:=image ${MEDIA}`,
  AudioPart: `type:=audio ${MEDIA}`,
  VideoPart: `type:=video ${MEDIA}`,
  DocumentPart: `type:=document ${MEDIA}`,
  DataSource: "type:=data value:string mimeType:string",
  UrlSource: "type:=url value:string mimeType?:string",
  FileSource: "type:=file value:string provider?:string mimeType?:string",
  RunAgentInput:
    "threadId:string runId:string messages:Message[] protocolVersion?:string parentRunId?:string state?:any!null tools?:Tool[] context?:Context[] forwardedProps?:any!null resume?:ResumeEntry[]",
  Tool: "name:string description:string parameters?:any!null metadata?:object",
  Context: "description:string value:string",
  AddOperation: "open op:=add path:pointer value:any",
  RemoveOperation: "open op:=remove path:pointer",
  ReplaceOperation: "open op:=replace path:pointer value:any",
  MoveOperation: "open op:=move from:pointer path:pointer",
  CopyOperation: "open op:=copy from:pointer path:pointer",
  TestOperation: "open op:=test path:pointer value:any",
  AgentCapabilities:
    "identity?:IdentityCapabilities transport?:TransportCapabilities tools?:ToolsCapabilities output?:OutputCapabilities state?:StateCapabilities multiAgent?:MultiAgentCapabilities reasoning?:ReasoningCapabilities multimodal?:MultimodalCapabilities execution?:ExecutionCapabilities humanInTheLoop?:HumanInTheLoopCapabilities custom?:object",
  IdentityCapabilities: `${all("string", "name type description version provider documentationUrl")} metadata?:object`,
  TransportCapabilities: all("boolean", "streaming websocket httpBinary pushNotifications resumable"),
  ToolsCapabilities: "supported?:boolean parallelCalls?:boolean clientProvided?:boolean items?:Tool[]",
  OutputCapabilities: "structuredOutput?:boolean supportedMimeTypes?:string[]",
  StateCapabilities: all("boolean", "snapshots deltas memory persistentState"),
  MultiAgentCapabilities: "supported?:boolean delegation?:boolean handoffs?:boolean subagents?:SubagentInfo[]",
  SubagentInfo: "name:string description?:string",
  ReasoningCapabilities: all("boolean", "supported streaming encrypted"),
  MultimodalCapabilities: "input?:MultimodalInputCapabilities output?:MultimodalOutputCapabilities",
  MultimodalInputCapabilities: all("boolean", "image audio video pdf file"),
  MultimodalOutputCapabilities: all("boolean", "image audio"),
  ExecutionCapabilities: "codeExecution?:boolean sandboxed?:boolean maxIterations?:uint maxExecutionTime?:uint",
  HumanInTheLoopCapabilities: all("boolean", "supported approvals interventions feedback interrupts approveWithEdits"),
};

const EVENTS = Object.keys(PINNED).filter((name) => name.endsWith("Event"));

/** Section 2.2 and the unions of 2.3 to 2.9, by hand. */
const PINNED_SETS: Readonly<Record<string, string>> = {
  TextMessageRole: "developer system assistant user",
  Role: "developer system assistant user tool activity reasoning",
  ReasoningEncryptedValueSubtype: "tool-call message",
  ResumeStatus: "resolved cancelled",
  Event: `type ${EVENTS.join(" ")}`,
  Message: `role ${["Developer", "System", "Assistant", "User", "Tool", "Activity", "Reasoning"].join("Message ")}Message`,
  ContentPart: "type TextPart ImagePart AudioPart VideoPart DocumentPart",
  PartSource: "type DataSource UrlSource FileSource",
  RunFinishedOutcome: "type RunFinishedSuccessOutcome RunFinishedInterruptOutcome RunFinishedCancelledOutcome",
  SubagentFinishedOutcome: "type SubagentFinishedSuccessOutcome SubagentFinishedSuspendedOutcome",
  JsonPatchOperation: "op AddOperation RemoveOperation ReplaceOperation MoveOperation CopyOperation TestOperation",
  JsonPatch: "JsonPatchOperation[]",
  JsonPointer: "pointer",
  Metadata: "object",
  State: "any",
  SubagentRunId: "string",
};

function words(unresolved: Shape): string {
  const shape = resolve(unresolved);
  switch (shape.kind) {
    case "const":
      return `=${shape.value}`;
    case "ref":
      return `${definitions[shape.to]?.kind === "enum" ? "#" : ""}${shape.to}`;
    case "list":
      return `${words(shape.of)}${shape.atLeast === undefined ? "[]" : `[${shape.atLeast}+]`}`;
    case "text-or":
      return `string|${words(shape.list)}`;
    default:
      return { json: "any", value: "any!null", open: "object" }[shape.kind as string] ?? shape.kind;
  }
}

function resolve(shape: Shape): Shape {
  const target = shape.kind === "ref" ? definitions[shape.to] : undefined;
  return target?.kind === "alias" ? resolve(target.shape) : shape;
}

/** Fields of an object, values of an enum, members of a union, or what an alias stands for, in the words of the table. */
function contentsOf(name: string): readonly string[] {
  const definition = definitions[name];
  if (definition?.kind === "enum") return definition.values;
  if (definition?.kind === "union") return [definition.by, ...definition.members];
  if (definition?.kind !== "object") return definition === undefined ? [] : [words(definition.shape)];
  const fields = Object.entries(definition.fields);
  return [
    ...(definition.open ? ["open"] : []),
    ...fields.map(([field, { shape, required }]) => `${field}${required ? "" : "?"}:${words(shape)}`),
  ];
}

describe("the definitions say what section 2 of the rules says", () => {
  it("has every definition of the rules, META and its own names for inline sets, and no other", () => {
    expect(Object.keys(definitions).toSorted()).toEqual(Object.keys({ ...PINNED, ...PINNED_SETS }).toSorted());
  });

  it.each(Object.entries({ ...PINNED, ...PINNED_SETS }))("%s holds what the rules say it holds", (name, pinned) => {
    expect(contentsOf(name).toSorted()).toEqual(pinned.split(" ").toSorted());
  });
});

type Fields = Readonly<Record<string, unknown>>;

/** Every name that is a field of something. */
const FIELDS = [...new Set(Object.values(PINNED).flatMap((fields) => fields.match(/\w+(?=\??:)/g) ?? []))];

/** What the rules say about a value in a position: right, malformed, unknown, or right but for what is taken out. */
type Verdict =
  | { readonly is: "right" }
  | { readonly is: "wrong"; readonly path: string; readonly expected: string; readonly received: string }
  | { readonly is: "unknown" }
  | { readonly is: "changed"; readonly to: unknown; readonly paths: readonly string[] };

type Variant = readonly [label: string, value: unknown, verdict: Verdict];

const MAX = Number.MAX_SAFE_INTEGER;
type Tried = readonly unknown[];
const right = (...tried: Tried): readonly Variant[] => tried.map((value) => [label(value), value, { is: "right" }]);
const unknown = (...tried: Tried): readonly Variant[] => tried.map((value) => [label(value), value, { is: "unknown" }]);
const wrong = (expected: string, ...tried: Tried): readonly Variant[] =>
  tried.map((value) => [label(value), value, { is: "wrong", path: "", expected, received: received(value) }]);

function label(value: unknown): string {
  const text = value === Infinity ? "1e400" : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function received(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return label(value);
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** What belongs in a position, in the words of the error. */
function expected(unresolved: Shape): string {
  const shape = resolve(unresolved);
  const target = shape.kind === "ref" ? definitions[shape.to] : undefined;
  if (target?.kind === "enum") return `one of ${target.values.join(", ")}`;
  if (shape.kind === "const") return `"${shape.value}"`;
  return EXPECTED[shape.kind];
}

const EXPECTED: Readonly<Record<Exclude<Shape["kind"], "const">, string>> = {
  string: "a string",
  boolean: "true or false",
  int: "an integer",
  uint: "an integer from 0",
  pointer: "a JSON Pointer",
  json: "a JSON value",
  value: "a JSON value other than null",
  open: "an object",
  ref: "an object",
  list: "a list",
  "text-or": "a string or a list of content parts",
};

/** Every value worth trying in a position, and what the rules say about it there. */
function variants(unresolved: Shape): readonly Variant[] {
  const shape = resolve(unresolved);
  const no = (...tried: Tried): readonly Variant[] => wrong(expected(shape), ...tried);
  switch (shape.kind) {
    case "string":
      return [...right("", "some text", "\u2028\u0000😀"), ...no(null, 7, true, [], {}, ["text"])];
    case "boolean":
      return [...right(true, false), ...no(null, 0, "true", [], {})];
    case "int":
      return [...right(0, -1, MAX, -MAX), ...no(null, "1", true, [], {}, 1.5, MAX + 1, -MAX - 1, Infinity)];
    case "uint":
      return [...right(0, 1, MAX), ...no(null, "1", true, [], {}, 0.5, -1, MAX + 1, Infinity)];
    case "pointer":
      return [
        ...right("", "/", "//", "/a/b", "/~0~1", "/-", "/ü\n"),
        ...no(null, 7, true, [], {}, "a", "a/b", "~", "/~", "/~2", "/a/b~", "#/a", " /a"),
      ];
    case "json":
      return right(null, 0, "", false, [], {}, { nested: [null] });
    case "value":
      return [...right(0, "", false, [], {}, { nested: null }, [null]), ...no(null)];
    case "open":
      return [...right({}, { any: null, nested: { deep: [null] } }), ...no(null, 7, "text", true, [])];
    case "const":
      return [...right(shape.value), ...no(null, 7, true, [], {}, "", `${shape.value}s`, "toString")];
    case "list":
      return listVariants(shape.of, shape.atLeast ?? 0);
    case "text-or":
      return [...right("", "x"), ...no(null, 7, true, {}), ...variants(shape.list).filter(([, v]) => Array.isArray(v))];
    case "ref":
      return refVariants(shape.to);
  }
}

function listVariants(element: Shape, atLeast: number): readonly Variant[] {
  const good = sample(element);
  const empty: Verdict = { is: "wrong", path: "", expected: "a list of at least one", received: "an empty list" };
  const elements = variants(element).map(([, value, verdict]): Variant => {
    const list = [good, value, good];
    const name = `${label(value)} as second of three`;
    if (verdict.is === "wrong") return [name, list, { ...verdict, path: `/1${verdict.path}` }];
    if (verdict.is === "unknown") return [name, list, { is: "changed", to: [good, good], paths: ["/1"] }];
    if (verdict.is === "right") return [name, list, verdict];
    return [
      name,
      list,
      { is: "changed", to: [good, verdict.to, good], paths: verdict.paths.map((path) => `/1${path}`) },
    ];
  });
  return [
    ["[]", [], atLeast === 0 ? { is: "right" } : empty],
    ...wrong("a list", null, 7, "text", true, {}),
    ...elements,
  ];
}

function refVariants(name: string): readonly Variant[] {
  const definition = definitions[name];
  if (definition?.kind === "enum") {
    return [
      ...right(...definition.values),
      ...unknown("unheard-of", "", "toString", `${definition.values[0]} `),
      ...wrong(expected({ kind: "ref", to: name }), null, 7, true, [], {}),
    ];
  }
  const notObjects = wrong("an object", null, 7, "text", true, []);
  if (definition?.kind === "object") {
    const good = build(name, true);
    const verdict: Verdict = { is: "changed", to: good, paths: ["/unheardOf"] };
    const extra: Variant = ["one with an unknown key", { ...good, unheardOf: null }, verdict];
    return [...right(build(name, false), good), ...(definition.open ? [] : [extra]), ...notObjects];
  }
  if (definition?.kind !== "union") throw new Error(`${name} is not a definition`);
  const { by } = definition;
  const untagged = [undefined, null, 7, ["text"]].map((tag): Variant => {
    const verdict = { is: "wrong", path: `/${by}`, expected: "a string", received: received(tag) } as const;
    return [`one whose ${by} is ${received(tag)}`, { [by]: tag }, verdict];
  });
  return [
    ...right(...definition.members.map((member) => build(member, false))),
    ...unknown({ [by]: "unheard-of" }, { [by]: "toString" }, { [by]: "", id: 7, content: null }),
    ...untagged,
    ...notObjects,
  ];
}

/** A right value of a shape. */
function sample(unresolved: Shape): unknown {
  const shape = resolve(unresolved);
  if (shape.kind === "ref") {
    const definition = definitions[shape.to];
    if (definition?.kind === "enum") return definition.values[0];
    return build(definition?.kind === "union" ? (definition.members[0] ?? "") : shape.to, false);
  }
  return shape.kind === "list" ? [sample(shape.of)] : variants(shape).find(([, , { is }]) => is === "right")?.[1];
}

/** A right value of an object definition, bare or with every optional field. */
function build(name: string, full: boolean): Record<string, unknown> {
  const definition = definitions[name];
  if (definition?.kind !== "object") throw new Error(`${name} is not an object`);
  return Object.fromEntries(
    Object.entries(definition.fields).flatMap(([field, { shape, required }]) =>
      required || full ? [[field, sample(shape)]] : [],
    ),
  );
}

/** A place where values of a definition are judged: at the top, or in a list of something that holds them. */
interface Host {
  readonly name: string;
  readonly parse: (input: unknown) => Enforced<unknown>;
  readonly code: "event-invalid" | "input-invalid";
  /** The field of the union that chooses the definition. */
  readonly by?: string;
  /** Where the value is in a list, and the list's owner. */
  readonly list?: { readonly at: string; readonly wrap: (...values: readonly unknown[]) => Fields };
}

const parser = (name: string) => (input: unknown) => parseAs(name as Judgeable, input);
const top: Host = { name: "parseEvent", parse: parseEvent, code: "event-invalid", by: "type" };
const snapshot = (...messages: readonly unknown[]): Fields => ({ type: "MESSAGES_SNAPSHOT", messages });
const input = (...messages: readonly unknown[]): Fields => ({ threadId: "t", runId: "r", messages });

function hostsOf(name: string): readonly Host[] {
  if (name === "RunAgentInput") return [{ name: "parseRunInput", parse: parseRunInput, code: "input-invalid" }];
  const union = Object.entries(definitions).find(([, other]) => other.kind === "union" && other.members.includes(name));
  if (union?.[1].kind !== "union") return [{ name: "parseAs", parse: parser(name), code: "event-invalid" }];
  const [unionName, { by }] = union;
  if (unionName === "Event") return [top];
  if (unionName !== "Message") return [{ name: unionName, parse: parser(unionName), code: "event-invalid", by }];
  const list = { at: "/messages/0", wrap: snapshot };
  return [
    { ...top, name: "in MESSAGES_SNAPSHOT", by, list },
    { name: "in run input", parse: parseRunInput, code: "input-invalid", by, list: { ...list, wrap: input } },
  ];
}

const STRANGE = ["unheardOf", "a/b~c", "", "toString", "constructor", "hasOwnProperty", "__proto__"];

type Case = Readonly<{ title: string; host: Host; value: Fields; verdict: Verdict }>;

const VERDICTS = { right: "accepted", wrong: "refused", unknown: "dropped", changed: "stripped" };

function casesOf(name: string, host: Host): readonly Case[] {
  const definition = definitions[name];
  if (definition?.kind !== "object") return [];
  const { fields, open } = definition;
  const make = (what: string, value: Fields, verdict: Verdict): Case => {
    return { title: `${name} ${host.name}: ${what} is ${VERDICTS[verdict.is]}`, host, value, verdict };
  };
  const bare = build(name, false);
  const full = build(name, true);
  const foreign = FIELDS.filter((field) => !Object.hasOwn(fields, field));
  const strange = [...STRANGE.map((key) => [key]), foreign].map((keys) => {
    const paths = keys.map((key) => `/${key.replace("~", "~0").replace("/", "~1")}`);
    const value = { ...full, ...Object.fromEntries(keys.map((key) => [key, null])) };
    return make(`with ${label(keys)}`, value, open ? { is: "right" } : { is: "changed", to: full, paths });
  });
  const perField = Object.entries(fields).flatMap(([field, { shape, required }]) => {
    const { [field]: _, ...without } = full;
    const tag = field === host.by;
    const missing = { is: "wrong", path: `/${field}`, received: "nothing" } as const;
    const absent: Verdict = required ? { ...missing, expected: tag ? "a string" : expected(shape) } : { is: "right" };
    /** What a verdict on the field's value means for the object that has the field (R-PROC-10). */
    const around = (verdict: Verdict, value: unknown): Verdict => {
      const path = `/${field}`;
      if (verdict.is === "right") return verdict;
      if (verdict.is === "unknown") return required ? verdict : { is: "changed", to: without, paths: [path] };
      if (tag)
        return typeof value === "string"
          ? { is: "unknown" }
          : { ...missing, expected: "a string", received: received(value) };
      if (verdict.is === "wrong") return { ...verdict, path: path + verdict.path };
      return { is: "changed", to: { ...full, [field]: verdict.to }, paths: verdict.paths.map((inner) => path + inner) };
    };
    const values = variants(shape).map(([what, value, verdict]) =>
      make(`${field} = ${what}`, { ...full, [field]: value }, around(verdict, value)),
    );
    return [make(`${field} absent`, without, absent), ...values];
  });
  return [make("bare", bare, { is: "right" }), make("full", full, { is: "right" }), ...strange, ...perField];
}

const cases: readonly Case[] = Object.keys(definitions).flatMap((name) =>
  hostsOf(name).flatMap((host) => casesOf(name, host)),
);

/** What the enforcement made of a value, in one form for all verdicts. */
function observed(host: Host, whole: unknown): object {
  try {
    const { value, warnings } = host.parse(whole);
    return { same: value === whole, json: JSON.stringify(value), warned: warnings.map(({ path }) => path) };
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    return { code: error.code, ...error.details };
  }
}

/** What it has to make of it. */
function wanted(host: Host, whole: unknown, verdict: Verdict): object {
  const at = host.list?.at ?? "";
  const wrap = host.list?.wrap ?? ((only: unknown) => only);
  if (verdict.is === "wrong") {
    const { path, expected, received } = verdict;
    return { code: host.code, path: at + path, expected, received };
  }
  const left = verdict.is === "right" ? whole : verdict.is === "unknown" ? host.list?.wrap() : wrap(verdict.to);
  const paths = verdict.is === "right" ? [] : verdict.is === "unknown" ? [""] : verdict.paths;
  return { same: verdict.is === "right", json: JSON.stringify(left), warned: paths.map((path) => at + path) };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

describe("every field of every definition is judged as the rules say", () => {
  it("has at least 600 cases", () => expect(cases.length).toBeGreaterThanOrEqual(600));

  it.each(cases.map((one) => [one.title, one] as const))("%s", (_, { host, value, verdict }) => {
    const whole = deepFreeze(host.list === undefined ? value : host.list.wrap(value));
    expect(observed(host, whole)).toEqual(wanted(host, whole, verdict));
  });
});
