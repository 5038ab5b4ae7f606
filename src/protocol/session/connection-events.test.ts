import { describe, expect, it } from "vitest";
import { sessionEnded, sessionError, sessionStarted } from "./connection-events.ts";
import { decodeSessionEvent, encodeSessionEvent } from "./session-codec.ts";

const nowMs = Date.UTC(2026, 7, 1, 9, 30);
const timestamp = "2026-08-01T09:30:00.000Z";
const session = { sessionId: "s1", createdAt: timestamp, lastActivityAt: timestamp };

describe("connection events", () => {
  it("session-started names the session's id", () => {
    expect(sessionStarted({ session }, nowMs)).toEqual({
      type: "session-started",
      sessionId: "s1",
      timestamp,
      data: { session },
    });
  });

  it("session-ended says why, with the error where one ended it", () => {
    expect(sessionEnded("s1", undefined, nowMs)).toMatchObject({ sessionId: "s1", data: { reason: "completed" } });
    const error = { code: "SESSION_ERROR", message: "No." };
    expect(sessionEnded("s1", { reason: "error", error }, nowMs)).toEqual({
      type: "session-ended",
      sessionId: "s1",
      timestamp,
      data: { reason: "error", error },
    });
  });

  it("session-error form: it has type, sessionId, timestamp and data.error with code, message and isFatal", () => {
    const error = { code: "SESSION_ERROR", message: "Session-level error", isFatal: true };
    expect(sessionError("s1", error, nowMs)).toEqual({
      type: "session-error",
      sessionId: "s1",
      timestamp,
      data: { error },
    });
  });

  it("session-error 2: data.error.isFatal is true for a fatal error, and false for one that is not", () => {
    for (const isFatal of [true, false]) {
      expect(sessionError("s1", { code: "c", message: "m", isFatal }).data.error.isFatal).toBe(isFatal);
    }
  });

  it("all have a form that the codec accepts, at the time of the call", () => {
    const before = Date.now();
    const events = [
      sessionStarted({ session, isResumed: true }),
      sessionEnded("s1"),
      sessionError("s1", { code: "c", message: "m", isFatal: false, details: { path: "/type" } }),
    ];
    for (const event of events) {
      expect(decodeSessionEvent(encodeSessionEvent(event))).toEqual(event);
      expect(Date.parse(event.timestamp)).toBeGreaterThanOrEqual(before);
    }
  });
});
