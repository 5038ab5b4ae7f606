/**
 * The rows of issue 9 on WebSockets: deliveries to 1,000 sockets on one run, what an idle socket holds; for information, small
 * frames there and back, and what permessage-deflate would cost.
 *
 * Every server is a process of its own, and so are those who read, with the client of `ws`, the same for all. As for viewers of
 * SSE, deliveries are counted against the time that the server's process spends on a processor: both sides write 16 frames at
 * a time with pauses between, so it is what one core could deliver. Ours commits each batch, encodes it once, and hands it to
 * 1,000 viewers, each with a write under way at most; bare `ws` has an array of sockets and a loop. Both send frames of the same
 * length; the peer's are built once for all sockets, as ours are, and written to a corked socket. Printed besides: the same with
 * 16 frames in one buffer, where nothing of the library is left, and what it needs where it builds each frame for each socket.
 */
import { Child } from "./child.ts";
import { figure, median, notMeasured } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { inTurn } from "./in-turn.ts";
import { post } from "./post.ts";
import { bodyOf, newId, ours } from "./server-runs.ts";
import { PER_TURN, WRITE_EVERY_MS } from "./workloads.ts";

const SOCKETS = 1000;

/** Measures sockets. */
export function websocketRows(effort: Effort): Promise<readonly Row[]> {
  return inTurn([() => deliveries(effort), () => idleSockets(effort), () => echoes(effort), () => deflate(effort)]);
}

const socketUrl = ({ url }: Child, path: string): string => `${url.replace("http", "ws")}${path}`;

/** Opens sockets in another process, and does something while they are open. */
async function withReaders<T>(
  url: string,
  count: number,
  first: string,
  work: (readers: Child) => Promise<T>,
): Promise<T> {
  const readers = await Child.start("websocket-readers.ts", [url, String(count), first]);
  try {
    return await work(readers);
  } finally {
    await readers.stop();
  }
}

/** Time on a processor that the server spends while something is done. */
async function spentMs(server: Child, work: () => Promise<unknown>): Promise<number> {
  const before = await server.ask("cpuMs");
  await work();
  return (await server.ask("cpuMs")) - before;
}

/** Tells one run to many sockets. Gives what that costs the server for each delivery, in µs. */
function tell(server: Child, path: string, first: string, count: number, deltas: number): Promise<number> {
  return withReaders(socketUrl(server, path), count, first, async (readers) => {
    let frames = 0;
    const ms = await spentMs(server, async () => {
      await server.ask("open");
      frames = await readers.ask("ended");
    });
    // Ours has a start, an end and a few words of its own besides.
    if (frames < count * deltas || frames > count * (deltas + 10)) throw new Error(`${frames} frames came.`);
    return (ms * 1000) / (count * deltas);
  });
}

async function tellOurs(server: Child, count: number, deltas: number): Promise<number> {
  const [threadId, runId] = [newId("thread"), newId("run")];
  const run = await post(ours(server), bodyOf(threadId, [], { deltas, gated: true, oneWrite: true }, runId));
  run.resume();
  return tell(server, "/ws", JSON.stringify({ type: "attach", thread: threadId, run: runId }), count, deltas);
}

const PING = '{"type":"ping"}';

/** What a delivery costs on each side of a round, in µs, and how many events of ours were in a write. */
interface Round {
  readonly mine: number;
  readonly theirs: Readonly<Record<Way, number>>;
  readonly perWrite: number;
}

/** Ways of sending as much with `ws`: see `websocket-bare-child.ts`. */
const WAYS = ["frames", "batch", "send"] as const;
type Way = (typeof WAYS)[number];

/** Deliveries of one run, against three ways of sending as much with `ws`. */
async function deliveries(effort: Effort): Promise<Row> {
  const batches = effort.quick ? 40 : 100;
  const deltas = batches * PER_TURN;
  const bares = await Promise.all(
    WAYS.map(async (way) => [way, await Child.start("websocket-bare-child.ts", [String(batches), way])] as const),
  );
  // Whatever follows a commit waits as long for company as the bare servers pause.
  const server = await Child.start("server-child.ts", ["memory", String(WRITE_EVERY_MS)]);
  const round = async (count: number): Promise<Round> => {
    const commits = await server.ask("commits");
    const mine = await tellOurs(server, count, deltas);
    const perWrite = deltas / ((await server.ask("commits")) - commits);
    const theirs = { frames: NaN, batch: NaN, send: NaN };
    for (const [way, bare] of bares) theirs[way] = await tell(bare, "/", PING, count, deltas);
    return { mine, theirs, perWrite };
  };
  try {
    await round(SOCKETS / 4);
    const wanted = effort.quick ? 3 : 5;
    const rounds: Round[] = [];
    for (let tries = 0; rounds.length < wanted && tries < 3 * wanted; tries++) {
      const each = await round(SOCKETS);
      if (compares(each)) rounds.push(each);
    }
    return deliveryRow(rounds, wanted);
  } finally {
    await Promise.all([server, ...bares.map(([, bare]) => bare)].map((child) => child.stop()));
  }
}

/** On a machine that is too busy, a commit comes later than the next words and a write holds fewer: that does not compare. */
const compares = ({ perWrite }: Round): boolean => perWrite > 0.9 * PER_TURN && perWrite < 1.1 * PER_TURN;

function deliveryRow(rounds: readonly Round[], wanted: number): Row {
  const peer = "bare ws, frames built before, corked";
  const plan = { what: "1,000 sockets, deliveries a second", peer, kind: "faster", target: 0.6 } as const;
  if (rounds.length < wanted) {
    console.log(
      `Only ${rounds.length} rounds had ${PER_TURN} events in a write on both sides: the machine is too busy.`,
    );
    return notMeasured(plan);
  }
  const of = (pick: (round: Round) => number): string => median(rounds.map(pick)).toFixed(2);
  console.log(
    `1,000 sockets: ${of(({ mine }) => mine)} µs of the server for a delivery; bare ws: ` +
      `${of(({ theirs }) => theirs.frames)} with frames built before, ` +
      `${of(({ theirs }) => theirs.batch)} with 16 of them in one buffer ` +
      `(${of(({ mine, theirs }) => theirs.batch / mine)} of its deliveries), ` +
      `${of(({ theirs }) => theirs.send)} where the library builds them`,
  );
  const ratios = rounds.map(({ mine, theirs }) => theirs.frames / mine).toSorted((a, b) => a - b);
  return { ...plan, ratio: median(ratios), spread: [ratios[0] ?? NaN, ratios.at(-1) ?? NaN] };
}

/** What each of so many sockets holds, in kB. */
async function heldEach(server: Child, path: string, count: number): Promise<number> {
  const before = await server.ask("heldBytes");
  const after = await withReaders(socketUrl(server, path), count, "-", () => server.ask("heldBytes"));
  return (after - before) / count / 1000;
}

/** What a socket holds in the heap on which nothing happens, after everything is collected that can be. */
async function idleSockets(effort: Effort): Promise<Row> {
  const sides = [
    [await Child.start("server-child.ts", ["memory"]), "/ws"],
    [await Child.start("websocket-bare-child.ts"), "/"],
  ] as const;
  try {
    const kilobytes: number[][] = [];
    for (let round = 0; round <= (effort.quick ? 1 : 3); round++) {
      const both: number[] = [];
      for (const [server, path] of sides) both.push(await heldEach(server, path, SOCKETS));
      // The first round warms.
      if (round > 0) kilobytes.push(both);
    }
    const [mine, bare] = [0, 1].map((side) => median(kilobytes.map((round) => round[side] ?? NaN)));
    console.log(`an idle socket: ${mine?.toFixed(1)} kB of heap; bare ws: ${bare?.toFixed(1)} kB`);
    return figure("heap for each of 1,000 idle sockets", "kB", mine ?? NaN, 15);
  } finally {
    for (const [server] of sides) await server.stop();
  }
}

/** Small frames there and back, on 50 sockets at once. For information: the peer parses and answers, and judges nothing. */
async function echoes(effort: Effort): Promise<readonly Row[]> {
  const sides = [
    [await Child.start("server-child.ts", ["memory"]), "/ws"],
    [await Child.start("websocket-bare-child.ts"), "/"],
  ] as const;
  const costs: number[][] = [];
  try {
    for (let round = 0; round <= (effort.quick ? 2 : 5); round++) {
      const both: number[] = [];
      for (const [server, path] of sides) {
        const cost = await withReaders(socketUrl(server, path), 50, PING, async (readers) => {
          let count = NaN;
          const ms = await spentMs(server, async () => (count = await readers.ask("echo")));
          return (ms * 1000) / count;
        });
        both.push(cost);
      }
      if (round > 0) costs.push(both);
    }
  } finally {
    for (const [server] of sides) await server.stop();
  }
  const [mine, bare] = [0, 1].map((side) => median(costs.map((round) => round[side] ?? NaN)).toFixed(1));
  console.log(`ping and pong: ${mine} µs of the server for a round trip; bare ws: ${bare} µs`);
  return [];
}

/**
 * What permessage-deflate costs, for information: bare `ws` to 100 sockets, off and on, a frame for each event and a message for 16.
 * Each socket has a context of its own, so nothing that is compressed can be shared.
 */
async function deflate(effort: Effort): Promise<readonly Row[]> {
  const batches = effort.quick ? 20 : 50;
  const [count, deltas] = [100, batches * PER_TURN];
  for (const [way, what] of [
    ["send", "frames of one event"],
    ["message", "messages of 16"],
  ] as const) {
    const said: string[] = [];
    for (const compression of ["", "deflate"]) {
      const server = await Child.start("websocket-bare-child.ts", [String(batches), way, compression]);
      const url = socketUrl(server, compression === "" ? "/" : "/?deflate");
      const telling = (): Promise<readonly [number, number, number]> =>
        withReaders(url, count, PING, async (readers) => {
          const ms = await spentMs(server, async () => {
            await server.ask("open");
            await readers.ask("ended");
          });
          const [bytes, held] = [await server.ask("sentBytes"), await server.ask("heldBytes")];
          return [(ms * 1000) / (count * deltas), bytes / (count * deltas), held];
        });
      try {
        await telling();
        const empty = await server.ask("heldBytes");
        const [cost, bytes, held] = await telling();
        const kilobytes = (held - empty) / count / 1000;
        const name = compression === "" ? "off" : "on";
        said.push(`${name} ${cost.toFixed(1)} µs, ${bytes.toFixed(0)} B an event, ${kilobytes.toFixed(0)} kB a socket`);
      } finally {
        await server.stop();
      }
    }
    console.log(`permessage-deflate, ${what}: ${said.join("; ")}`);
  }
  return [];
}
