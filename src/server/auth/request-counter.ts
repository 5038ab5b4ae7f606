/**
 * Counts the requests of one caller, by one of the two ways. Times are whole milliseconds that never go back, so
 * everything is exact: a refusal says to the millisecond when the next request is taken.
 */
import type { RateRules } from "./rate.ts";

/** Counts requests. */
export interface RequestCounter {
  /** How long until the next request would be taken; 0 where it is now. */
  waitMs(nowMs: number): number;
  /** Counts a request, which may be taken now. */
  count(nowMs: number): void;
}

/** How long after its last request a counter is as good as new. */
export const restMs = ({ algorithm, requests, perMs, burst }: RateRules): number =>
  algorithm === "sliding-window" ? perMs : Math.ceil((burst * perMs) / requests);

/** A counter that has counted nothing. */
export const requestCounter = (rate: RateRules): RequestCounter =>
  rate.algorithm === "sliding-window" ? slidingWindow(rate) : tokenBucket(rate);

/**
 * What was taken and has not come back yet, in parts: a request is `perMs` of them, and `requests` come back each
 * millisecond. So all numbers are whole, and none is beyond 2^53.
 */
function tokenBucket({ requests, perMs, burst }: RateRules): RequestCounter {
  const capacity = burst * perMs;
  let taken = 0;
  let takenAtMs = 0;
  const takenNow = (nowMs: number): number => Math.max(0, taken - (nowMs - takenAtMs) * requests);
  return {
    waitMs: (nowMs) => Math.max(0, Math.ceil((takenNow(nowMs) + perMs - capacity) / requests)),
    count(nowMs) {
      taken = takenNow(nowMs) + perMs;
      takenAtMs = nowMs;
    },
  };
}

/** The times of the newest requests, in a ring: where the next one goes stands the one that has to be out of the window. */
function slidingWindow({ requests, perMs }: RateRules): RequestCounter {
  const times: number[] = [];
  let next = 0;
  return {
    waitMs: (nowMs) => Math.max(0, (times[next] ?? -Infinity) + perMs - nowMs),
    count(nowMs) {
      times[next] = nowMs;
      next = (next + 1) % requests;
    },
  };
}
