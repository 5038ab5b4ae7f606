/** The head of a page about a thread: what the thread is called, how it stands, and what can be done here. */
import type { ReactElement, ReactNode } from "react";
import { usePageTitle } from "../page-title.ts";
import { useRecentThreads } from "../threads/recent-threads.tsx";
import { StatusBadge } from "../ui/status-badge.tsx";
import "./page-header.css";

/** The head of a page about a thread. Children stand at its right. */
export function ThreadHeader({
  threadId,
  page,
  title,
  isNew = false,
  status,
  children,
}: {
  readonly threadId: string;
  /** What the page is called. */
  readonly page: string;
  /** The thread's title, for one that changed too long ago to be in the list. */
  readonly title?: string | undefined;
  /** Whether nothing was said in it yet. */
  readonly isNew?: boolean;
  /** How it stands, where the page knows it better than the list. */
  readonly status?: string | undefined;
  readonly children?: ReactNode;
}): ReactElement {
  const { threads } = useRecentThreads();
  const summary = threads?.find((thread) => thread.threadId === threadId);
  const known = summary === undefined ? title : summary.title;
  const name = known ?? (isNew && summary === undefined ? "New conversation" : threadId);
  const stands = status ?? summary?.status ?? (isNew ? "none" : undefined);
  usePageTitle(`${page}: ${name}`);
  return (
    <header className="page-header">
      <div className="page-title">
        <h1>{name}</h1>
        <p>
          {stands !== undefined && <StatusBadge status={stands} />}
          {name !== threadId && <code>{threadId}</code>}
        </p>
      </div>
      <div className="page-actions">{children}</div>
    </header>
  );
}
