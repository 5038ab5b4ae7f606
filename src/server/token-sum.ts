/** Tokens added up: of the models of a run, or of the runs of a thread. */
import type { TokenUsage } from "../protocol/index.ts";

const COUNTS = [
  "inputTokens",
  "outputTokens",
  "totalTokens",
  "reasoningTokens",
  "cachedInputTokens",
  "cacheWriteInputTokens",
] as const;

/** Sums of tokens; what nobody said is not there. */
export type TokenSum = { readonly [C in (typeof COUNTS)[number]]?: number };

/** Adds usages up. A total that is not said is that of input and output. */
export function tokenSum(usages: readonly TokenUsage[]): TokenSum {
  const sums: { [C in (typeof COUNTS)[number]]?: number } = {};
  for (const usage of usages.map(withTotal)) {
    for (const count of COUNTS) {
      const tokens = usage[count];
      if (tokens !== undefined) sums[count] = (sums[count] ?? 0) + tokens;
    }
  }
  return sums;
}

function withTotal(usage: TokenUsage): TokenUsage {
  const { inputTokens, outputTokens, totalTokens } = usage;
  if (totalTokens !== undefined || (inputTokens === undefined && outputTokens === undefined)) return usage;
  return { ...usage, totalTokens: (inputTokens ?? 0) + (outputTokens ?? 0) };
}
