/** Waits for a run that is queued to begin in the log, whichever process begins it. */
import { HeddleError } from "../protocol/index.ts";
import type { RunInfo, RunKey, Store } from "../store/index.ts";

/** Hints can be lost: somebody has to look now and then. */
const LOOK_MS = 1000;

/** Resolves with the run once it is in the log. Throws `run-unknown` where it was taken out of the queue instead. */
export async function awaitStart(store: Store, key: RunKey, signal?: AbortSignal): Promise<RunInfo | undefined> {
  let wake: (() => void) | undefined;
  let hinted = false;
  const isGone = (): boolean => signal?.aborted === true;
  const look = (): void => {
    hinted = true;
    wake?.();
  };
  const unwatch = store.watch(key, look);
  signal?.addEventListener("abort", look);
  try {
    while (!isGone()) {
      hinted = false;
      const run = await store.run(key);
      if (run !== undefined) return run;
      const waiting = await store.queue(key);
      // It may have begun between the two looks.
      if (!waiting.some(({ runId }) => runId === key.runId)) return (await store.run(key)) ?? gone(key);
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      if (hinted) resolve();
      const timer = setTimeout(resolve, LOOK_MS);
      await promise;
      clearTimeout(timer);
    }
    return undefined;
  } finally {
    unwatch();
    signal?.removeEventListener("abort", look);
  }
}

function gone({ threadId, runId }: RunKey): never {
  throw new HeddleError("run-unknown", "The run was taken out of the queue before it began.", { threadId, runId });
}
