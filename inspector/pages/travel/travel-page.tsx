/**
 * Time travel: a branch at any of its events. Everything is folded here out of the log, so going through a hundred thousand
 * events asks the server for nothing. `at` is the event, `from` what it is compared with, `head` the branch.
 */
import { useEffect, useMemo } from "react";
import type { ReactElement } from "react";
import type { RunSummary, ThreadDetails } from "heddle/client";
import type { ThreadPageProps } from "../../app.tsx";
import { useLog } from "../../log/use-log.ts";
import { NOTHING_LEFT, droppedWords, seqOf } from "../../log/thread-log.ts";
import type { LogEntry, LogView } from "../../log/thread-log.ts";
import { go, linkTo, useQueryValue } from "../../route.ts";
import { BranchSelect } from "../../runs/branch-select.tsx";
import { lineageOf, newestBelow } from "../../runs/lineage.ts";
import { useRunFacts } from "../../runs/run-facts.ts";
import { ThreadHeader } from "../../shell/thread-header.tsx";
import { useDetails } from "../../threads/use-details.ts";
import { LinkButton } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { formatCount } from "../../ui/format.ts";
import { Loading } from "../../ui/loading.tsx";
import { BranchFold } from "./branch-fold.ts";
import { ForkHere } from "./fork-here.tsx";
import { MomentView } from "./moment-view.tsx";
import { Scrubber } from "./scrubber.tsx";
import { TransportBar } from "./transport-bar.tsx";
import { seqIn, usePlayhead } from "./use-playhead.ts";
import "./travel-page.css";

/** The page. */
export function TravelPage({ threadId }: ThreadPageProps): ReactElement {
  const log = useLog(threadId);
  const { details, error, refresh } = useDetails(threadId, log);
  const [head] = useQueryValue("head");
  const [at] = useQueryValue("at");
  const branch = details === undefined ? undefined : chosenBranch(details, log, head, seqIn(at));
  if (branch !== undefined && details !== undefined && log.count + log.dropped > 0 && log.status !== "missing") {
    // A head that moves while one looks, or writes, takes nothing away: only who chooses another branch begins anew.
    return <Travel key={head} threadId={threadId} details={details} log={log} branch={branch} />;
  }
  return (
    <>
      <ThreadHeader threadId={threadId} page="Time travel" isNew={log.status === "missing"} />
      {log.status === "failed" ? (
        <ErrorState title="The log cannot be read" error={log.error} onRetry={log.retry} />
      ) : log.status === "missing" || details?.runs.length === 0 ? (
        <EmptyState
          icon="travel"
          title="Nothing happened here yet"
          text="Once an agent has run, every event can be gone back to."
        >
          <LinkButton kind="primary" href={linkTo("talk", threadId)}>
            Say something
          </LinkButton>
        </EmptyState>
      ) : error !== undefined && error.code !== "thread-unknown" ? (
        <ErrorState title="The conversation cannot be shown" error={error} onRetry={refresh} />
      ) : (
        <Loading label="Reading the log" />
      )}
    </>
  );
}

/** The run whose branch is meant: the one in the address, the one that has the event, or the thread's own. */
function chosenBranch(
  { runs, head }: ThreadDetails,
  { entries }: LogView,
  asked: string,
  at: number | undefined,
): string | undefined {
  if (runs.some(({ runId }) => runId === asked)) return asked;
  const own = head ?? runs.at(-1)?.runId;
  // Seqs have no gaps, but what the reader may not see is left out.
  const runId = at === undefined ? undefined : entryAt(entries, at)?.runId;
  if (runId === undefined || lineageOf(runs, own).some((run) => run.runId === runId)) return own;
  return runs.some((run) => run.runId === runId) ? newestBelow(runs, runId) : own;
}

const entryAt = (entries: readonly LogEntry[], seq: number): LogEntry | undefined => {
  for (let place = Math.min(seq, entries.length) - 1; place >= 0; place--) {
    const entry = entries[place];
    if (entry !== undefined && entry.seq <= seq) return entry.seq === seq ? entry : undefined;
  }
  return undefined;
};

function Travel({
  threadId,
  details,
  log,
  branch,
}: {
  readonly threadId: string;
  readonly details: ThreadDetails;
  readonly log: LogView;
  readonly branch: string;
}): ReactElement {
  const { runs } = details;
  const facts = useRunFacts(log);
  const line = lineageOf(runs, branch);
  const fold = useBranchFold(log, line);
  const count = fold.entries.length;
  const playhead = usePlayhead(fold, count);
  const [fromText, setFrom] = useQueryValue("from");
  const fromSeq = seqIn(fromText);
  const from = fromSeq === undefined ? undefined : fold.placeOf(fromSeq);
  const entry = fold.entries[playhead.place];
  const nameOf = (runId: string): string => facts(runId).asked ?? "…";
  const last = line.at(-1);
  const isGone = last !== undefined && seqOf(last.lastEventId) <= log.dropped;
  useKeys(playhead);
  const run = runs.find(({ runId }) => runId === entry?.runId);
  return (
    <>
      <ThreadHeader threadId={threadId} page="Time travel" title={details.title} status={details.status}>
        <BranchSelect
          details={details}
          branch={branch}
          facts={facts}
          onChoose={(head) => go(linkTo("travel", threadId, { head }))}
        />
        {run !== undefined && <ForkHere threadId={threadId} details={details} run={run} asked={nameOf(run.runId)} />}
      </ThreadHeader>
      {log.status === "loading" && (
        <p className="travel-loading" role="status">
          Reading the log: {formatCount(log.count)} of {formatCount(log.total)} events…
        </p>
      )}
      {log.dropped > 0 && !isGone && <p className="travel-loading">{droppedWords(log)}</p>}
      {log.status === "reconnecting" && (
        <p className="travel-loading" role="status">
          The server does not answer. What is new comes when it is back.
        </p>
      )}
      {isGone ? (
        <EmptyState icon="travel" {...NOTHING_LEFT}>
          <LinkButton href={linkTo("branches", threadId, { run: branch })}>See what was said</LinkButton>
        </EmptyState>
      ) : (
        <>
          <TransportBar playhead={playhead} count={count} />
          <Scrubber entries={fold.entries} count={count} playhead={playhead} from={from} nameOf={nameOf} />
          {entry === undefined ? (
            <Loading label="Reading the log" />
          ) : (
            <MomentView
              threadId={threadId}
              fold={fold}
              place={playhead.place}
              entry={entry}
              from={from}
              setFrom={setFrom}
              nameOf={nameOf}
            />
          )}
        </>
      )}
    </>
  );
}

/** The fold of a branch, as far as the log is known. */
function useBranchFold(log: LogView, line: readonly RunSummary[]): BranchFold {
  const key = line.map(({ runId }) => runId).join("\n");
  const fold = useMemo(() => new BranchFold(new Set(key.split("\n"))), [key, log.entries]);
  return useMemo(() => {
    fold.extend(log.entries, log.count);
    return fold;
  }, [fold, log.entries, log.count]);
}

/** Keys go through the events also where nothing has the focus that they would mean something to. */
function useKeys({ place, go: goTo, toggle }: ReturnType<typeof usePlayhead>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { target, key, ctrlKey, metaKey, altKey } = event;
      const isFree = target === document.body || (target instanceof HTMLElement && target.id === "main");
      if (!isFree || ctrlKey || metaKey || altKey) return;
      if (key === "ArrowLeft") goTo(place - 1);
      else if (key === "ArrowRight") goTo(place + 1);
      else if (key === "Home") goTo(0);
      else if (key === "End") goTo(Infinity);
      else if (key === " ") toggle();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [place, goTo, toggle]);
}
