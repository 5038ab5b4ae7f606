/**
 * The newest threads, live, for everything below: the list at the side, and pages that have to know when a thread changed.
 * A thread that changes is always among them, since the list begins with what changed last.
 */
import { createContext, useContext, useEffect, useState } from "react";
import type { ReactElement, ReactNode } from "react";
import type { ThreadSummary } from "heddle/client";
import { useHeddle } from "heddle/react";
import { GLANCE_MS, useAttention } from "../attention.ts";

/** The newest threads. */
export interface RecentThreads {
  /** The threads, what changed last first; undefined until they are here. */
  readonly threads: readonly ThreadSummary[] | undefined;
  /** Why they are followed no more. */
  readonly error: Error | undefined;
}

const RecentContext = createContext<RecentThreads>({ threads: undefined, error: undefined });

const LIMIT = 30;

/** Follows the newest threads. */
export function RecentThreadsRoot({ children }: { readonly children: ReactNode }): ReactElement {
  const { threads: all } = useHeddle();
  const attention = useAttention();
  const [recent, setRecent] = useState<RecentThreads>({ threads: undefined, error: undefined });
  useEffect(() => {
    if (attention === "none") return undefined;
    if (attention === "glance")
      return asking(
        () => all.list({ limit: LIMIT }),
        ({ threads }) => setRecent({ threads, error: undefined }),
      );
    const live = all.live(() => setRecent({ threads: live.threads, error: live.error }), { limit: LIMIT });
    return () => live.close();
  }, [all, attention]);
  return <RecentContext.Provider value={recent}>{children}</RecentContext.Provider>;
}

/**
 * Asks now, and a while after each answer, until the function that it gives is called; what is answered then is dropped, since
 * something newer may be known. What fails is asked the next time.
 */
function asking<T>(ask: () => Promise<T>, onAnswer: (answer: T) => void): () => void {
  let isWanted = true;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const again = async (): Promise<void> => {
    const answer = await ask().catch(() => undefined);
    if (!isWanted) return;
    if (answer !== undefined) onAnswer(answer);
    timer = setTimeout(() => void again(), GLANCE_MS);
  };
  void again();
  return () => {
    isWanted = false;
    clearTimeout(timer);
  };
}

/** The newest threads, in a component. */
export const useRecentThreads = (): RecentThreads => useContext(RecentContext);
