/** What can go wrong with a server of the session dialect only; the rest is in the failures of remote agents. */
import { HeddleError } from "../../../protocol/index.ts";
import { address } from "../ag-ui/failures.ts";
import type { Remote } from "../ag-ui/failures.ts";

/** A message that is no event of the dialect. */
export function badEvent(remote: Remote, cause: HeddleError): HeddleError<"agent-response-invalid"> {
  const message = `The agent ${remote.name} sent what is no event of the session dialect: ${cause.message}`;
  const details = { url: address(remote), reason: cause.code, problem: cause.details };
  return new HeddleError("agent-response-invalid", message, details, { cause });
}

/** Bytes that WebSocket does not allow, or a message that is too large. */
export function badWire(remote: Remote, reason: string, cause: unknown): HeddleError<"agent-response-invalid"> {
  const message = `The agent ${remote.name} sent a WebSocket message that cannot be read (${reason}).`;
  return new HeddleError("agent-response-invalid", message, { url: address(remote), reason }, { cause });
}

/** A socket that was closed before the run had ended. */
export function closedEarly(remote: Remote, closeCode: number): HeddleError<"agent-stream-cut"> {
  const message = `The agent ${remote.name} closed its socket (${closeCode}) before its run had ended.`;
  return new HeddleError("agent-stream-cut", message, { url: address(remote), reason: "ended", closeCode });
}
