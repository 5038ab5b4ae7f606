/** Health for somebody who is no operator: what of it is theirs to see. */
import type { ReactElement } from "react";
import type { ThreadSummary } from "heddle/client";
import { useConnection } from "../../server/connection.tsx";
import { useRecentThreads } from "../../threads/recent-threads.tsx";
import { linkTo } from "../../route.ts";
import { Icon } from "../../ui/icon.tsx";
import { Loading } from "../../ui/loading.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { TimeAgo } from "../../ui/time-ago.tsx";
import { Panel } from "./panels.tsx";

/** What somebody sees who is no operator. */
export function OwnView(): ReactElement {
  const { me } = useConnection();
  const { threads } = useRecentThreads();
  if (threads === undefined) return <Loading label="Looking for conversations" />;
  const running = threads.filter(({ status }) => status === "running" || status === "queued");
  const waiting = threads.filter(({ status }) => status === "interrupted");
  const failed = threads.filter(({ status }) => status === "failed");
  return (
    <div className="health-panels">
      <p className="health-notice" data-wide>
        <Icon name="info" size={16} />
        <span>
          How the server is, is shown to operators; your role is {me.role ?? "not set for all conversations"}. These are
          the newest conversations that you may see.
        </span>
      </p>
      <Own title="Running now" threads={running} none="None of your conversations runs at the moment." />
      <Own title="Waiting for an answer" threads={waiting} none="Nothing waits for you." />
      <Own title="Failed" threads={failed} none="None of your newest conversations failed." />
    </div>
  );
}

function Own({
  title,
  threads,
  none,
}: {
  readonly title: string;
  readonly threads: readonly ThreadSummary[];
  readonly none: string;
}): ReactElement {
  return (
    <Panel wide title={title}>
      {threads.length === 0 ? (
        <p className="health-quiet">{none}</p>
      ) : (
        <ul className="health-runs">
          {threads.map(({ threadId, title: name, status, updatedAt }) => (
            <li key={threadId}>
              <a href={linkTo("timeline", threadId)}>{name ?? threadId}</a>
              <StatusBadge status={status} />
              <span className="health-number">
                <TimeAgo at={updatedAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
