/**
 * Whether one is shown around, where, and how far. It begins by itself in an empty store, once; who closes it is not asked again.
 * It stays with its conversation, so that looking at other pages on the way does not end it.
 */
import { useCallback, useEffect, useState } from "react";
import { keptForBrowser, keptForTab } from "../../kept.ts";
import { newThreadId } from "../../shell/current-thread.ts";
import { go, linkTo, useQueryValue } from "../../route.ts";
import { useRecentThreads } from "../../threads/recent-threads.tsx";

const PLACE_KEY = "heddle-tour";
const CLOSED_KEY = "heddle-tour-closed";

interface Kept {
  readonly threadId: string;
  /** The step that is shown. */
  readonly at: number;
  /** Whether what it proposes was done. */
  readonly isDone: boolean;
}

/** How far one is. */
export interface TourPlace {
  /** Undefined while nobody is shown around here. */
  readonly place: Kept | undefined;
  /** Begins: here where nothing was said yet, else in a new conversation. */
  readonly begin: (isEmpty: boolean) => void;
  readonly done: () => void;
  /** What the step that is shown proposes did not come about. */
  readonly undo: () => void;
  readonly next: () => void;
  readonly back: () => void;
  readonly close: () => void;
}

function kept(): Kept | undefined {
  try {
    const value: unknown = JSON.parse(keptForTab.get(PLACE_KEY) ?? "null");
    const { threadId, at, isDone }: Partial<Record<string, unknown>> = Object(value);
    return typeof threadId === "string" && typeof at === "number"
      ? { threadId, at, isDone: isDone === true }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The way around, in the conversation that is shown. */
export function useTour(threadId: string): TourPlace {
  const { threads } = useRecentThreads();
  const [asked, setAsked] = useQueryValue("tour");
  const [place, setPlace] = useState(kept);
  const move = useCallback((to: Kept | undefined) => {
    if (to === undefined) keptForTab.remove(PLACE_KEY);
    else keptForTab.set(PLACE_KEY, JSON.stringify(to));
    setPlace(to);
  }, []);
  const isFirst = threads?.length === 0 && keptForBrowser.get(CLOSED_KEY) === undefined;
  const here = place?.threadId === threadId ? place : undefined;
  useEffect(() => {
    if (asked === "on") setAsked("");
    if ((asked === "on" || isFirst) && here === undefined) move({ threadId, at: 0, isDone: false });
  }, [asked, isFirst, here, threadId]);
  const step = (by: number): void => {
    if (here !== undefined) move({ ...here, at: here.at + by, isDone: by < 0 });
  };
  return {
    place: here,
    begin: (isEmpty) => {
      if (isEmpty) move({ threadId, at: 0, isDone: false });
      else go(linkTo("talk", newThreadId(), { tour: "on" }));
    },
    done: () => here !== undefined && move({ ...here, isDone: true }),
    undo: () => {
      const now = kept();
      if (here !== undefined && now?.threadId === threadId && now.at === here.at) move({ ...now, isDone: false });
    },
    next: () => step(1),
    back: () => step(-1),
    close: () => {
      keptForBrowser.set(CLOSED_KEY, "yes");
      move(undefined);
    },
  };
}
