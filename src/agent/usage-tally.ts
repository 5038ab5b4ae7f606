/**
 * Tokens that a run spends, one entry for each provider and model, as its terminal event reports them.
 *
 * A count that nobody gave stays absent: absent is not zero (R-LIFE-20). The total is input and output wherever both
 * are known (R-LIFE-19).
 */
import { runFinished } from "../protocol/index.ts";
import type { TokenUsage } from "../protocol/index.ts";

const COUNTS = [
  "inputTokens",
  "outputTokens",
  "totalTokens",
  "reasoningTokens",
  "cachedInputTokens",
  "cacheWriteInputTokens",
] as const;

type Entry = { -readonly [key in keyof TokenUsage]: TokenUsage[key] };

/** Adds up what model calls cost. */
export class UsageTally {
  readonly #entries = new Map<string, Entry>();

  /** Adds the cost of one call. Throws `event-invalid` where it is no usage. */
  add(usage: TokenUsage): void {
    const checked = runFinished({ threadId: "", runId: "", usage: [usage] }).usage?.[0] ?? {};
    const { provider, model } = checked;
    const key = JSON.stringify([provider ?? null, model ?? null]);
    const entry: Entry = this.#entries.get(key) ?? {
      ...(provider === undefined ? {} : { provider }),
      ...(model === undefined ? {} : { model }),
    };
    for (const count of COUNTS) {
      const value = checked[count];
      if (value !== undefined) entry[count] = (entry[count] ?? 0) + value;
    }
    const { inputTokens, outputTokens } = entry;
    if (inputTokens !== undefined && outputTokens !== undefined) entry.totalTokens = inputTokens + outputTokens;
    this.#entries.set(key, entry);
  }

  /** The member of a terminal event; nothing where nothing was spent. */
  report(): { readonly usage?: readonly TokenUsage[] } {
    return this.#entries.size === 0 ? {} : { usage: Array.from(this.#entries.values(), (entry) => ({ ...entry })) };
  }
}
