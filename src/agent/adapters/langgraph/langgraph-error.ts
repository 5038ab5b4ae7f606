/**
 * What a graph throws, as an error of ours where its meaning is known.
 *
 * A node may throw anything, and most of it is the author's: that stays as it is, and fails the run as `agent-failed`.
 * Known are the graph's own limit of steps, and what the SDKs of model providers throw, which have a status.
 */
import { HeddleError } from "../../../protocol/index.ts";
import { isRecord } from "../provider/fields.ts";
import { modelErrorOf } from "../provider/model-error.ts";

/** The error to fail a run with. */
export function langGraphError(thrown: unknown): unknown {
  if (thrown instanceof HeddleError || !isRecord(thrown)) return thrown;
  if (thrown["lc_error_code"] === "GRAPH_RECURSION_LIMIT") {
    const message =
      "The graph took as many steps as it may, and was not done: raise `recursionLimit`, or end it sooner.";
    return new HeddleError("step-limit", message, {}, { cause: thrown });
  }
  if (typeof thrown["status"] !== "number" || !(thrown instanceof Error)) return thrown;
  return modelErrorOf({ provider: "langchain" }, thrown);
}
