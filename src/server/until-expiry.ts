/** A signal that also aborts when somebody has to show anew who they are. */
import { callAt } from "./call-at.ts";

/** Such a signal, and what lets go of it. */
export interface UntilExpiry {
  /** Aborts with the signal that was given, or at the moment that was. */
  readonly signal: AbortSignal | undefined;
  /** To be called when nobody listens any more. */
  release(): void;
}

/** Makes one; the same signal where there is no such moment. */
export function untilExpiry(expiresAtMs: number | undefined, signal: AbortSignal | undefined): UntilExpiry {
  if (expiresAtMs === undefined) return { signal, release: () => undefined };
  const expired = new AbortController();
  const abort = (): void => expired.abort();
  const takeBack = callAt(expiresAtMs, abort);
  if (signal?.aborted === true) abort();
  else signal?.addEventListener("abort", abort);
  return {
    signal: expired.signal,
    release: () => {
      takeBack();
      signal?.removeEventListener("abort", abort);
    },
  };
}
