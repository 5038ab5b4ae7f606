/** How long the newest commits took, drawn as bars from the oldest to the newest, with both axes named. */
import type { ReactElement } from "react";
import type { Status } from "../../server/api.ts";
import { formatClock, formatDuration } from "../../ui/format.ts";
import { niceTop } from "./chart.ts";

const WIDTH = 560;
const HEIGHT = 150;
const LEFT = 64;
/** Room for the upper half of the highest label. */
const TOP = 16;
const BOTTOM = 24;
const SLOTS = 120;

/** The newest commits. */
export function CommitChart({ commits }: { readonly commits: Status["commits"] }): ReactElement {
  const { recent, p95Ms } = commits;
  if (recent.length === 0) return <p className="health-quiet">Nothing was written since the server started.</p>;
  const top = niceTop(Math.max(...recent.map(({ ms }) => ms)));
  const field = { width: WIDTH - LEFT, height: HEIGHT - BOTTOM - TOP };
  const slot = field.width / Math.max(Math.min(SLOTS, recent.length), 30);
  const yOf = (ms: number): number => TOP + field.height - (Math.min(ms, top) / top) * field.height;
  const first = recent[0];
  const last = recent.at(-1);
  return (
    <svg
      className="health-chart"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`The last ${recent.length} commits took ${formatDuration(Math.min(...recent.map(({ ms }) => ms)))} to ${formatDuration(Math.max(...recent.map(({ ms }) => ms)))}.`}
    >
      {[0, 0.5, 1].map((part) => (
        <g key={part}>
          <line className="health-chart-grid" x1={LEFT} x2={WIDTH} y1={yOf(top * part)} y2={yOf(top * part)} />
          <text x={LEFT - 6} y={yOf(top * part) + 4} textAnchor="end">
            {formatDuration(top * part)}
          </text>
        </g>
      ))}
      {recent.map(({ at, ms }, index) => (
        <rect
          key={`${at} ${index}`}
          className="health-chart-bar"
          data-slow={ms > p95Ms}
          x={LEFT + index * slot + 0.5}
          width={Math.max(slot - 1, 1)}
          y={Math.min(yOf(ms), TOP + field.height - 1)}
          height={Math.max(TOP + field.height - yOf(ms), 1)}
        >
          <title>{`${formatClock(Date.parse(at))}: ${formatDuration(ms)}`}</title>
        </rect>
      ))}
      <text x={LEFT} y={HEIGHT - 6}>
        {first && formatClock(Date.parse(first.at))}
      </text>
      {last !== first && (
        <text x={LEFT + recent.length * slot} y={HEIGHT - 6} textAnchor={recent.length < 15 ? "start" : "end"}>
          {last && formatClock(Date.parse(last.at))}
        </text>
      )}
    </svg>
  );
}
