/** What the parts of a message, thought or call come to. */
import { deltaOf } from "./settle-group.ts";
import type { Group } from "./timeline-group.ts";
import type { TimelineIndex } from "./timeline-index.ts";

const textAt = (index: TimelineIndex, item: Group | number): string => {
  const event = typeof item === "number" ? index.entries[item]?.event : undefined;
  return event === undefined ? "" : (deltaOf(event) ?? "");
};

/** The whole text of a group. */
export const joinedText = (index: TimelineIndex, { items }: Group): string =>
  items.map((item) => textAt(index, item)).join("");

/** One part of a text, with what is before and behind it; undefined where the event is no part of one. */
export function partAt(
  index: TimelineIndex,
  { items }: Group,
  place: number,
): { readonly before: string; readonly delta: string; readonly after: string } | undefined {
  const event = index.entries[place]?.event;
  const delta = event === undefined ? undefined : deltaOf(event);
  if (delta === undefined) return undefined;
  const at = items.indexOf(place);
  const join = (part: readonly (Group | number)[]): string => part.map((item) => textAt(index, item)).join("");
  return { before: join(items.slice(0, at)), delta, after: join(items.slice(at + 1)) };
}
