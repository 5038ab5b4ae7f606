/**
 * `npm run bench [-- suite …] [-- --quick]`: measures us against the published peers in one run, prints the table and
 * draws it into docs/. A row that does not reach its target says `miss`; the exit code is 0 either way, since figures are
 * for reading.
 */
import { writeFileSync } from "node:fs";
import { agentRows } from "./agent.ts";
import { FULL, QUICK, reaches } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { draw } from "./draw.ts";
import { protocolRows } from "./protocol.ts";
import { storeRows } from "./store.ts";
import { streamRows } from "./stream.ts";

const SUITES: Readonly<Record<string, (effort: Effort) => readonly Row[] | Promise<readonly Row[]>>> = {
  agent: agentRows,
  protocol: protocolRows,
  store: storeRows,
  stream: streamRows,
};

const words = process.argv.slice(2);
const effort = words.includes("--quick") ? QUICK : FULL;
const chosen = words.filter((word) => !word.startsWith("--"));
const unknown = chosen.find((name) => !Object.hasOwn(SUITES, name));

if (unknown === undefined) for (const name of chosen.length > 0 ? chosen : Object.keys(SUITES)) await runSuite(name);
else {
  console.error(`There is no suite ${unknown}. Choose among: ${Object.keys(SUITES).join(", ")}.`);
  process.exitCode = 2;
}

async function runSuite(name: string): Promise<void> {
  const rows = (await SUITES[name]?.(effort)) ?? [];
  console.log(`\n${name}, ratios, median of ${effort.rounds} interleaved rounds (middle half in brackets)\n`);
  for (const row of rows) console.log(line(row));
  if (effort === FULL) {
    const file = `docs/bench-${name}.svg`;
    writeFileSync(file, draw(`heddle/${name} against its peers`, rows));
    console.log(`\ndrawn in ${file}`);
  }
}

function line(row: Row): string {
  const [low, high] = row.spread;
  const target = `${row.kind === "faster" ? "≥" : "≤"} ${row.target}`;
  const figures = `${row.ratio.toFixed(2)}× [${low.toFixed(2)}–${high.toFixed(2)}]`;
  return `${reaches(row) ? "    " : "miss"} ${row.what.padEnd(44)} ${figures.padEnd(24)} ${target.padEnd(8)} against ${row.peer}`;
}
