/**
 * Two servers on one PostgreSQL behind a real proxy with the configuration of deploy/: what a proxy is known to spoil. Run by
 * scripts/test-nginx.ts, which says which one (HEDDLE_TEST_PROXY).
 */
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startGates } from "./gate.ts";
import { PROXY_NAMES, startProxy } from "./proxy-process.ts";
import type { ProxyProcess, ProxyTimes } from "./proxy-process.ts";
import { rawFrames, recorded } from "./raw-frames.ts";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { attachTo, follow, framesOf, postRun } from "./sse-client.ts";
import type { Frame } from "./sse-client.ts";

const PROXY = PROXY_NAMES.find((name) => name === process.env["HEDDLE_TEST_PROXY"]) ?? "nginx";
const KEEP_ALIVE_MS = 200;
const SILENCE_MS = 1000;
const MIB = 1024 * 1024;

type Servers = readonly [ServerProcess, ServerProcess];

let postgres: RealPostgres;
let servers: Servers;
beforeAll(async () => {
  postgres = await realPostgres();
  servers = await startServers(KEEP_ALIVE_MS);
}, 60_000);
afterAll(() => postgres.stop());

const startServers = (keepAliveMs: number): Promise<Servers> => {
  const env = { HEDDLE_KEEP_ALIVE_MS: String(keepAliveMs) };
  const start = (): Promise<ServerProcess> =>
    startServer({ files: ["test/crash-agents.ts", "test/proxy-agents.ts"], store: postgres.url, env });
  return Promise.all([start(), start()]);
};

/** Servers for one test only. */
async function ownServers(keepAliveMs: number): Promise<Servers> {
  const own = await startServers(keepAliveMs);
  onTestFinished(async () => void (await Promise.all(own.map((server) => server.kill()))));
  return own;
}

const place = ({ url }: ServerProcess): string => `127.0.0.1:${new URL(url).port}`;

/** The proxy before two servers. */
function startSite(times: ProxyTimes = {}, [one, two] = servers): Promise<ProxyProcess> {
  return startProxy(PROXY, [place(one), place(two)], times);
}

let threads = 0;
const USER = { id: "asked", role: "user", content: "Count." } as const;

/** Everything of a stream that has come up to the frame that is awaited. */
async function until(frames: AsyncIterator<Frame, void, undefined>, isIt: (frame: Frame) => boolean): Promise<Frame[]> {
  const got: Frame[] = [];
  for (;;) {
    const { done, value } = await frames.next();
    if (done === true) throw new Error(`The stream ended after ${got.length} frames.`);
    got.push(value);
    if (isIt(value)) return got;
  }
}

const isText = ({ event: { type } }: Frame): boolean => type === "TEXT_MESSAGE_CONTENT";
const isEnd = ({ event: { type } }: Frame): boolean => type === "RUN_FINISHED";

/** Comments in what came. */
const heartbeatsIn = (pieces: readonly Uint8Array[]): number =>
  Buffer.concat(pieces)
    .toString()
    .split("\n")
    .filter((line) => line.startsWith(":")).length;

function answeredBy({ answered }: ProxyProcess, method: string, path: string): readonly string[] {
  return answered().flatMap((line) => (line.method === method && line.path === path ? line.upstreams.slice(-1) : []));
}

test("events come when they are said, uncompressed; JSON is compressed", async () => {
  const gates = await startGates();
  const { url } = await startSite();
  const ids = { threadId: `t${threads++}`, runId: "r" };
  const headers = { "content-type": "application/json", accept: "text/event-stream", "accept-encoding": "gzip" };
  const input = { ...ids, messages: [USER], forwardedProps: { gates: gates.url } };
  const posted = await postRun(url, "hesitates", input, { headers });
  const viewed = await attachTo(url, ids.threadId, ids.runId);
  const streams = [posted, viewed].map((answer) => {
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-encoding")).toBeNull();
    expect(answer.headers.get("cache-control")).toBe("no-store, no-transform");
    return framesOf(answer);
  });
  // A few bytes, and then none until the next gate is opened: whoever wants to gather more first waits in vain.
  for (const word of ["word-1", "word-2", "word-3", "word-4", "word-5"]) {
    gates.open(word);
    for (const frames of streams) expect((await until(frames, isText)).at(-1)?.event["delta"]).toBe(word);
  }
  const list = await fetch(`${url}/openapi.json`, {
    headers: { "accept-encoding": "gzip", accept: "application/json" },
  });
  expect(list.headers.get("content-encoding")).toBe("gzip");
});

test("a stream that is idle for longer than the proxy waits stays open, and brings what comes then", async () => {
  const gates = await startGates();
  const { url } = await startSite({ silenceMs: SILENCE_MS });
  const threadId = `t${threads++}`;
  const input = { threadId, messages: [USER], forwardedProps: { gates: gates.url } };
  gates.open("r1");
  await (await postRun(url, "counts", { ...input, runId: "r1" })).text();
  const pieces: Uint8Array[] = [];
  const frames = framesOf(recorded(await fetch(`${url}/threads/${threadId}/events`), pieces));
  await until(frames, isEnd);
  const next = frames.next();
  const before = heartbeatsIn(pieces);
  while (heartbeatsIn(pieces) - before < (3 * SILENCE_MS) / KEEP_ALIVE_MS) await arrival(pieces);
  gates.open("r2");
  await (await postRun(url, "counts", { ...input, messages: [{ ...USER, id: "again" }], runId: "r2" })).text();
  expect((await next).value?.event).toMatchObject({ type: "RUN_STARTED", runId: "r2" });
  await until(frames, isEnd);
});

/** Resolves when something more has come. */
function arrival(pieces: Uint8Array[]): Promise<void> {
  return new Promise((resolve) => {
    const { push } = pieces;
    pieces.push = (...more) => {
      pieces.push = push;
      resolve();
      return push.apply(pieces, more);
    };
  });
}

test.runIf(PROXY === "nginx")("without heartbeats it would be cut, which its reader notices", async () => {
  const gates = await startGates();
  const { url } = await startSite({ silenceMs: SILENCE_MS }, await ownServers(60_000));
  const threadId = `t${threads++}`;
  gates.open("r");
  const input = { threadId, runId: "r", messages: [USER], forwardedProps: { gates: gates.url } };
  await (await postRun(url, "counts", input)).text();
  const frames = framesOf(await fetch(`${url}/threads/${threadId}/events`));
  await until(frames, isEnd);
  await expect(frames.next()).rejects.toThrow("terminated");
});

/** Reads a run to its end, leaving after so many frames each time, and attaching again. */
async function readInPieces(
  site: ProxyProcess,
  ids: { threadId: string; runId: string },
  piece: number,
): Promise<string[]> {
  const got: string[] = [];
  for (let over = false; !over;) {
    const pieces: Uint8Array[] = [];
    const frames = framesOf(recorded(await attachTo(site.url, ids.threadId, ids.runId, idOf(got.at(-1))), pieces));
    for (let taken = 0; taken < piece && !over; taken++) {
      const { value } = await frames.next();
      over = value !== undefined && isEnd(value);
    }
    await frames.return();
    // Only whole frames that were looked at count; more may have come along.
    const whole = [...rawFrames(pieces).values()];
    got.push(...whole);
    over ||= whole.some((frame) => frame.includes('"type":"RUN_FINISHED"'));
  }
  return got;
}

const idOf = (frame: string | undefined): string | undefined => /^id: (\S+)/.exec(frame ?? "")?.[1];

async function logOf(url: string, { threadId, runId }: { threadId: string; runId: string }): Promise<string[]> {
  const answer = await attachTo(url, threadId, runId);
  return [...rawFrames([new Uint8Array(await answer.arrayBuffer())]).values()];
}

test("whoever comes back with Last-Event-ID goes on exactly, on whichever server", async () => {
  const gates = await startGates();
  const site = await startSite();
  const ids = { threadId: `t${threads++}`, runId: "r" };
  const posted = await postRun(site.url, "counts", {
    ...ids,
    messages: [USER],
    forwardedProps: { gates: gates.url },
  });
  const frames = framesOf(posted);
  await until(frames, isText);
  const reading = readInPieces(site, ids, 10);
  for (let count = 0; count < 100; count++) await until(frames, isText);
  gates.open(ids.runId);
  await until(frames, isEnd);
  const read = await reading;
  const path = `/threads/${ids.threadId}/events`;
  await expect.poll(() => new Set(answeredBy(site, "GET", path)).size, { timeout: 10_000 }).toBe(2);
  for (const { url } of servers) expect(await logOf(url, ids)).toEqual(read);
});

test("a body of 10 MiB passes; one that is too large for the server is refused by the server", async () => {
  const gates = await startGates();
  const { url } = await startSite();
  const ids = { threadId: `t${threads++}`, runId: "r" };
  gates.open("r");
  const input = { ...ids, forwardedProps: { gates: gates.url } };
  const large = await postRun(url, "counts", { ...input, messages: [{ ...USER, content: "x".repeat(10 * MIB) }] });
  expect(large.status).toBe(200);
  expect(await large.text()).toContain('"type":"RUN_FINISHED"');
  const tooLarge = await postRun(url, "counts", { ...input, messages: [{ ...USER, content: "x".repeat(16 * MIB) }] });
  expect(tooLarge.status).toBe(413);
  expect(await tooLarge.json()).toMatchObject({ error: { code: expect.any(String) } });
});

test("a reload in the middle of a run: whoever is cut attaches again, and nobody misses anything", async () => {
  const gates = await startGates();
  const site = await startSite({ graceMs: SILENCE_MS });
  const ids = { threadId: `t${threads++}`, runId: "r" };
  const received: Uint8Array[][] = [];
  const kept = async (answer: Promise<Response>): Promise<Response> => {
    const pieces: Uint8Array[] = [];
    received.push(pieces);
    return recorded(await answer, pieces);
  };
  const cut = Promise.withResolvers<void>();
  const input = { ...ids, messages: [USER], forwardedProps: { gates: gates.url } };
  let connections = 0;
  const frames = follow(
    () => kept(postRun(site.url, "counts", input)),
    (after) => {
      connections += 1;
      cut.resolve();
      return kept(attachTo(site.url, ids.threadId, ids.runId, after));
    },
  );
  await until(frames, isText);
  const reading = until(frames, isEnd);
  await site.reload();
  // Caddy lets streams of before be.
  if (PROXY === "nginx") await cut.promise;
  gates.open(ids.runId);
  await reading;
  expect(connections > 0).toBe(PROXY === "nginx");
  const got = new Map(received.flatMap((pieces) => [...rawFrames(pieces)]));
  expect([...got.values()]).toEqual(await logOf(servers[0].url, ids));
});

test("while one server stops, and when it is gone, everybody is served by the other", async () => {
  const gates = await startGates();
  const [one, two] = await ownServers(KEEP_ALIVE_MS);
  const site = await startSite({}, [one, two]);
  const slow = { threadId: `t${threads++}`, runId: "slow" };
  // Keeps the server that has it from ending at once.
  const holds = await postRun(one.url, "counts", {
    ...slow,
    messages: [USER],
    forwardedProps: { gates: gates.url },
  });
  const holding = framesOf(holds);
  await until(holding, isText);
  const stopped = one.stop();
  // From now on it answers 503.
  while ((await fetch(`${one.url}/readyz`)).status !== 503) continue;
  if (PROXY === "caddy") await leftOut(site, two);
  gates.open("quick");
  const statuses: number[] = [];
  const serve = async (): Promise<void> => {
    const ids = { threadId: `t${threads++}`, runId: "quick" };
    const input = { ...ids, messages: [USER], forwardedProps: { gates: gates.url } };
    const posted = await postRun(site.url, "counts", input);
    await posted.text();
    const viewed = await attachTo(site.url, ids.threadId, ids.runId);
    await viewed.text();
    statuses.push(posted.status, viewed.status);
  };
  for (let count = 0; count < 10; count++) await serve();
  gates.open(slow.runId);
  expect(await stopped).toBe(0);
  for (let count = 0; count < 10; count++) await serve();
  expect(statuses).toEqual(statuses.map(() => 200));
});

/** Caddy does not ask another server where one answers 503: it leaves one out when its next check has failed. */
async function leftOut({ url }: ProxyProcess, other: ServerProcess): Promise<void> {
  const { port } = new URL(other.url);
  for (let good = 0; good < 10;) {
    const answer = await fetch(`${url}/healthz`);
    good = answer.ok && answer.headers.get("x-upstream")?.endsWith(`:${port}`) === true ? good + 1 : 0;
  }
}

test("WebSocket passes", async () => {
  const server = createServer((_, response) => void response.end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  server.on("upgrade", (_, socket: Socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
    socket.pipe(socket);
  });
  const { port }: AddressInfo = Object(server.address());
  const proxy = await startProxy(PROXY, [`127.0.0.1:${port}`, `127.0.0.1:${port}`]);
  const asked = request(`${proxy.url}/ws`, { headers: { connection: "Upgrade", upgrade: "websocket" } }).end();
  const [answer, socket]: [IncomingMessage, Socket] = Object(await once(asked, "upgrade"));
  expect(answer.statusCode).toBe(101);
  socket.write("echo");
  const [echo]: Buffer[] = await once(socket, "data");
  expect(String(echo)).toBe("echo");
  socket.destroy();
});

test.runIf(PROXY === "nginx")("the access log names no query, which may carry a ticket", async () => {
  const { url, log } = await startSite();
  await (await fetch(`${url}/threads?q=secret`)).text();
  // It is written when the answer is on its way.
  await expect.poll(log, { timeout: 10_000 }).toContain("GET /threads 200");
  expect(log()).not.toContain("secret");
});
