/**
 * All events of a branch in one strip, coloured by what they are about, and a handle that goes through them. Runs stand above
 * where there is room for their names.
 */
import { memo, useMemo } from "react";
import type { KeyboardEvent, ReactElement } from "react";
import { KINDS } from "../../log/event-kinds.ts";
import type { LogEntry } from "../../log/thread-log.ts";
import { formatCount } from "../../ui/format.ts";
import { describeEvent } from "./describe-event.ts";
import { boundariesOf, columnsOf, kindsIn } from "./strip.ts";
import type { Column } from "./strip.ts";
import type { Playhead } from "./use-playhead.ts";
import "./scrubber.css";

const COLUMNS = 240;
/** A run of a smaller part of the whole has no name above. */
const LEAST_SHARE = 0.05;

/** The strip and its handle. */
export function Scrubber({
  entries,
  count,
  playhead,
  from,
  nameOf,
}: {
  readonly entries: readonly LogEntry[];
  readonly count: number;
  readonly playhead: Playhead;
  /** Place that it is compared with. */
  readonly from: number | undefined;
  /** What a run was asked. */
  readonly nameOf: (runId: string) => string;
}): ReactElement {
  const columns = useMemo(() => columnsOf(entries, count, COLUMNS), [entries, count]);
  const { place, go, toggle } = playhead;
  const entry = entries[place];
  const spoken = `Event ${place + 1} of ${count}: ${entry === undefined ? "" : `${entry.event.type}. ${describeEvent(entry.event)}`}`;
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== " ") return;
    event.preventDefault();
    toggle();
  };
  return (
    <div className="travel-scrubber">
      <RunNames entries={entries} count={count} nameOf={nameOf} onGo={go} />
      <div className="travel-track">
        <Strip columns={columns} />
        <Runs entries={entries} count={count} />
        {from !== undefined && <span className="travel-from" style={{ left: share(from, count) }} aria-hidden="true" />}
        <input
          type="range"
          aria-label="Event"
          aria-valuetext={spoken}
          min={0}
          max={Math.max(count - 1, 0)}
          value={Math.max(place, 0)}
          onChange={(event) => go(event.currentTarget.valueAsNumber)}
          onKeyDown={onKey}
        />
      </div>
      <ul className="travel-legend" aria-label="Colours">
        {kindsIn(columns).map((kind) => (
          <li key={kind} data-kind={kind}>
            {KINDS[kind]}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** How far along a place is, as a part of the whole. */
const share = (place: number, count: number): string => `${(place / Math.max(count - 1, 1)) * 100}%`;

const Strip = memo(function Strip({ columns }: { readonly columns: readonly Column[] }): ReactElement {
  // The middle of the first column stands at the beginning of the handle's way, that of the last one at its end.
  const width = Math.max(columns.length - 1, 1);
  const gap = columns.length <= 80 ? 0.12 : 0;
  return (
    <svg
      className="travel-strip"
      viewBox={`${columns.length > 1 ? 0.5 : 0} 0 ${width} 1`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {columns.map(({ counts, total }, column) => {
        let top = 0;
        return counts.map(({ kind, count }) => {
          const height = count / total;
          const y = top;
          top += height;
          return (
            <rect
              key={`${column} ${kind}`}
              data-kind={kind}
              x={column + gap / 2}
              y={y}
              width={1 - gap}
              height={height}
            />
          );
        });
      })}
    </svg>
  );
});

/** Lines where runs begin; of very many, none. */
const Runs = memo(function Runs({
  entries,
  count,
}: {
  readonly entries: readonly LogEntry[];
  readonly count: number;
}): ReactElement {
  const boundaries = boundariesOf(entries, count);
  return (
    <>
      {boundaries.length <= COLUMNS &&
        boundaries
          .slice(1)
          .map(({ place, runId }) => (
            <span
              key={runId}
              className="travel-boundary"
              style={{ left: share(place - 0.5, count) }}
              aria-hidden="true"
            />
          ))}
    </>
  );
});

function RunNames({
  entries,
  count,
  nameOf,
  onGo,
}: {
  readonly entries: readonly LogEntry[];
  readonly count: number;
  readonly nameOf: (runId: string) => string;
  readonly onGo: (place: number) => void;
}): ReactElement {
  const boundaries = useMemo(() => boundariesOf(entries, count), [entries, count]);
  return (
    <div className="travel-runs">
      {boundaries.map(({ place, runId }, index) => {
        const until = boundaries[index + 1]?.place ?? count;
        const part = (until - place) / count;
        if (part < LEAST_SHARE) return null;
        const name = nameOf(runId);
        return (
          <button
            key={runId}
            type="button"
            title={`Go to the beginning of this run: ${name}`}
            style={{ left: `${(place / count) * 100}%`, width: `${part * 100}%` }}
            onClick={() => onGo(place)}
          >
            {`${formatCount(index + 1)}. ${name}`}
          </button>
        );
      })}
    </div>
  );
}
