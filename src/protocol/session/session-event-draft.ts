/**
 * A session event before it is stamped with the session's id and the time.
 *
 * The parts of the projection make drafts; the one place that knows session and clock makes events of them.
 */
import type { SessionEventOf, SessionEventType } from "./model.ts";

/** A session event without `sessionId` and `timestamp`. */
export type SessionEventDraft = {
  [T in SessionEventType]: Omit<SessionEventOf<T>, "sessionId" | "timestamp">;
}[SessionEventType];

/** The envelope's message, where there is one. */
export function inMessage(messageId: string | undefined): { readonly messageId?: string } {
  return messageId === undefined ? {} : { messageId };
}

/** The data's subagent, where there is one. */
export function inLane(subagentRunId: string | undefined): { readonly subagentRunId?: string } {
  return subagentRunId === undefined ? {} : { subagentRunId };
}
