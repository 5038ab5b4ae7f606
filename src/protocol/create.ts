/** What the generated factories are made of: an event that is built here is valid, or is refused. */
import { enforceOwn } from "./enforce.ts";
import { HeddleError } from "./errors.ts";
import type { Event, EventType } from "./generated/model.ts";
import { isJson } from "./json-value.ts";

/**
 * Builds an event. Optional fields that are undefined or null are left out; a value that AG-UI does not allow,
 * or does not know, is refused with `event-invalid`.
 */
export function create<E extends Event>(type: EventType, fields: Omit<E, "type">): E {
  // First in the object, as readers expect it, and last to be set, so that no field can say otherwise.
  const event = enforceOwn(Object.assign({ type }, fields, { type }));
  if (!isJson(event)) {
    const expected = "values that JSON can carry: no NaN, function, symbol, bigint or class instance";
    throw new HeddleError("event-invalid", `Expected ${expected} in ${type}.`, {
      path: "",
      expected,
      received: "others",
    });
  }
  return event as E;
}
