/** What ends a run that broke off: everything open is closed, and the terminal event says why. */
import type { Event } from "../protocol/index.ts";
import { createRepairState, repair, repairEnd } from "../stream/repair/index.ts";

/** How a run is ended from outside. */
export const CLOSINGS = {
  /** Whoever executed it is gone. */
  "worker-lost": "The process that executed this run was lost. What it had committed is kept.",
  /** Somebody stopped it, and whoever executed it did not answer. */
  cancelled: "The run was stopped.",
} as const;

/** How a run is ended from outside. */
export type Closing = keyof typeof CLOSINGS;

/** The events that close a run which has these events and no terminal one; none where it has ended. */
export function closingEvents(events: Iterable<Event>, closing: Closing, timestamp: number): readonly Event[] {
  const state = createRepairState();
  let started: Extract<Event, { type: "RUN_STARTED" }> | undefined;
  for (const event of events) {
    if (event.type === "RUN_STARTED") started = event;
    repair(state, event);
  }
  return repairEnd(state).events.map((event): Event => {
    if (event.type !== "RUN_ERROR") return { ...event, timestamp };
    if (closing === "worker-lost" || started === undefined) {
      return { type: "RUN_ERROR", message: CLOSINGS[closing], code: closing, timestamp };
    }
    const { threadId, runId } = started;
    return { type: "RUN_FINISHED", threadId, runId, outcome: { type: "cancelled" }, timestamp };
  });
}
