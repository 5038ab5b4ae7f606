/**
 * The rows of DESIGN 12 and issue 7 on long histories: the 100th run of a thread, opening a thread, and opening one with
 * many branches. Over real sockets, from SQLite, each server a process of its own.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child } from "./child.ts";
import { comparePerUnit } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { startPeer } from "./copilotkit-peer.ts";
import { inTurn } from "./in-turn.ts";
import { postForText, postToEnd } from "./post.ts";
import { asking, bodyOf, hundredthRun, newId, openingThread, ours } from "./server-runs.ts";

/** Measures long histories. */
export async function historyRows(effort: Effort): Promise<readonly Row[]> {
  const peer = await startPeer();
  const folder = mkdtempSync(join(tmpdir(), "heddle-bench-"));
  const sqlite = await Child.start("server-child.ts", [join(folder, "log.db")]);
  try {
    return await inTurn([
      () => hundredthRun(sqlite, effort),
      () => openingThread(sqlite, peer, effort),
      () => manyBranches(sqlite, effort),
    ]);
  } finally {
    await Promise.all([peer, sqlite].map((child) => child?.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

const DELTAS = 50;

/** A thread of runs in a line, with the ids of the runs and the first message. */
async function line(server: Child, runs: number) {
  const threadId = newId("thread");
  const held = asking();
  const ids: string[] = [];
  for (let run = 0; run < runs; run++) {
    const runId = newId("run");
    ids.push(runId);
    await postToEnd(ours(server), bodyOf(threadId, [run === 0 ? held : asking()], { deltas: DELTAS }, runId));
  }
  return { threadId, held, ids };
}

/** Opening a thread of 1,000 runs in 200 branches, whose head is the 100th run of a line, against one of that line alone. */
async function manyBranches(server: Child, effort: Effort): Promise<Row> {
  const [alone, among] = [await line(server, 100), await line(server, 100)];
  for (let branch = 0; branch < 199; branch++) {
    let parent = among.ids[(branch * 37) % 99] ?? "";
    const length = branch < 104 ? 5 : 4;
    for (let run = 0; run < length; run++) {
      const runId = newId("run");
      const url = ours(server, `?parent=${parent}`);
      await postToEnd(url, bodyOf(among.threadId, [asking()], { deltas: DELTAS }, runId));
      parent = runId;
    }
  }
  const thread = `${server.url}/threads/${among.threadId}`;
  const headers = { "content-type": "application/json" };
  await fetch(thread, { method: "PATCH", headers, body: JSON.stringify({ head: among.ids.at(-1) }) });
  await checkTree(thread);
  await server.ask("settled");
  const open = ({ threadId, held }: typeof alone): Promise<unknown> =>
    postToEnd(ours(server, "/connect"), bodyOf(threadId, [held], {}));
  const [one, other] = [alone, among].map(({ threadId }) =>
    postForText(ours(server, "/connect"), bodyOf(threadId, [], {})),
  );
  if (questions(await one) !== questions(await other)) throw new Error("The two threads do not open with the same.");
  return comparePerUnit(
    {
      what: "opening 1,000 runs in 200 branches",
      peer: "100 runs of the same head",
      kind: "cost",
      target: 2,
    },
    { units: 1, work: () => open(among) },
    { units: 1, work: () => open(alone) },
    { ...effort, sliceMs: effort.sliceMs * 4 },
  );
}

const questions = (text = ""): number => text.split("what did the loom do").length;

async function checkTree(thread: string): Promise<void> {
  const { runs, heads }: { runs: unknown[]; heads: unknown[] } = JSON.parse(await (await fetch(thread)).text());
  if (runs.length !== 1000 || heads.length !== 200) {
    throw new Error(`The thread has ${runs.length} runs and ${heads.length} branches.`);
  }
}
