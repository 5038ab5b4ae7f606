/**
 * Pages about one thread, where the address names none: the thread that was looked at last, else the newest. Talk begins a new
 * one where that is asked for, and where there is none at all.
 */
import { useEffect } from "react";
import type { ReactElement } from "react";
import { go, linkTo, useRoute } from "../route.ts";
import type { PageName } from "../route.ts";
import { useRecentThreads } from "../threads/recent-threads.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { LinkButton } from "../ui/button.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Loading } from "../ui/loading.tsx";
import { lastThread, newThreadId, rememberThread } from "./current-thread.ts";

/** Draws a page for the thread that is meant. */
export function WithThread({
  page,
  render,
}: {
  readonly page: PageName;
  readonly render: (threadId: string) => ReactElement;
}): ReactElement {
  const { thread, query } = useRoute();
  const { threads, error } = useRecentThreads();
  const newest = threads?.[0]?.threadId;
  const isEmpty = threads?.length === 0;
  const isNew = page === "talk" && (query["new"] !== undefined || isEmpty);
  const old = isNew || threads === undefined ? undefined : (lastThread(threads) ?? newest);
  const chosen = thread ?? (isNew ? newThreadId() : old);
  useEffect(() => {
    if (thread === undefined && chosen !== undefined)
      go(linkTo(page, chosen, { ...query, new: undefined }), { replace: true });
    if (thread !== undefined) rememberThread(thread);
  }, [page, thread, chosen]);
  if (thread !== undefined) return render(thread);
  if (error !== undefined && !isNew) return <ErrorState title="Threads cannot be listed" error={error} />;
  if (isNew || !isEmpty) return <Loading label="Looking for threads" />;
  return (
    <EmptyState
      icon="talk"
      title="No conversations yet"
      text="Say something to an agent first; what happens is shown here."
    >
      <LinkButton kind="primary" href={linkTo("talk")}>
        Start a conversation
      </LinkButton>
    </EmptyState>
  );
}
