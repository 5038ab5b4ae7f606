/**
 * The one refusal of whoever does not say, or cannot prove, who they are. It is the same sentence whatever the check that
 * failed, so that nobody learns from it how near they came. The reason travels as the cause, which never leaves the
 * process, and holds nothing that the caller sent.
 */
import { HeddleError } from "../../protocol/index.ts";

/** Value of the header `WWW-Authenticate`, which HTTP asks for in every answer of status 401. */
export const BEARER_CHALLENGE = "Bearer";

const MESSAGE =
  "This server asks who you are, and the request has no answer that holds: " +
  "send a valid token, that has not expired, in the header 'Authorization: Bearer <token>'.";

/** The refusal. `reason` is for whoever keeps the log, and must hold nothing of what was sent. */
export function unauthenticated(reason: string): HeddleError<"unauthenticated"> {
  return new HeddleError("unauthenticated", MESSAGE, {}, { cause: new Error(reason) });
}
