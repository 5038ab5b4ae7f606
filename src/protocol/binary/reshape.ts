/**
 * Where the JSON form and the wire form of a value differ: message content, outcomes and patch operations.
 *
 * The wire splits `content` by its form over three slots, and flattens an outcome to its type and its lists. Going
 * out, what the form cannot say is refused. Coming in, several forms at once are refused, since each choice would lose
 * the rest; an unknown role or outcome is rebuilt as it was sent and judged later, with everything else (R-PB-11).
 */
import { invalid, wrongField } from "./failures.ts";
import { isObject } from "./json-value.ts";
import type { JsonObject } from "./json-value.ts";

/** The two ways between JSON and wire of one message; a way that is absent changes nothing. */
export interface Reshape {
  /** Turns the JSON form into the wire form. */
  readonly toWire?: (json: JsonObject) => JsonObject;
  /** Turns the wire form into the JSON form. */
  readonly fromWire?: (wire: JsonObject) => JsonObject;
}

type ContentForm = "text" | "parts" | "object" | "none";

interface RoleRule {
  readonly forms: readonly ContentForm[];
  readonly needs?: string;
}

const ROLES: ReadonlyMap<unknown, RoleRule> = new Map<unknown, RoleRule>([
  ["developer", { forms: ["text"] }],
  ["system", { forms: ["text"] }],
  ["assistant", { forms: ["text", "none"] }],
  ["user", { forms: ["text", "parts"] }],
  ["tool", { forms: ["text", "parts"], needs: "toolCallId" }],
  ["activity", { forms: ["object"], needs: "activityType" }],
  ["reasoning", { forms: ["text"] }],
]);
const ANY_ROLE: RoleRule = { forms: ["text", "parts", "object", "none"] };
const RESULT: RoleRule = { forms: ["text", "parts"] };

const FORM_NAMES = { text: "a string", parts: "a list of content parts", object: "an object", none: "absent" } as const;

function formOf(content: unknown): ContentForm | undefined {
  if (typeof content === "string") return "text";
  if (Array.isArray(content)) return "parts";
  if (isObject(content)) return "object";
  return content === undefined || content === null ? "none" : undefined;
}

/** Puts `content` into the slot of its form, and empties the other two whatever they held. */
function splitContent(owner: string, json: JsonObject, { forms, needs }: RoleRule): JsonObject {
  const form = formOf(json.content);
  if (form === undefined || !forms.includes(form)) {
    throw wrongField(owner, "content", forms.map((allowed) => FORM_NAMES[allowed]).join(" or "));
  }
  if (needs !== undefined && typeof json[needs] !== "string") throw wrongField(owner, needs, "a string");
  return {
    ...json,
    content: form === "text" ? json.content : undefined,
    contentParts: form === "parts" ? json.content : undefined,
    activityContent: form === "object" ? json.content : undefined,
  };
}

/** Puts the one filled slot back into `content`. */
function joinContent(wire: JsonObject, known: RoleRule | undefined): JsonObject {
  if (wire.contentParts === undefined && wire.activityContent === undefined) {
    if (known?.forms.includes("parts") && wire.content === undefined) wire.content = [];
    if (known?.forms.includes("object") && wire.content !== undefined) throw conflictingContent();
    return wire;
  }
  const { content, contentParts, activityContent, ...json } = wire;
  const held: ContentForm[] = [];
  if (content !== undefined) held.push("text");
  if (contentParts !== undefined) held.push("parts");
  if (activityContent !== undefined) held.push("object");
  const [form] = held;
  if (held.length > 1 || form === undefined || (known !== undefined && !known.forms.includes(form))) {
    throw conflictingContent();
  }
  json.content = contentParts ?? activityContent;
  return json;
}

function conflictingContent(): Error {
  return invalid("conflicting-content", "A message carries content in more than one form, or in one its role has not.");
}

/** Flattens an outcome to its type and the lists it holds. */
function flattenOutcome(owner: string, lists: readonly string[]): (json: JsonObject) => JsonObject {
  return (json) => {
    const { outcome } = json;
    const wire: JsonObject = { ...json, outcome: undefined };
    for (const list of lists) wire[list] = undefined;
    if (outcome === undefined || outcome === null) return wire;
    if (!isObject(outcome)) throw wrongField(owner, "outcome", "an object");
    if (typeof outcome.type !== "string" || outcome.type === "") throw wrongField(owner, "outcome.type", "a name");
    if (outcome.type === "interrupt" && lists.includes("interrupts") && !Array.isArray(outcome.interrupts)) {
      throw wrongField(owner, "outcome.interrupts", "a list");
    }
    wire.outcome = outcome.type;
    for (const list of lists) wire[list] = outcome[list];
    return wire;
  };
}

/** Rebuilds an outcome; lists that came without one stay where they are, for enforcement to strip. */
function gatherOutcome(lists: readonly string[]): (wire: JsonObject) => JsonObject {
  return (wire) => {
    const { outcome: type, ...json } = wire;
    if (type === undefined || type === "") return json;
    const outcome: JsonObject = { type };
    for (const list of lists) {
      if (json[list] !== undefined) outcome[list] = json[list];
      delete json[list];
    }
    if (type === "interrupt" && lists.includes("interrupts")) outcome.interrupts ??= [];
    json.outcome = outcome;
    return json;
  };
}

const OPERATION_NEEDS: ReadonlyMap<unknown, string> = new Map([
  ["add", "value"],
  ["replace", "value"],
  ["test", "value"],
  ["move", "from"],
  ["copy", "from"],
]);

/** Checks what an operation needs; a `from` that is only an extra member and no text has no slot. */
function patchOperationToWire(json: JsonObject): JsonObject {
  const needs = OPERATION_NEEDS.get(json.op);
  if (needs !== undefined && json[needs] === undefined) throw wrongField("JsonPatchOperation", needs, "there");
  return needs === "from" || typeof json.from === "string" ? json : { ...json, from: undefined };
}

const RUN_LISTS = ["interrupts", "pendingToolCallIds"];
const SUBAGENT_LISTS = ["interruptIds"];

/** Every message and event whose two forms differ. */
export const RESHAPES: Readonly<Record<string, Reshape>> = {
  Message: {
    toWire: (json) => splitContent("Message", json, ROLES.get(json.role) ?? ANY_ROLE),
    fromWire: (wire) => joinContent(wire, ROLES.get(wire.role)),
  },
  JsonPatchOperation: { toWire: patchOperationToWire },
  TOOL_CALL_RESULT: {
    toWire: (json) => splitContent("TOOL_CALL_RESULT", json, RESULT),
    fromWire: (wire) => joinContent(wire, RESULT),
  },
  RUN_FINISHED: { toWire: flattenOutcome("RUN_FINISHED", RUN_LISTS), fromWire: gatherOutcome(RUN_LISTS) },
  SUBAGENT_FINISHED: {
    toWire: flattenOutcome("SUBAGENT_FINISHED", SUBAGENT_LISTS),
    fromWire: gatherOutcome(SUBAGENT_LISTS),
  },
};
