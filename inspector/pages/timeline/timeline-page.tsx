/** The page Timeline: every event of a thread, live from the log. */
import { useCallback, useEffect, useMemo, useState } from "react";
import type { ReactElement } from "react";
import type { RunSummary, ThreadDetails } from "heddle/client";
import type { ThreadPageProps } from "../../app.tsx";
import { droppedWords } from "../../log/thread-log.ts";
import { linkTo, useQueryValue } from "../../route.ts";
import { useConnection } from "../../server/connection.tsx";
import { ThreadHeader } from "../../shell/thread-header.tsx";
import { useDetails } from "../../threads/use-details.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { formatCount } from "../../ui/format.ts";
import { Loading } from "../../ui/loading.tsx";
import { CopyDialog } from "./copy-dialog.tsx";
import { DetailPane } from "./detail-pane.tsx";
import { TimelineList } from "./timeline-list.tsx";
import { TimelineToolbar } from "./timeline-toolbar.tsx";
import { useTimeline } from "./use-timeline.ts";
import type { Timeline } from "./use-timeline.ts";
import "./timeline-page.css";

/** The page. */
export function TimelinePage({ threadId }: ThreadPageProps): ReactElement {
  const [isPaneOpen, setPaneOpen] = useState(false);
  const [isCopying, setCopying] = useState(false);
  const openPane = useCallback(() => setPaneOpen(true), []);
  const timeline = useTimeline(threadId, openPane);
  const { log, isPaused, pause, count } = timeline;
  const { details } = useDetails(threadId, log);
  const runs = useRuns(details);
  const waiting = log.count - count;
  // What is copied of a log that is still read would be a part of what it says it is.
  const mayCopy = count > 0 && log.status !== "loading";
  useCopyKey(useCallback(() => mayCopy && setCopying(true), [mayCopy]));
  return (
    <>
      <ThreadHeader
        threadId={threadId}
        page="Timeline"
        title={details?.title}
        isNew={log.status === "missing"}
        status={details?.status}
      >
        {log.status === "reconnecting" && (
          <span className="timeline-reconnecting" role="status">
            Reconnecting…
          </span>
        )}
        <Button icon={isPaused ? "play" : "pause"} aria-pressed={isPaused} onClick={() => pause(!isPaused)}>
          {isPaused ? `Resume${waiting > 0 ? ` (${formatCount(waiting)} new)` : ""}` : "Pause"}
        </Button>
        <Button icon="copy" disabled={!mayCopy} onClick={() => setCopying(true)} title="Copy events (c)">
          Copy
        </Button>
      </ThreadHeader>
      <div className="timeline">
        <Body {...{ threadId, timeline, runs, isPaneOpen, setPaneOpen, setCopying }} />
      </div>
      {isCopying && mayCopy && <Copying {...{ threadId, timeline, runs }} onClose={() => setCopying(false)} />}
    </>
  );
}

/** `c` opens what is copied, from anywhere but a field. */
function useCopyKey(onCopy: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const { target } = event;
      const isTyping = target instanceof HTMLElement && target.matches("input, textarea, select, dialog *");
      if (event.key !== "c" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      onCopy();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [onCopy]);
}

type Runs = ReadonlyMap<string, RunSummary>;

const useRuns = (details: ThreadDetails | undefined): Runs =>
  useMemo(() => new Map((details?.runs ?? []).map((run) => [run.runId, run])), [details]);

function Copying({
  threadId,
  timeline,
  runs,
  onClose,
}: {
  readonly threadId: string;
  readonly timeline: Timeline;
  readonly runs: Runs;
  readonly onClose: () => void;
}): ReactElement {
  const { server, me } = useConnection();
  return (
    <CopyDialog
      timeline={timeline}
      source={{ url: server.url, threadId, wantsToken: me.authenticated }}
      agentOf={(runId) => runs.get(runId ?? "")?.agent}
      onClose={onClose}
    />
  );
}

function Body({
  threadId,
  timeline,
  runs,
  isPaneOpen,
  setPaneOpen,
  setCopying,
}: {
  readonly threadId: string;
  readonly timeline: Timeline;
  readonly runs: Runs;
  readonly isPaneOpen: boolean;
  readonly setPaneOpen: (isOpen: boolean) => void;
  readonly setCopying: (isCopying: boolean) => void;
}): ReactElement {
  const { log, rows, selected, index, count, filter } = timeline;
  const [zoom] = useQueryValue("zoom");
  const open = useCallback(() => setPaneOpen(true), [setPaneOpen]);
  const close = useCallback(() => {
    setPaneOpen(false);
    document.querySelector<HTMLElement>(".timeline-scroller")?.focus();
  }, [setPaneOpen]);
  if (log.status === "failed") {
    return <ErrorState title="The events cannot be read" error={log.error} onRetry={log.retry} />;
  }
  if (log.status === "missing") return <Nothing threadId={threadId} />;
  if (log.status === "loading") {
    const { total } = log;
    const label = total === 0 ? "Reading events" : `Reading events: ${formatCount(log.count)} of ${formatCount(total)}`;
    return <Loading label={label} {...(total > 0 && { done: log.count / total })} />;
  }
  if (count === 0 && log.status === "reconnecting") return <Loading label="Waiting for the server to answer" />;
  if (count === 0) return <Nothing threadId={threadId} />;
  return (
    <>
      {log.dropped > 0 && <p className="timeline-dropped">{droppedWords(log)}</p>}
      <TimelineToolbar timeline={timeline} runs={runs} />
      <div className="timeline-body">
        {rows.length === 0 && filter !== undefined && filter.read >= count ? (
          <EmptyState icon="search" title="No event matches" text="Take something out of the search or the filter." />
        ) : (
          <TimelineList
            timeline={timeline}
            runs={runs}
            zoom={zoom === "thread" ? "thread" : "run"}
            onOpen={open}
            onClose={close}
          />
        )}
        {isPaneOpen && selected !== undefined && (
          <DetailPane
            row={selected}
            index={index}
            threadId={threadId}
            runs={runs}
            onClose={close}
            onCopy={() => setCopying(true)}
          />
        )}
      </div>
    </>
  );
}

function Nothing({ threadId }: { readonly threadId: string }): ReactElement {
  return (
    <EmptyState
      icon="timeline"
      title="Nothing has happened here yet"
      text="As soon as something is said in this conversation, its events are shown here as they come."
    >
      <LinkButton kind="primary" href={linkTo("talk", threadId)}>
        Say something
      </LinkButton>
    </EmptyState>
  );
}
