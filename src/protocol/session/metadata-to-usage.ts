/** Tokens spent, from the words of the session dialect back into AG-UI's. A count that is absent stays absent. */
import type { TokenUsage } from "../generated/model.ts";
import type { MetadataUpdateData, SessionUsage } from "./model.ts";
import { COUNTS, COUNT_NAMES } from "./usage-to-metadata.ts";

/** One entry of usage. */
export function metadataToUsage(usage: SessionUsage, { provider, model }: MetadataUpdateData): TokenUsage {
  const entry: { -readonly [K in keyof TokenUsage]: TokenUsage[K] } = {};
  if (provider !== undefined) entry.provider = provider;
  if (model !== undefined) entry.model = model;
  for (const name of COUNT_NAMES) {
    const count = usage[COUNTS[name]];
    if (count !== undefined) entry[name] = count;
  }
  return entry;
}
