/** Which runs lead to which: a branch is a run and the runs that it continues, up to a root or a spawned run. */
import type { RunSummary } from "heddle/client";

/** What of a run says where it hangs. */
export type Hanging = Pick<RunSummary, "runId" | "parentRunId" | "kind">;

/** The runs of a branch, from its root to the run; none for a run that is not there. */
export function lineageOf<R extends Hanging>(runs: readonly R[], runId: string | undefined): readonly R[] {
  const byId = new Map(runs.map((run) => [run.runId, run]));
  const line: R[] = [];
  for (let run = byId.get(runId ?? ""); run !== undefined; run = parentOf(run, byId)) {
    // Each run is met once, whatever it says.
    byId.delete(run.runId);
    line.unshift(run);
  }
  return line;
}

const parentOf = <R extends Hanging>({ parentRunId, kind }: R, byId: ReadonlyMap<string, R>): R | undefined =>
  kind === "spawn" ? undefined : byId.get(parentRunId ?? "");

/** The newest run that a run leads to. Runs come in the order in which they began. */
export function newestBelow(runs: readonly Hanging[], runId: string): string {
  const below = new Set([runId]);
  let newest = runId;
  for (const { runId: id, parentRunId, kind } of runs) {
    if (parentRunId === undefined || kind === "spawn" || !below.has(parentRunId)) continue;
    below.add(id);
    newest = id;
  }
  return newest;
}

/** How many runs two branches have in common, from their beginning. */
export function sharedCount(a: readonly Hanging[], b: readonly Hanging[]): number {
  let count = 0;
  while (count < a.length && a[count]?.runId === b[count]?.runId) count++;
  return count;
}
