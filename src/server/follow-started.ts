/**
 * How whoever started a run follows it. Who joins may hold a part of it already, and who starts may lack a part of what was
 * before, so both are told first where they stand; who names a cursor holds the branch up to there, and gets what follows it.
 */
import type { AttachOptions } from "./attach.ts";
import type { StartedRun } from "./runs.ts";

/** What to attach with. */
export function followStarted(started: StartedRun, after: string | undefined): AttachOptions {
  const { run, runId: runAs, joined, queued, opening, held, peer } = started;
  const isQueued = queued !== undefined;
  const lacks = after === undefined ? { prelude: joined || isQueued, opening, held } : { after };
  return { runId: run.runId, runAs, peer, queued: isQueued, ...lacks };
}
