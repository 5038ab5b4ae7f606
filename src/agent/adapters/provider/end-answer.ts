/**
 * How an answer ends, whatever the provider calls it: whole, cut, refused or paused.
 *
 * A cut answer is kept where it is text, and says that it was cut. One that holds nothing, or half a call, is a
 * failure: acting on it would be acting on what the model did not say. Refusals are failures with the reason.
 */
import type { AnswerWriter } from "./answer-writer.ts";
import { modelError } from "./model-error.ts";
import type { ErrorContext } from "./model-error.ts";

/** What a provider's stop reason means. */
export type StopKind = "whole" | "cut" | "refused" | "paused" | "failed";

/** Why a stream stopped. */
export interface Stop {
  /** What it means. */
  readonly kind: StopKind;
  /** The provider's word for it. */
  readonly reason: string;
  /** The provider's explanation, where it gives one. */
  readonly explanation?: string;
}

/** Closes the answer. Throws where it is no answer; what was said until then is in the writer. */
export function endAnswer(writer: AnswerWriter, { kind, reason, explanation }: Stop, context: ErrorContext): void {
  const why = explanation === undefined || explanation === "" ? reason : `${reason}: ${explanation}`;
  if (kind !== "whole") writer.annotate({ stopReason: reason });
  const cutCalls = kind === "cut" ? writer.cutCalls() : [];
  writer.close(kind === "whole");
  if (kind === "refused") throw modelError(context, { type: reason, reason: why }, "model-request-refused");
  if (kind === "failed") throw modelError(context, { type: reason, reason: why }, "model-failed");
  if (kind === "cut" && (cutCalls.length > 0 || !writer.said)) {
    const where = cutCalls.length > 0 ? `inside a call of ${cutCalls.join(", ")}` : "before the model said anything";
    throw modelError(context, { type: reason, reason: `the answer was cut (${reason}) ${where}` }, "model-output-cut");
  }
  if (kind !== "whole") writer.stopped(reason);
}

/** The error of a stream that ended without saying that the answer is over. */
export function brokenOff(context: ErrorContext, events: number): Error {
  if (events === 0) return modelError(context, { reason: "the stream is empty" }, "model-stream-invalid");
  return modelError(context, { reason: "the stream ended before the answer did" }, "model-unreachable");
}
