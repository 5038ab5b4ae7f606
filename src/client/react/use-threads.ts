/** The list of threads in a component, as it changes. */
import { useEffect, useMemo, useState } from "react";
import type { ThreadQuery, ThreadSummary } from "../index.ts";
import { useHeddle } from "./provider.tsx";
import type { Failure } from "./thread-model.ts";

/** The list of threads. */
export interface ThreadsHandle {
  /** The threads, the most recently changed first; undefined until they are here. */
  readonly threads: readonly ThreadSummary[] | undefined;
  /** Why the list is followed no more. */
  readonly error: Failure | undefined;
  /** Gives a thread a title; null takes it away. */
  readonly rename: (threadId: string, title: string | null) => Promise<void>;
  /** Puts a thread aside, or takes it back. */
  readonly archive: (threadId: string, archived?: boolean) => Promise<void>;
  /** Deletes a thread, with all that was said in it. */
  readonly remove: (threadId: string) => Promise<void>;
}

type Listed = Pick<ThreadsHandle, "threads" | "error">;

const UNKNOWN: Listed = { threads: undefined, error: undefined };

/** Follows the list of threads. */
export function useThreads({ q, archived, limit }: ThreadQuery = {}): ThreadsHandle {
  const { threads: all } = useHeddle();
  const [listed, setListed] = useState<Listed & { readonly of: typeof all }>();
  useEffect(() => {
    const query = {
      ...(q !== undefined && { q }),
      ...(archived !== undefined && { archived }),
      ...(limit !== undefined && { limit }),
    };
    const live = all.live(() => setListed({ of: all, threads: live.threads, error: live.error }), query);
    return () => live.close();
  }, [all, q, archived, limit]);
  const actions = useMemo(
    () => ({
      rename: async (threadId: string, title: string | null) => void (await all.rename(threadId, title)),
      archive: async (threadId: string, isAside = true) => void (await all.archive(threadId, isAside)),
      remove: (threadId: string) => all.delete(threadId),
    }),
    [all],
  );
  // What another client was told may be meant for somebody else.
  const { threads, error } = listed?.of === all ? listed : UNKNOWN;
  return { threads, error, ...actions };
}
