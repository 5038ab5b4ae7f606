/** The tokens of one answer in AG-UI's terms: totals that include their parts, and nothing where nothing is known. */
import type { TokenUsage } from "../../../protocol/index.ts";

/** Whose tokens these are. */
export interface UsageLabels {
  /** The provider's label. */
  readonly provider: string;
  /** The model, as the provider names it. */
  readonly model: string | undefined;
}

/** Counts of a provider, `input` and `output` being totals. */
export interface TokenCounts {
  /** All tokens that were read. */
  readonly input?: number | undefined;
  /** All tokens that were written. */
  readonly output?: number | undefined;
  /** Of those written, the reasoning. */
  readonly reasoning?: number | undefined;
  /** Of those read, what came from a cache. */
  readonly cached?: number | undefined;
  /** Of those read, what went to a cache. */
  readonly cacheWrite?: number | undefined;
}

/** The usage with these counts; unknown ones are absent, never zero. */
export function tokenUsage({ provider, model }: UsageLabels, counts: TokenCounts = {}): TokenUsage {
  const { input, output, reasoning, cached, cacheWrite } = counts;
  return {
    provider,
    ...(model === undefined ? {} : { model }),
    ...(input === undefined ? {} : { inputTokens: input }),
    ...(output === undefined ? {} : { outputTokens: output }),
    ...(input === undefined || output === undefined ? {} : { totalTokens: input + output }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(cacheWrite === undefined ? {} : { cacheWriteInputTokens: cacheWrite }),
  };
}
