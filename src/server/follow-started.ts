/**
 * How whoever started a run follows it. Who joins may hold a part of it already, and who starts may lack a part of what was
 * before, so both are told first where they stand; who names a cursor holds the branch up to there, and gets what follows it.
 * Who started it and never heard so gets all of it, by a replay; who posted nothing asked for what there is.
 */
import type { AttachOptions } from "./attach.ts";
import type { StartedRun } from "./runs.ts";

/** What whoever started a run has of it. */
export interface FollowStarted {
  /** Cursor of the newest event of the branch that they hold. */
  readonly after?: string | undefined;
  /** Whether they may have started it before, and have nothing of it. Default false. */
  readonly replay?: boolean | undefined;
}

/** What to attach with. */
export function followStarted(started: StartedRun, { after, replay = false }: FollowStarted): AttachOptions {
  const { run, runId: runAs, joined, queued, opening, held, peer } = started;
  const isQueued = queued !== undefined;
  if (replay && joined && held.length > 0) return { runId: run.runId, runAs, peer, replay, held };
  const lacks = after === undefined ? { prelude: joined || isQueued, opening, held } : { after, began: !joined };
  return { runId: run.runId, runAs, peer, queued: isQueued, ...lacks };
}
