/**
 * Everything about a thread but what was said in it: its runs as a tree, heads, role; fetched anew when the thread changed.
 * While the server is away what is known stays, and it is asked again and again.
 */
import { useCallback, useEffect, useState } from "react";
import type { ThreadDetails } from "heddle/client";
import { HeddleError } from "heddle/protocol";
import { useHeddle } from "heddle/react";
import { useRecentThreads } from "./recent-threads.tsx";

/** A thread in full. */
export interface Details {
  /** The thread; undefined until it is here, or where it is not there. */
  readonly details: ThreadDetails | undefined;
  /** Why it is not here. `thread-unknown` for a thread that nothing was said in yet. */
  readonly error: HeddleError | undefined;
  /** Fetches it now. */
  readonly refresh: () => void;
}

const RETRY_MS = 1000;

/** A thread in full, in a component. */
export function useDetails(threadId: string): Details {
  const client = useHeddle();
  const { threads } = useRecentThreads();
  const summary = threads?.find((thread) => thread.threadId === threadId);
  const changed = `${summary?.updatedAt} ${summary?.status} ${summary?.head}`;
  const [asked, setAsked] = useState(0);
  const [known, setKnown] = useState<Omit<Details, "refresh"> & { readonly of: string }>();
  useEffect(() => {
    let isWanted = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    client
      .thread(threadId)
      .details()
      .then(
        (details) => isWanted && setKnown({ of: threadId, details, error: undefined }),
        (error: unknown) => {
          if (!isWanted || !(error instanceof HeddleError)) return;
          if (error.retryable) timer = setTimeout(() => setAsked((count) => count + 1), RETRY_MS);
          setKnown((before) => ({
            of: threadId,
            details: error.retryable && before?.of === threadId ? before.details : undefined,
            error,
          }));
        },
      );
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [client, threadId, changed, asked]);
  const refresh = useCallback(() => setAsked((count) => count + 1), []);
  const current = known?.of === threadId ? known : undefined;
  return { details: current?.details, error: current?.error, refresh };
}
