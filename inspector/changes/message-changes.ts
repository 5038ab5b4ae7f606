/** What is different between two lists of messages: matched by id, in the order of the second, with what is gone in its old place. */
import type { Message } from "heddle/protocol";
import { sameJson } from "./json-changes.ts";

/** A message of either list. */
export interface MessageChange {
  /** What became of it. */
  readonly kind: "same" | "added" | "changed" | "removed";
  /** The message: as it is in the second list, or as it was where it is gone. */
  readonly message: Message;
  /** What it was, where it changed. */
  readonly before?: Message;
}

/** What became of each message. */
export function messageChanges(before: readonly Message[], after: readonly Message[]): readonly MessageChange[] {
  const old = new Map(before.map((message) => [message.id, message]));
  const kept = new Set(after.map(({ id }) => id));
  const goneBehind = new Map<string | undefined, Message[]>();
  let anchor: string | undefined;
  for (const message of before) {
    if (kept.has(message.id)) anchor = message.id;
    else goneBehind.set(anchor, [...(goneBehind.get(anchor) ?? []), message]);
  }
  const gone = (id: string | undefined): readonly MessageChange[] =>
    (goneBehind.get(id) ?? []).map((message) => ({ kind: "removed", message }));
  return [
    ...gone(undefined),
    ...after.flatMap((message) => [changeOf(old.get(message.id), message), ...gone(message.id)]),
  ];
}

function changeOf(before: Message | undefined, message: Message): MessageChange {
  if (before === undefined) return { kind: "added", message };
  return sameJson(before, message) ? { kind: "same", message } : { kind: "changed", message, before };
}
