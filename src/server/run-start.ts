/** The beginning of a run as the log has it. */
import type { Event, RunAgentInput, RunStartedEvent } from "../protocol/index.ts";
import type { RunInfo, Store } from "../store/index.ts";

/** The input that a run was started with, as far as it was new to its branch; undefined where the log has none. */
export async function startedInput(store: Store, run: RunInfo): Promise<RunAgentInput | undefined> {
  return (await startedEvent(store, run))?.input;
}

/** The first event of a run; undefined where the log has none. */
export async function startedEvent(store: Store, run: RunInfo): Promise<RunStartedEvent | undefined> {
  const thread = await store.thread(run);
  const isDropped = run.firstSeq <= (thread?.floor ?? 0);
  const [first] = isDropped
    ? ((await store.compacted(run)) ?? [])
    : (await store.read(run, { afterSeq: run.firstSeq - 1, throughSeq: run.firstSeq })).events;
  if (first === undefined) return undefined;
  const event: Event = JSON.parse(first.json);
  return event.type === "RUN_STARTED" ? event : undefined;
}
