/**
 * A JSON Patch made to apply: each operation that does not fit the document is rewritten as what it plainly means, or
 * left out, and every such change is told.
 *
 * Parents that are missing are made (a list where the next token is `-` or `0`, else an object), `replace` of what is
 * not there adds it, an index beyond the end appends, and a key with a slash or a tilde that was spelt without, or with
 * double, escaping is found where exactly one reading applies. Nothing that holds a value is overwritten to make way
 * for a parent. A `test` that fails takes the whole patch with it, as it was meant to.
 */
import type { JsonPatch, JsonPatchOperation } from "../../protocol/index.ts";
import { applyPatch } from "../apply-patch.ts";
import { pointerTo, pointerTokens } from "../json-pointer.ts";
import { isContainer, isIndex, keysOf, memberOf } from "../json-value.ts";

/** What became of a patch. */
export interface RepairedPatch {
  /** The patch that applies: the same one where it applied already, empty where nothing is left. */
  readonly patch: JsonPatch;
  /** The document after it. */
  readonly value: unknown;
  /** What was changed or left out, in one sentence each. */
  readonly faults: readonly string[];
}

/** Makes a patch apply to a document. */
export function repairPatch(document: unknown, patch: JsonPatch): RepairedPatch {
  const whole = applyPatch(document, patch);
  if (whole.ok) return { patch, value: whole.value, faults: [] };
  const operations: JsonPatchOperation[] = [];
  const faults: string[] = [];
  let value = document;
  for (const operation of patch) {
    const fixed = fixOperation(value, operation);
    if (fixed.length === 0 && operation.op === "test") {
      return { patch: [], value: document, faults: [`The test of ${operation.path} fails: nothing of it is applied.`] };
    }
    const applied = applyPatch(value, fixed);
    const usable = applied.ok ? fixed : [];
    if (applied.ok) value = applied.value;
    if (usable.length !== 1 || usable[0] !== operation) faults.push(describe(operation, usable));
    operations.push(...usable);
  }
  return { patch: operations, value, faults };
}

function describe({ op, path }: JsonPatchOperation, fixed: JsonPatch): string {
  const now = fixed.map((each) => `${each.op} ${each.path || "(root)"}`).join(", ");
  return `${op} ${path || "(root)"} does not apply: ${now === "" ? "it is left out" : `it becomes ${now}`}.`;
}

const applies = (document: unknown, operation: JsonPatchOperation): boolean => applyPatch(document, [operation]).ok;

/** The operations in place of one; none where it means nothing here. */
function fixOperation(document: unknown, operation: JsonPatchOperation): JsonPatch {
  if (applies(document, operation)) return [operation];
  if (operation.op === "move" || operation.op === "copy") return fixTransfer(document, operation);
  const read = readings(document, operation.path, operation.op !== "add")
    .map((path): JsonPatchOperation => ({ ...operation, path }))
    .filter((each) => applies(document, each));
  if (read.length > 0) return read.length === 1 ? read : [];
  return operation.op === "add" || operation.op === "replace" ? build(document, operation) : [];
}

type Transfer = Extract<JsonPatchOperation, { readonly op: "move" | "copy" }>;

function fixTransfer(document: unknown, operation: Transfer): JsonPatch {
  const { op, path } = operation;
  const [from, ...others] = readings(document, operation.from, true);
  if (from === undefined || others.length > 0 || (op === "move" && path.startsWith(`${from}/`))) return [];
  const respelt: Transfer = { ...operation, from };
  if (applies(document, respelt)) return [respelt];
  const copied = applyPatch(document, [{ op: "copy", from, path: "" }]);
  const removal: JsonPatch = op === "move" ? [{ op: "remove", path: from }] : [];
  const removed = applyPatch(document, removal);
  if (!copied.ok || !removed.ok) return [];
  const added = fixOperation(removed.value, { op: "add", path, value: copied.value });
  return added.length === 0 ? [] : [...removal, ...added];
}

/** Ways to read a pointer, however its keys are escaped, that lead to a value, or at least to what could hold it. */
function readings(document: unknown, pointer: string, mustExist: boolean): readonly string[] {
  const found = new Set<string>();
  const pending = [{ node: document, rest: pointer, path: "" }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { node, rest, path } = next;
    if (rest === "") found.add(path);
    else if (isContainer(node)) {
      const spelling = /^\/[^/]*/.exec(rest)?.[0] ?? "";
      const token = pointerTokens(spelling)?.[1];
      const left = rest.slice(spelling.length);
      const member = token === undefined ? undefined : memberOf(node, token);
      if (token !== undefined && (member !== undefined || (!mustExist && left === ""))) {
        pending.push({ node: member, rest: left, path: pointerTo(path, token) });
      }
      if (Array.isArray(node)) continue;
      for (const key of keysOf(node).filter((each) => /[/~]/.test(each))) {
        for (const wrong of [`/${key}`, pointerTo("", pointerTo("", key).slice(1))]) {
          if (!`${rest}/`.startsWith(`${wrong}/`)) continue;
          pending.push({ node: node[key], rest: rest.slice(wrong.length), path: pointerTo(path, key) });
        }
      }
    }
  }
  // A pointer that leads somewhere as it stands means what it says.
  return found.has(pointer) ? [pointer] : [...found];
}

/** Adds a value with the parents that it lacks. */
function build(
  document: unknown,
  operation: Extract<JsonPatchOperation, { readonly op: "add" | "replace" }>,
): JsonPatch {
  const [, ...tokens] = pointerTokens(operation.path) ?? [];
  if (tokens.includes("__proto__")) return [];
  let node = document;
  let path = "";
  for (const [depth, token] of tokens.entries()) {
    if (!isContainer(node)) break;
    const member = memberOf(node, token);
    const rest = tokens.slice(depth + 1);
    if (Array.isArray(node) && member === undefined) {
      if (token !== "-" && !isIndex(token)) return [];
      return [{ ...operation, op: "add", path: `${path}/-`, value: nest(rest, operation.value) }];
    }
    path = pointerTo(path, token);
    if (member === undefined) return [{ ...operation, op: "add", path, value: nest(rest, operation.value) }];
    node = member;
    if (node === null) return [{ ...operation, op: "replace", path, value: nest(rest, operation.value) }];
  }
  return node === null ? [{ ...operation, op: "replace", path, value: nest(tokens, operation.value) }] : [];
}

/** A value inside the objects and lists that lead to it. */
function nest(tokens: readonly string[], value: unknown): unknown {
  return tokens.reduceRight<unknown>(
    (inner, token) => (token === "-" || token === "0" ? [inner] : { [token]: inner }),
    value,
  );
}
