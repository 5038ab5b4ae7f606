/**
 * How much later the other instance delivers: runs are executed on one, at the pace of a model, and each has a viewer on
 * either. Both viewers are in this process and read alike, so what differs is the way from instance to instance.
 */
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import type { Child } from "./child.ts";
import { figure, median } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { post } from "./post.ts";
import { asking, bodyOf, newId, ours } from "./server-runs.ts";

/** Hints of one process go out at most so often. */
const HINT_MS = 10;
const RUNS = 8;
/** A word of a model comes so often. */
const EVERY_MS = 20;

/** When each event of a run came, by its cursor. */
async function arrivals(url: string): Promise<ReadonlyMap<string, number>> {
  const sent = request(url, { agent: false, headers: { accept: "text/event-stream" } }).end();
  const [answer]: IncomingMessage[] = await once(sent, "response");
  const came = new Map<string, number>();
  let rest = "";
  for await (const chunk of answer?.setEncoding("utf8") ?? []) {
    const now = performance.now();
    const frames = (rest + String(chunk)).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const cursor = /^id: (\S+)$/m.exec(frame)?.[1];
      if (cursor !== undefined) came.set(cursor, now);
    }
  }
  return came;
}

/** How much later each event of a run came from the other instance. */
async function lags(here: Child, there: Child, deltas: number): Promise<readonly number[]> {
  const [threadId, runId] = [newId("thread"), newId("run")];
  const run = await post(ours(here), bodyOf(threadId, [asking()], { deltas, everyMs: EVERY_MS }, runId));
  run.resume();
  const path = `/threads/${threadId}/events?run=${runId}`;
  const [own, other] = await Promise.all([here, there].map(({ url }) => arrivals(url + path)));
  const both = [...(own ?? [])].flatMap(([cursor, atMs]) => {
    const otherMs = other?.get(cursor);
    return otherMs === undefined ? [] : [otherMs - atMs];
  });
  if (both.length < deltas) throw new Error(`Only ${both.length} of ${deltas} events came on both instances.`);
  return both;
}

/** Delivery from the other instance. */
export async function delivery([here, there]: readonly Child[], effort: Effort): Promise<Row> {
  if (here === undefined || there === undefined) throw new Error("It takes two instances.");
  const deltas = effort.quick ? 100 : 300;
  await lags(here, there, 20);
  const all = (await Promise.all(Array.from({ length: RUNS }, () => lags(here, there, deltas)))).flat();
  const sorted = all.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? NaN;
  console.log(
    `delivery from the other instance, ${all.length} events of ${RUNS} runs: ${at(0.5).toFixed(1)} ms later at the median, ` +
      `${at(0.99).toFixed(1)} at p99; hints go out at most every ${HINT_MS} ms`,
  );
  const row = figure("delivery from the other instance, later by", "ms", median(all), HINT_MS);
  return { ...row, spread: [at(0.25), at(0.75)] };
}
