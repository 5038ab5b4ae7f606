/** What is different between two texts, word by word. Long texts that have little in common are told as a whole. */
import { longestCommon } from "./json-changes.ts";

/** A stretch of text: in both, only in the second, or only in the first. */
export interface TextPart {
  /** Where it is. */
  readonly kind: "same" | "added" | "removed";
  /** The text. */
  readonly text: string;
}

const MAX_PAIRS = 250_000;

/** The parts of two texts, in order: without what was added they are the first, without what was removed the second. */
export function textChanges(before: string, after: string): readonly TextPart[] {
  if (before === after) return part("same", after);
  // What is streamed only grows, and may be long.
  if (after.startsWith(before)) return [...part("same", before), ...part("added", after.slice(before.length))];
  const old = wordsOf(before);
  const fresh = wordsOf(after);
  let head = 0;
  const shorter = Math.min(old.length, fresh.length);
  while (head < shorter && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++;
  return joined([
    ...part("same", fresh.slice(0, head).join("")),
    ...middle(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...part("same", fresh.slice(fresh.length - tail).join("")),
  ]);
}

const wordsOf = (text: string): readonly string[] => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

const part = (kind: TextPart["kind"], text: string): readonly TextPart[] => (text === "" ? [] : [{ kind, text }]);

function middle(old: readonly string[], fresh: readonly string[]): readonly TextPart[] {
  const common = old.length * fresh.length > MAX_PAIRS ? [] : longestCommon(old, fresh);
  const parts: TextPart[] = [];
  let from = 0;
  let to = 0;
  for (const [row, column] of [...common, [old.length, fresh.length] as const]) {
    parts.push(...part("removed", old.slice(from, row).join("")), ...part("added", fresh.slice(to, column).join("")));
    parts.push(...part("same", fresh[column] ?? ""));
    from = row + 1;
    to = column + 1;
  }
  return parts;
}

function joined(parts: readonly TextPart[]): readonly TextPart[] {
  const all: TextPart[] = [];
  for (const each of parts) {
    const last = all.at(-1);
    if (last?.kind === each.kind) all[all.length - 1] = { kind: each.kind, text: last.text + each.text };
    else all.push(each);
  }
  return all;
}
