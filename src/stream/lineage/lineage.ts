/**
 * The run tree of a log: which run hangs on which, and what a branch holds (seed 002, "Run Lineage").
 *
 * What the log itself says counts: `metadata.heddle.lineage = { parent, kind }` of `RUN_STARTED`. AG-UI's `parentRunId`
 * means "branched from" to some and "spawned by" to others, so it is a pointer only where the log says nothing. A run
 * hangs only on runs that started before it, so there are no cycles whatever a log claims; what it claims wrongly is
 * reported and never thrown. Everything is linear in the log, and nothing recurses.
 */
import { METADATA_KEY } from "../../protocol/index.ts";
import type { Event, RunStartedEvent } from "../../protocol/index.ts";
import { isContainer, memberOf } from "../json-value.ts";

/** One event of a log, and the run that it belongs to; runs may interleave. */
export interface LogEntry {
  /** The run; undefined for what belongs to none. */
  readonly runId: string | undefined;
  /** The event. */
  readonly event: Event;
}

/** How a run hangs on its parent. A spawned run is another agent's work: its branch is its own. */
export type LineageKind = "continue" | "branch" | "spawn";

/** One run of the tree. */
export interface LineageRun {
  /** Id of the run. */
  readonly runId: string;
  /** The run that it hangs on; undefined for a root. */
  readonly parentRunId: string | undefined;
  /** How it hangs there; undefined where that is not known. */
  readonly kind: LineageKind | undefined;
  /** Whether its terminal event is in the log. */
  readonly ended: boolean;
  /** The runs that hang on it, in order of start, spawned ones among them. */
  readonly children: readonly string[];
}

/** The run tree of a log. */
export interface Lineage {
  /** All runs by id, in order of start. */
  readonly runs: ReadonlyMap<string, LineageRun>;
  /** The runs without a parent, in order of start. */
  readonly roots: readonly string[];
  /** The runs that nothing continues or branches from, in order of start; spawned runs are no heads. */
  readonly heads: readonly string[];
  /** What the log claims wrongly. */
  readonly problems: readonly LineageProblem[];
}

/** What can be wrong with a run's place. */
export type LineageProblemCode = "duplicate-run" | "missing-start" | "unknown-parent" | "late-parent";

/** Something that a log claims wrongly. */
export interface LineageProblem {
  /** What kind of fault it is. */
  readonly code: LineageProblemCode;
  /** The run. */
  readonly runId: string;
  /** What is wrong, in one sentence. */
  readonly message: string;
}

/** What two branches, or two lists of messages, have in common, and what each has alone. */
export interface Difference<T> {
  /** In both. */
  readonly shared: readonly T[];
  /** In the first alone. */
  readonly onlyA: readonly T[];
  /** In the second alone. */
  readonly onlyB: readonly T[];
}

interface Node extends LineageRun {
  readonly children: string[];
}

/** Where a run lies in the log. */
interface Span {
  start: number;
  /** Its terminal event, or for now its newest. */
  end: number;
  ended: boolean;
  opening: RunStartedEvent | undefined;
}

/** The entries of a plain list of events: a run reaches from its `RUN_STARTED` to the next. */
export function entriesOf(events: readonly Event[]): readonly LogEntry[] {
  const started = new Set<string>();
  let current: string | undefined;
  return events.map((event) => {
    if (event.type === "RUN_STARTED") started.add((current = event.runId));
    const named = event.type === "RUN_FINISHED" && started.has(event.runId);
    return { runId: named ? event.runId : current, event };
  });
}

/** The run tree of a log. */
export function lineage(entries: readonly LogEntry[]): Lineage {
  const problems: LineageProblem[] = [];
  const report = (code: LineageProblemCode, runId: string, message: string): void => {
    problems.push({ code, runId, message });
  };
  const spans = spansOf(entries, report);
  const runs = new Map<string, Node>();
  const continued = new Set<string>();
  let newest: string | undefined;
  entries.forEach(({ runId }, index) => {
    const span = runId === undefined ? undefined : spans.get(runId);
    if (runId === undefined || span === undefined) return;
    if (index === span.start) {
      const { parentRunId, kind } = placeOf(runId, span);
      runs.set(runId, { runId, parentRunId, kind, ended: span.ended, children: [] });
      if (parentRunId !== undefined) runs.get(parentRunId)?.children.push(runId);
      if (parentRunId !== undefined && kind !== "spawn") continued.add(parentRunId);
    }
    if (index === span.end && runs.get(runId)?.kind !== "spawn") newest = runId;
  });
  const idsOf = (test: (run: LineageRun) => boolean): readonly string[] =>
    [...runs.values()].filter(test).map(({ runId }) => runId);
  return {
    runs,
    roots: idsOf(({ parentRunId }) => parentRunId === undefined),
    heads: idsOf(({ runId, kind }) => kind !== "spawn" && !continued.has(runId)),
    problems,
  };

  function placeOf(runId: string, { start, opening }: Span): Pick<LineageRun, "parentRunId" | "kind"> {
    const logged = opening && loggedPlace(opening);
    const claimed = logged === undefined ? opening?.parentRunId : logged.parent;
    let parentRunId = claimed;
    if (claimed !== undefined && !runs.has(claimed)) {
      if (spans.has(claimed)) report("late-parent", runId, `Its parent ${claimed} had not started before it.`);
      else report("unknown-parent", runId, `Its parent ${claimed} is not in this log.`);
      parentRunId = undefined;
    }
    if (logged === undefined) parentRunId ??= newest;
    if (parentRunId === undefined || logged?.kind !== undefined) return { parentRunId, kind: logged?.kind };
    if ((spans.get(parentRunId)?.end ?? 0) > start) return { parentRunId, kind: "spawn" };
    return { parentRunId, kind: continued.has(parentRunId) ? "branch" : "continue" };
  }
}

/** The runs of a branch, from its root to a run. Empty for an unknown run; a spawned run begins its own branch. */
export function branchOf({ runs }: Pick<Lineage, "runs">, runId: string): readonly string[] {
  const branch = new Set<string>();
  for (let run = runs.get(runId); run !== undefined && !branch.has(run.runId);) {
    branch.add(run.runId);
    run = run.kind === "spawn" || run.parentRunId === undefined ? undefined : runs.get(run.parentRunId);
  }
  return [...branch].toReversed();
}

/** The newest run that two branches share, or undefined. */
export function commonAncestor(lineage: Pick<Lineage, "runs">, a: string, b: string): string | undefined {
  return diffBranches(lineage, a, b).shared.at(-1);
}

/** All events of a branch, run after run, from its root to a run (seed 002, "Restoring a Branch"). */
export function historyOf(
  entries: readonly LogEntry[],
  runId: string,
  tree: Pick<Lineage, "runs"> = lineage(entries),
): readonly Event[] {
  const parts = new Map<string | undefined, Event[]>(branchOf(tree, runId).map((id) => [id, []]));
  for (const entry of entries) parts.get(entry.runId)?.push(entry.event);
  return [...parts.values()].flat();
}

/** Which runs the branches of two runs share, and which each has alone. */
export function diffBranches(lineage: Pick<Lineage, "runs">, a: string, b: string): Difference<string> {
  const first = branchOf(lineage, a);
  const second = branchOf(lineage, b);
  let length = 0;
  while (length < first.length && first[length] === second[length]) length++;
  return { shared: first.slice(0, length), onlyA: first.slice(length), onlyB: second.slice(length) };
}

function spansOf(
  entries: readonly LogEntry[],
  report: (code: LineageProblemCode, runId: string, message: string) => void,
): ReadonlyMap<string, Span> {
  const spans = new Map<string, Span>();
  entries.forEach(({ runId, event }, index) => {
    if (runId === undefined) return;
    const span = spans.get(runId) ?? { start: index, end: index, ended: false, opening: undefined };
    spans.set(runId, span);
    if (event.type === "RUN_STARTED") {
      if (span.opening === undefined) Object.assign(span, { start: index, end: index, ended: false, opening: event });
      else report("duplicate-run", runId, "It started before: the first start counts.");
    } else if (!span.ended) {
      span.end = index;
      span.ended = event.type === "RUN_FINISHED" || event.type === "RUN_ERROR";
    }
  });
  for (const [runId, { opening }] of spans) {
    if (opening === undefined) report("missing-start", runId, "Its RUN_STARTED is not in this log.");
  }
  return spans;
}

/** The place that the log itself gives a run: no parent there means a root. Undefined where it says nothing. */
function loggedPlace(
  event: RunStartedEvent,
): { parent: string | undefined; kind: LineageKind | undefined } | undefined {
  const kept = memberOf(event.metadata ?? {}, METADATA_KEY);
  const place = isContainer(kept) ? memberOf(kept, "lineage") : undefined;
  if (!isContainer(place)) return undefined;
  const parent = memberOf(place, "parent");
  const kind = memberOf(place, "kind");
  return {
    parent: typeof parent === "string" ? parent : undefined,
    kind: kind === "continue" || kind === "branch" || kind === "spawn" ? kind : undefined,
  };
}
