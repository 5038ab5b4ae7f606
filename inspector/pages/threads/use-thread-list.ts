/** The list of threads in a component, followed while the page can be seen. */
import { useEffect, useRef, useState } from "react";
import type { ThreadQuery } from "heddle/client";
import { useHeddle } from "heddle/react";
import { useAttention } from "../../attention.ts";
import { ThreadList, UNKNOWN_LIST } from "./thread-list.ts";
import type { ListView } from "./thread-list.ts";

/** A list, and what can be asked of it. */
export interface ListHandle extends ListView {
  /** The next page. */
  readonly more: () => Promise<void>;
  /** Leaves out a thread that is known to be gone. */
  readonly forget: (threadId: string) => void;
  /** Begins anew. */
  readonly retry: () => void;
}

/** Follows the threads that a text and a filter name. */
export function useThreadList(q: string, archived: ThreadQuery["archived"]): ListHandle {
  const { threads } = useHeddle();
  const isVisible = useAttention() !== "none";
  const [attempt, setAttempt] = useState(0);
  const asked = `${attempt} ${archived} ${q}`;
  const [known, setKnown] = useState({ asked, view: UNKNOWN_LIST });
  const list = useRef<ThreadList>(undefined);
  useEffect(() => {
    if (!isVisible) return undefined;
    const query = { ...(q !== "" && { q }), ...(archived !== undefined && { archived }) };
    const followed = new ThreadList(threads, query, (view) => setKnown({ asked, view }));
    list.current = followed;
    return () => followed.close();
  }, [threads, isVisible, asked]);
  return {
    // What another question found is no answer to this one.
    ...(known.asked === asked ? known.view : UNKNOWN_LIST),
    more: async () => list.current?.more(),
    forget: (threadId) => list.current?.forget(threadId),
    retry: () => setAttempt((count) => count + 1),
  };
}
