/**
 * The newest threads, live, for everything below: the list at the side, and pages that have to know when a thread changed.
 * A thread that changes is always among them, since the list begins with what changed last.
 */
import { createContext, useContext, useEffect, useState } from "react";
import type { ReactElement, ReactNode } from "react";
import type { ThreadSummary } from "heddle/client";
import { useHeddle } from "heddle/react";
import { useVisible } from "../visible.ts";

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
  const isVisible = useVisible();
  const [recent, setRecent] = useState<RecentThreads>({ threads: undefined, error: undefined });
  useEffect(() => {
    if (!isVisible) return undefined;
    const live = all.live(() => setRecent({ threads: live.threads, error: live.error }), { limit: LIMIT });
    return () => live.close();
  }, [all, isVisible]);
  return <RecentContext.Provider value={recent}>{children}</RecentContext.Provider>;
}

/** The newest threads, in a component. */
export const useRecentThreads = (): RecentThreads => useContext(RecentContext);
