/**
 * What an agent is given of a long conversation: all of it, unless a limit or a strategy is set. The log keeps everything
 * either way.
 *
 * A limit keeps instructions and the newest messages. It begins with a message of the user where it can: a model refuses
 * results of calls that it does not see.
 */
import type { Message } from "../protocol/index.ts";
import { isInstruction } from "./mark-instructions.ts";

/** Most messages, or a strategy of one's own. */
export type HistoryRule = number | ((messages: readonly Message[]) => readonly Message[]);

/** The messages that an agent is given. */
export function shortenHistory(messages: readonly Message[], rule: HistoryRule = Infinity): readonly Message[] {
  if (typeof rule === "function") return rule(messages);
  const said = messages.filter(({ role }) => !isInstruction(role));
  if (said.length <= rule) return messages;
  const newest = said.slice(said.length - rule);
  const begin = newest.findIndex(({ role }) => role === "user");
  const kept = new Set(begin === -1 ? newest.slice(-1) : newest.slice(begin));
  return messages.filter((message) => isInstruction(message.role) || kept.has(message));
}
