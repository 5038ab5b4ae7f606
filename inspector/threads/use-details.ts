/**
 * Everything about a thread but what was said in it: its runs as a tree, heads, role; fetched anew when the thread changed.
 * While the server is away what is known stays, and it is asked again and again.
 */
import { useCallback, useEffect, useMemo, useState } from "react";
import type { ThreadDetails } from "heddle/client";
import { HeddleError } from "heddle/protocol";
import { useHeddle } from "heddle/react";
import type { LogView } from "../log/thread-log.ts";
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

/** A thread in full, in a component. Its log says when it changed where no list does: one that is archived is in none. */
export function useDetails(threadId: string, log?: LogView): Details {
  const client = useHeddle();
  const { threads } = useRecentThreads();
  const summary = threads?.find((thread) => thread.threadId === threadId);
  const moves = useMoves(summary === undefined ? log : undefined);
  const changed = summary === undefined ? moves : `${summary.updatedAt} ${summary.status} ${summary.head}`;
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

const MOVES: ReadonlySet<string> = new Set(["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"]);

/** The newest beginning or end of a run in a log; none while it is still read. */
function useMoves(log: LogView | undefined): string {
  const { entries = [], count = 0, status = "loading" } = log ?? {};
  return useMemo(() => {
    if (status === "loading") return "";
    for (let place = count - 1; place >= 0; place--) {
      const entry = entries[place];
      if (entry !== undefined && MOVES.has(entry.event.type)) return entry.id;
    }
    return "";
  }, [entries, count, status]);
}
