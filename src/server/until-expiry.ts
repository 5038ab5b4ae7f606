/** A signal that also aborts when somebody has to show anew who they are. */

/** Such a signal, and what lets go of it. */
export interface UntilExpiry {
  /** Aborts with the signal that was given, or at the moment that was. */
  readonly signal: AbortSignal | undefined;
  /** To be called when nobody listens any more. */
  release(): void;
}

/** Longest time that a timer can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Makes one; the same signal where there is no such moment. */
export function untilExpiry(expiresAtMs: number | undefined, signal: AbortSignal | undefined): UntilExpiry {
  if (expiresAtMs === undefined) return { signal, release: () => undefined };
  const expired = new AbortController();
  const abort = (): void => expired.abort();
  const timer = setTimeout(abort, Math.min(MAX_TIMER_MS, Math.max(0, expiresAtMs - Date.now())));
  if (signal?.aborted === true) abort();
  else signal?.addEventListener("abort", abort);
  return {
    signal: expired.signal,
    release: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    },
  };
}
