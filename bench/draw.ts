/** Draws the table of a benchmark as an SVG: one bar a row, the target as a line, on a logarithmic scale. */
import { reaches } from "./compare.ts";
import type { Row } from "./compare.ts";

const WIDTH = 860;
const LABEL = 380;
const LINE = 34;

/** How far beyond its target a row is: 1 is just there, whichever way the ratio points. */
const margin = ({ kind, ratio, target }: Row): number => (kind === "faster" ? ratio / target : target / ratio);

export function draw(title: string, rows: readonly Row[]): string {
  const most = Math.max(4, ...rows.map(margin));
  const least = Math.min(0.5, ...rows.map(margin));
  const x = (value: number): number =>
    LABEL + ((Math.log(value) - Math.log(least)) / (Math.log(most) - Math.log(least))) * (WIDTH - LABEL - 110);
  const height = 70 + rows.length * LINE;
  const bars = rows.map((row, index) => {
    const y = 52 + index * LINE;
    const end = x(margin(row));
    const color = reaches(row) ? "#2f8f6b" : "#b4453a";
    const unit = row.unit === undefined ? "×" : ` ${row.unit}`;
    const label = `${row.ratio.toFixed(2)}${unit} (${row.kind === "faster" ? "≥" : "≤"} ${row.target})`;
    const peer = row.unit === undefined ? `against ${row.peer}` : `in ${row.unit}`;
    return `<text x="${LABEL - 10}" y="${y + 13}" text-anchor="end">${escape(row.what)}</text>
<text x="${LABEL - 10}" y="${y + 25}" text-anchor="end" class="peer">${escape(peer)}</text>
<rect x="${LABEL}" y="${y + 4}" width="${Math.max(1, end - LABEL).toFixed(1)}" height="16" rx="2" fill="${color}"/>
<text x="${(Math.max(end, LABEL) + 6).toFixed(1)}" y="${y + 16}">${label}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12">
<style>text{fill:#222}.peer{fill:#777;font-size:10px}@media(prefers-color-scheme:dark){text{fill:#ddd}.peer{fill:#999}}</style>
<text x="16" y="24" font-size="15" font-weight="600">${escape(title)}</text>
<text x="16" y="41" class="peer">How far beyond its target each row is; the line is the target. Medians of interleaved rounds.</text>
<line x1="${x(1).toFixed(1)}" x2="${x(1).toFixed(1)}" y1="48" y2="${height - 14}" stroke="#888" stroke-dasharray="3 3"/>
${bars.join("\n")}
</svg>
`;
}

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
