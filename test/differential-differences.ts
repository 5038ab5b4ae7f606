/**
 * Where we judge otherwise than `@ag-ui/core/schemas` 1.0.0 on purpose: one entry each, with the rule that asks for it.
 *
 * Their schemas are the strict structure of 1.0; the rules of processing (what is unknown is taken out, not refused)
 * are not in them. Whatever no entry here explains is a defect on one of the two sides. The mutations that bring the
 * differences out are at the end.
 */
import fc from "fast-check";

/** A value, and what it is judged as. */
export interface Subject {
  readonly as: "Event" | "RunAgentInput";
  readonly value: unknown;
}

/** One intended difference. */
export interface Difference {
  readonly id: string;
  /** A rule of ag-ui-rules.md, or a clause of PROTOCOL.md. */
  readonly rule: string;
  readonly why: string;
  /** Which way the two judgements part. */
  readonly explains: "only ours accepts" | "only theirs accepts" | "values differ";
  readonly applies: (subject: Subject) => boolean;
  /** Where values differ: their value, brought to ours. */
  readonly level?: (theirs: unknown, subject: Subject) => unknown;
  /** A subject that this difference alone explains. */
  readonly case: Subject;
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const objectsIn = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isObject) : []);
const isUnknown = (value: unknown, known: string): boolean =>
  typeof value === "string" && !known.split(" ").includes(value);

const event = (type: string, value: unknown): Fields | undefined =>
  isObject(value) && value.type === type ? value : undefined;

/** The run input, wherever it stands: as the subject itself, or as the echo on RUN_STARTED. */
function inputOf({ as, value }: Subject): Fields | undefined {
  const input = as === "RunAgentInput" ? value : event("RUN_STARTED", value)?.input;
  return isObject(input) ? input : undefined;
}

const messagesOf = (subject: Subject): readonly Fields[] =>
  objectsIn(
    inputOf(subject)?.messages ??
      (subject.as === "Event" ? event("MESSAGES_SNAPSHOT", subject.value)?.messages : undefined),
  );

function partsOf(subject: Subject): readonly Fields[] {
  const inMessages = messagesOf(subject)
    .filter(({ role }) => role === "user" || role === "tool")
    .flatMap(({ content }) => objectsIn(content));
  const result = subject.as === "Event" ? event("TOOL_CALL_RESULT", subject.value) : undefined;
  return [...inMessages, ...objectsIn(result?.content)];
}

const eventOf = ({ as, value }: Subject, ...types: readonly string[]): Fields | undefined =>
  as === "Event" && isObject(value) && types.includes(String(value.type)) ? value : undefined;

/** Everything that can carry an encrypted value, in a fixed order. */
function encryptedHolders(subject: Subject): readonly Fields[] {
  const messages = messagesOf(subject).filter(({ role }) => role !== "activity" && !isUnknown(role, ROLES));
  const calls = messages.filter(({ role }) => role === "assistant").flatMap(({ toolCalls }) => objectsIn(toolCalls));
  const own = eventOf(subject, "REASONING_ENCRYPTED_VALUE");
  return [...messages, ...calls, ...(own === undefined ? [] : [own])];
}

const ROLES = "developer system assistant user tool activity reasoning";
const EVENTS =
  "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TEXT_MESSAGE_CHUNK TOOL_CALL_START TOOL_CALL_ARGS " +
  "TOOL_CALL_END TOOL_CALL_CHUNK TOOL_CALL_RESULT STATE_SNAPSHOT STATE_DELTA MESSAGES_SNAPSHOT ACTIVITY_SNAPSHOT " +
  "ACTIVITY_DELTA RAW CUSTOM RUN_STARTED RUN_FINISHED RUN_ERROR STEP_STARTED STEP_FINISHED REASONING_START " +
  "REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT REASONING_MESSAGE_END REASONING_MESSAGE_CHUNK REASONING_END " +
  "REASONING_ENCRYPTED_VALUE SUBAGENT_STARTED SUBAGENT_FINISHED SUBAGENT_ERROR";

const anEvent = (value: Fields): Subject => ({ as: "Event", value });
const anInput = (value: Fields): Subject => ({
  as: "RunAgentInput",
  value: { threadId: "t", runId: "r", messages: [], tools: [], context: [], ...value },
});

/** Every intended difference. */
export const DIFFERENCES: readonly Difference[] = [
  {
    id: "unknown-event",
    rule: "R-PROC-08",
    why: "An event of unknown type is dropped with a warning; their union refuses it.",
    explains: "only ours accepts",
    applies: ({ as, value }) => as === "Event" && isObject(value) && isUnknown(value.type, `${EVENTS} META`),
    case: anEvent({ type: "THINKING_START", title: 7 }),
  },
  {
    id: "meta-event",
    rule: "PROTO-META-1",
    why: "META of seed 000 is our own extension; AG-UI 1.0 does not have it.",
    explains: "only ours accepts",
    applies: (subject) => eventOf(subject, "META") !== undefined,
    case: anEvent({ type: "META", metaType: "rating", payload: { stars: 5 } }),
  },
  {
    id: "unknown-list-member",
    rule: "R-PROC-10",
    why: "A message, content part or patch operation of unknown kind is taken out of its list, and the list kept.",
    explains: "only ours accepts",
    applies: (subject) =>
      messagesOf(subject).some(({ role }) => isUnknown(role, ROLES)) ||
      partsOf(subject).some(({ type }) => isUnknown(type, "text image audio video document")) ||
      [eventOf(subject, "STATE_DELTA")?.delta, eventOf(subject, "ACTIVITY_DELTA")?.patch]
        .flatMap(objectsIn)
        .some(({ op }) => isUnknown(op, "add remove replace move copy test")),
    case: anEvent({ type: "MESSAGES_SNAPSHOT", messages: [{ id: "m", role: "narrator", content: "Once." }] }),
  },
  {
    id: "unknown-source",
    rule: "R-IN-13",
    why: "A part whose required source is of unknown kind is taken out whole (R-PROC-10); the run lives.",
    explains: "only ours accepts",
    applies: (subject) =>
      partsOf(subject).some(({ source }) => isObject(source) && isUnknown(source.type, "data url file")),
    case: anInput({
      messages: [
        { id: "m", role: "user", content: [{ type: "image", source: { type: "torrent", value: "magnet:" } }] },
      ],
    }),
  },
  {
    id: "unknown-outcome",
    rule: "R-PROC-08",
    why: "An outcome of unknown type stands in an optional position: the field is taken out.",
    explains: "only ours accepts",
    applies: (subject) => {
      const { type, outcome } = eventOf(subject, "RUN_FINISHED", "SUBAGENT_FINISHED") ?? {};
      const known = type === "RUN_FINISHED" ? "success interrupt cancelled" : "success suspended";
      return isObject(outcome) && isUnknown(outcome.type, known);
    },
    case: anEvent({ type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "paused" } }),
  },
  {
    id: "unknown-text-role",
    rule: "R-PROC-12",
    why: "A closed set of strings is a union: an unknown role is stripped. Their schemas still treat it as fatal.",
    explains: "only ours accepts",
    applies: (subject) =>
      isUnknown(eventOf(subject, "TEXT_MESSAGE_START", "TEXT_MESSAGE_CHUNK")?.role, "developer system assistant user"),
    case: anEvent({ type: "TEXT_MESSAGE_START", messageId: "m", role: "tool" }),
  },
  {
    id: "unknown-subtype",
    rule: "R-REAS-13",
    why: "An unknown string in the required subtype removes the whole event.",
    explains: "only ours accepts",
    applies: (subject) => isUnknown(eventOf(subject, "REASONING_ENCRYPTED_VALUE")?.subtype, "tool-call message"),
    case: anEvent({ type: "REASONING_ENCRYPTED_VALUE", subtype: "step", entityId: "e", encryptedValue: "v" }),
  },
  {
    id: "unknown-resume-status",
    rule: "R-PROC-12",
    why: "An unknown status stands in a required position of a list element: the entry is taken out.",
    explains: "only ours accepts",
    applies: (subject) =>
      objectsIn(inputOf(subject)?.resume).some(({ status }) => isUnknown(status, "resolved cancelled")),
    case: anInput({ resume: [{ interruptId: "i", status: "rejected" }] }),
  },
  {
    id: "input-state-null",
    rule: "R-EVT-06",
    why: "Null never stands for absence: the schema of 1.1 refuses `state: null`, which their parser reads as absent.",
    explains: "only theirs accepts",
    applies: (subject) => inputOf(subject)?.state === null,
    case: anInput({ state: null }),
  },
  {
    id: "encrypted-value-type-malformed",
    rule: "R-PROC-02",
    why: "`encryptedValueType` of 1.1 is a known string here; to their 1.0 schemas it is any unknown key.",
    explains: "only theirs accepts",
    applies: (subject) =>
      encryptedHolders(subject).some(
        (holder) => Object.hasOwn(holder, "encryptedValueType") && typeof holder.encryptedValueType !== "string",
      ),
    case: anInput({ messages: [{ id: "m", role: "assistant", encryptedValueType: 7 }] }),
  },
  {
    id: "encrypted-value-type-kept",
    rule: "R-REAS-10",
    why: "`encryptedValueType` of 1.1 is kept and sent back; 1.0 does not describe it.",
    explains: "values differ",
    applies: (subject) => encryptedHolders(subject).some((holder) => Object.hasOwn(holder, "encryptedValueType")),
    level: (theirs, subject) => {
      const copy: unknown = structuredClone(theirs);
      const kept = encryptedHolders(subject);
      for (const [index, holder] of encryptedHolders({ as: subject.as, value: copy }).entries()) {
        const type = kept[index]?.encryptedValueType;
        if (type !== undefined) Object.assign(holder, { encryptedValueType: type });
      }
      return copy;
    },
    case: anInput({ messages: [{ id: "m", role: "reasoning", content: "", encryptedValueType: "vendor" }] }),
  },
  {
    id: "tools-and-context-absent",
    rule: "R-IN-14",
    why: "Absent means empty to whoever reads it; their parser writes the empty lists in, and we leave the input alone.",
    explains: "values differ",
    applies: (subject) => {
      const input = inputOf(subject);
      return input !== undefined && !(Object.hasOwn(input, "tools") && Object.hasOwn(input, "context"));
    },
    level: (theirs, subject) => {
      const copy: unknown = structuredClone(theirs);
      const filled = inputOf({ as: subject.as, value: copy }) ?? {};
      for (const key of ["tools", "context"]) {
        if (!Object.hasOwn(inputOf(subject) ?? {}, key)) Reflect.deleteProperty(filled, key);
      }
      return copy;
    },
    case: { as: "RunAgentInput", value: { threadId: "t", runId: "r", messages: [] } },
  },
];

/** A change to a JSON value: what is done, where, and with what. */
interface Mutation {
  readonly kind: "delete" | "null" | "replace" | "add" | "retag" | "swap" | "repeat";
  readonly at: number;
  readonly pick: number;
}

/** Values of an arbitrary, as they are or with up to three mutations at any depth. Only JSON goes in or comes out. */
export function arbitraryMutated(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const mutation: fc.Arbitrary<Mutation> = fc.record({
    kind: fc.constantFrom("delete", "null", "null", "replace", "replace", "add", "retag", "retag", "swap", "repeat"),
    at: fc.nat(10_000),
    pick: fc.nat(10_000),
  });
  return fc.tuple(values, fc.array(mutation, { maxLength: 3 })).map(([value, mutations]) => {
    const root: Slots = { value: structuredClone(value) };
    for (const each of mutations) {
      mutate(root, each);
      root.value ??= null;
    }
    return root.value;
  });
}

type Slots = Record<string, unknown>;

/** What a mutation puts in: wrong types, edges of right ones, and members known and unknown of every union. */
const REPLACEMENTS: readonly unknown[] = JSON.parse(`[
  null, true, false, 0, -1, 1.5, 9007199254740992, -9007199254740992, 1e21, "", "text", "unheard-of", "/a~2",
  [], {}, [null], ["text"], [{}], "assistant", "tool", "user", "message", "resolved", "success", "image", "data", "add",
  { "type": "unheard-of" }, { "role": "unheard-of" }, { "op": "unheard-of" }, { "type": "text", "text": "x" },
  { "type": "success" }, { "type": "interrupt", "interrupts": [] }, { "op": "remove", "path": "", "extra": 1 },
  { "id": "m", "role": "user", "content": "x" }, { "type": "image", "source": { "type": "unheard-of" } }
]`);
const words = (text: string): readonly string[] => text.split(" ");
const TAGS = words(
  "unheard-of toString success interrupt suspended data url text image user tool activity add move RAW",
);
const TAGGED = words("type role op status subtype");
const KEYS = [
  ...words("unheardOf toString constructor hasOwnProperty a/b~c name content type role encryptedValueType state"),
  ...words("subagentRunId metadata id input usage outcome encryptedValue interrupt"),
  "",
];

function mutate(root: Slots, { kind, at, pick }: Mutation): void {
  // Half of them stay near the top: deep down, most of a value is open JSON, where nothing is judged.
  const slots = slotsOf(root, at % 2 === 0 ? Infinity : 3);
  const [owner, key] = choose((kind === "retag" && tagsOf(root, pick)) || slots, at);
  const held = owner[key];
  if (kind === "delete" && Array.isArray(owner)) owner.splice(Number(key), 1);
  else if (kind === "delete") Reflect.deleteProperty(owner, key);
  if (kind === "null") owner[key] = null;
  if (kind === "replace") owner[key] = structuredClone(choose(REPLACEMENTS, pick));
  if (kind === "retag") owner[key] = choose(TAGS, pick);
  if (kind === "add" && isObject(held)) (held as Slots)[choose(KEYS, pick)] = structuredClone(choose(REPLACEMENTS, at));
  if (kind === "repeat" && Array.isArray(held)) held.push(structuredClone(held[0] ?? choose(REPLACEMENTS, pick)));
  if (kind === "swap") {
    const [other, otherKey] = choose(slots, pick);
    const copy = structuredClone(other[otherKey]);
    other[otherKey] = structuredClone(held);
    owner[key] = copy;
  }
}

/** The places that hold a tag, those inside the value rather than its own. */
function tagsOf(root: Slots, pick: number): ReturnType<typeof slotsOf> | undefined {
  const tags = slotsOf(root, Infinity).filter(([, key]) => TAGGED.includes(key));
  const inner = tags.filter(([owner]) => owner !== root.value);
  return inner.length > 0 && pick % 8 !== 0 ? inner : tags.length > 0 ? tags : undefined;
}

const choose = <T>(from: readonly T[], index: number): T => from[index % from.length] as T;

/** Every place in a tree that holds a value, down to a depth, the root's own first. */
function slotsOf(owner: Slots, depth: number): readonly (readonly [owner: Slots, key: string])[] {
  return Object.entries(owner).flatMap(([key, held]) => {
    const inside = depth > 1 && typeof held === "object" && held !== null ? slotsOf(held as Slots, depth - 1) : [];
    return [[owner, key] as const, ...inside];
  });
}
