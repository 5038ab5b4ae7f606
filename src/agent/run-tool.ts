/**
 * One call of a server tool, from its argument text to its result.
 *
 * Whatever goes wrong in the tool becomes a result: unknown names, arguments that do not fit, a timeout, a throw. Only
 * a run that is stopped, and an answer of a person that does not fit its question, end more than the call.
 */
import { HeddleError } from "../protocol/index.ts";
import type { ToolCall } from "../protocol/index.ts";
import type { PreparedCall, ServerTool, ToolContext } from "./define-tool.ts";
import { failedOutcome, outcomeOf } from "./tool-result.ts";
import type { ToolOutcome } from "./tool-result.ts";

/** The arguments of a call, read and judged. Rejects with `tool-arguments-invalid` where they do not fit. */
export function prepareTool(tool: ServerTool, argumentText: string): Promise<PreparedCall> {
  return tool.prepare(parseArguments(tool.name, argumentText));
}

/** Models send nothing at all where a tool takes nothing. */
function parseArguments(tool: string, text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "";
    const details = { tool, problems: [why] };
    throw new HeddleError("tool-arguments-invalid", `The arguments of ${tool} are not JSON: ${why}`, details, {
      cause,
    });
  }
}

/** Runs a call that was prepared, within the tool's time. */
export async function runTool(tool: ServerTool, prepared: PreparedCall, context: ToolContext): Promise<ToolOutcome> {
  const { name, timeoutMs } = tool;
  const late = new AbortController();
  const signal = AbortSignal.any([context.signal, late.signal]);
  const stopped = rejectionOf(signal);
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => late.abort(tooLate(name, timeoutMs)), timeoutMs);
  try {
    const work = prepared.run({ ...context, signal });
    work.catch(() => {});
    return outcomeOf(name, await Promise.race([work, stopped.promise]));
  } finally {
    clearTimeout(timer);
    stopped.cancel();
  }
}

/** The result in place of an error. Throws what is more than a failed call. */
export function failureOf(
  call: ToolCall,
  error: unknown,
  { signal, log }: Pick<ToolContext, "signal" | "log">,
): ToolOutcome {
  if (signal.aborted) throw signal.reason;
  const { name } = call.function;
  if (error instanceof HeddleError && error.code === "resume-invalid") throw error;
  log.warn(`The tool call ${call.id} of ${name} failed.`, { toolCallId: call.id, tool: name, error });
  if (error instanceof HeddleError && error.code.startsWith("tool-")) return failedOutcome(error.code, error.message);
  const why = error instanceof Error ? error.message : String(error);
  return failedOutcome("tool-failed", why === "" ? `The tool ${name} failed.` : why);
}

function tooLate(tool: string, timeoutMs: number): HeddleError {
  return new HeddleError("tool-timeout", `The tool ${tool} did not return within ${timeoutMs} ms.`, {
    tool,
    timeoutMs,
  });
}

/** A promise that rejects when the signal aborts, so that a tool which ignores the signal is not waited for. */
function rejectionOf(signal: AbortSignal): { readonly promise: Promise<never>; cancel(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return { promise, cancel: () => signal.removeEventListener("abort", onAbort) };
}
