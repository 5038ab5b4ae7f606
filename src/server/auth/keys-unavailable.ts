/** The refusal of everybody while the keys that tokens are signed with cannot be had: not the caller's fault. */
import { HeddleError } from "../../protocol/index.ts";

/** The error for keys that cannot be had. */
export function keysUnavailable(cause: unknown): HeddleError {
  const message = "The keys that tokens are checked with cannot be fetched at the moment: try again later.";
  return new HeddleError("keys-unavailable", message, {}, { cause });
}
