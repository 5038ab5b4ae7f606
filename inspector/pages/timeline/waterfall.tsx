/** When something was and how long it took, as a bar on the axis of its run or of the whole thread; silences are gaps in it. */
import type { ReactElement } from "react";
import type { Kind } from "../../log/event-kinds.ts";
import { formatDuration } from "../../ui/format.ts";
import type { Group } from "./timeline-group.ts";
import "./waterfall.css";

/** A stretch of time that fills the width. */
export interface Axis {
  /** When it begins. */
  readonly startMs: number;
  /** How long it is; never nothing. */
  readonly spanMs: number;
  /** Whether there are times on it. */
  readonly isKnown: boolean;
}

/** The axis of a stretch; of one whose times nobody told, an axis without times. */
export const axisOf = (startMs?: number, endMs = startMs): Axis => ({
  startMs: startMs ?? 0,
  spanMs: Math.max((endMs ?? 0) - (startMs ?? 0), 1),
  isKnown: startMs !== undefined,
});

const percent = (part: number): string => `${Math.min(100, Math.max(0, part * 100)).toFixed(3)}%`;

/** More gaps than this cannot be told apart. */
const MAX_GAPS = 24;
/** A gap so wide has room for its length. */
const WIDE = 0.16;

/** The bar of a group. */
export function GroupBar({
  group,
  kind,
  axis,
}: {
  readonly group: Group;
  readonly kind: Kind;
  readonly axis: Axis;
}): ReactElement | null {
  const { startMs, endMs, gaps } = group;
  if (startMs === undefined || endMs === undefined) return null;
  const place = (fromMs: number, untilMs: number) => ({
    left: percent((fromMs - axis.startMs) / axis.spanMs),
    width: percent((untilMs - fromMs) / axis.spanMs),
  });
  const longest =
    gaps.length > MAX_GAPS
      ? gaps.toSorted((one, other) => other.untilMs - other.fromMs - (one.untilMs - one.fromMs)).slice(0, MAX_GAPS)
      : gaps;
  return (
    <>
      <span
        className="timeline-bar"
        data-kind={kind}
        data-status={group.status}
        data-frame={group.kind === "run" || group.kind === "subagent" || group.kind === "step" ? "" : undefined}
        style={place(startMs, endMs)}
      />
      {longest.map(({ fromMs, untilMs }) => (
        <span
          key={fromMs}
          className="timeline-gap"
          style={place(fromMs, untilMs)}
          title={`Nothing for ${formatDuration(untilMs - fromMs)}`}
        >
          {(untilMs - fromMs) / axis.spanMs > WIDE && <em>{formatDuration(untilMs - fromMs)}</em>}
        </span>
      ))}
    </>
  );
}

/** The mark of one event. */
export function EventMark({
  atMs,
  kind,
  axis,
}: {
  readonly atMs: number | undefined;
  readonly kind: Kind;
  readonly axis: Axis;
}): ReactElement | null {
  if (atMs === undefined) return null;
  const left = percent((atMs - axis.startMs) / axis.spanMs);
  return <span className="timeline-mark" data-kind={kind} style={{ left }} />;
}

/** The times along an axis. */
export function AxisTicks({ axis }: { readonly axis: Axis }): ReactElement | null {
  if (!axis.isKnown) return null;
  return (
    <span className="timeline-ticks" aria-hidden="true">
      {[0, 0.25, 0.5, 0.75].map((part) => (
        <span key={part} style={{ left: percent(part) }}>
          {formatDuration(Math.round(part * axis.spanMs))}
        </span>
      ))}
    </span>
  );
}
