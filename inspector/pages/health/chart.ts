/** Numbers as places in a drawing. */

/** A number in a series: where along the way, and how much. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** The path of a line through points, in a field of a width and a height; the largest `y` is at the top. */
export function linePath(
  points: readonly Point[],
  { width, height, fromX, toX, maxY }: Readonly<Record<"width" | "height" | "fromX" | "toX" | "maxY", number>>,
): string {
  const span = Math.max(toX - fromX, 1);
  return points
    .map(({ x, y }, index) => {
      const left = ((x - fromX) / span) * width;
      const top = height - (y / (maxY || 1)) * height;
      return `${index === 0 ? "M" : "L"}${left.toFixed(1)} ${top.toFixed(1)}`;
    })
    .join("");
}

/** The top of an axis: the next of 1, 2 or 5 times a power of ten. */
export function niceTop(most: number): number {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const factor = [1, 2, 5, 10].find((each) => each * power >= most * 0.999) ?? 10;
  return factor * power;
}
