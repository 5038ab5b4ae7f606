/** One run: how it went, what it continues, what was said at its end, and what can be done from there. */
import type { ReactElement, ReactNode } from "react";
import type { RunSummary, ThreadDetails } from "heddle/client";
import { MessageRow } from "../../changes/message-row.tsx";
import { linkTo } from "../../route.ts";
import { lineageOf } from "../../runs/lineage.ts";
import type { Note, RunFacts } from "../../runs/run-facts.ts";
import { LinkButton } from "../../ui/button.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { formatCount, formatDuration, formatMoment } from "../../ui/format.ts";
import { Loading } from "../../ui/loading.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { seqOf } from "../../log/thread-log.ts";
import { RunActions } from "./run-actions.tsx";
import { counted, tokensOf } from "./run-words.ts";
import { useSnapshot } from "./use-snapshot.ts";
import "./run-details.css";

const SHOWN_MESSAGES = 50;

/** One run. */
export function RunDetails({
  threadId,
  details,
  run,
  facts,
  onSelect,
  onChanged,
}: {
  readonly threadId: string;
  readonly details: ThreadDetails;
  readonly run: RunSummary;
  readonly facts: (runId: string) => RunFacts;
  readonly onSelect: (runId: string) => void;
  /** Something was changed that the details tell of. */
  readonly onChanged: () => void;
}): ReactElement {
  const { asked = run.runId } = facts(run.runId);
  const { snapshot, error } = useSnapshot(threadId, run);
  const seq = String(seqOf(run.lastEventId));
  return (
    <section className="branches-details" aria-label="The run">
      <header>
        <h2>{asked}</h2>
        <StatusBadge status={run.status} />
      </header>
      <RunActions
        threadId={threadId}
        details={details}
        run={run}
        asked={asked}
        onSelect={onSelect}
        onChanged={onChanged}
      />
      {run.error !== undefined && (
        <p className="branches-error" role="note">
          {run.error.message}
        </p>
      )}
      <Facts details={details} run={run} facts={facts} onSelect={onSelect} />
      <div className="branches-links">
        <LinkButton small icon="timeline" href={linkTo("timeline", threadId, { run: run.runId })}>
          Timeline
        </LinkButton>
        <LinkButton small icon="travel" href={linkTo("travel", threadId, { head: run.runId, at: seq })}>
          Time travel
        </LinkButton>
      </div>
      <h3>Messages at its end</h3>
      {error !== undefined && snapshot === undefined && (
        <ErrorState title="The messages cannot be shown" error={error} />
      )}
      {error === undefined && snapshot === undefined && <Loading label="Asking for the messages" />}
      {snapshot !== undefined && (
        <div className="branches-messages">
          {snapshot.messages.length > SHOWN_MESSAGES && (
            <p>{counted(snapshot.messages.length - SHOWN_MESSAGES, "earlier message")} not shown here.</p>
          )}
          {snapshot.messages.slice(-SHOWN_MESSAGES).map((message) => (
            <MessageRow key={message.id} change={{ kind: "same", message }} />
          ))}
        </div>
      )}
    </section>
  );
}

function Facts({
  details,
  run,
  facts,
  onSelect,
}: {
  readonly details: ThreadDetails;
  readonly run: RunSummary;
  readonly facts: (runId: string) => RunFacts;
  readonly onSelect: (runId: string) => void;
}): ReactElement {
  const { notes, events, toolCalls } = facts(run.runId);
  return (
    <dl>
      <Fact name="Agent">{run.agent}</Fact>
      <Fact name="Run">
        <code>{run.runId}</code>
      </Fact>
      {run.startedAt !== undefined && <Fact name="Began">{formatMoment(Date.parse(run.startedAt))}</Fact>}
      {run.durationMs !== undefined && <Fact name="Took">{formatDuration(run.durationMs)}</Fact>}
      <Fact name="Events">{formatCount(events)}</Fact>
      <Fact name="Tool calls">{formatCount(toolCalls)}</Fact>
      {tokensOf(run) > 0 && <Fact name="Tokens">{tokenWords(run)}</Fact>}
      <Fact name="Follows">
        <Lineage details={details} run={run} facts={facts} onSelect={onSelect} />
      </Fact>
      {notes.length > 0 && (
        <Fact name="Notes">
          <ul>
            {notes.map((note) => (
              <li key={note.seq}>{noteWords(note)}</li>
            ))}
          </ul>
        </Fact>
      )}
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactElement {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Lineage({
  details: { runs },
  run,
  facts,
  onSelect,
}: {
  readonly details: ThreadDetails;
  readonly run: RunSummary;
  readonly facts: (runId: string) => RunFacts;
  readonly onSelect: (runId: string) => void;
}): ReactElement {
  const parent = runs.find(({ runId }) => runId === run.parentRunId);
  if (parent === undefined) return <>nothing: the conversation begins here</>;
  const place = lineageOf(runs, run.runId).length;
  const how = run.kind === "spawn" ? "spawned by" : `number ${place} on its branch, after`;
  return (
    <>
      {how}{" "}
      <button type="button" className="branches-link" onClick={() => onSelect(parent.runId)}>
        {facts(parent.runId).asked ?? parent.runId}
      </button>
    </>
  );
}

function tokenWords(run: RunSummary): string {
  const parts = Object.entries(run.tokens).flatMap(([name, count]) =>
    count > 0
      ? [
          `${formatCount(count)} ${name
            .replace(/Tokens$/, "")
            .replaceAll(/([A-Z])/g, " $1")
            .toLowerCase()}`,
        ]
      : [],
  );
  return parts.join(", ");
}

function noteWords({ type, payload }: Note): string {
  const said: unknown = Object(payload).note ?? Object(payload).text;
  const name = type.replaceAll("-", " ");
  return typeof said === "string" ? `${name}: ${said}` : name;
}
