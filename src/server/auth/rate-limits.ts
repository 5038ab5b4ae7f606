/**
 * How often requests are taken: of each principal, and of all together. A request that either refuses counts for none.
 *
 * A principal is forgotten when its counter would be as good as new, so memory grows with those who asked lately, and
 * with nobody else.
 */
import { HeddleError } from "../../protocol/index.ts";
import { readRate } from "./rate.ts";
import type { Rate, RateRules } from "./rate.ts";
import { requestCounter, restMs } from "./request-counter.ts";
import type { RequestCounter } from "./request-counter.ts";

/** How often requests are taken. */
export interface RateLimitOptions {
  /** Of each principal. Default: as often as they like. */
  readonly perPrincipal?: Rate | undefined;
  /** Of all together. Default: as often as they like. */
  readonly global?: Rate | undefined;
  /** The clock, in milliseconds; it must not go back. Default: the process's own. */
  readonly nowMs?: (() => number) | undefined;
}

/** Takes requests, or not. */
export interface RateLimits {
  /** Takes a request. Throws `rate-limited`, with how long to wait, and then counts nothing. */
  take(principalKey: string): void;
  /** Principals that are remembered. */
  readonly size: number;
}

/** Makes limits. Throws `config-invalid`. */
export function rateLimits({ perPrincipal, global, nowMs = () => performance.now() }: RateLimitOptions): RateLimits {
  const each = perPrincipal && principalCounters(readRate(perPrincipal, "rateLimits/perPrincipal"));
  const all = global && requestCounter(readRate(global, "rateLimits/global"));
  return {
    take(principalKey) {
      const now = Math.floor(nowMs());
      const counter = each?.find(principalKey, now);
      const waitEach = counter?.waitMs(now) ?? 0;
      const waitAll = all?.waitMs(now) ?? 0;
      if (waitEach > 0 || waitAll > 0) throw tooOften(waitEach, waitAll);
      all?.count(now);
      counter?.count(now);
      if (counter !== undefined) each?.keep(principalKey, counter, now);
    },
    get size() {
      return each?.size() ?? 0;
    },
  };
}

interface PrincipalCounters {
  /** The counter of a principal, a new one where there is none. */
  find(key: string, nowMs: number): RequestCounter;
  /** Remembers that a principal was counted now. */
  keep(key: string, counter: RequestCounter, nowMs: number): void;
  size(): number;
}

/** Those who asked last stand last, so those who rest stand first. */
function principalCounters(rate: RateRules): PrincipalCounters {
  const kept = new Map<string, { readonly counter: RequestCounter; readonly atMs: number }>();
  const rest = restMs(rate);
  return {
    find(key, nowMs) {
      for (const [other, { atMs }] of kept) {
        if (nowMs - atMs < rest) break;
        kept.delete(other);
      }
      return kept.get(key)?.counter ?? requestCounter(rate);
    },
    keep(key, counter, nowMs) {
      kept.delete(key);
      kept.set(key, { counter, atMs: nowMs });
    },
    size: () => kept.size,
  };
}

function tooOften(waitEach: number, waitAll: number): HeddleError {
  const retryAfterMs = Math.max(waitEach, waitAll);
  const isMine = waitEach >= waitAll;
  const whose = isMine ? "You ask" : "This server is asked";
  const message = `${whose} too often: try again in ${retryAfterMs} ms.`;
  return new HeddleError("rate-limited", message, { limit: isMine ? "perPrincipal" : "global", retryAfterMs });
}
