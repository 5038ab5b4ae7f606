/** One row of the timeline: a group with what its events come to, or one event. */
import { memo } from "react";
import type { ReactElement, ReactNode } from "react";
import type { RunSummary } from "heddle/client";
import type { Kind } from "../../log/event-kinds.ts";
import { formatBytes, formatClock, formatCount, formatDuration, shortId } from "../../ui/format.ts";
import { Icon } from "../../ui/icon.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { noteOf, summaryOf } from "./event-words.ts";
import { GAP_MS } from "./timeline-index.ts";
import type { TimelineIndex } from "./timeline-index.ts";
import type { Group, GroupKind, GroupStatus } from "./timeline-group.ts";
import type { Row } from "./timeline-rows.ts";
import { EventMark, GroupBar } from "./waterfall.tsx";
import type { Axis } from "./waterfall.tsx";
import "./timeline-row.css";

/** The kind of event that a group is made of. */
export const GROUP_KINDS: Readonly<Record<GroupKind, Kind>> = {
  run: "run",
  subagent: "step",
  step: "step",
  message: "text",
  reasoning: "thoughts",
  call: "tools",
  activity: "activity",
};

/** How a run stands, in the words of the whole inspector. */
export const RUN_STATUS: Readonly<Record<GroupStatus, string>> = {
  open: "running",
  waiting: "interrupted",
  done: "finished",
  cancelled: "cancelled",
  failed: "failed",
};

/** What a row is drawn from. `stamp` changes whenever a group was added to. */
export interface TimelineRowProps {
  readonly row: Row;
  readonly index: TimelineIndex;
  readonly stamp: number;
  readonly position: number;
  readonly level: number;
  readonly isOpen: boolean;
  readonly isSelected: boolean;
  readonly hits: number | undefined;
  readonly axisStart: number;
  readonly axisSpan: number;
  readonly run: RunSummary | undefined;
  readonly top: number;
  readonly height: number;
  readonly onPress: (row: Row) => void;
  readonly onToggle: (group: Group) => void;
}

/** The id of a row in the page. */
export const rowId = (row: Row): string => (typeof row === "number" ? `timeline-e${row}` : `timeline-g${row.number}`);

/** However deep it stands, most of the width is for the words. */
const indentOf = (level: number): string => `min(${((level - 1) * 1.05 + 0.3).toFixed(2)}rem, 40%)`;

/** One row. */
export const TimelineRow = memo(function TimelineRow(props: TimelineRowProps): ReactElement {
  const { row, position, level, isOpen, isSelected, top, height, index, onPress, onToggle } = props;
  const group = typeof row === "number" ? undefined : row;
  const kind = typeof row === "number" ? index.kinds[row] : GROUP_KINDS[row.kind];
  return (
    <div
      id={rowId(row)}
      role="row"
      className="timeline-row"
      data-kind={kind}
      data-group={group?.kind}
      aria-rowindex={position + 2}
      aria-level={level}
      aria-selected={isSelected}
      {...(group !== undefined && { "aria-expanded": isOpen })}
      style={{ height, transform: `translateY(${top}px)` }}
      onClick={() => onPress(row)}
      onDoubleClick={() => group !== undefined && onToggle(group)}
    >
      <span role="gridcell" className="timeline-what" style={{ paddingLeft: indentOf(level) }}>
        {group === undefined ? (
          <span className="timeline-twig" />
        ) : (
          <span
            className="timeline-chevron"
            data-open={isOpen}
            onClick={(event) => {
              event.stopPropagation();
              onToggle(group);
            }}
          >
            <Icon name="forward" size={14} />
          </span>
        )}
        <span className="timeline-dot" aria-hidden="true" />
        {typeof row === "number" ? <EventWords {...props} row={row} /> : <GroupWords {...props} row={row} />}
      </span>
      {typeof row === "number" ? <EventTimes {...props} row={row} /> : <GroupTimes {...props} row={row} />}
    </div>
  );
});

type GroupProps = Omit<TimelineRowProps, "row"> & { readonly row: Group };
type EventProps = Omit<TimelineRowProps, "row"> & { readonly row: number };

function GroupWords({ row, hits, run }: GroupProps): ReactElement {
  const { kind, name, status, count, parts } = row;
  const amount = parts > 0 ? `${plural(parts, "part")}, ${formatBytes(row.textBytes)}` : events(count);
  const shown = hits === undefined || hits === count ? amount : `${formatCount(hits)} of ${events(count)}`;
  return (
    <>
      <strong>{kind === "run" ? (run?.agent ?? shortId(row.id)) : name}</strong>
      {kind === "run" && <StatusBadge status={RUN_STATUS[status]} />}
      {kind !== "run" && status !== "done" && row.run.status !== "open" && <Unfinished status={status} />}
      <Problems group={row} />
      <span className="timeline-amount">
        {shown}
        {kind === "run" && row.tokens !== undefined && `, ${formatCount(row.tokens)} tokens`}
      </span>
      <span className="timeline-summary">{kind === "run" ? row.id : row.preview}</span>
    </>
  );
}

const events = (count: number): string => (count === 1 ? "1 event" : `${formatCount(count)} events`);

const UNFINISHED: Readonly<Record<GroupStatus, string>> = {
  open: "not closed",
  waiting: "no result",
  done: "",
  cancelled: "stopped",
  failed: "failed",
};

function Unfinished({ status }: { readonly status: GroupStatus }): ReactElement {
  return (
    <span className="timeline-flag" data-status={status}>
      {UNFINISHED[status]}
    </span>
  );
}

/** How much is wrong in a group. */
export function Problems({ group }: { readonly group: Group }): ReactElement | null {
  const { repairs, warnings, errors } = group;
  if (!group.hasProblems) return null;
  const words = [plural(errors, "error"), plural(repairs, "repair"), plural(warnings, "warning")].filter(Boolean);
  return (
    <span className="timeline-problems" data-level={errors > 0 ? "failure" : "warning"}>
      <Icon name="warning" size={13} />
      {words.join(", ")}
    </span>
  );
}

const plural = (count: number, word: string): string =>
  count === 0 ? "" : `${formatCount(count)} ${word}${count === 1 ? "" : "s"}`;

function EventWords({ row, index }: EventProps): ReactElement {
  const event = index.entries[row]?.event;
  if (event === undefined) return <code>…</code>;
  const note = noteOf(event);
  const wait = index.waits[row] ?? 0;
  return (
    <>
      {note === undefined ? (
        <code>{event.type}</code>
      ) : (
        <strong>{note.kind === "repair" ? "Repair" : "Warning"}</strong>
      )}
      {note?.rule !== undefined && <code className="timeline-rule">{note.rule}</code>}
      {wait >= GAP_MS && <span className="timeline-wait">after {formatDuration(wait)}</span>}
      <span className="timeline-summary">{summaryOf(event)}</span>
    </>
  );
}

function GroupTimes({ row, index, axisStart, axisSpan }: GroupProps): ReactElement {
  const { startMs, durationMs } = row;
  const from = row.run.startMs ?? 0;
  const at = row.kind === "run" ? startMs && formatClock(startMs) : startMs && offset(startMs - from);
  return (
    <Times at={at || ""} duration={durationMs === undefined ? "" : formatDuration(durationMs)}>
      <GroupBar group={row} kind={GROUP_KINDS[row.kind]} axis={axis(axisStart, axisSpan)} />
      <span className="visually-hidden">{index.count > 0 && row.gaps.length > 0 && `${row.gaps.length} silences`}</span>
    </Times>
  );
}

function EventTimes({ row, index, axisStart, axisSpan }: EventProps): ReactElement {
  const atMs = index.times[row];
  const from = index.owners[row]?.run.startMs;
  const wait = index.waits[row];
  const at = atMs === undefined || from === undefined ? "" : offset(atMs - from);
  return (
    <Times at={at} duration={wait === undefined ? "" : offset(wait)} isSoft>
      <EventMark atMs={atMs} kind={index.kinds[row] ?? "other"} axis={axis(axisStart, axisSpan)} />
    </Times>
  );
}

const axis = (startMs: number, spanMs: number): Axis => ({ startMs, spanMs, isKnown: true });

const offset = (ms: number): string => `${ms < 0 ? "" : "+"}${formatDuration(ms)}`;

function Times({
  at,
  duration,
  isSoft = false,
  children,
}: {
  readonly at: string;
  readonly duration: string;
  readonly isSoft?: boolean;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <>
      <span role="gridcell" className="timeline-at">
        {at}
      </span>
      <span role="gridcell" className="timeline-duration" data-soft={isSoft}>
        {duration}
      </span>
      <span role="gridcell" className="timeline-lane">
        {children}
      </span>
    </>
  );
}
