/** What the server itself has to say about an event: in our part of its metadata, beside what is there already. */
import { METADATA_KEY } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";

/** The event with more in our part of its metadata. */
export function withOurs<E extends Event>(event: E, ours: Readonly<Record<string, unknown>>): E {
  const { metadata = {} } = event;
  const kept: unknown = metadata[METADATA_KEY];
  const all = typeof kept === "object" && kept !== null ? { ...kept, ...ours } : ours;
  return { ...event, metadata: { ...metadata, [METADATA_KEY]: all } };
}
