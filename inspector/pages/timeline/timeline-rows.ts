/** The rows of the timeline: what of the groups is open, as one list. Made anew whenever anything changed: 100,000 take a few ms. */
import type { Group } from "./timeline-group.ts";
import type { TimelineFilter } from "./timeline-filter.ts";
import type { TimelineIndex } from "./timeline-index.ts";

/** A row: a group, or an event by its place in the list. */
export type Row = Group | number;

/** How events are put together. */
export const GROUPINGS = { nested: "Nested", run: "By run", flat: "Flat list" } as const;

/** How events are put together. */
export type Grouping = keyof typeof GROUPINGS;

/** Whether a group is open: what was chosen, else runs, subagents and steps. */
export const isOpenIn = (chosen: ReadonlyMap<Group, boolean>, group: Group): boolean =>
  chosen.get(group) ?? (group.kind === "run" || group.kind === "subagent" || group.kind === "step");

/** How deep a row stands, from 1. */
export function levelOf(row: Row, index: TimelineIndex, grouping: Grouping): number {
  if (typeof row !== "number") return row.level;
  if (grouping === "flat") return 1;
  return grouping === "run" ? 2 : (index.owners[row]?.level ?? 0) + 1;
}

/** The rows. */
export function rowsOf(
  index: TimelineIndex,
  grouping: Grouping,
  chosen: ReadonlyMap<Group, boolean>,
  filter: TimelineFilter | undefined,
): readonly Row[] {
  const rows: Row[] = [];
  const isShown = (row: Row): boolean =>
    filter === undefined || (typeof row === "number" ? filter.has(row) : filter.hitsIn(row) > 0);
  const add = (items: readonly Row[]): void => {
    for (const item of items) {
      if (!isShown(item)) continue;
      rows.push(item);
      if (typeof item === "number" || !isOpenIn(chosen, item)) continue;
      add(grouping === "run" ? index.entriesOf(item.id) : item.items);
    }
  };
  if (grouping !== "flat") add(index.runs);
  else for (let place = 0; place < index.count; place++) if (isShown(place)) rows.push(place);
  return rows;
}
