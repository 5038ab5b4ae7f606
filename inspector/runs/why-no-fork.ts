/** Whether a conversation can go on from the end of a run with another message. */
import type { RunSummary } from "heddle/client";

/** Why it cannot; undefined where it can. */
export function whyNoFork({ status }: Pick<RunSummary, "status">): string | undefined {
  if (status === "running" || status === "queued") return "The run has not ended yet.";
  return status === "interrupted" ? "The run waits for an answer. Give it in Talk, or fork another run." : undefined;
}
