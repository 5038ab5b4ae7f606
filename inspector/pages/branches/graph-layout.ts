/**
 * Where each run stands in the drawing of a thread: one row each, parents above their children, branches in lanes.
 *
 * The branch that is the thread's own keeps the first lane of its tree and ends at the bottom. What forks off a run stands
 * between it and the run that continues it, one lane further: so the line from a run to its forks runs down its own lane,
 * where nothing else stands in between, and there are as many lanes as forks within forks, not as many as branches.
 */
import type { Hanging } from "../../runs/lineage.ts";
import { lineageOf } from "../../runs/lineage.ts";

/** A run in the drawing. */
export interface Placed<R> {
  /** The run. */
  readonly run: R;
  /** Its row, from 0. */
  readonly row: number;
  /** Its lane, from 0. */
  readonly lane: number;
  /** How it hangs on the run above; `root` on none. */
  readonly link: "root" | "continue" | "branch" | "spawn";
  /** Row of the run that it hangs on. */
  readonly parentRow: number | undefined;
}

/** The drawing. */
export interface Graph<R> {
  /** The runs, by row. */
  readonly rows: readonly Placed<R>[];
  /** How many lanes there are. */
  readonly lanes: number;
}

interface Pending<R> {
  readonly run: R;
  readonly lane: number;
  readonly link: Placed<R>["link"];
  readonly parentRow: number | undefined;
}

/** Lays the runs of a thread out. They come in the order in which they began; `head` is the thread's own branch. */
export function layoutRuns<R extends Hanging>(runs: readonly R[], head: string | undefined): Graph<R> {
  const own = new Set(lineageOf(runs, head).map(({ runId }) => runId));
  const { roots, children } = treeOf(runs);
  const rows: Placed<R>[] = [];
  let lanes = 0;
  const pending: Pending<R>[] = [];
  // What is pushed last comes first.
  const push = (of: readonly R[], make: (run: R) => Pending<R>): void =>
    void pending.push(...of.toReversed().map(make));
  push(ownLast(roots, own), (run) => ({ run, lane: 0, link: "root", parentRow: undefined }));
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const row = rows.length;
    rows.push({ ...next, row });
    const { run, lane } = next;
    lanes = Math.max(lanes, lane + 1);
    const below = children.get(run.runId) ?? [];
    const going = below.filter(({ kind }) => kind !== "spawn");
    const successor = going.find(({ runId }) => own.has(runId)) ?? going[0];
    const aside = below.filter((child) => child !== successor);
    if (successor !== undefined) pending.push({ run: successor, lane, link: "continue", parentRow: row });
    push(aside, (child) => ({
      run: child,
      lane: lane + 1,
      link: child.kind === "spawn" ? "spawn" : "branch",
      parentRow: row,
    }));
  }
  return { rows, lanes };
}

function treeOf<R extends Hanging>(
  runs: readonly R[],
): { readonly roots: readonly R[]; readonly children: ReadonlyMap<string, readonly R[]> } {
  const seen = new Set<string>();
  const roots: R[] = [];
  const children = new Map<string, R[]>();
  for (const run of runs) {
    const { runId, parentRunId } = run;
    // A parent began before: one that is not there by now was dropped.
    if (parentRunId === undefined || !seen.has(parentRunId)) roots.push(run);
    else {
      const held = children.get(parentRunId);
      if (held === undefined) children.set(parentRunId, [run]);
      else held.push(run);
    }
    seen.add(runId);
  }
  return { roots, children };
}

const ownLast = <R extends Hanging>(runs: readonly R[], own: ReadonlySet<string>): readonly R[] => [
  ...runs.filter(({ runId }) => !own.has(runId)),
  ...runs.filter(({ runId }) => own.has(runId)),
];
