/**
 * When to come back: later each time, at a random moment (full jitter), and at once after anything was gained. Who is
 * offline waits for the network, but not for ever: what a browser says about it is a guess.
 */
import { HeddleError } from "../protocol/index.ts";

/** How long to wait. */
export interface RetryOptions {
  /** Longest first wait. Default 500. */
  readonly firstMs?: number;
  /** Longest wait. Default 20,000. */
  readonly mostMs?: number;
}

/** Refusals that say nothing against the request itself. */
const PASSING: ReadonlySet<string> = new Set([
  "server-unreachable",
  "server-closing",
  "store-unavailable",
  "keys-unavailable",
  "rate-limited",
]);

/** So many times in a row a token that can be renewed is renewed before it counts as refused. */
const MAX_TOKENS = 3;

/** Counts failures, and waits. */
export class Retry {
  readonly #firstMs: number;
  readonly #mostMs: number;
  readonly #renewsToken: boolean;
  #failures = 0;
  #refusals = 0;

  constructor({ firstMs = 500, mostMs = 20_000 }: RetryOptions, renewsToken: boolean) {
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
    this.#renewsToken = renewsToken;
  }

  /** Whether anything failed since the last gain. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** Something was gained. */
  gained(): void {
    this.#failures = 0;
    this.#refusals = 0;
  }

  /** Whether trying again may help after this failure. */
  helps(error: unknown): boolean {
    if (!(error instanceof HeddleError)) return false;
    if (error.code === "unauthenticated") return this.#renewsToken && ++this.#refusals <= MAX_TOKENS;
    return PASSING.has(error.code);
  }

  /** Waits until it is time to try again, or the signal says that it is not worth it any more. */
  async wait(signal: AbortSignal, error?: unknown): Promise<void> {
    const most = Math.min(this.#mostMs, this.#firstMs * 2 ** this.#failures++);
    await pause(Math.max(Math.random() * most, askedMs(error)), signal);
    if (isOffline()) await pause(this.#mostMs, signal);
  }
}

function askedMs(error: unknown): number {
  const asked: unknown = error instanceof HeddleError ? Object(error.details).retryAfterMs : undefined;
  return typeof asked === "number" ? asked : 0;
}

const isOffline = (): boolean => typeof navigator === "object" && navigator.onLine === false;

/** Waits; the network's return, or the page's, ends it early. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wakes = typeof addEventListener === "function" ? ["online", "pageshow"] : [];
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      for (const name of wakes) removeEventListener(name, done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
    for (const name of wakes) addEventListener(name, done);
    if (signal.aborted) done();
  });
}
