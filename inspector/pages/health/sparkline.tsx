/** A small line of how a number moved. What it is now stands beside it in words. */
import type { ReactElement } from "react";
import { linePath } from "./chart.ts";
import type { Point } from "./chart.ts";
import { KEPT_MS } from "./status-history.ts";

const WIDTH = 120;
const HEIGHT = 32;

/** A line over the last minutes. */
export function Sparkline({ points }: { readonly points: readonly Point[] }): ReactElement {
  const toX = points.at(-1)?.x ?? 0;
  // A line that has just begun is drawn at the right half at most, and grows to the left.
  const fromX = Math.max(toX - KEPT_MS, Math.min(points[0]?.x ?? 0, toX - 60_000));
  const maxY = Math.max(1, ...points.map(({ y }) => y));
  const line = linePath(points, { width: WIDTH, height: HEIGHT - 4, fromX, toX, maxY });
  const first = ((points[0]?.x ?? 0) - fromX) / Math.max(toX - fromX, 1);
  return (
    <svg className="health-sparkline" viewBox={`0 -2 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {points.length > 1 && (
        <>
          <path
            className="health-sparkline-ground"
            d={`${line}L${WIDTH} ${HEIGHT - 2}L${(first * WIDTH).toFixed(1)} ${HEIGHT - 2}Z`}
          />
          <path className="health-sparkline-line" d={line} vectorEffect="non-scaling-stroke" />
        </>
      )}
    </svg>
  );
}
