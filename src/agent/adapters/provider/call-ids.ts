/** Which ids of calls a conversation holds: an answer must not use one again. */
import type { Message } from "../../../protocol/index.ts";

/** The ids of all calls, and of all calls that were answered. */
export function callIdsOf(messages: readonly Message[]): ReadonlySet<string> {
  return new Set(
    messages.flatMap((message) => {
      if (message.role === "tool") return [message.toolCallId];
      return message.role === "assistant" ? (message.toolCalls ?? []).map(({ id }) => id) : [];
    }),
  );
}
