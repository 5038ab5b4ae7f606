/** The events of a run as text: those of its compacted form where it has one. */
import { readAll } from "../store/index.ts";
import type { RunInfo, Store } from "../store/index.ts";

/** The texts, up to a seq. Default: all. */
export async function* runTexts(
  store: Store,
  run: RunInfo,
  throughSeq = run.lastSeq,
): AsyncGenerator<string, void, undefined> {
  const compacted = run.settled ? await store.compacted(run) : undefined;
  if (compacted !== undefined) {
    for (const { lastSeq, json } of compacted) if (lastSeq <= throughSeq) yield json;
    return;
  }
  const range = { afterSeq: run.firstSeq - 1, throughSeq: Math.min(throughSeq, run.lastSeq), runIds: [run.runId] };
  for await (const { json } of readAll(store, run, range)) yield json;
}
