/**
 * The JSON Patch that leads from one document to another, as short as a reader would write it.
 *
 * Objects are compared by key, lists by their longest common subsequence, so that an element put in front is one `add`.
 * Whatever would be longer, as JSON, than replacing its container becomes that replacement; so does what `applyPatch`
 * refuses to name (`__proto__`). Values of `after` go into the patch by reference.
 */
import type { JsonPatch, JsonPatchOperation } from "../protocol/index.ts";
import { pointerTo } from "./json-pointer.ts";
import { type Container, type JsonObject, isContainer, jsonEqual, keysOf, memberOf } from "./json-value.ts";

/** Two lists are aligned when their changed parts span at most this many pairs; else they are compared by place. */
const MAX_PAIRS = 1_000_000;
/** Below this depth a change replaces the whole value: what recurses must end before the stack does. */
const MAX_DEPTH = 200;

/** A patch in the making, with its length as JSON. */
interface Script {
  readonly operations: JsonPatchOperation[];
  size: number;
}

/** A patch with which `applyPatch` makes `after` of `before`; empty when they are equal. */
export function diff(before: unknown, after: unknown): JsonPatch {
  const script: Script = { operations: [], size: 0 };
  compare(script, before, after, "", 0);
  return script.operations;
}

/** Writes what makes `after` of `before`: the changes of the members, or the replacement if that is shorter. */
function compare(script: Script, before: unknown, after: unknown, path: string, depth: number): void {
  if (before === after) return;
  const { operations, size } = script;
  const count = operations.length;
  const limit = compareMembers(script, before, after, path, depth + 1)
    ? script.size - size
    : jsonEqual(before, after)
      ? 0
      : Infinity;
  const replacement: JsonPatchOperation = { op: "replace", path, value: jsonOf(after) };
  const replacementSize = sizeOf(replacement, limit);
  if (replacementSize >= limit) return;
  operations.length = count;
  script.size = size;
  write(script, replacement, replacementSize);
}

/** Writes the changes of the members; false when the change cannot be said that way. */
function compareMembers(script: Script, before: unknown, after: unknown, path: string, depth: number): boolean {
  if (depth > MAX_DEPTH || !isContainer(before) || !isContainer(after)) return false;
  if (Array.isArray(before)) return Array.isArray(after) && compareLists(script, before, after, path, depth);
  return !Array.isArray(after) && compareObjects(script, before, after, path, depth);
}

function compareObjects(script: Script, before: JsonObject, after: JsonObject, path: string, depth: number): boolean {
  if (!jsonEqual(memberOf(before, "__proto__"), memberOf(after, "__proto__"))) return false;
  for (const key of keysOf(before)) {
    const value = memberOf(after, key);
    if (value === before[key] || key === "__proto__") continue;
    const place = pointerTo(path, key);
    if (value === undefined) write(script, { op: "remove", path: place });
    else compare(script, before[key], value, place, depth);
  }
  for (const key of keysOf(after)) {
    if (memberOf(before, key) !== undefined) continue;
    write(script, { op: "add", path: pointerTo(path, key), value: after[key] });
  }
  return true;
}

/** Compares element by element, from left to right: what is left of an operation is as it will be. */
function compareLists(
  script: Script,
  before: readonly unknown[],
  after: readonly unknown[],
  path: string,
  depth: number,
): boolean {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && jsonEqual(before[head], after[head])) head++;
  let tail = 0;
  while (tail < shorter - head && jsonEqual(before.at(-1 - tail), after.at(-1 - tail))) tail++;
  const fromEnd = before.length - tail;
  const toEnd = after.length - tail;
  let from = head;
  let to = head;
  const kept = commonElements(before.slice(head, fromEnd), after.slice(head, toEnd));
  for (const [row, column] of [...kept, [fromEnd - head, toEnd - head] as const]) {
    const keptFrom = head + row;
    const keptTo = head + column;
    for (; from < keptFrom && to < keptTo; from++, to++) {
      compare(script, before[from], after[to], pointerTo(path, to), depth);
    }
    for (; from < keptFrom; from++) write(script, { op: "remove", path: pointerTo(path, to) });
    for (; to < keptTo; to++) write(script, { op: "add", path: pointerTo(path, to), value: jsonOf(after[to]) });
    from++;
    to++;
  }
  return true;
}

/** Places, before and after, of a longest common subsequence, in order; none when the lists are too long for one. */
function commonElements(before: readonly unknown[], after: readonly unknown[]): (readonly [number, number])[] {
  const kept: (readonly [number, number])[] = [];
  const pairs = before.length * after.length;
  // A single pair differs, or it would have been left out.
  if (pairs < 2 || pairs > MAX_PAIRS) return kept;
  const classes = new Map<string, number>();
  const classOf = (value: unknown): number => {
    const text = textOf(value, Infinity);
    const known = classes.get(text) ?? classes.size;
    classes.set(text, known);
    return known;
  };
  const rows = before.map(classOf);
  const columns = after.map(classOf);
  const width = columns.length + 1;
  // lengths[row * width + column]: how much the rests from there on have in common.
  const lengths = new Uint32Array((rows.length + 1) * width);
  const lengthAt = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = rows.length - 1; row >= 0; row--) {
    for (let column = columns.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        rows[row] === columns[column]
          ? lengthAt(row + 1, column + 1) + 1
          : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1));
    }
  }
  for (let row = 0, column = 0; row < rows.length && column < columns.length;) {
    if (rows[row] === columns[column]) kept.push([row++, column++]);
    else if (lengthAt(row + 1, column) >= lengthAt(row, column + 1)) row++;
    else column++;
  }
  return kept;
}

function write(script: Script, operation: JsonPatchOperation, size = sizeOf(operation, Infinity)): void {
  script.operations.push(operation);
  script.size += size;
}

/** Length of an operation as JSON, with its comma; at least the limit when it is not below that. */
const sizeOf = (operation: JsonPatchOperation, limit: number): number => textOf(operation, limit + 1).length - 1;

/** Undefined is null where a value must stand, as in `JSON.stringify` of a list. */
const jsonOf = (value: unknown): unknown => (value === undefined ? null : value);

/** A container that is being written as text. */
interface Level {
  readonly names: readonly string[] | undefined;
  readonly members: readonly unknown[];
  next: number;
}

function levelOf(container: Container): Level {
  if (Array.isArray(container)) return { names: undefined, members: container, next: 0 };
  const names = keysOf(container).toSorted();
  return { names, members: names.map((name) => container[name]), next: 0 };
}

/** JSON text of a list of this value, with sorted keys: the same for equal values. Cut off at the limit. */
function textOf(value: unknown, limit: number): string {
  const levels = [levelOf([value])];
  let text = "[";
  for (let level = levels[0]; level !== undefined && text.length < limit; level = levels.at(-1)) {
    const { names, members } = level;
    const index = level.next++;
    if (index === members.length) {
      text += names ? "}" : "]";
      levels.pop();
      continue;
    }
    const member = members[index];
    if (index > 0) text += ",";
    if (names) text += `${JSON.stringify(names[index])}:`;
    if (isContainer(member)) {
      text += Array.isArray(member) ? "[" : "{";
      levels.push(levelOf(member));
    } else text += JSON.stringify(jsonOf(member));
  }
  return text;
}
