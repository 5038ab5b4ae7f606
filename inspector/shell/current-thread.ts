/** The thread that was looked at last, for this tab: pages about a thread go on with it. */
import type { ThreadSummary } from "heddle/client";
import { keptForTab } from "../kept.ts";
import { randomId } from "heddle/client";

const KEY = "heddle-thread";

/** Keeps it. */
export const rememberThread = (threadId: string): void => keptForTab.set(KEY, threadId);

/** The one that was looked at last, where it is still there. */
export function lastThread(threads: readonly ThreadSummary[]): string | undefined {
  const kept = keptForTab.get(KEY);
  return threads.find(({ threadId }) => threadId === kept)?.threadId;
}

/** A name for a new thread. */
export const newThreadId = (): string => `t-${randomId().slice(0, 8)}`;
