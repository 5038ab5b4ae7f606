/**
 * Cursors: `<logId>_<16-digit seq>`. Opaque to clients, sortable within one log, and useless in any other:
 * the log's id is minted with the log. A cursor is a place, not a key.
 */
import { HeddleError } from "../protocol/index.ts";

const CURSOR = /^([0-9a-z]{8,})_(\d{16})$/;

/** Mints the id of a new log: 12 characters out of 36. */
export function mintLogId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => (byte % 36).toString(36)).join("");
}

/** Writes a position as a cursor. */
export const formatCursor = (logId: string, seq: number): string => `${logId}_${String(seq).padStart(16, "0")}`;

/** The position that a cursor means in a log of this id and length. Throws `cursor-invalid` where it means none. */
export function readCursor(cursor: string, logId: string, length: number): number {
  const match = CURSOR.exec(cursor);
  if (match === null) throw refuse(cursor, "malformed", "This is not a cursor: take one from the id of an event.");
  if (match[1] !== logId) {
    throw refuse(cursor, "foreign", "The cursor belongs to another log: attach without one, from the beginning.");
  }
  const seq = Number(match[2]);
  if (seq > length) throw refuse(cursor, "ahead", `The cursor is beyond the end of the log, which is at ${length}.`);
  return seq;
}

function refuse(cursor: string, reason: "malformed" | "foreign" | "ahead", message: string): HeddleError {
  const shown = cursor.length > 60 ? `${cursor.slice(0, 60)}…` : cursor;
  return new HeddleError("cursor-invalid", message, { cursor: shown, reason });
}
