/**
 * Compaction: fewer events that fold to the same.
 *
 * Mode `events` keeps the form of a stream: each item once with all of its text, one state a run. Mode `snapshot` keeps
 * the result: messages and state of each run that ended (seed 002). Both stay within their runs, accept what comes in
 * chunks, verify where the input verifies, and change nothing that is compact already. Input events are never changed.
 */
import type { Event, Message } from "../protocol/index.ts";
import { joinEvents } from "./compact-events.ts";
import type { Compacted } from "./compact-events.ts";
import { snapshotRuns } from "./compact-snapshot.ts";

/** Options of `compact`. */
export interface CompactOptions {
  /** Form of the result: a shorter stream, or snapshots of what each run left. */
  readonly mode: "events" | "snapshot";
  /** The state in front of the first event; without it, the first input's. */
  readonly state?: unknown;
  /** The messages in front of the first event: snapshots hold these too. Only for mode `snapshot`. */
  readonly messages?: readonly Message[];
  /** Keep the `rawEvent` of a joined event where only one part had one. Default: joined events have none. */
  readonly keepRawEvents?: boolean;
}

/** Makes events fewer without changing what they fold to. */
export const compact = (events: readonly Event[], options: CompactOptions): readonly Event[] =>
  compactWithRanges(events, options).events;

/** The same, with the range of the input that each event of the output stands for. */
export const compactWithRanges = (events: readonly Event[], { mode, ...options }: CompactOptions): Compacted =>
  mode === "events" ? joinEvents(events, options) : snapshotRuns(events, options);
