/**
 * `heddle serve` as a process, over real sockets, asked by clients that send anything. Whatever comes back is one of
 * our answers, the process lives within its memory, and somebody who behaves notices nothing.
 * `src/server/fetch/fuzz-requests.test.ts` asks the other host: 20,000 requests together.
 */
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import type { Socket } from "node:net";
import fc from "fast-check";
import { beforeAll, expect, test, vi } from "vitest";
import { ERRORS } from "../src/protocol/index.ts";
import { HOSTILE_REQUESTS, LARGE_REQUESTS } from "./hostile-requests.ts";
import { memoryOf } from "./process-memory.ts";
import { exchange } from "./raw-http.ts";
import type { RawAnswer, RawRequest } from "./raw-http.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { postRun } from "./sse-client.ts";
import { witness } from "./witness.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const REQUESTS = Math.ceil(6000 * SCALE);
const LARGE_EACH = 3;
/** How many are under way at a time. */
const AT_ONCE = 16;
/** Named by a failure, to have the same requests again. */
const SEED = Number(process.env["HEDDLE_TEST_SEED"] ?? Date.now() % 1_000_000_007);
/** What the process may need beyond what it needs at its start: bodies of 16 MiB, as bytes, text and value, at once. */
const MAX_GROWTH_MIB = 400;

interface Case {
  readonly kind: string;
  readonly request: RawRequest;
}

let server: ServerProcess;
let port: number;

beforeAll(async () => {
  server = await startServer({ files: ["examples/agents/chat.ts", "examples/agents/load.ts"] });
  port = Number(new URL(server.url).port);
});

const sampled = (kinds: typeof HOSTILE_REQUESTS, numRuns: number): Case[][] =>
  Object.entries(kinds).map(([kind, arbitrary]) =>
    fc.sample(arbitrary, { numRuns, seed: SEED }).map((request) => ({ kind, request })),
  );

/** As many of each kind, in turn; the large ones stand among the others, not beside each other. */
function casesOf(): readonly Case[] {
  const each = Math.ceil(REQUESTS / Object.keys(HOSTILE_REQUESTS).length);
  const columns = sampled(HOSTILE_REQUESTS, each);
  const large = sampled(LARGE_REQUESTS, LARGE_EACH).flat();
  const rows = Array.from({ length: each }, (_, row) => columns.flatMap((column) => column.slice(row, row + 1)));
  return rows.flatMap((row, index) => [...row, ...large.slice(index, index + 1)]);
}

/** An answer that is not one of ours, in words; undefined where it is. */
function fault({ kind, request }: Case, answers: readonly RawAnswer[]): string | undefined {
  const { ends, methods = ["GET"] } = request;
  const what = `${kind}, seed ${SEED}`;
  if (ends === "server" && answers.length !== methods.length) return `${what}: ${answers.length} answers`;
  for (const [index, { status, headers, body, whole }] of answers.entries()) {
    const said = `${what}: ${status} ${body.slice(0, 300)}`;
    if (ends === "server" && !whole) return `${said} is cut`;
    if (status >= 500) return said;
    if (status < 400 || methods[index] === "HEAD" || !whole) continue;
    if (!/^application\/json\b/.test(headers.get("content-type") ?? "")) return `${said} is no JSON`;
    const { error } = JSON.parse(body);
    const known: { status: number } | undefined = Object.entries(ERRORS).find(([code]) => code === error?.code)?.[1];
    if (known?.status !== status || typeof error.message !== "string" || error.message === "")
      return `${said} is wrong`;
  }
  return undefined;
}

test(
  `${REQUESTS} requests of any kind over sockets: answered, and nobody else is disturbed`,
  { timeout: 180_000 },
  async () => {
    const first = await postRun(server.url, "chat", { threadId: "t1", runId: "r1" });
    expect(await first.text()).toContain("RUN_FINISHED");
    const other = witness(server.url);
    await other.warmedUp;
    const before = await memoryOf(server.child.pid);
    const cases = casesOf();
    expect(cases.length).toBeGreaterThanOrEqual(REQUESTS);
    const faults: string[] = [];
    const statuses = new Map<number, number>();
    const queue = cases.values();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const each of queue) {
          const answers = await exchange(port, each.request);
          for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
          const found = fault(each, answers);
          if (found !== undefined) faults.push(found);
        }
      }),
    );
    const after = await memoryOf(server.child.pid);
    expect(await other.finish()).toBeGreaterThan(20);
    expect(faults).toEqual([]);
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 403, 404, 413, 415]));
    expect(after.peakMib - before.nowMib).toBeLessThan(MAX_GROWTH_MIB);
    expect(server.printed.err).toBe("");
  },
);

const closeOf = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => socket.on("error", () => undefined).once("close", resolve));

/** How many files and sockets the server has open. */
const openFiles = async (): Promise<number> => (await readdir(`/proc/${server.child.pid}/fd`)).length;

const refused = (): Socket => {
  const socket = connect({ port, host: "localhost", allowHalfOpen: true });
  socket.resume().on("error", () => undefined);
  socket.write("\0");
  return socket;
};

test("who is refused and does not hang up is let go of", async () => {
  const before = await openFiles();
  const sockets = Array.from({ length: 50 }, refused);
  await Promise.all(sockets.map((socket) => once(socket, "end")));
  await vi.waitFor(async () => expect(await openFiles()).toBeLessThan(before + 10), { timeout: 20_000 });
  for (const socket of sockets) socket.destroy();
});

test("who is refused and goes on sending is cut off", async () => {
  const socket = refused();
  const piece = Buffer.alloc(64 * 1024, "x");
  const send = (): void => void socket.write(piece, (error) => (error ? undefined : send()));
  send();
  await closeOf(socket);
  expect(socket.destroyed).toBe(true);
});

/** So many pieces of 64 KiB. */
const pieces = (count: number): ReadableStream<Uint8Array> => {
  let left = count;
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(new Uint8Array(64 * 1024).fill(97));
      else controller.close();
    },
  });
};

test("who sends too much in chunks gets the answer, although it is not done", async () => {
  const headers = { "content-type": "application/json" };
  for (let round = 0; round < 5; round++) {
    const init = { method: "POST", headers, body: pieces(300), duplex: "half" };
    const response = await fetch(`${server.url}/agents/chat`, init);
    expect([response.status, await response.json()]).toMatchObject([413, { error: { code: "limit-exceeded" } }]);
  }
});

test("bytes that are no HTTP behind a request whose answer is under way cut it, and are not put into it", async () => {
  const body = JSON.stringify({
    threadId: "under way",
    runId: "r",
    messages: [],
    forwardedProps: { intervalMs: 60_000 },
  });
  const head = `POST /agents/load HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  const socket = connect({ port, host: "localhost" });
  const cut = closeOf(socket);
  let text = "";
  let sent = false;
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (!sent && text.includes("RUN_STARTED")) sent = socket.write("\0\0\r\n\r\n");
  });
  socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
  await cut;
  expect(text).toContain("RUN_STARTED");
  expect(text).not.toContain("request-invalid");
  await fetch(`${server.url}/threads/under%20way/runs/r/cancel`, { method: "POST" });
});

test("and it still stops in good order", async () => {
  expect(await server.stop()).toBe(0);
});
