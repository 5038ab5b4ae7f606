/** Everything about the row that is selected: at the side, or on narrow screens as a sheet over the rows. */
import { useState } from "react";
import type { ReactElement } from "react";
import type { RunSummary } from "heddle/client";
import { bareEvent } from "../../log/thread-log.ts";
import { linkTo } from "../../route.ts";
import { Button, IconButton, LinkButton } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { noteOf } from "./event-words.ts";
import { EventDetails } from "./event-details.tsx";
import { GroupDetails } from "./group-details.tsx";
import { entriesIn } from "./timeline-group.ts";
import type { Group } from "./timeline-group.ts";
import { GROUP_NAMES } from "./selections.ts";
import type { TimelineIndex } from "./timeline-index.ts";
import { GROUP_KINDS } from "./timeline-row.tsx";
import type { Row } from "./timeline-rows.ts";
import "./detail-pane.css";

/** So many events of a group are shown as they are; all can be copied. */
const MAX_RAW = 200;

/** Everything about a row. */
export function DetailPane({
  row,
  index,
  threadId,
  runs,
  onClose,
  onCopy,
}: {
  readonly row: Row;
  readonly index: TimelineIndex;
  readonly threadId: string;
  readonly runs: ReadonlyMap<string, RunSummary>;
  readonly onClose: () => void;
  readonly onCopy: () => void;
}): ReactElement | null {
  const [form, setForm] = useState<"formatted" | "raw">("formatted");
  const group = typeof row === "number" ? index.owners[row] : row;
  const entry = index.entries[typeof row === "number" ? row : row.first];
  if (group === undefined || entry === undefined) return null;
  const run = runs.get(group.runId);
  const isEvent = typeof row === "number";
  return (
    <aside
      className="timeline-details"
      aria-label="Details"
      data-kind={isEvent ? index.kinds[row] : GROUP_KINDS[group.kind]}
      tabIndex={-1}
      onKeyDown={(event) => event.key === "Escape" && onClose()}
    >
      <header>
        <span className="timeline-dot" aria-hidden="true" />
        <h2>{isEvent ? eventTitle(index, row) : groupTitle(group, run)}</h2>
        <IconButton icon="close" label="Close the details" onClick={onClose} />
      </header>
      <div className="timeline-tabs" role="group" aria-label="Form">
        {(["formatted", "raw"] as const).map((name) => (
          <button key={name} type="button" aria-pressed={form === name} onClick={() => setForm(name)}>
            {name === "formatted" ? "Formatted" : "Raw"}
          </button>
        ))}
        <Button small icon="copy" onClick={onCopy}>
          Copy as…
        </Button>
      </div>
      <div className="timeline-details-body" tabIndex={0} role="region" aria-label="What it says">
        {form === "raw" ? (
          <CodeBlock
            code={isEvent ? JSON.stringify(bareEvent(entry), undefined, 2) : rawOf(index, group)}
            label={isEvent ? "JSON" : "JSON, one event a line"}
          />
        ) : isEvent ? (
          <EventDetails entry={entry} place={row} index={index} agent={run?.agent} />
        ) : (
          <GroupDetails group={group} index={index} run={run} />
        )}
      </div>
      <footer>
        <LinkButton
          small
          icon="travel"
          href={linkTo("travel", threadId, { at: String(index.entries[isEvent ? row : group.last]?.seq ?? "") })}
        >
          Time travel to here
        </LinkButton>
        <LinkButton small icon="branches" href={linkTo("branches", threadId, { run: group.runId })}>
          Branch
        </LinkButton>
        {group.kind === "message" && (
          <LinkButton small icon="talk" href={linkTo("talk", threadId, { run: group.runId, message: group.id })}>
            In the conversation
          </LinkButton>
        )}
      </footer>
    </aside>
  );
}

function eventTitle(index: TimelineIndex, place: number): string {
  const event = index.entries[place]?.event;
  if (event === undefined) return "";
  const note = noteOf(event);
  if (note === undefined) return event.type;
  return note.kind === "repair" ? "Repair" : "Warning";
}

function groupTitle({ kind, name }: Group, run: RunSummary | undefined): string {
  if (kind === "run") return `Run${run === undefined ? "" : ` of ${run.agent}`}`;
  return kind === "reasoning" ? name : `${GROUP_NAMES[kind]}: ${name}`;
}

function rawOf(index: TimelineIndex, group: Group): string {
  const places = entriesIn(group);
  const lines = places.slice(0, MAX_RAW).flatMap((place) => {
    const entry = index.entries[place];
    return entry === undefined ? [] : [JSON.stringify(bareEvent(entry))];
  });
  const more = places.length - lines.length;
  return lines.join("\n") + (more > 0 ? `\n… ${more} more: copy them as a fixture` : "");
}
