/** What a branch comes to at the end of a run, asked of the server; anew when the run has said more, or the server was away. */
import { useEffect, useState } from "react";
import type { RunSummary, ThreadSnapshot } from "heddle/client";
import { HeddleError } from "heddle/protocol";
import { useHeddle } from "heddle/react";

/** A snapshot, or why there is none. Undefined both while it is on its way. */
export interface Snapshot {
  /** The branch at the end of the run. */
  readonly snapshot: ThreadSnapshot | undefined;
  /** Why it is not here. */
  readonly error: Error | undefined;
}

const RETRY_MS = 1000;

const NONE: Snapshot = { snapshot: undefined, error: undefined };

/** A snapshot, in a component. None for no run. */
export function useSnapshot(threadId: string, run: RunSummary | undefined): Snapshot {
  const client = useHeddle();
  const runId = run?.runId;
  const [known, setKnown] = useState<Snapshot & { readonly of: string | undefined }>({ ...NONE, of: undefined });
  const [failures, setFailures] = useState(0);
  useEffect(() => {
    if (runId === undefined) return undefined;
    let isWanted = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    client
      .thread(threadId)
      .snapshotAt(runId)
      .then(
        (snapshot) => isWanted && setKnown({ of: runId, snapshot, error: undefined }),
        (error: unknown) => {
          if (!isWanted || !(error instanceof Error)) return;
          const isAway = error instanceof HeddleError && error.retryable;
          if (isAway) timer = setTimeout(() => setFailures((count) => count + 1), RETRY_MS);
          setKnown((before) => ({
            of: runId,
            snapshot: isAway && before.of === runId ? before.snapshot : undefined,
            error,
          }));
        },
      );
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [client, threadId, runId, run?.lastEventId, run?.status, failures]);
  return known.of === runId ? known : NONE;
}
