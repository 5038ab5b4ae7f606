/** Numbers of runs, in words. */
import type { RunSummary } from "heddle/client";
import { formatCount } from "../../ui/format.ts";

/** Tokens that were spent: those in and out, where nobody added them up. */
export function tokensOf({ tokens }: Pick<RunSummary, "tokens">): number {
  const { totalTokens, inputTokens = 0, outputTokens = 0 } = tokens;
  return totalTokens ?? inputTokens + outputTokens;
}

/** A count and what is counted. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;
