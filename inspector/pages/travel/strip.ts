/** A long row of events in as many columns as there is room for: what each column is about, and where runs begin. */
import { KINDS, kindOf } from "../../log/event-kinds.ts";
import type { Kind } from "../../log/event-kinds.ts";
import type { LogEntry } from "../../log/thread-log.ts";

/** A stretch of events. */
export interface Column {
  /** How many of its events are about what, most first. */
  readonly counts: readonly { readonly kind: Kind; readonly count: number }[];
  /** How many events it stands for. */
  readonly total: number;
}

/** Where a run begins. */
export interface Boundary {
  /** Its place among the events. */
  readonly place: number;
  /** The run. */
  readonly runId: string;
}

/** The events in columns of equal stretches, at most so many; fewer where there are fewer events. */
export function columnsOf(entries: readonly LogEntry[], count: number, most: number): readonly Column[] {
  const columns = Math.min(count, most);
  return Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * count) / columns);
    const until = Math.floor(((column + 1) * count) / columns);
    const counts = new Map<Kind, number>();
    for (let at = from; at < until; at++) {
      const entry = entries[at];
      if (entry === undefined) continue;
      const kind = kindOf(entry.event);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    const sorted = [...counts].map(([kind, amount]) => ({ kind, count: amount }));
    return { counts: sorted.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind)), total: until - from };
  });
}

/** The same colours stand at the same height. */
const ORDER = Object.keys(KINDS);

/** Where the runs of a branch begin. */
export function boundariesOf(entries: readonly LogEntry[], count: number): readonly Boundary[] {
  const found: Boundary[] = [];
  for (let place = 0; place < count; place++) {
    const entry = entries[place];
    if (entry?.event.type === "RUN_STARTED") found.push({ place, runId: entry.runId });
  }
  return found;
}

/** Which kinds there are, in their order. */
export function kindsIn(columns: readonly Column[]): readonly Kind[] {
  const found = new Set(columns.flatMap(({ counts }) => counts.map(({ kind }) => kind)));
  return [...found].toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
}
