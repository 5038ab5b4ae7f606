/**
 * Rows on many viewers of one run.
 *
 * Deliveries are counted against the time that the server's process spends on a processor, not against the clock: there are
 * pauses between the writes, so that each holds 16 events on both sides; a server that is pressed would put more into
 * one. So it is what one core could deliver, and whoever reads does not count.
 */
import { once } from "node:events";
import { Agent, request } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { figure, median } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { Child } from "./child.ts";
import { post, postToEnd } from "./post.ts";
import { bodyOf, newId, ours } from "./server-runs.ts";
import { PER_TURN, WRITE_EVERY_MS } from "./workloads.ts";

const VIEWERS = 1000;
const STALLED = 50;
/** Never shares a connection, and has no limit of them. */
const agent = new Agent({ maxSockets: Infinity });

async function watch(url: string): Promise<{ readonly sent: ClientRequest; readonly answer: IncomingMessage }> {
  const sent = request(url, { agent, headers: { accept: "text/event-stream" } }).end();
  const [answer]: IncomingMessage[] = await once(sent, "response");
  if (answer?.statusCode !== 200) throw new Error(`${url} answered with ${answer?.statusCode}.`);
  sent.on("error", () => undefined);
  return { sent, answer };
}

/** Many viewers that have seen the first event of a run. Each resolves at its end, with the bytes that it got. */
async function gather(url: string, count: number): Promise<readonly (() => Promise<number>)[]> {
  const viewers: (() => Promise<number>)[] = [];
  const join = async (): Promise<void> => {
    const { answer } = await watch(url);
    let bytes = 0;
    answer.on("data", (chunk: Buffer) => (bytes += chunk.length));
    const end = once(answer, "end");
    await once(answer, "data");
    viewers.push(async () => {
      await end;
      return bytes;
    });
  };
  // Some at a time, so that no queue of the system overflows.
  while (viewers.length < count) await Promise.all(Array.from({ length: Math.min(50, count - viewers.length) }, join));
  return viewers;
}

/** What one telling of a run to all viewers took. */
interface Telling {
  readonly cpuMs: number;
  readonly heldBytes: number;
  readonly bytesEach: number;
}

async function tell(server: Child, url: string, count: number): Promise<Telling> {
  const before = await server.ask("heldBytes");
  const viewers = await gather(url, count);
  const heldBytes = ((await server.ask("heldBytes")) - before) / count;
  const began = await server.ask("cpuMs");
  await server.ask("open");
  const bytes = await Promise.all(viewers.map((ended) => ended()));
  return { cpuMs: (await server.ask("cpuMs")) - began, heldBytes, bytesEach: median(bytes) };
}

/** 1,000 viewers of one run: deliveries against bare `node:http`, and what each viewer holds. */
export async function manyViewers(effort: Effort): Promise<readonly Row[]> {
  const batches = effort.quick ? 40 : 100;
  const deltas = batches * PER_TURN;
  const bare = await Child.start("bare-child.ts", [String(batches)]);
  // Whatever follows a commit waits as long for company as the bare server pauses.
  const server = await Child.start("server-child.ts", ["memory", String(WRITE_EVERY_MS)]);
  const order = { deltas, gated: true, oneWrite: true };
  const tellOurs = async (count: number): Promise<Telling> => {
    const [threadId, runId] = [newId("thread"), newId("run")];
    const run = await post(ours(server), bodyOf(threadId, [], order, runId));
    run.resume();
    return tell(server, `${server.url}/threads/${threadId}/events?run=${runId}`, count);
  };
  try {
    await tellOurs(100);
    await tell(bare, bare.url, 100);
    const tellings: (readonly [Telling, Telling])[] = [];
    for (let round = 0; round < (effort.quick ? 1 : 3); round++) {
      tellings.push([await tellOurs(VIEWERS), await tell(bare, bare.url, VIEWERS)]);
    }
    const perWrite = (deltas * (tellings.length + 1)) / (await server.ask("commits"));
    if (perWrite < 0.9 * PER_TURN || perWrite > 1.1 * PER_TURN) {
      throw new Error(`A write held ${perWrite.toFixed(1)} events, not ${PER_TURN}: the two sides do not compare.`);
    }
    return rowsOf(tellings, deltas);
  } finally {
    await server.stop();
    await bare.stop();
  }
}

function rowsOf(tellings: readonly (readonly [Telling, Telling])[], deltas: number): readonly Row[] {
  const ratios = tellings.map(([mine, bares]) => bares.cpuMs / mine.cpuMs).toSorted((a, b) => a - b);
  const cost = (pick: 0 | 1): string => {
    const each = median(tellings.map((telling) => (telling[pick].cpuMs * 1000) / (VIEWERS * deltas)));
    const bytes = median(tellings.map((telling) => telling[pick].bytesEach / deltas));
    const held = median(tellings.map((telling) => telling[pick].heldBytes / 1000));
    return `${each.toFixed(2)} µs a delivery of ${bytes.toFixed(0)} B, ${held.toFixed(1)} kB a viewer`;
  };
  console.log(`1,000 viewers: ${cost(0)}; bare node:http: ${cost(1)}`);
  return [
    {
      what: "1,000 viewers, deliveries a second",
      peer: "bare node:http, shared batches of 16",
      kind: "faster",
      target: 0.6,
      ratio: median(ratios),
      spread: [ratios[0] ?? NaN, ratios.at(-1) ?? NaN],
    },
    figure("heap for each of 1,000 viewers", "kB", median(tellings.map(([{ heldBytes }]) => heldBytes / 1000)), 16),
  ];
}

/** Viewers of a long run that take nothing: some from its beginning, some who come late, each at a place of its own. */
export async function stalledViewers(): Promise<Row> {
  const server = await Child.start("server-child.ts", ["memory"]);
  const order = { deltas: 20_000, wordChars: 1000 };
  try {
    // The same before, so that code and caches are there.
    await postToEnd(ours(server), bodyOf(newId("thread"), [], order));
    const threadId = newId("thread");
    const events = `${server.url}/threads/${threadId}/events`;
    const stalled: ClientRequest[] = [];
    const stall = async (query = ""): Promise<void> => {
      const { sent, answer } = await watch(`${events}${query}`);
      answer.pause();
      stalled.push(sent);
    };
    const run = await post(ours(server), bodyOf(threadId, [], { ...order, gated: true }));
    for (let index = 0; index < STALLED / 2; index++) await stall();
    await server.ask("open");
    let text = "";
    for await (const chunk of run.setEncoding("utf8")) text += String(chunk);
    const cursors = Array.from(text.matchAll(/^id: (\S+)$/gm), ([, cursor]) => cursor);
    for (let index = 0; index < STALLED / 2; index++) await stall(`?after=${cursors[index * 7]}`);
    const held = await server.ask("heldBytes");
    for (const viewer of stalled) viewer.destroy();
    // A run more, so that whatever was held for them is let go.
    await postToEnd(ours(server), bodyOf(newId("thread"), [], { deltas: 1 }));
    const megabytes = (held - (await server.ask("heldBytes"))) / 1e6;
    return figure(`${STALLED} stalled viewers of a run of 20,000 events`, "MB", megabytes, 10);
  } finally {
    await server.stop();
  }
}
