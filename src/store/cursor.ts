/**
 * Cursors: `<logId>_<16-digit seq>`. Opaque to clients, sortable within one log, and useless in any other:
 * the log's id is minted with the log. A cursor is a place, not a key.
 */
import { HeddleError } from "../protocol/index.ts";
import type { ThreadInfo } from "./store.ts";

const CURSOR = /^([0-9a-z]{8,})_(\d{16})$/;

/** Mints the id of a new log: 12 characters out of 36. */
export function mintLogId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => (byte % 36).toString(36)).join("");
}

/** Writes a position as a cursor. */
export const formatCursor = (logId: string, seq: number): string => `${logId}_${String(seq).padStart(16, "0")}`;

/**
 * The seq that a cursor means in a log. Throws `cursor-invalid` where it means none, and `cursor-trimmed` where the
 * events after it are no longer all there.
 */
export function readCursor(
  cursor: string,
  { logId, tail, floor }: Pick<ThreadInfo, "logId" | "tail" | "floor">,
): number {
  const match = CURSOR.exec(cursor);
  if (match === null) throw refuse(cursor, "malformed", "This is not a cursor: take one from the id of an event.");
  if (match[1] !== logId) {
    throw refuse(cursor, "foreign", "The cursor belongs to another log: attach without one, from the beginning.");
  }
  const seq = Number(match[2]);
  if (seq > tail) throw refuse(cursor, "ahead", `The cursor is beyond the end of the log, which is at ${tail}.`);
  if (seq < floor) throw trimmed(seq, floor);
  return seq;
}

/** The error for who asks for events that retention has dropped. */
export function trimmed(afterSeq: number, floor: number): HeddleError<"cursor-trimmed"> {
  const message = `Events up to ${floor} were dropped by retention: attach without a cursor, or read the compacted runs.`;
  return new HeddleError("cursor-trimmed", message, { afterSeq, floor });
}

function refuse(cursor: string, reason: "malformed" | "foreign" | "ahead", message: string): HeddleError {
  const shown = cursor.length > 60 ? `${cursor.slice(0, 60)}…` : cursor;
  return new HeddleError("cursor-invalid", message, { cursor: shown, reason });
}
