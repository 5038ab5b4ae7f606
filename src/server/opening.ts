/**
 * The opening for somebody who joins a run or a branch with nothing: a prelude, and the seq behind which they go on.
 *
 * It was never logged, so its frames have no place of their own: only the last one carries the cursor, and somebody who is
 * cut off before it begins again.
 */
import type { Event } from "../protocol/index.ts";
import { foldBranch, formatCursor } from "../store/index.ts";
import type { RunInfo, RunKey, Store, StoredEvent } from "../store/index.ts";
import { prelude } from "../stream/index.ts";
import { FrameWriter } from "./chunk.ts";
import type { Encoding } from "./encoding.ts";
import { shown } from "./show.ts";
import type { Show } from "./show.ts";

/** A prelude at a place of a log. */
export interface Opening {
  /** The run that it leads into, as it was then. */
  readonly run: RunInfo;
  /** Everything up to this seq is told by it. */
  readonly seq: number;
  /** The events. */
  readonly events: readonly Event[];
}

/** The opening at the newest event of a run. */
export async function openingOf(store: Store, key: RunKey): Promise<Opening> {
  const { run, seq, state } = await foldBranch(store, key);
  return { run, seq, events: prelude(state) };
}

/** An opening as somebody sees it. */
export function shownOpening({ run: { runId }, seq, events }: Opening, show: Show): readonly StoredEvent[] {
  return events.flatMap((event) => shown({ seq, runId, json: JSON.stringify(event) }, show) ?? []);
}

/** An opening in a form. */
export function encodeOpening(opening: Opening, logId: string, encoding: Encoding, show: Show): Uint8Array {
  const { seq } = opening;
  const seen = shownOpening(opening, show);
  const frames = new FrameWriter();
  for (const [index, event] of seen.entries()) {
    frames.add(encoding.encode(event, index === seen.length - 1 ? formatCursor(logId, seq) : ""));
  }
  return frames.bytes();
}
