/** Where to stop while going through events: at the next message, the next change of the state, or after a time. */
import type { Event } from "heddle/protocol";
import type { LogEntry } from "../../log/thread-log.ts";

/** What can be gone to. */
export const STOPS = {
  event: () => true,
  message: (event) =>
    event.type === "TEXT_MESSAGE_START" ||
    event.type === "REASONING_MESSAGE_START" ||
    event.type === "TOOL_CALL_START" ||
    event.type === "TOOL_CALL_RESULT" ||
    event.type === "ACTIVITY_SNAPSHOT" ||
    event.type === "MESSAGES_SNAPSHOT" ||
    (event.type === "RUN_STARTED" && (event.input?.messages ?? []).length > 0),
  state: (event) =>
    event.type === "STATE_SNAPSHOT" ||
    event.type === "STATE_DELTA" ||
    (event.type === "RUN_STARTED" && event.input?.state !== undefined),
  run: (event) => event.type === "RUN_STARTED",
} as const satisfies Record<string, (event: Event) => boolean>;

/** A kind of stop. */
export type Stop = keyof typeof STOPS;

/** The next place to stop at, forward (1) or back (-1); undefined where there is none. */
export function nextStop(
  entries: readonly LogEntry[],
  place: number,
  stop: Stop,
  direction: 1 | -1,
): number | undefined {
  for (let at = place + direction; at >= 0 && at < entries.length; at += direction) {
    const entry = entries[at];
    if (entry !== undefined && STOPS[stop](entry.event)) return at;
  }
  return undefined;
}

/** Events in a second, by the speed that was chosen; `real` goes by the clock. */
export const SPEEDS = { "1": 10, "4": 40, "16": 160, real: 0 } as const;

/** How fast it is played. */
export type Speed = keyof typeof SPEEDS;

/** Nobody wants to watch an idle hour. */
const LONGEST_PAUSE_MS = 2000;

/** How long the event at a place is shown before the next, in milliseconds. */
export function pauseAfter(entries: readonly LogEntry[], place: number, speed: Speed): number {
  if (speed !== "real") return 1000 / SPEEDS[speed];
  const now = entries[place]?.atMs;
  const next = entries[place + 1]?.atMs;
  if (now === undefined || next === undefined) return 1000 / SPEEDS["1"];
  return Math.min(Math.max(next - now, 0), LONGEST_PAUSE_MS);
}

/** Where playing is after a time: the place, and what is left of the time. It looks at no more events than it passes. */
export function playedTo(
  entries: readonly LogEntry[],
  place: number,
  elapsedMs: number,
  speed: Speed,
): { readonly place: number; readonly restMs: number } {
  let at = place;
  let restMs = elapsedMs;
  while (at < entries.length - 1) {
    const pauseMs = pauseAfter(entries, at, speed);
    if (pauseMs > restMs) break;
    restMs -= pauseMs;
    at++;
  }
  return { place: at, restMs };
}
