/** What a branch comes to at the end of a run, asked of the server; anew when the run has said more. */
import { useEffect, useState } from "react";
import type { RunSummary, ThreadSnapshot } from "heddle/client";
import { useHeddle } from "heddle/react";

/** A snapshot, or why there is none. Undefined both while it is on its way. */
export interface Snapshot {
  /** The branch at the end of the run. */
  readonly snapshot: ThreadSnapshot | undefined;
  /** Why it is not here. */
  readonly error: Error | undefined;
}

const NONE: Snapshot = { snapshot: undefined, error: undefined };

/** A snapshot, in a component. None for no run. */
export function useSnapshot(threadId: string, run: RunSummary | undefined): Snapshot {
  const client = useHeddle();
  const runId = run?.runId;
  const [known, setKnown] = useState<Snapshot & { readonly of: string | undefined }>({ ...NONE, of: undefined });
  useEffect(() => {
    if (runId === undefined) return undefined;
    let isWanted = true;
    client
      .thread(threadId)
      .snapshotAt(runId)
      .then(
        (snapshot) => isWanted && setKnown({ of: runId, snapshot, error: undefined }),
        (error: unknown) => {
          if (isWanted && error instanceof Error) setKnown({ of: runId, snapshot: undefined, error });
        },
      );
    return () => {
      isWanted = false;
    };
  }, [client, threadId, runId, run?.lastEventId, run?.status]);
  return known.of === runId ? known : NONE;
}
