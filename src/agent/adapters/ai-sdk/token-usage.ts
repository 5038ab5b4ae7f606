/** What a call of the SDK cost, by AG-UI's account: totals that include their parts, and nothing where nothing is known. */
import type { LanguageModelUsage } from "ai";
import type { TokenUsage } from "../../../protocol/index.ts";

/** The usage of one step; none where the provider said nothing. */
export function tokenUsage(usage: LanguageModelUsage, model: string | undefined): readonly TokenUsage[] {
  const { inputTokens, outputTokens, inputTokenDetails, outputTokenDetails } = usage;
  const counts = {
    inputTokens,
    outputTokens,
    reasoningTokens: outputTokenDetails?.reasoningTokens,
    cachedInputTokens: inputTokenDetails?.cacheReadTokens,
    cacheWriteInputTokens: inputTokenDetails?.cacheWriteTokens,
  };
  const known = Object.entries(counts).filter(([, count]) => Number.isSafeInteger(count) && Number(count) >= 0);
  if (known.length === 0) return [];
  return [{ ...(model === undefined ? {} : { model }), ...Object.fromEntries(known) }];
}
