/**
 * Tokens spent, in the words of the session dialect.
 *
 * The seed names three counts. The others that AG-UI has are kept under names of the same kind, since the three
 * alone do not say what was cached or spent on reasoning.
 */
import type { TokenUsage } from "../generated/model.ts";
import type { SessionUsage } from "./model.ts";
import type { SessionEventDraft } from "./session-event-draft.ts";

/** What each count is called here. */
export const COUNTS = {
  inputTokens: "promptTokens",
  outputTokens: "completionTokens",
  totalTokens: "totalTokens",
  reasoningTokens: "reasoningTokens",
  cachedInputTokens: "cachedPromptTokens",
  cacheWriteInputTokens: "cacheWritePromptTokens",
} as const satisfies { readonly [K in keyof TokenUsage]: keyof SessionUsage };

/** The counts, by AG-UI's names. */
export const COUNT_NAMES = Object.keys(COUNTS).filter((name): name is keyof typeof COUNTS =>
  Object.hasOwn(COUNTS, name),
);

/** A `metadata-update` for one entry of usage. A count that is absent stays absent. */
export function usageToMetadata(entry: TokenUsage): SessionEventDraft {
  const usage: { -readonly [K in keyof SessionUsage]: SessionUsage[K] } = {};
  for (const name of COUNT_NAMES) {
    const count = entry[name];
    if (count !== undefined) usage[COUNTS[name]] = count;
  }
  const { provider, model } = entry;
  const labels = { ...(provider === undefined ? {} : { provider }), ...(model === undefined ? {} : { model }) };
  return { type: "metadata-update", data: { usage, ...labels } };
}
