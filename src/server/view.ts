/**
 * Which events of a thread somebody sees: all, those of one run, or those of one branch. Selections are the same where
 * their keys are.
 */
import { METADATA_KEY } from "../protocol/index.ts";
import type { StoredEvent } from "../store/index.ts";
import { isDelta } from "./is-delta.ts";

/** Which runs of a thread are seen. */
export interface Selection {
  /** Tells selections apart: the same key, the same events. */
  readonly key: string;
  /** The runs; undefined for all. */
  readonly runIds: ReadonlySet<string> | undefined;
  /** The newest run of a branch, which grows with the run that continues it; undefined for what does not grow. */
  readonly tip?: string | undefined;
}

/** Everything. */
export const WHOLE_THREAD: Selection = { key: "", runIds: undefined };

/** One run alone. */
export const onlyRun = (runId: string): Selection => ({ key: `run ${runId}`, runIds: new Set([runId]) });

/** A branch: its newest run, and the runs from its root to there. A branch is known by its newest run. */
export const onlyBranch = (tip: string, runIds: Iterable<string>): Selection => ({
  key: `branch ${tip}`,
  runIds: new Set([...runIds, tip]),
  tip,
});

/** The start of a run, and where it hangs. */
export interface RunStart {
  /** Seq of its RUN_STARTED. */
  readonly seq: number;
  /** The run. */
  readonly runId: string;
  /** The run that it continues; undefined for a root and for a spawned run, which continue nothing. */
  readonly continues: string | undefined;
}

/** A selection after a run has started: a branch takes the run in that continues it. */
export function grown(selection: Selection, { runId, continues }: RunStart): Selection {
  const { tip, runIds } = selection;
  if (tip === undefined || continues !== tip || runIds === undefined) return selection;
  return onlyBranch(runId, runIds);
}

/** The starts among events. Looks for the word before it reads an event: most events start nothing. */
export function startsOf(events: readonly StoredEvent[]): readonly RunStart[] {
  return events.flatMap(({ seq, runId, json }) => {
    if (isDelta(json) || !json.includes('"RUN_STARTED"')) return [];
    const event: { readonly type?: unknown; readonly metadata?: Readonly<Record<string, unknown>> } = JSON.parse(json);
    if (event.type !== "RUN_STARTED") return [];
    return [{ seq, runId, continues: parentIn(event.metadata?.[METADATA_KEY]) }];
  });
}

function parentIn(kept: unknown): string | undefined {
  const { parent, kind } = membersOf(membersOf(kept)["lineage"]);
  return typeof parent === "string" && kind !== "spawn" ? parent : undefined;
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};
