/** Branches: the runs of a thread as a graph, one of them in full, and two branches side by side. */
import type { ReactElement } from "react";
import type { ThreadDetails } from "heddle/client";
import type { ThreadPageProps } from "../../app.tsx";
import { useLog } from "../../log/use-log.ts";
import type { LogView } from "../../log/thread-log.ts";
import { linkTo, useQueryValue } from "../../route.ts";
import { useRunFacts } from "../../runs/run-facts.ts";
import { ThreadHeader } from "../../shell/thread-header.tsx";
import { useDetails } from "../../threads/use-details.ts";
import { LinkButton } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Loading } from "../../ui/loading.tsx";
import { CompareView } from "./compare-view.tsx";
import { RunDetails } from "./run-details.tsx";
import { RunGraph } from "./run-graph.tsx";
import { counted } from "./run-words.ts";
import "./branches-page.css";

/** The page. */
export function BranchesPage({ threadId }: ThreadPageProps): ReactElement {
  const log = useLog(threadId);
  const { details, error, refresh } = useDetails(threadId, log);
  const isEmpty = error?.code === "thread-unknown" || details?.runs.length === 0;
  return (
    <>
      <ThreadHeader threadId={threadId} page="Branches" title={details?.title} isNew={isEmpty} status={details?.status}>
        {log.status === "reconnecting" && (
          <p className="branches-count" role="status">
            The server does not answer. What is new comes when it is back.
          </p>
        )}
        {details !== undefined && !isEmpty && (
          <p className="branches-count">
            {counted(details.runs.length, "run")}, {counted(details.heads.length, "branch", "branches")}
          </p>
        )}
      </ThreadHeader>
      {isEmpty ? (
        <EmptyState
          icon="branches"
          title="No runs yet"
          text="Say something first. Edit a message or have it answered again, and the branches are drawn here."
        >
          <LinkButton kind="primary" href={linkTo("talk", threadId)}>
            Say something
          </LinkButton>
        </EmptyState>
      ) : error !== undefined && details === undefined ? (
        <ErrorState title="The runs cannot be shown" error={error} onRetry={refresh} />
      ) : details === undefined ? (
        <Loading label="Asking for the runs" />
      ) : (
        <Branches threadId={threadId} details={details} log={log} refresh={refresh} />
      )}
    </>
  );
}

function Branches({
  threadId,
  details,
  log,
  refresh,
}: {
  readonly threadId: string;
  readonly details: ThreadDetails;
  readonly log: LogView;
  readonly refresh: () => void;
}): ReactElement {
  const facts = useRunFacts(log);
  const [chosen, setChosen] = useQueryValue("run");
  const [a] = useQueryValue("a");
  const [b] = useQueryValue("b");
  const runOf = (runId: string | undefined) => details.runs.find((run) => run.runId === runId);
  const [runA, runB] = [runOf(a), runOf(b)];
  if (runA !== undefined && runB !== undefined) {
    return (
      <div className="page-body">
        <CompareView threadId={threadId} details={details} facts={facts} a={runA} b={runB} />
      </div>
    );
  }
  const run = runOf(chosen) ?? runOf(details.head) ?? details.runs.at(-1);
  return (
    <div className="branches-body">
      <div className="branches-left">
        {details.runs.length === 1 && (
          <p className="branches-hint">
            One run so far. Fork it, or have it answered again, to see branches side by side.
          </p>
        )}
        <RunGraph details={details} facts={facts} selected={run?.runId} onSelect={setChosen} />
      </div>
      {run !== undefined && (
        <RunDetails
          key={run.runId}
          threadId={threadId}
          details={details}
          run={run}
          facts={facts}
          onSelect={setChosen}
          onChanged={refresh}
        />
      )}
    </div>
  );
}
