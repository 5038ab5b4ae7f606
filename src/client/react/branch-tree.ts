/**
 * Where the branch that is shown forks: for each run on it that has siblings, which they are, which one is shown, and the
 * message that it begins with. Going to a sibling means going to the newest run below it.
 */
import type { RunSummary } from "../index.ts";

/** The runs of a thread. */
export interface RunTree {
  /** Every run, in the order in which they began. */
  readonly runs: readonly RunSummary[];
  /** The run in which each message of the branch was first heard of, by its id. */
  readonly messageRuns: Readonly<Record<string, string>>;
}

/** A place where the branch that is shown forks. */
export interface BranchPoint {
  /** The message from which on the branches differ; absent where the run has said nothing. */
  readonly messageId?: string;
  /** The run that is shown. */
  readonly runId: string;
  /** The runs to choose from, in the order in which they began; the one that is shown is among them. */
  readonly siblings: readonly string[];
  /** Place of the one that is shown among them. */
  readonly index: number;
}

/** The places where the branch of a run forks, from its beginning on. */
export function branchPoints({ runs, messageRuns }: RunTree, tip: string | undefined): readonly BranchPoint[] {
  const byId = new Map(runs.map((run) => [run.runId, run]));
  const points: BranchPoint[] = [];
  for (let run = byId.get(tip ?? ""); run !== undefined; run = byId.get(run.parentRunId ?? "")) {
    const { runId, parentRunId } = run;
    const siblings = runs.flatMap((each) =>
      each.parentRunId === parentRunId && each.kind !== "spawn" ? [each.runId] : [],
    );
    if (siblings.length < 2) continue;
    const messageId = Object.keys(messageRuns).find((id) => messageRuns[id] === runId);
    points.unshift({
      runId,
      siblings,
      index: siblings.indexOf(runId),
      ...(messageId !== undefined && { messageId }),
    });
  }
  return points;
}

/** The newest run that a run leads to. */
export function newestBelow(runs: readonly RunSummary[], runId: string): string {
  const below = new Set([runId]);
  let newest = runId;
  for (const { runId: id, parentRunId, kind } of runs) {
    if (parentRunId === undefined || kind === "spawn" || !below.has(parentRunId)) continue;
    below.add(id);
    newest = id;
  }
  return newest;
}
