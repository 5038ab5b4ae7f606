/**
 * Servers on PostgreSQL, each a process of its own, while something is taken away under them: the database in the middle of
 * runs, and one of two servers. What viewers were shown stays as it was; runs go on or end honestly; new ones start.
 *
 * Agents count until a gate is opened, so there is load for as long as it takes.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startGates } from "./gate.ts";
import type { Gates } from "./gate.ts";
import { rawFrames, recorded } from "./raw-frames.ts";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { attachTo, follow, postRun } from "./sse-client.ts";
import type { Frame } from "./sse-client.ts";

/** Longer than a busy machine stands still: a run whose server lives is not to be lost. */
const LEASE_MS = 4000;
const REAP_MS = 500;
/** What a busy machine may take on top. */
const SLACK_MS = 5000;

let postgres: RealPostgres;
beforeAll(async () => {
  postgres = await realPostgres({ own: true });
});
afterAll(() => postgres.stop());

/** Starts a server until the test has finished. */
async function start(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const server = await startServer({ files: ["test/crash-agents.ts"], store: postgres.url, env });
  onTestFinished(() => server.kill());
  return server;
}

/** Who reads a run to its end, attaching again wherever it is cut. */
class Reader {
  /** What it got. */
  readonly frames: Frame[] = [];
  /** How often it was cut. */
  cuts = 0;
  /** Resolves when the run is over. */
  readonly done: Promise<void>;
  /** What each connection brought. */
  readonly #received: Uint8Array[][] = [];
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor(open: () => Promise<Response>, again: (after: string | undefined) => Promise<Response>) {
    const kept = async (answer: Promise<Response>): Promise<Response> => {
      const pieces: Uint8Array[] = [];
      this.#received.push(pieces);
      return recorded(await answer, pieces);
    };
    const frames = follow(
      () => kept(open()),
      (after) => kept(again(after)),
      () => (this.cuts += 1),
    );
    this.done = this.#read(frames);
  }

  async #read(frames: AsyncIterable<Frame>): Promise<void> {
    for await (const frame of frames) {
      this.frames.push(frame);
      for (const { count, resolve } of this.#waiting) if (this.frames.length >= count) resolve();
    }
  }

  /** Resolves when it has got so many more. */
  async more(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ count: this.frames.length + count, resolve });
    await Promise.race([promise, this.done.then(() => Promise.reject(new Error("The run is over.")))]);
  }

  /** What it got, byte for byte. */
  raw(): ReadonlyMap<string, string> {
    return new Map(this.#received.flatMap((pieces) => [...rawFrames(pieces)]));
  }
}

/** A run and who reads it. */
interface Watched {
  readonly threadId: string;
  readonly runId: string;
  /** Who posted it, and a viewer. */
  readonly readers: readonly [Reader, Reader];
}

const THREADS = [0, 1, 2, 3] as const;
const USER = { id: "asked", role: "user", content: "Count." } as const;

/** Posts a run to one server and follows it on another too. Whoever is cut attaches to the latter. */
function watched(gates: Gates, threadId: string, runId: string, at: ServerProcess, other = at): Watched {
  const messages = [{ ...USER, id: `${runId}-asked` }];
  const again = (after?: string): Promise<Response> => attachTo(other.url, threadId, runId, after);
  const posted = Promise.withResolvers<void>();
  const post = async (): Promise<Response> => {
    const answer = await postRun(at.url, "counts", { threadId, runId, messages, forwardedProps: { gates: gates.url } });
    expect(answer.status).toBe(200);
    posted.resolve();
    if (!runId.endsWith("-next")) return answer;
    // Whoever goes on without the history is told that first: not what the log holds.
    await answer.body?.cancel();
    return again();
  };
  const view = async (): Promise<Response> => {
    await posted.promise;
    return again();
  };
  return { threadId, runId, readers: [new Reader(post, again), new Reader(view, again)] };
}

const readersOf = (runs: readonly Watched[]): readonly Reader[] => runs.flatMap(({ readers }) => readers);

async function logOf(server: ServerProcess, { threadId, runId }: Watched): Promise<ReadonlyMap<string, string>> {
  const answer = await attachTo(server.url, threadId, runId);
  return rawFrames([new Uint8Array(await answer.arrayBuffer())]);
}

/** What the agent counted, as far as it came: every number once. */
const countedIn = ({ frames }: Reader): string => frames.map(({ event }) => String(event["delta"] ?? "")).join("");
const countTo = (text: string): string =>
  text
    .split(" ")
    .slice(0, -1)
    .map((_, index) => `${index} `)
    .join("");

async function codeOf(answer: Promise<Response>): Promise<unknown> {
  const { status } = await answer;
  const body: unknown = await (await answer).json();
  return [status, Object(Object(body).error).code];
}

/** Everybody got what the log holds, byte for byte, and every number once. Gives how each run ended. */
async function checked(server: ServerProcess, runs: readonly Watched[]): Promise<readonly unknown[]> {
  const ends: unknown[] = [];
  for (const run of runs) {
    const log = await logOf(server, run);
    for (const reader of run.readers) {
      expect([...reader.raw()]).toEqual([...log]);
      expect(reader.frames.map(({ id }) => id)).toEqual([...log.keys()]);
      expect(countedIn(reader)).toBe(countTo(countedIn(reader)));
    }
    const { event } = run.readers[0].frames.at(-1) ?? {};
    ends.push(event?.["code"] ?? event?.type);
  }
  return ends;
}

const cutsOf = (readers: readonly Reader[]): readonly number[] => readers.map(({ cuts }) => cuts);

/** Lets runs end, and waits until everybody knows. */
async function ended(gates: Gates, runs: readonly Watched[]): Promise<void> {
  for (const { runId } of runs) gates.open(runId);
  await Promise.all(readersOf(runs).map(({ done }) => done));
}

const more = (runs: readonly Watched[], count: number): Promise<unknown> =>
  Promise.all(readersOf(runs).map((reader) => reader.more(count)));

describe("the database crashes and restarts in the middle of runs", () => {
  test("runs go on, and viewers see them without a break; whoever asks meanwhile is told to try again", async () => {
    const gates = await startGates();
    const server = await start();
    const runs = THREADS.map((index) => watched(gates, `on-${index}`, `on-${index}-run`, server));
    await more(runs, 20);
    await postgres.crash();
    const unavailable = [503, "store-unavailable"];
    expect(await codeOf(fetch(`${server.url}/threads/on-0/events`))).toEqual(unavailable);
    expect(await codeOf(postRun(server.url, "counts", { threadId: "away", runId: "away" }))).toEqual(unavailable);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
    await postgres.start();
    await more(runs, 20);
    const late = watched(gates, "late", "late-run", server);
    await ended(gates, [...runs, late]);
    const next = THREADS.map((index) => watched(gates, `on-${index}`, `on-${index}-next`, server));
    await ended(gates, next);
    const all = [...runs, late, ...next];
    expect(await checked(server, all)).toEqual(all.map(() => "RUN_FINISHED"));
    expect(cutsOf(readersOf(all))).toEqual(readersOf(all).map(() => 0));
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });

  test("longer than leases hold: each run goes on or is told as lost, and its thread is free", async () => {
    const gates = await startGates();
    const server = await start({ HEDDLE_LEASE_MS: String(LEASE_MS), HEDDLE_REAP_MS: String(REAP_MS) });
    const runs = THREADS.map((index) => watched(gates, `long-${index}`, `long-${index}-run`, server));
    await more(runs, 20);
    await postgres.crash();
    await pause(LEASE_MS);
    await postgres.start();
    await Promise.all(readersOf(runs).map((reader) => Promise.race([reader.more(20), reader.done])));
    await ended(gates, runs);
    for (const end of await checked(server, runs)) expect(["RUN_FINISHED", "worker-lost"]).toContain(end);
    const next = THREADS.map((index) => watched(gates, `long-${index}`, `long-${index}-next`, server));
    await ended(gates, next);
    expect(await checked(server, next)).toEqual(next.map(() => "RUN_FINISHED"));
    expect(cutsOf(readersOf([...runs, ...next]))).toEqual(readersOf([...runs, ...next]).map(() => 0));
  });
});

test("kill -9 of one of two servers: the other ends its runs when their leases have expired, before all viewers", async () => {
  const gates = await startGates();
  const env = { HEDDLE_LEASE_MS: String(LEASE_MS), HEDDLE_REAP_MS: String(REAP_MS) };
  const [one, two] = await Promise.all([start(env), start(env)]);
  const runs = THREADS.map((index) => watched(gates, `two-${index}`, `two-${index}-run`, one, two));
  await more(runs, 20);
  const busy = postRun(two.url, "counts", { threadId: "two-0", runId: "early", messages: [USER] });
  expect(await codeOf(busy)).toEqual([409, "thread-busy"]);
  await one.kill();
  const killedAtMs = performance.now();
  await Promise.all(readersOf(runs).map(({ done }) => done));
  expect(performance.now() - killedAtMs).toBeLessThan(LEASE_MS + REAP_MS * 1.2 + SLACK_MS);
  expect(await checked(two, runs)).toEqual(runs.map(() => "worker-lost"));
  for (const {
    readers: [poster, viewer],
  } of runs) {
    expect(cutsOf([poster, viewer])).toEqual([1, 0]);
    // Not while the dead might still have been alive.
    const said = viewer.frames.findLast(({ event }) => event.type === "TEXT_MESSAGE_CONTENT")?.event["timestamp"];
    const lost = viewer.frames.at(-1)?.event["timestamp"];
    expect(Number(lost) - Number(said)).toBeGreaterThanOrEqual(LEASE_MS);
  }
  const next = THREADS.map((index) => watched(gates, `two-${index}`, `two-${index}-next`, two));
  await ended(gates, next);
  expect(await checked(two, next)).toEqual(next.map(() => "RUN_FINISHED"));
});
