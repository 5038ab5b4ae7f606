/**
 * JSON Patch, RFC 6902: all operations or none, and never a change to what was handed in.
 *
 * The result shares every subtree that the patch does not touch. Containers on a touched path are copied, each once a
 * patch: the draft remembers which ones it made. What it made hangs below what it made, always, so a container that is
 * not the draft's own holds none that is. Values come in by reference; a later operation on one meets a copy.
 * `__proto__` is refused as a token, whether or not a document has such a member.
 */
import type { JsonPatch, JsonPatchOperation } from "../protocol/index.ts";
import { pointerTokens } from "./json-pointer.ts";
import { type Container, type JsonObject, isContainer, isIndex, jsonEqual, memberOf } from "./json-value.ts";

/** Why an operation does not apply, by the reason's name, in one sentence each. */
export const PATCH_FAILURES = {
  "op-unknown": "The operation is none of those that RFC 6902 defines.",
  "value-missing": "The operation needs a value and has none.",
  "pointer-invalid": "The pointer does not have the form that RFC 6901 asks for.",
  "key-refused": "The pointer goes through `__proto__`.",
  "parent-missing": "There is no object or list that could hold the target.",
  "target-missing": "There is no value at the pointer.",
  "index-invalid": "The token in a list is not an index: digits without a leading zero.",
  "index-out-of-range": "The index is beyond the end of the list.",
  "move-into-itself": "A value cannot be moved into one of its own members.",
  "test-failed": "The value at the pointer is not the one that the test asks for.",
} as const;

/** Why an operation does not apply, a key of `PATCH_FAILURES`. */
export type PatchFailure = keyof typeof PATCH_FAILURES;

/** The operation that does not apply, and why. */
export interface PatchProblem {
  /** Place of the operation in the patch, from 0. */
  readonly index: number;
  /** Name of the operation. */
  readonly op: string;
  /** The pointer at fault: the operation's `path`, or its `from` when that is what does not hold. */
  readonly path: string;
  /** Why it does not apply. */
  readonly reason: PatchFailure;
}

/** A patch that applied. */
export interface PatchApplied {
  /** It applied. */
  readonly ok: true;
  /** The new document; the old one when nothing changed. */
  readonly value: unknown;
}

/** A patch that did not apply; the document stands as it was. */
export interface PatchRefused {
  /** It did not apply. */
  readonly ok: false;
  /** What stopped it. */
  readonly problem: PatchProblem;
}

/** What became of a patch. */
export type PatchResult = PatchApplied | PatchRefused;

/** A document in the making. */
interface Draft {
  /** Holds the document under the empty key, the first token of every pointer. */
  readonly holder: JsonObject;
  /** Containers that this patch made and that stand in one place: it may change them. */
  readonly own: Set<Container>;
  /** The pointer that was looked at last. */
  pointer: string;
}

/** Where a pointer leads: the container, the key in it, and the value there, if any. */
interface Place {
  readonly container: Container;
  readonly key: string;
  readonly value: unknown;
}

/** Applies a patch; a document that is removed is null. */
export function applyPatch(document: unknown, patch: JsonPatch): PatchResult {
  const draft: Draft = { holder: { "": document }, own: new Set(), pointer: "" };
  for (const [index, operation] of patch.entries()) {
    const reason = applyOperation(draft, operation);
    if (reason !== undefined) {
      return { ok: false, problem: { index, op: String(operation?.op), path: draft.pointer, reason } };
    }
  }
  return { ok: true, value: draft.holder[""] };
}

function applyOperation(draft: Draft, operation: JsonPatchOperation): PatchFailure | undefined {
  draft.pointer = String(operation?.path);
  switch (operation?.op) {
    case "add":
      return add(draft, operation.path, operation.value);
    case "replace":
      return replace(draft, operation.path, operation.value);
    case "remove":
      return remove(draft, operation.path);
    case "copy":
      return copy(draft, operation.from, operation.path);
    case "move":
      return move(draft, operation.from, operation.path);
    case "test":
      return test(draft, operation.path, operation.value);
    default:
      return "op-unknown";
  }
}

function add(draft: Draft, path: string, value: unknown): PatchFailure | undefined {
  if (value === undefined) return "value-missing";
  const place = find(draft, path, true);
  if (typeof place === "string") return place;
  const { container, key } = place;
  if (!Array.isArray(container)) {
    container[key] = value;
    return undefined;
  }
  if (key !== "-" && !isIndex(key)) return "index-invalid";
  const index = key === "-" ? container.length : Number(key);
  if (index > container.length) return "index-out-of-range";
  container.splice(index, 0, value);
  return undefined;
}

function replace(draft: Draft, path: string, value: unknown): PatchFailure | undefined {
  if (value === undefined) return "value-missing";
  const place = findValue(draft, path, true);
  if (typeof place === "string") return place;
  setMember(place.container, place.key, value);
  return undefined;
}

function remove(draft: Draft, path: string): PatchFailure | undefined {
  // RFC 6902 does not say what is left without a document; the published client says null.
  if (path === "") return replace(draft, path, null);
  const place = findValue(draft, path, true);
  if (typeof place === "string") return place;
  const { container, key } = place;
  if (Array.isArray(container)) container.splice(Number(key), 1);
  else delete container[key];
  return undefined;
}

function copy(draft: Draft, from: string, path: string): PatchFailure | undefined {
  const place = findValue(draft, from, false);
  if (typeof place === "string") return place;
  disown(draft.own, place.value);
  return add(draft, path, place.value);
}

function move(draft: Draft, from: string, path: string): PatchFailure | undefined {
  const place = findValue(draft, from, false);
  if (typeof place === "string") return place;
  if (from === path) return undefined;
  draft.pointer = String(path);
  if (draft.pointer.startsWith(`${from}/`)) return "move-into-itself";
  return remove(draft, from) ?? add(draft, path, place.value);
}

function test(draft: Draft, path: string, value: unknown): PatchFailure | undefined {
  if (value === undefined) return "value-missing";
  const place = findValue(draft, path, false);
  if (typeof place === "string") return place;
  return jsonEqual(place.value, value) ? undefined : "test-failed";
}

/** Follows a pointer; `toChange` makes every container on the way the draft's own. */
function find(draft: Draft, pointer: string, toChange: boolean): Place | PatchFailure {
  draft.pointer = String(pointer);
  const tokens = typeof pointer === "string" ? pointerTokens(pointer) : undefined;
  const key = tokens?.pop();
  if (tokens === undefined || key === undefined) return "pointer-invalid";
  if (key === "__proto__" || tokens.includes("__proto__")) return "key-refused";
  let container: Container = draft.holder;
  for (const token of tokens) {
    const member = memberOf(container, token);
    if (!isContainer(member)) return isAskew(container, token) ? "index-invalid" : "parent-missing";
    container = toChange && !draft.own.has(member) ? ownMember(draft.own, container, token, member) : member;
  }
  return { container, key, value: memberOf(container, key) };
}

/** Follows a pointer to a value that must be there. */
function findValue(draft: Draft, pointer: string, toChange: boolean): Place | PatchFailure {
  const place = find(draft, pointer, toChange);
  if (typeof place === "string" || place.value !== undefined) return place;
  return isAskew(place.container, place.key) ? "index-invalid" : "target-missing";
}

/** Puts a copy of a member in its place, for the draft to change. */
function ownMember(own: Set<Container>, container: Container, key: string, member: Container): Container {
  const made = Array.isArray(member) ? member.slice() : { ...member };
  own.add(made);
  setMember(container, key, made);
  return made;
}

function setMember(container: Container, key: string, value: unknown): void {
  if (Array.isArray(container)) container[Number(key)] = value;
  else container[key] = value;
}

/** A value that stands in two places from now on may not be changed in place any more, nor what it holds. */
function disown(own: Set<Container>, value: unknown): void {
  const pending = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (isContainer(next) && own.delete(next)) for (const member of Object.values(next)) pending.push(member);
  }
}

/** Whether a token could never name an element of this list, however long. */
const isAskew = (container: Container, token: string): boolean =>
  Array.isArray(container) && token !== "-" && !isIndex(token);
