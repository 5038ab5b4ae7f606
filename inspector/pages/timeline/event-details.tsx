/** What one event says: its fields by their meaning. */
import type { ReactElement, ReactNode } from "react";
import type { Event } from "heddle/protocol";
import { bareEvent } from "../../log/thread-log.ts";
import type { LogEntry } from "../../log/thread-log.ts";
import { formatCount, formatDuration, formatMoment } from "../../ui/format.ts";
import { Icon } from "../../ui/icon.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { MEANINGS, changeOf, noteOf } from "./event-words.ts";
import { joinedText, partAt } from "./joined-text.ts";
import { LongText } from "./long-text.tsx";
import type { TimelineIndex } from "./timeline-index.ts";

/** A fact: what it is called, and what it is. */
export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactElement {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** A part of the details with a heading of its own. */
export function Section({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactElement {
  return (
    <section className="timeline-section">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** What one event says. */
export function EventDetails({
  entry,
  place,
  index,
  agent,
}: {
  readonly entry: LogEntry;
  readonly place: number;
  readonly index: TimelineIndex;
  readonly agent: string | undefined;
}): ReactElement {
  const { event, seq, id, runId, atMs } = entry;
  const wait = index.waits[place];
  const before = index.entries[place - 1];
  return (
    <>
      <p className="timeline-meaning">{MEANINGS[event.type]}</p>
      <NoteBox event={event} />
      <dl className="timeline-facts">
        <Fact name="Event">
          {seq} <code className="timeline-id">{id}</code>
        </Fact>
        <Fact name="Run">
          {agent !== undefined && `${agent} `}
          <code className="timeline-id">{runId}</code>
        </Fact>
        {atMs !== undefined && <Fact name="Time">{formatMoment(atMs)}</Fact>}
        {wait !== undefined && <Fact name="Since the one before">{formatDuration(wait)}</Fact>}
        {before !== undefined && before.runId !== runId && (
          <Fact name="In the log behind">an event of another run, {before.seq}</Fact>
        )}
        <Ids event={event} />
      </dl>
      <Meaning event={event} place={place} index={index} />
      <Section title="All fields">
        <JsonView value={bareEvent(entry)} openTo={event.type === "RUN_STARTED" ? 1 : 3} />
      </Section>
    </>
  );
}

const ID_NAMES = {
  messageId: "Message",
  toolCallId: "Tool call",
  toolCallName: "Tool",
  stepName: "Step",
  subagentRunId: "Subagent",
  activityType: "Activity",
  parentRunId: "Behind run",
} as const;

function Ids({ event }: { readonly event: Event }): ReactElement {
  const given = Object.entries(ID_NAMES).flatMap(([field, name]) => {
    const value: unknown = Reflect.get(event, field);
    return typeof value === "string" ? [{ name, value }] : [];
  });
  return (
    <>
      {given.map(({ name, value }) => (
        <Fact key={name} name={name}>
          <code className="timeline-id">{value}</code>
        </Fact>
      ))}
    </>
  );
}

function NoteBox({ event }: { readonly event: Event }): ReactElement | null {
  const note = noteOf(event);
  const failure = event.type === "RUN_ERROR" || event.type === "SUBAGENT_ERROR" ? event : undefined;
  if (note === undefined && failure === undefined) return null;
  return (
    <div className="timeline-note" data-level={failure === undefined ? "warning" : "failure"}>
      <Icon name="warning" size={16} />
      <div>
        <p>{note?.message ?? failure?.message}</p>
        {note?.rule !== undefined && (
          <p>
            Rule <code>{note.rule}</code>
            {note.clause !== undefined && ` (AG-UI ${note.clause})`}
            {note.about !== undefined && `, about ${note.about}`}
          </p>
        )}
        {failure?.code !== undefined && (
          <p>
            Code <code>{failure.code}</code>
          </p>
        )}
      </div>
    </div>
  );
}

function Meaning({
  event,
  place,
  index,
}: {
  readonly event: Event;
  readonly place: number;
  readonly index: TimelineIndex;
}): ReactElement | null {
  const owner = index.owners[place];
  const part = owner === undefined ? undefined : partAt(index, owner, place);
  if (part !== undefined) {
    return (
      <Section title="The whole text, with this part">
        <LongText before={part.before} part={part.delta} after={part.after} />
      </Section>
    );
  }
  if (event.type === "TOOL_CALL_END" && owner !== undefined) {
    return (
      <Section title="Arguments">
        <ArgumentsView text={joinedText(index, owner)} />
      </Section>
    );
  }
  if (event.type === "STATE_DELTA") return <Changes patch={event.delta} />;
  if (event.type === "ACTIVITY_DELTA") return <Changes patch={event.patch} />;
  if (event.type === "RUN_STARTED" && event.input !== undefined) {
    return (
      <Section title="Input">
        <JsonView value={event.input} openTo={3} />
      </Section>
    );
  }
  return null;
}

/** Arguments of a call: as a tree once they are complete. */
export function ArgumentsView({ text }: { readonly text: string }): ReactElement {
  try {
    return <JsonView value={JSON.parse(text)} openTo={3} />;
  } catch {
    return <LongText after={text} />;
  }
}

/** So many changes of one event are listed; all of them are among its fields. */
const MAX_CHANGES = 100;

type Patch = Extract<Event, { type: "STATE_DELTA" }>["delta"];

function Changes({ patch }: { readonly patch: Patch }): ReactElement {
  return (
    <Section title="Changes">
      <ul className="timeline-changes">
        {patch.slice(0, MAX_CHANGES).map((change, number) => (
          <li key={number} data-op={change.op}>
            <em>{change.op}</em> <code>{changeOf(change)}</code>
          </li>
        ))}
        {patch.length > MAX_CHANGES && <li>{formatCount(patch.length - MAX_CHANGES)} more: see below</li>}
      </ul>
    </Section>
  );
}
