/** The event that is looked at: what it is, when it was, and what it changed, place by place. */
import { useMemo, useState } from "react";
import type { ReactElement } from "react";
import type { Interrupt } from "heddle/protocol";
import { Replaced } from "../../changes/changes-view.tsx";
import { kindOf } from "../../log/event-kinds.ts";
import { bareEvent } from "../../log/thread-log.ts";
import type { LogEntry } from "../../log/thread-log.ts";
import { linkTo } from "../../route.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { formatCount, formatPreciseClock } from "../../ui/format.ts";
import { Icon } from "../../ui/icon.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import type { Moment, Step } from "./branch-fold.ts";
import { describeEvent } from "./describe-event.ts";
import { eventPlaces, readablePath, untoldPlaces } from "./event-changes.ts";
import "./event-card.css";

/** The event, and how the run stands behind it. */
export function EventCard({
  threadId,
  entry,
  step,
  runName,
}: {
  readonly threadId: string;
  readonly entry: LogEntry;
  readonly step: Step;
  /** What its run was asked. */
  readonly runName: string;
}): ReactElement {
  const [isRaw, setRaw] = useState(false);
  const { event, seq, atMs } = entry;
  const places = useMemo(() => eventPlaces(event, step.before), [event, step.before]);
  const untold = untoldPlaces(event);
  return (
    <section className="travel-event" aria-label="This event">
      <header>
        <code className="travel-type" data-kind={kindOf(event)}>
          {event.type}
        </code>
        <p>{describeEvent(event)}</p>
        <div className="travel-event-actions">
          <Button small kind="quiet" aria-expanded={isRaw} onClick={() => setRaw(!isRaw)}>
            JSON
          </Button>
          <LinkButton small kind="quiet" icon="timeline" href={linkTo("timeline", threadId, { event: String(seq) })}>
            In the timeline
          </LinkButton>
        </div>
      </header>
      <dl>
        <div>
          <dt>Time</dt>
          <dd>{atMs === undefined ? "not told" : formatPreciseClock(atMs)}</dd>
        </div>
        <div>
          <dt>Place in the log</dt>
          <dd>{seq}</dd>
        </div>
        <div className="travel-event-run">
          <dt>Run</dt>
          <dd title={entry.runId}>
            <span>{runName}</span> <StatusBadge status={step.after.view.run.status} />
          </dd>
        </div>
      </dl>
      {places !== undefined && places.length > 0 && (
        <ul className="travel-places" aria-label="What it changed">
          {places.map(({ path, from, before, after }, index) => (
            <li key={`${index} ${path}`}>
              <Replaced
                name={`${readablePath(path)}${from === undefined ? "" : ` (from ${readablePath(from)})`}: `}
                before={before}
                after={after}
              />
            </li>
          ))}
          {untold > 0 && <li>{formatCount(untold)} more: they are in the JSON</li>}
        </ul>
      )}
      {step.warnings.map(({ message }) => (
        <p key={message} className="travel-warning">
          <Icon name="warning" size={16} /> {message}
        </p>
      ))}
      <Open moment={step.after} />
      {isRaw && <JsonView value={bareEvent(entry)} openTo={3} />}
    </section>
  );
}

/** What waits, or goes on, behind the event. */
function Open({ moment }: { readonly moment: Moment }): ReactElement | null {
  const { interrupts, pendingToolCallIds, view } = moment;
  const calls = view.run.status === "running" ? view.pendingToolCallIds : pendingToolCallIds;
  const { steps, subagents } = view;
  const busy = subagents.filter(({ status }) => status === "running");
  if (interrupts.length + calls.length + steps.length + busy.length === 0) return null;
  const names = new Map(
    view.messages.flatMap((message) =>
      message.role === "assistant"
        ? (message.toolCalls ?? []).map((call) => [call.id, call.function.name] as const)
        : [],
    ),
  );
  return (
    <ul className="travel-open" aria-label="Open at this event">
      {interrupts.map((interrupt) => (
        <li key={interrupt.id} data-kind="question">
          <Icon name="info" size={15} /> Waits for an answer: {questionOf(interrupt)}
        </li>
      ))}
      {calls.map((id) => (
        <li key={id} data-kind="tools">
          <Icon name="tool" size={15} />{" "}
          {view.run.status === "running" ? "Tool is called: " : "Waits for the result of "}
          {names.get(id) ?? id}
        </li>
      ))}
      {steps.map(({ name, subagentRunId }) => (
        <li key={`${subagentRunId} ${name}`} data-kind="step">
          <Icon name="timeline" size={15} /> Step: {name}
        </li>
      ))}
      {busy.map(({ subagentRunId, name }) => (
        <li key={subagentRunId} data-kind="step">
          <Icon name="agent" size={15} /> Subagent: {name}
        </li>
      ))}
    </ul>
  );
}

const questionOf = ({ message, reason }: Interrupt): string => message ?? reason;
