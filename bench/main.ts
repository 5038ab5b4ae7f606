/**
 * `npm run bench [-- suite …] [-- --quick]`: measures us against the published peers in one run, prints the table and
 * draws it into docs/. A row that does not reach its target says `miss`; the exit code is 0 either way, since figures are
 * for reading.
 */
import { writeFileSync } from "node:fs";
import { agentRows } from "./agent.ts";
import { clientRows } from "./client.ts";
import { FULL, QUICK, isMeasured, reaches } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { draw } from "./draw.ts";
import { historyRows } from "./history.ts";
import { inspectorRows } from "./inspector.ts";
import { protocolRows } from "./protocol.ts";
import { scaleRows } from "./scale.ts";
import { serverRows } from "./server.ts";
import { storeRows } from "./store.ts";
import { streamRows } from "./stream.ts";
import { websocketRows } from "./websocket.ts";

const SUITES: Readonly<Record<string, (effort: Effort) => readonly Row[] | Promise<readonly Row[]>>> = {
  agent: agentRows,
  client: clientRows,
  history: historyRows,
  inspector: inspectorRows,
  protocol: protocolRows,
  scale: scaleRows,
  server: serverRows,
  store: storeRows,
  stream: streamRows,
  websocket: websocketRows,
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
  if (effort !== FULL) return;
  if (rows.every(isMeasured)) {
    const file = `docs/bench-${name}.svg`;
    writeFileSync(file, draw(`heddle/${name} against its peers`, rows));
    console.log(`\ndrawn in ${file}`);
  } else console.log("\nnot drawn: some rows were not measured");
}

function line(row: Row): string {
  const [low, high] = row.spread;
  const target = `${row.kind === "faster" ? "≥" : "≤"} ${row.target}`;
  const unit = row.unit === undefined ? "×" : ` ${row.unit}`;
  const figures = isMeasured(row)
    ? `${row.ratio.toFixed(2)}${unit} [${low.toFixed(2)}–${high.toFixed(2)}]`
    : "not measured";
  const peer = row.unit === undefined ? `against ${row.peer}` : "";
  const verdict = !isMeasured(row) || reaches(row) ? "    " : "miss";
  return `${verdict} ${row.what.padEnd(46)} ${figures.padEnd(24)} ${target.padEnd(8)} ${peer}`.trimEnd();
}
