/** Calls something at a moment, however far away: a timer of Node's waits 24 days at most, and so is set again. */

/** Longest time that a timer can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls at a moment in milliseconds since 1970; at once, in the next turn, where that is past. Returns what takes it back. */
export function callAt(atMs: number, call: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    const leftMs = atMs - Date.now();
    timer = setTimeout(leftMs > MAX_TIMER_MS ? wait : call, Math.min(MAX_TIMER_MS, Math.max(0, leftMs))).unref();
  };
  wait();
  return () => clearTimeout(timer);
}
