/**
 * An error as a line of the log has it: what it is, where it arose, and by which causes.
 *
 * The sentence of an error of ours about what somebody sent (its status is below 500) may quote that, so such a one is told by
 * its code, and by those details that never quote; the sentence itself is for whoever sent it. Whatever else an error carries
 * stays where it is: libraries keep requests there, with the headers that they were made with.
 */
import type { LogFields } from "../../agent/index.ts";
import { HeddleError } from "../../protocol/index.ts";

/** Details that are ours and not a caller's. */
const SAFE = ["path", "expected", "rule", "clause", "limit", "allowed", "actual", "tool"];

/** Most causes that are told. */
const MAX_CAUSES = 5;

/** What the log has of an error. */
export function loggedError(error: unknown): LogFields {
  if (!(error instanceof Error)) return entry({ name: typeof error, message: String(error) });
  if (error instanceof HeddleError && error.status < 500) {
    const safe = Object.entries(error.details).filter(([name]) => SAFE.includes(name));
    const { code } = error;
    const stack = `${code}${framesOf(error)}`;
    return entry({ name: error.name, message: code, code, stack, ...Object.fromEntries(safe) });
  }
  const code = "code" in error && typeof error.code === "string" ? { code: error.code } : {};
  return entry({ name: error.name, message: error.message, ...code, stack: stackOf(error, MAX_CAUSES) });
}

/** Loggers tell the type of an error by its constructor, and only where it has none by its name. */
const entry = (fields: LogFields): LogFields => Object.assign(Object.create(null), fields);

/** The stack without the sentence that stands before it. */
function framesOf({ stack = "" }: Error): string {
  const start = stack.indexOf("\n    at ");
  return start === -1 ? "" : stack.slice(start);
}

function stackOf(error: Error, causes: number): string {
  const { stack = error.message, cause } = error;
  return causes > 0 && cause instanceof Error ? `${stack}\ncaused by: ${stackOf(cause, causes - 1)}` : stack;
}
