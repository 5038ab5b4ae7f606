/** The row that is selected, in the address and back: a link opens the timeline at an event, message, tool call or run. */
import { seqOf } from "../../log/thread-log.ts";
import type { TimelineIndex } from "./timeline-index.ts";
import type { Grouping, Row } from "./timeline-rows.ts";

/** The names that say in the address what is selected: one of them at most. `part` is a step or subagent, by its first event. */
export const JUMPS = ["event", "message", "call", "run", "part"] as const;

/** What the address says is selected. */
export type Jump = { readonly [name in (typeof JUMPS)[number]]?: string };

/** What the address says is selected, as one text: empty for nothing. */
export function jumpText(query: Readonly<Record<string, string>>): string {
  const name = JUMPS.find((each) => (query[each] ?? "") !== "");
  return name === undefined ? "" : `${name}=${query[name]}`;
}

/** How the address names a row. */
export function jumpTo(row: Row | undefined, index: TimelineIndex): Jump {
  if (row === undefined) return {};
  if (typeof row === "number") return { event: String(index.entries[row]?.seq ?? "") };
  const { kind, id, first } = row;
  if (kind === "run") return { run: id };
  if (kind === "call") return { call: id };
  if (kind === "subagent" || kind === "step") return { part: String(index.entries[first]?.seq ?? "") };
  return { message: id };
}

/** The row that a text of `jumpText` names; undefined where it is not there, or not yet. */
export function rowOf(jump: string, index: TimelineIndex): Row | undefined {
  const at = jump.indexOf("=");
  const [name, value] = [jump.slice(0, at), jump.slice(at + 1)];
  if (name === "run") return index.run(value);
  if (name === "call") return index.find(["call"], value);
  if (name === "message") return index.find(["message", "reasoning", "activity"], value) ?? resultOf(value, index);
  const seq = /^\d+$/.test(value) ? Number(value) : seqOf(value);
  const place = index.placeOf(seq);
  if (index.entries[place]?.seq !== seq || place >= index.count) return undefined;
  return name === "part" ? index.owners[place] : place;
}

/** What a tool returned is a message too. */
function resultOf(messageId: string, index: TimelineIndex): Row | undefined {
  for (let place = index.count - 1; place >= 0; place--) {
    const event = index.entries[place]?.event;
    if (event?.type === "TOOL_CALL_RESULT" && event.messageId === messageId) return place;
  }
  return undefined;
}

/** The row that stands for a row, where events are put together so. */
export function standIn(row: Row | undefined, grouping: Grouping): Row | undefined {
  if (row === undefined || typeof row === "number" || grouping === "nested") return row;
  return grouping === "run" && row.kind === "run" ? row : row.first;
}
