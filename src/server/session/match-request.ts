/**
 * A request of a session as the input of a run: which of its messages the thread has already.
 *
 * Clients of the dialect send messages without ids: all of them, those of the user, or only what is new. What stands where
 * the thread has the same is the thread's (DESIGN 9, last row). The last message is what is asked now, so it is never one
 * that was answered: "yes" may be said twice. Who repeats no answers does not say either how much of them was seen.
 */
import type { Message, RunAgentInput } from "../../protocol/index.ts";
import { sessionInputToRunInput } from "../../protocol/session/index.ts";
import type { SessionRunInput } from "../../protocol/session/index.ts";
import { matchByPosition } from "../../stream/lineage/index.ts";
import type { LooseMessage } from "../../stream/lineage/index.ts";

/** A request as a run is started with. */
export interface MatchedRequest {
  /** The input of the run. */
  readonly input: RunAgentInput;
  /** Where new messages go that follow a shorter list. */
  readonly onStale: "fork" | "append";
}

/** What a request asks for in a thread that holds these messages. */
export function matchRequest(request: SessionRunInput, sessionId: string, known: readonly Message[]): MatchedRequest {
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
  const repeatsAnswers = posted.some(({ role }) => role === "assistant");
  return { input: { ...input, messages }, onStale: repeatsAnswers ? "fork" : "append" };
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
