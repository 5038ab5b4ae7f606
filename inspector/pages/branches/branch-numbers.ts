/** Two branches in numbers, from where they part. */
import type { RunSummary } from "heddle/client";
import type { RunFacts } from "../../runs/run-facts.ts";
import { tokensOf } from "./run-words.ts";

/** A stretch of a branch in numbers. */
export interface BranchNumbers {
  /** Runs. */
  readonly runs: number;
  /** Tokens that they spent. */
  readonly tokens: number;
  /** How long they took together. */
  readonly durationMs: number;
  /** Tools that they called. */
  readonly toolCalls: number;
}

/** Adds runs up. */
export function numbersOf(runs: readonly RunSummary[], facts: (runId: string) => RunFacts): BranchNumbers {
  const sum = (of: (run: RunSummary) => number): number => runs.reduce((total, run) => total + of(run), 0);
  return {
    runs: runs.length,
    tokens: sum(tokensOf),
    durationMs: sum(({ durationMs = 0 }) => durationMs),
    toolCalls: sum(({ runId }) => facts(runId).toolCalls),
  };
}
