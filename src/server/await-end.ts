/** Waits for a run to end in the log, wherever it is executed. */
import type { RunKey, Store } from "../store/index.ts";

/** Hints can be lost: somebody has to look now and then. */
const LOOK_MS = 100;

/** Resolves when a run has ended or is gone, with true, or when the time is over, with whether it has. */
export async function awaitEnd(store: Store, key: RunKey, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  const isOver = async (): Promise<boolean> => {
    const run = await store.run(key);
    return run === undefined || run.end !== undefined;
  };
  let wake: (() => void) | undefined;
  let hinted = false;
  const unwatch = store.watch(key, () => {
    hinted = true;
    wake?.();
  });
  try {
    while (!(await isOver())) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return false;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      if (hinted) resolve();
      hinted = false;
      const timer = setTimeout(resolve, Math.min(LOOK_MS, leftMs));
      await promise;
      clearTimeout(timer);
    }
    return true;
  } finally {
    unwatch();
  }
}
