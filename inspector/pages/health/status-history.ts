/**
 * The last minutes of what the server said of itself. Counters become rates: where one falls, the server was started anew and
 * counts from nothing.
 */
import type { Status } from "../../server/api.ts";

/** One moment. */
export interface Sample {
  /** When, by the server's clock. */
  readonly atMs: number;
  /** Runs under way. */
  readonly running: number;
  /** Viewers. */
  readonly viewers: number;
  /** Events a second since the moment before; undefined for the first. */
  readonly eventsPerSecond: number | undefined;
}

/** Moments, oldest first, with what the next one is compared with. */
export interface History {
  readonly samples: readonly Sample[];
  readonly last: Pick<Status, "startedAt" | "now" | "totals"> | undefined;
}

/** How long moments are kept. */
export const KEPT_MS = 5 * 60_000;

/** Nothing yet. */
export const NO_HISTORY: History = { samples: [], last: undefined };

/** Adds what the server says now. */
export function remember({ samples, last }: History, status: Status): History {
  const atMs = Date.parse(status.now);
  const sample: Sample = {
    atMs,
    running: status.runs.running,
    viewers: status.viewers,
    eventsPerSecond: rateOf(last, status),
  };
  return { samples: [...samples.filter((each) => each.atMs > atMs - KEPT_MS), sample], last: status };
}

function rateOf(last: History["last"], { startedAt, now, totals }: Status): number | undefined {
  if (last === undefined) return undefined;
  const isSame = last.startedAt === startedAt && totals.events >= last.totals.events;
  const seconds = (Date.parse(now) - Date.parse(isSame ? last.now : startedAt)) / 1000;
  if (seconds <= 0) return undefined;
  return (totals.events - (isSame ? last.totals.events : 0)) / seconds;
}
