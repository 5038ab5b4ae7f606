/**
 * Every failure as `{"error":{"code","message","details"}}`, with the status of its code.
 *
 * What is neither ours nor a fault of the request is told to whoever keeps the log, under a reference that the client
 * gets too; what happened it does not learn.
 */
import { HeddleError } from "../../protocol/index.ts";
import type { ErrorCode } from "../../protocol/index.ts";
import { BEARER_CHALLENGE } from "../auth/index.ts";
import { jsonAnswer } from "./answer.ts";
import type { PlainAnswer } from "./answer.ts";

/** Largest body that is read, in bytes. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** What clients are told to wait where trying again may help. */
const RETRY_AFTER_SECONDS = 1;

/** Told of a failure that is nobody's fault but ours, and of the reference that the client has for it. */
export type FaultReporter = (error: unknown, reference: string) => void;

/** Told of every refusal, by its code. */
export type RefusalCounter = (code: ErrorCode) => void;

/** The answer to a failure. */
export function errorAnswer(error: unknown, onFault: FaultReporter, onRefusal: RefusalCounter): PlainAnswer {
  const failure = error instanceof HeddleError ? error : faultOf(error);
  onRefusal(failure.code);
  if (failure.code === "internal-error") onFault(error, referenceOf(failure));
  return jsonAnswer(failure, failure.status, {
    ...(failure.code === "unauthenticated" && { "www-authenticate": BEARER_CHALLENGE }),
    ...(failure.retryable && { "retry-after": String(retryAfterSeconds(failure)) }),
  });
}

function retryAfterSeconds({ details }: HeddleError): number {
  const waitMs = "retryAfterMs" in details && typeof details.retryAfterMs === "number" ? details.retryAfterMs : 0;
  return Math.max(RETRY_AFTER_SECONDS, Math.ceil(waitMs / 1000));
}

/** A failure that we do not know, with a reference to find it by. */
export function faultOf(cause: unknown): HeddleError {
  const reference = crypto.randomUUID();
  const message = `The server failed: its log has the cause, under the reference ${reference}.`;
  return new HeddleError("internal-error", message, { reference }, { cause });
}

const referenceOf = ({ details }: HeddleError): string =>
  "reference" in details && typeof details.reference === "string" ? details.reference : "none";

/** Nothing lives at this path. */
export function unknownRoute(method: string, path: string): HeddleError {
  const message = `Nothing answers ${method} on this path: GET /openapi.json says what does.`;
  return new HeddleError("route-unknown", message, { method, path });
}

/** A body that is not of the type that is read, JSON mostly, or does not say so. */
export function wrongMediaType(received: string | undefined, expected = "application/json"): HeddleError {
  const what = expected === "application/json" ? "JSON" : "lines of JSON";
  const message = `The body has to be ${what}, and its content-type has to say so: ${expected}.`;
  const details = { expected, received: received ?? "none" };
  return new HeddleError("media-type-unsupported", message, details);
}

/** Throws where a body would have to be unpacked first. */
export function checkEncoding(encoding = "identity"): void {
  if (encoding === "identity") return;
  const details = { expected: "no content-encoding", received: encoding.slice(0, 60) };
  throw new HeddleError("media-type-unsupported", "The body is compressed: send it as it is.", details);
}

/** A body of more bytes than are read. */
export function bodyTooLarge(declared: number, allowed: number): HeddleError {
  const actual = declared > allowed ? declared : allowed + 1;
  const details = { limit: "body", allowed, actual };
  return new HeddleError("limit-exceeded", `The body is larger than ${allowed} bytes.`, details);
}

/** A body that ended before its end. */
export function bodyCut(cause: unknown): HeddleError {
  return new HeddleError(
    "request-invalid",
    "The body broke off before its end: send it again.",
    { reason: "body" },
    { cause },
  );
}

/** The server takes no more requests. */
export function serverClosing(): HeddleError {
  return new HeddleError("server-closing", "The server is shutting down: try again later.", {});
}
