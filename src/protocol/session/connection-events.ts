/**
 * The three events that no run gives: a connection makes them.
 *
 * They take milliseconds and write ISO 8601. What a connection has to keep: `session-started` comes first,
 * `session-ended` last, and right after a fatal `session-error`.
 */
import type { SessionEndedData, SessionErrorInfo, SessionEventOf, SessionStartedData } from "./model.ts";

/** Says that the connection stands, and which session it is for. */
export function sessionStarted(
  data: SessionStartedData,
  nowMs: number = Date.now(),
): SessionEventOf<"session-started"> {
  const { sessionId } = data.session;
  return { type: "session-started", sessionId, timestamp: new Date(nowMs).toISOString(), data };
}

/** Says that nothing follows, and why. */
export function sessionEnded(
  sessionId: string,
  data: SessionEndedData = { reason: "completed" },
  nowMs: number = Date.now(),
): SessionEventOf<"session-ended"> {
  return { type: "session-ended", sessionId, timestamp: new Date(nowMs).toISOString(), data };
}

/** Says that something failed outside of a run. The session goes on unless `isFatal`. */
export function sessionError(
  sessionId: string,
  error: SessionErrorInfo,
  nowMs: number = Date.now(),
): SessionEventOf<"session-error"> {
  return { type: "session-error", sessionId, timestamp: new Date(nowMs).toISOString(), data: { error } };
}
