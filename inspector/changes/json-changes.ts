/**
 * What is different between two JSON values, as a tree to look at: what was added, removed or replaced, and where. What is the
 * same is in it too, so both values can be read out of the tree. Lists are aligned by what they have in common, so an element
 * put in front is one addition. A patch for machines is made by `diff` of `heddle/stream`.
 */

/** A place in two values. `key` is its name in the container around; for elements, the place in the list that has it. */
export type Change =
  | { readonly kind: "same" | "added" | "removed"; readonly key: string; readonly value: unknown }
  | { readonly kind: "replaced"; readonly key: string; readonly before: unknown; readonly after: unknown }
  | { readonly kind: "inside"; readonly key: string; readonly isList: boolean; readonly children: readonly Change[] };

/** Lists whose changed parts span more pairs are compared by place. */
const MAX_PAIRS = 250_000;
/** Below this depth values are compared as wholes: what recurses must end before the stack does. */
const MAX_DEPTH = 100;

/** What is different between two values. */
export const changesBetween = (before: unknown, after: unknown): Change => compare("", before, after, 0);

/** How many places were added, removed or replaced. */
export function countChanges(change: Change): number {
  if (change.kind === "same") return 0;
  return change.kind === "inside" ? change.children.reduce((sum, child) => sum + countChanges(child), 0) : 1;
}

/** Whether two JSON values are equal, whatever the order of their keys. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  }
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson(Reflect.get(a, key), Reflect.get(b, key)))
  );
}

function compare(key: string, before: unknown, after: unknown, depth: number): Change {
  if (before === after) return { kind: "same", key, value: after };
  if (isObject(before) && isObject(after) && Array.isArray(before) === Array.isArray(after) && depth < MAX_DEPTH) {
    const isList = Array.isArray(before);
    const children =
      isList && Array.isArray(after)
        ? compareLists(before, after, depth + 1)
        : compareObjects(before, after, depth + 1);
    if (children.every(({ kind }) => kind === "same")) return { kind: "same", key, value: after };
    return { kind: "inside", key, isList, children };
  }
  if (sameJson(before, after)) return { kind: "same", key, value: after };
  return { kind: "replaced", key, before, after };
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

function compareObjects(before: object, after: object, depth: number): readonly Change[] {
  const old = Object.entries(before).map(([key, value]): Change =>
    Object.hasOwn(after, key) ? compare(key, value, Reflect.get(after, key), depth) : { kind: "removed", key, value },
  );
  const fresh = Object.entries(after).flatMap(([key, value]): Change[] =>
    Object.hasOwn(before, key) ? [] : [{ kind: "added", key, value }],
  );
  return [...old, ...fresh];
}

function compareLists(before: readonly unknown[], after: readonly unknown[], depth: number): readonly Change[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && sameJson(before[head], after[head])) head++;
  let tail = 0;
  while (tail < shorter - head && sameJson(before.at(-1 - tail), after.at(-1 - tail))) tail++;
  const fromEnd = before.length - tail;
  const toEnd = after.length - tail;
  const changes: Change[] = [];
  const keep = (to: number): void => void changes.push({ kind: "same", key: String(to), value: after[to] });
  for (let at = 0; at < head; at++) keep(at);
  let from = head;
  let to = head;
  const middle = commonPairs(before.slice(head, fromEnd), after.slice(head, toEnd));
  for (const [row, column] of [...middle, [fromEnd - head, toEnd - head] as const]) {
    const [untilFrom, untilTo] = [head + row, head + column];
    for (; from < untilFrom && to < untilTo; from++, to++) {
      changes.push(compare(String(to), before[from], after[to], depth));
    }
    for (; from < untilFrom; from++) changes.push({ kind: "removed", key: String(from), value: before[from] });
    for (; to < untilTo; to++) changes.push({ kind: "added", key: String(to), value: after[to] });
    if (untilTo < toEnd) keep(to);
    from++;
    to++;
  }
  for (let at = toEnd; at < after.length; at++) keep(at);
  return changes;
}

/** Places, before and after, of what two lists have in common, in order; none where they are too long to tell. */
function commonPairs(before: readonly unknown[], after: readonly unknown[]): readonly (readonly [number, number])[] {
  if (before.length * after.length > MAX_PAIRS) return [];
  return longestCommon(before.map(fingerprint), after.map(fingerprint));
}

const fingerprint = (value: unknown): string => JSON.stringify(value, sortedKeys) ?? "";

const sortedKeys = (_key: string, value: unknown): unknown =>
  isObject(value) && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/** Places, in both lists, of a longest common subsequence. Its cost is the product of their lengths. */
export function longestCommon(a: readonly string[], b: readonly string[]): readonly (readonly [number, number])[] {
  const width = b.length + 1;
  // lengths[row * width + column]: how much the rests from there on have in common.
  const lengths = new Uint32Array((a.length + 1) * width);
  const lengthAt = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = a.length - 1; row >= 0; row--) {
    for (let column = b.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        a[row] === b[column]
          ? lengthAt(row + 1, column + 1) + 1
          : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1));
    }
  }
  const pairs: (readonly [number, number])[] = [];
  for (let row = 0, column = 0; row < a.length && column < b.length;) {
    if (a[row] === b[column]) pairs.push([row++, column++]);
    else if (lengthAt(row + 1, column) >= lengthAt(row, column + 1)) row++;
    else column++;
  }
  return pairs;
}
