/**
 * The messages of two branches beside each other, from where they part. What stands at the same place with the same role is a
 * pair, so what was said instead of what can be seen; each tells what of it the other does not say.
 */
import type { Message } from "heddle/protocol";
import { messageChanges } from "../../changes/message-changes.ts";
import type { MessageChange } from "../../changes/message-changes.ts";
import { textOf } from "../../runs/run-facts.ts";
import { textChanges } from "../../changes/text-changes.ts";
import { longestCommon } from "../../changes/json-changes.ts";

/** Texts that have less in common are not shown as changes of each other. */
const ALIKE = 0.4;
/** Branches that span more pairs are compared by place. */
const MAX_PAIRS = 4_000_000;

/** A row: a message of either branch, or of both. */
export interface MessagePair {
  /** Of the first branch. */
  readonly a?: MessageChange;
  /** Of the second. */
  readonly b?: MessageChange;
}

/** What a branch said beyond what both have in common. */
export const beyond = (shared: readonly Message[], all: readonly Message[]): readonly Message[] =>
  messageChanges(shared, all).flatMap(({ kind, message }) => (kind === "added" || kind === "changed" ? [message] : []));

/** Puts the messages of two branches beside each other, in order; each stands in exactly one row. */
export function pairMessages(a: readonly Message[], b: readonly Message[]): readonly MessagePair[] {
  const pairs: MessagePair[] = [];
  let left = 0;
  let right = 0;
  for (const [row, column] of [...commonRoles(roles(a), roles(b)), [a.length, b.length] as const]) {
    while (left < row) pairs.push(alone("a", a[left++]));
    while (right < column) pairs.push(alone("b", b[right++]));
    const [one, other] = [a[left++], b[right++]];
    if (one !== undefined && other !== undefined) pairs.push(pairOf(one, other));
  }
  return pairs;
}

/** Places of messages of the same role, in order; of very many, those that stand at the same place. */
function commonRoles(a: readonly string[], b: readonly string[]): readonly (readonly [number, number])[] {
  if (a.length * b.length <= MAX_PAIRS) return longestCommon(a, b);
  return a.flatMap((role, place) => (role === b[place] ? [[place, place] as const] : []));
}

const roles = (messages: readonly Message[]): readonly string[] => messages.map(({ role }) => role);

const alone = (side: "a" | "b", message: Message | undefined): MessagePair =>
  message === undefined ? {} : { [side]: { kind: "added", message } };

function pairOf(a: Message, b: Message): MessagePair {
  if (JSON.stringify(contentOf(a)) === JSON.stringify(contentOf(b))) {
    return { a: { kind: "same", message: a }, b: { kind: "same", message: b } };
  }
  const isAlike = alikeness(textOf(a), textOf(b)) >= ALIKE;
  return { a: { kind: "same", message: a }, b: { kind: "changed", message: b, ...(isAlike && { before: a }) } };
}

/** How much of two texts is the same, between 0 and 1. */
function alikeness(a: string, b: string): number {
  const same = textChanges(a, b).reduce((sum, { kind, text }) => sum + (kind === "same" ? text.trim().length : 0), 0);
  return same / Math.max(a.length, b.length, 1);
}

/** What is said, whatever it is called. */
const contentOf = (message: Message): unknown => [
  message.content,
  message.role === "assistant" ? message.toolCalls?.map((call) => call.function) : undefined,
];
