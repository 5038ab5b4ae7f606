/** A conversation that began here is called by its first words, so that lists show more than an id. Others are left as they are. */
import { useEffect } from "react";
import { useHeddle, useThread } from "heddle/react";
import { useRecentThreads } from "../../threads/recent-threads.tsx";
import { sayFailure } from "../../ui/toast.tsx";
import { textOf } from "./parts.tsx";

const MAX_TITLE = 60;
/** Conversations that were seen empty here; whoever looks at another page before the first answer comes finds them again. */
const empty = new Set<string>();

/** The first words of a text. */
export function titleFrom(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, " ");
  if (line.length <= MAX_TITLE) return line;
  const cut = line.slice(0, MAX_TITLE);
  // No character is cut in two.
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), MAX_TITLE / 2)).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** Gives a conversation its title when the first words are said here. */
export function useTitle(threadId: string): void {
  const client = useHeddle();
  const { newest, connection, thread, messageIds } = useThread(threadId);
  const { threads } = useRecentThreads();
  const isTitled = threads?.find((each) => each.threadId === threadId)?.title !== undefined;
  // Before all that was said is here, every conversation looks empty.
  const isComplete = connection === "caught-up";
  useEffect(() => {
    if (isComplete && newest.runId === undefined) empty.add(threadId);
    const first = thread.messages.find(({ role }) => role === "user");
    if (newest.runId === undefined || first === undefined || !empty.delete(threadId)) return;
    const title = titleFrom(textOf(first.content));
    if (title !== "" && !isTitled) client.threads.rename(threadId, title).catch(sayFailure);
  }, [client, thread, threadId, newest.runId, messageIds, isComplete, isTitled]);
}
