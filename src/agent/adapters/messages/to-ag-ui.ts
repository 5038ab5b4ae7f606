/** The parts of a message in AG-UI's words: a call, and what was spent. */
import type { TokenUsage, ToolCall } from "../../../protocol/index.ts";
import type { FunctionCall, Usage, UsageMessage } from "./stream-message.ts";

/** A function call as AG-UI's tool call. */
export function toAgUiToolCall({ callId, functionName, functionArgs }: FunctionCall): ToolCall {
  return { id: callId, type: "function", function: { name: functionName, arguments: functionArgs } };
}

/** AG-UI's name of each count. */
const COUNTS = {
  promptTokens: "inputTokens",
  completionTokens: "outputTokens",
  totalTokens: "totalTokens",
  reasoningTokens: "reasoningTokens",
  cachedPromptTokens: "cachedInputTokens",
} as const satisfies { readonly [K in keyof Usage]: keyof TokenUsage };

const COUNT_NAMES = Object.keys(COUNTS).filter((name): name is keyof typeof COUNTS => Object.hasOwn(COUNTS, name));

/**
 * Usage in AG-UI's form: one entry of the `usage` that RUN_FINISHED and RUN_ERROR carry, and that the session dialect
 * tells as `metadata-update`. The total is input and output, whatever a provider counts besides (R-LIFE-19).
 */
export function toAgUiMetadata({ usage, provider, model }: UsageMessage): TokenUsage {
  const counts: { -readonly [K in keyof TokenUsage]: TokenUsage[K] } = {};
  for (const name of COUNT_NAMES) {
    const count = usage[name];
    if (count !== undefined) counts[COUNTS[name]] = count;
  }
  const { inputTokens, outputTokens } = counts;
  if (inputTokens !== undefined && outputTokens !== undefined) counts.totalTokens = inputTokens + outputTokens;
  return {
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
    ...counts,
  };
}

/** Adds an entry: one per provider and model (R-LIFE-17). Usage of a model without a name stays apart. */
export function addUsage(entries: readonly TokenUsage[], entry: TokenUsage): readonly TokenUsage[] {
  const index = entries.findIndex(
    ({ provider, model }) => model !== undefined && model === entry.model && provider === entry.provider,
  );
  const before = entries[index];
  if (before === undefined) return [...entries, entry];
  const sum: { -readonly [K in keyof TokenUsage]: TokenUsage[K] } = { ...before };
  for (const name of Object.values(COUNTS)) {
    if (before[name] !== undefined || entry[name] !== undefined) sum[name] = (before[name] ?? 0) + (entry[name] ?? 0);
  }
  return entries.with(index, sum);
}
