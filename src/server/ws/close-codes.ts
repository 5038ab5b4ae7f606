/**
 * Why a socket is closed, as the number that its peer gets. What must not be tried again is 4000 and the HTTP status of the
 * error; the few that should be have numbers of their own, which no status has.
 */
import { ERRORS } from "../../protocol/index.ts";
import type { HeddleError } from "../../protocol/index.ts";

/** Codes after which a client comes back, and goes on behind its cursors. */
export const CLOSE = {
  /** The server goes away. */
  goingAway: 4000,
  /** The token that the socket was opened with, or was last shown, has expired. */
  tokenExpired: 4001,
  /** The client does not take what it asked for. */
  tooSlow: 4008,
  /** The socket was open as long as one may be, or nothing was asked and nothing watched for too long. */
  aged: 4009,
} as const;

/** Longest reason that a close frame holds, in bytes. */
const MAX_REASON_BYTES = 123;

/** Close codes of WebSocket itself that a library gives for what we have a code for: a frame that is too large. */
const TOO_LARGE = 1009;

/** What a library would close with, as we say it. */
export const ourCloseCode = (code: number | undefined): number | undefined =>
  code === TOO_LARGE ? 4000 + ERRORS["limit-exceeded"].status : code;

/** The code for an error that ends a socket. */
export const closeCodeOf = (error: HeddleError): number => 4000 + error.status;

/** A reason that fits: its code, which is ASCII. */
export const closeReasonOf = ({ code }: HeddleError): string => code.slice(0, MAX_REASON_BYTES);
