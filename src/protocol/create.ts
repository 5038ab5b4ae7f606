/** What the generated factories are made of: an event that is built here is valid, or is refused. */
import { enforceOwn } from "./enforce.ts";
import type { Event, EventType } from "./generated/model.ts";

/**
 * Builds an event. Optional fields that are undefined or null are left out; a value that AG-UI does not allow,
 * or does not know, is refused with `event-invalid`.
 */
export function create<E extends Event>(type: EventType, fields: Omit<E, "type">): E {
  return enforceOwn({ type, ...fields }) as E;
}
