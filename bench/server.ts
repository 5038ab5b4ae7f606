/**
 * The rows of DESIGN 12 on the server: whole runs, first events, viewers. Every server that is measured is a process of its
 * own, and everything goes over real sockets on this machine.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child } from "./child.ts";
import type { Effort, Row } from "./compare.ts";
import { startPeer } from "./copilotkit-peer.ts";
import { inTurn } from "./in-turn.ts";
import { firstEvents } from "./server-first.ts";
import { hundredthRun, openingThread, wholeRuns } from "./server-runs.ts";
import { manyViewers, stalledViewers } from "./server-viewers.ts";

/** Measures the server. */
export async function serverRows(effort: Effort): Promise<readonly Row[]> {
  const peer = await startPeer();
  const folder = mkdtempSync(join(tmpdir(), "heddle-bench-"));
  const memory = await Child.start("server-child.ts", ["memory"]);
  const sqlite = await Child.start("server-child.ts", [join(folder, "log.db")]);
  const bare = await Child.start("bare-child.ts");
  try {
    return await inTurn([
      () => wholeRuns(memory, peer, "in memory", 0, 8, effort),
      () => wholeRuns(sqlite, peer, "on SQLite", 0, 3, effort),
      () => wholeRuns(memory, peer, "in memory", 200, 25, effort),
      () => wholeRuns(sqlite, peer, "on SQLite", 200, 12, effort),
      () => hundredthRun(sqlite, effort),
      () => openingThread(sqlite, peer, effort),
      () => firstEvents(sqlite, bare, folder, effort),
      () => manyViewers(effort),
      () => stalledViewers(),
    ]);
  } finally {
    await Promise.all([peer, memory, sqlite, bare].map((child) => child?.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}
