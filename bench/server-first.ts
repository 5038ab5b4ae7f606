/** Rows on the first event of a run, as the server answers for it: against `node:http` that parses the same body. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { compareTimes } from "./compare.ts";
import type { Effort, Row, RowPlan } from "./compare.ts";
import type { Child } from "./child.ts";
import { firstEvent } from "./post.ts";
import { Conversation, asking, bodyOf, newId, ours } from "./server-runs.ts";
import { history } from "./workloads.ts";

const ORDER = { deltas: 1 };

const row = (what: string, peer: string, target: number): RowPlan => ({ what, peer, kind: "cost", target });

/** First events on SQLite, with 2,000 messages posted and on an empty thread. */
export async function firstEvents(server: Child, bare: Child, folder: string, effort: Effort): Promise<readonly Row[]> {
  const often = { rounds: effort.rounds, samples: effort.quick ? 5 : 9 };
  const held = history(2000);
  const known = new Conversation(held);
  await known.talk(server, ORDER.deltas);
  const time = async (url: string, body: string): Promise<number> => {
    await server.ask("settled");
    return (await firstEvent(url, body)).ms;
  };
  const many = (): string => bodyOf(newId("thread"), [...held, asking()], ORDER);
  /** As a client does that has heard all answers: one that has not would begin a branch of its own, with all of it. */
  const goOn = async (): Promise<number> => {
    await server.ask("settled");
    const { ms, text } = await firstEvent(ours(server), known.ask(ORDER.deltas));
    known.hear(text);
    return ms;
  };
  const few = (): string => bodyOf(newId("thread"), [asking()], ORDER);
  const commit = commits(folder, few());
  return [
    await compareTimes(
      row("first event, 2,000 messages posted, held", "bare node:http that parses them", 2),
      goOn,
      () => time(bare.url, many()),
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
