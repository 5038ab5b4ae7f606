/** Rows on the first event of a run, as the server answers for it: against `node:http` that parses the same body. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { compareTimes } from "./compare.ts";
import type { Effort, Row, RowPlan } from "./compare.ts";
import type { Child } from "./child.ts";
import { firstEventMs } from "./post.ts";
import { asking, bodyOf, newId, ours } from "./server-runs.ts";
import { history } from "./workloads.ts";

const ORDER = { deltas: 1 };

const row = (what: string, peer: string, target: number): RowPlan => ({ what, peer, kind: "cost", target });

/** First events on SQLite, with 2,000 messages posted and on an empty thread. */
export async function firstEvents(server: Child, bare: Child, folder: string, effort: Effort): Promise<readonly Row[]> {
  const often = { rounds: effort.rounds, samples: effort.quick ? 5 : 9 };
  const held = history(2000);
  const known = newId("thread");
  await firstEventMs(ours(server), bodyOf(known, held, ORDER));
  const time = async (url: string, body: string): Promise<number> => {
    await server.ask("settled");
    return firstEventMs(url, body);
  };
  const many = (threadId = newId("thread")): string => bodyOf(threadId, [...held, asking()], ORDER);
  const few = (): string => bodyOf(newId("thread"), [asking()], ORDER);
  const commit = commits(folder, few());
  return [
    await compareTimes(
      row("first event, 2,000 messages posted, held", "bare node:http that parses them", 2),
      () => time(ours(server), many(known)),
      () => time(bare.url, many(known)),
      often,
    ),
    await compareTimes(
      row("first event, 2,000 messages posted, new", "bare node:http that parses them", 2),
      () => time(ours(server), many()),
      () => time(bare.url, many()),
      often,
    ),
    await compareTimes(
      row("first event, an empty thread", "bare node:http + 2 commits + 1 ms", 1),
      () => time(ours(server), few()),
      async () => (await time(bare.url, few())) + 2 * commit() + 1,
      often,
    ),
  ];
}

/** Makes what commits as many bytes as the start of a run has, FULL, by SQLite alone. It says how long that took. */
function commits(folder: string, body: string): () => number {
  const bare = new DatabaseSync(join(folder, "commits.db"));
  bare.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE starts (data BLOB)");
  const insert = bare.prepare("INSERT INTO starts VALUES (?)");
  const data = Buffer.from(body);
  return () => {
    const began = performance.now();
    bare.exec("BEGIN");
    insert.run(data);
    bare.exec("COMMIT");
    return performance.now() - began;
  };
}
