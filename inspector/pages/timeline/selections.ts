/** Which events a row stands for, and what else can be taken along from where one is. */
import { shortId } from "../../ui/format.ts";
import { entriesIn } from "./timeline-group.ts";
import type { Group } from "./timeline-group.ts";
import type { LogEntry } from "../../log/thread-log.ts";
import type { Selection } from "./copied.ts";
import type { TimelineFilter } from "./timeline-filter.ts";
import type { TimelineIndex } from "./timeline-index.ts";
import type { Row } from "./timeline-rows.ts";

/** How much is taken along. */
export const SCOPES = { event: "This event", group: "This group", run: "This run", shown: "What is shown" } as const;

/** How much is taken along. */
export type Scope = keyof typeof SCOPES;

/** The scopes that there are where a row is selected. */
export function scopesAt(row: Row | undefined): readonly Scope[] {
  if (row === undefined) return ["shown"];
  if (typeof row === "number") return ["event", "group", "run", "shown"];
  return row.kind === "run" ? ["run", "shown"] : ["group", "run", "shown"];
}

/** What people call a group. */
export const GROUP_NAMES: Readonly<Record<Group["kind"], string>> = {
  run: "Run",
  subagent: "Subagent",
  step: "Step",
  message: "Message",
  reasoning: "Reasoning",
  call: "Tool call",
  activity: "Activity",
};

/** The events of a scope, seen from a row. */
export function selectionOf(
  index: TimelineIndex,
  scope: Scope,
  row: Row | undefined,
  filter: TimelineFilter | undefined,
): Selection {
  const group = typeof row === "number" ? index.owners[row] : row;
  if (scope === "event" && typeof row === "number")
    return partOf(index, [row], `Event ${index.entries[row]?.seq}`, group);
  if (scope === "group" && group !== undefined && group.kind !== "run") {
    const title = `${GROUP_NAMES[group.kind]} ${shortId(group.id)}`;
    return { ...partOf(index, entriesIn(group), title, group), mark: markOf(group) };
  }
  if ((scope === "group" || scope === "run") && group !== undefined) return runOf(index, group.run);
  return shownOf(index, filter);
}

const NOWHERE = {
  before: undefined,
  after: undefined,
  among: [],
  runId: undefined,
  mark: undefined,
  hasHidden: false,
  isWholeRun: false,
} as const;

const at = (index: TimelineIndex, places: readonly number[]): LogEntry[] =>
  places.flatMap((place) => index.entries[place] ?? []);

function runOf(index: TimelineIndex, { id, status }: Group): Selection {
  const entries = at(index, index.entriesOf(id));
  const isWholeRun = status !== "open";
  return { ...NOWHERE, title: `Run ${shortId(id)}`, entries, before: [], among: entries, runId: id, isWholeRun };
}

function partOf(index: TimelineIndex, places: readonly number[], title: string, group: Group | undefined): Selection {
  const runId = group?.runId;
  const first = places[0] ?? 0;
  const all = index.entriesOf(runId ?? "");
  const before = at(
    index,
    all.filter((place) => place < first),
  );
  // A run is over for who stands behind its end: notes that came later are read with it, from its beginning.
  const isOver = before.some(({ event: { type } }) => type === "RUN_FINISHED" || type === "RUN_ERROR");
  const after = isOver ? undefined : before.at(-1)?.id;
  const among = at(index, isOver ? all : all.filter((place) => place >= first));
  return { ...NOWHERE, title, entries: at(index, places), before, after, among, runId, hasHidden: hidesIn(index) };
}

/** Seqs have no gaps but where something may not be seen. */
function hidesIn({ entries, count }: TimelineIndex): boolean {
  const [first, last] = [entries[0]?.seq ?? 0, entries[count - 1]?.seq ?? 0];
  return last - first + 1 !== count;
}

/** What the events of a group carry, mostly. */
function markOf({ kind, id }: Group): string | undefined {
  if (kind === "run" || kind === "step") return undefined;
  const name = kind === "call" ? "toolCallId" : kind === "subagent" ? "subagentRunId" : "messageId";
  return `"${name}":${JSON.stringify(id)}`;
}

function shownOf(index: TimelineIndex, filter: TimelineFilter | undefined): Selection {
  const entries = filter === undefined ? index.entries.slice(0, index.count) : at(index, filter.places());
  const runIds = new Set(entries.map(({ runId }) => runId));
  const [only] = runIds;
  const run = runIds.size === 1 && only !== undefined ? index.run(only) : undefined;
  if (run !== undefined && run.count === entries.length) return { ...runOf(index, run), title: "What is shown" };
  return { ...NOWHERE, title: "What is shown", entries };
}
