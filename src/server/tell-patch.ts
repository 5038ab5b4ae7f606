/**
 * A patch as the log gets it where some view hides a part of the state.
 *
 * A view translates patches without the state. Two kinds cannot be translated so: those that move or copy a value into or
 * out of hiding, and those that do not apply, of which a part might. The state is at hand when an event comes, so such a
 * patch is told as what it comes to: the difference that it makes, in literal values, or nothing. It is no longer than the
 * state, however often the agent copied.
 */
import type { Event } from "../protocol/index.ts";
import { applyPatch, diff } from "../stream/index.ts";
import type { HiddenPaths } from "./hidden-paths.ts";

/** The event, its patch told as a difference where one of these views could not translate it. */
export function tellPatch(event: Event, document: unknown, views: readonly HiddenPaths[]): Event {
  if (event.type !== "STATE_DELTA") return event;
  const { delta } = event;
  const touched = views.filter((view) => view.isTouchedBy(delta));
  if (touched.length === 0) return event;
  const before = document === undefined ? {} : document;
  const patched = applyPatch(before, delta);
  if (!patched.ok) return { ...event, delta: [] };
  const isExact = touched.every((view) => delta.every((operation) => view.isExact(operation)));
  return isExact ? event : { ...event, delta: diff(before, patched.value) };
}
