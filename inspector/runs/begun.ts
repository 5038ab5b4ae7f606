/** When a run that was asked for here is under way. */
import type { Run } from "heddle/client";

/** Resolves when a run has begun; rejects where it could not be started. */
export async function begun(run: Run): Promise<void> {
  for await (const _ of run) return;
}
