/**
 * A request of a session as the input of a run: which of its messages the thread has already.
 *
 * Clients of the dialect send messages without ids, all of them or only what is new. What stands where the thread has the
 * same is the thread's (DESIGN 9, last row). The last message is what is asked now, so it is never one that was answered:
 * "yes" may be said twice.
 */
import type { Message, RunAgentInput } from "../../protocol/index.ts";
import { sessionInputToRunInput } from "../../protocol/session/index.ts";
import type { SessionRunInput } from "../../protocol/session/index.ts";
import { matchByPosition } from "../../stream/lineage/index.ts";
import type { LooseMessage } from "../../stream/lineage/index.ts";

/** The input of a run for a thread that holds these messages. */
export function matchRequest(
  request: SessionRunInput,
  sessionId: string,
  known: readonly Message[],
): RunAgentInput & { readonly messages: readonly Message[] } {
  const minted = new Set<string>();
  const newId = (): string => {
    const id = crypto.randomUUID();
    minted.add(id);
    return id;
  };
  const input = sessionInputToRunInput(request, { threadId: sessionId, runId: crypto.randomUUID(), newId });
  const posted = input.messages;
  const loose = posted.map((message): LooseMessage => (minted.has(message.id) ? withoutId(message) : message));
  const ownId = (index: number): string => posted[index]?.id ?? newId();
  const messages = matchByPosition(loose, known, ownId).map((message, index) =>
    index === posted.length - 1 && message.role === "user" && isAnswered(message.id, known)
      ? { ...message, id: ownId(index) }
      : message,
  );
  return { ...input, messages };
}

function withoutId(message: Message): LooseMessage {
  const { id: _id, ...rest } = message;
  return rest;
}

/** Whether anything was said after a message. */
function isAnswered(id: string, known: readonly Message[]): boolean {
  const at = known.findIndex((message) => message.id === id);
  return at !== -1 && known.slice(at + 1).some(({ role }) => role !== "activity");
}
