/**
 * A rate: so many requests in so much time, counted in one of two ways. A *token bucket* allows a burst and then the
 * average; it holds two numbers for each caller. A *sliding window* allows no more than the number in any stretch of that
 * length; it holds a time for each request.
 */
import { HeddleError } from "../../protocol/index.ts";
import { isRecord } from "./wrong-option.ts";

/** Ways to count. */
export const RATE_ALGORITHMS = ["token-bucket", "sliding-window"] as const;

/** A way to count. */
export type RateAlgorithm = (typeof RATE_ALGORITHMS)[number];

/** So many requests in so much time. */
export interface Rate {
  /** How many requests, up to 1,000,000; 100,000 for a sliding window. */
  readonly requests: number;
  /** In how much time, up to a day. */
  readonly perMs: number;
  /** How they are counted. Default `token-bucket`. */
  readonly algorithm?: RateAlgorithm | undefined;
  /** How many may come at once, for a token bucket. Default: `requests`. */
  readonly burst?: number | undefined;
}

/** A rate, judged, with its defaults. */
export type RateRules = { readonly [N in keyof Rate]-?: NonNullable<Rate[N]> };

const MEMBERS = ["requests", "perMs", "algorithm", "burst"];
const MAX_BUCKET_REQUESTS = 1_000_000;
const MAX_WINDOW_REQUESTS = 100_000;
const DAY_MS = 86_400_000;

/** Judges a rate. Throws `config-invalid` with the place of what is wrong. */
export function readRate(value: unknown, place: string): RateRules {
  if (!isRecord(value)) throw wrong(place, value, "an object of requests and perMs");
  const unknown = Object.keys(value).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) {
    throw wrong(`${place}/${unknown}`, value[unknown], `nothing: there is ${MEMBERS.join(", ")}`);
  }
  const algorithm = RATE_ALGORITHMS.find((known) => known === (value["algorithm"] ?? "token-bucket"));
  if (algorithm === undefined) {
    throw wrong(`${place}/algorithm`, value["algorithm"], `one of ${RATE_ALGORITHMS.join(", ")}`);
  }
  const isWindow = algorithm === "sliding-window";
  if (isWindow && value["burst"] !== undefined) {
    throw wrong(`${place}/burst`, value["burst"], "nothing: a sliding window has no burst");
  }
  const most = isWindow ? MAX_WINDOW_REQUESTS : MAX_BUCKET_REQUESTS;
  const requests = whole(`${place}/requests`, value["requests"], most);
  const perMs = whole(`${place}/perMs`, value["perMs"], DAY_MS);
  return { requests, perMs, algorithm, burst: whole(`${place}/burst`, value["burst"] ?? requests, most) };
}

function whole(place: string, value: unknown, most: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw wrong(place, value, `a whole number from 1 to ${most}`);
}

function wrong(place: string, value: unknown, expected: string): HeddleError {
  const received = value === undefined ? "not set" : (JSON.stringify(value) ?? typeof value);
  const message = `${place} is ${received}: expected ${expected}.`;
  return new HeddleError("config-invalid", message, { setting: place, expected, received });
}
