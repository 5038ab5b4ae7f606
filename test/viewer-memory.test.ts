/** What viewers cost the server, measured in a process of its own and over real sockets. */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { afterEach, expect, test } from "vitest";

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function startServer() {
  const child = fork("test/viewer-memory-child.ts", { execArgv: ["--expose-gc"] });
  children.push(child);
  const url = String(await told(child, "url"));
  /** Bytes of JavaScript heap, and of what it holds outside. */
  const measure = async (): Promise<number> => {
    const answer = told(child, "usedBytes");
    child.send("measure");
    return Number(await answer);
  };
  return { url, measure, open: () => child.send("open") };
}

/** Waits for a message of the server, and takes a field out of it. */
async function told(child: ChildProcess, field: string): Promise<unknown> {
  const ended = once(child, "exit").then(([code]) =>
    Promise.reject(new Error(`The server ended with ${String(code)}.`)),
  );
  const [message]: unknown[] = await Promise.race([once(child, "message"), ended]);
  ended.catch(() => undefined);
  return Reflect.get(Object(message), field);
}

async function answerTo(sent: ClientRequest): Promise<IncomingMessage> {
  const [answer]: IncomingMessage[] = await once(sent, "response");
  if (answer?.statusCode !== 200) throw new Error(`answered with ${answer?.statusCode}`);
  return answer;
}

function post(url: string, threadId: string, runId: string, forwardedProps: unknown): ClientRequest {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ threadId, runId, messages: [], forwardedProps });
  return request(`${url}/agents/words`, { method: "POST", headers, agent: false }).end(body);
}

const run = async (...args: Parameters<typeof post>): Promise<void> => {
  await once((await answerTo(post(...args))).resume(), "end");
};

const watch = (url: string, threadId: string, query = ""): ClientRequest =>
  request(`${url}/threads/${threadId}/events${query}`, { agent: false }).end();

/** Does something so many times, some of it at the same time. */
async function times(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 16 }, lane));
}

test("following 1,000 threads costs at most 30 kB each, connection included", async () => {
  const { url, measure } = await startServer();
  const threads = Array.from({ length: 1000 }, (_, index) => `t${index}`);
  await times(1000, (index) => run(url, threads[index] ?? "", "r1", [20, 8]));
  // Once more, so that code and caches are there before it counts.
  const warm = await Promise.all(threads.slice(0, 50).map(async (id) => answerTo(watch(url, id))));
  for (const answer of warm) await once(answer.resume().destroy(), "close");
  const before = await measure();

  const viewers: IncomingMessage[] = [];
  await times(1000, async (index) => {
    const answer = await answerTo(watch(url, threads[index] ?? ""));
    viewers.push(answer);
    await once(answer, "data");
    answer.resume();
  });
  const quiet = await measure();
  expect((quiet - before) / 1000).toBeLessThan(30_000);

  // Not only while nothing happens: a run in every thread, which is in the ring now, and in the log for good.
  await times(1000, (index) => run(url, threads[index] ?? "", "r2", [20, 8]));
  const busy = await measure();
  for (const viewer of viewers) viewer.destroy();
  await times(1, () => run(url, "last", "r1", [1, 1]));
  const after = await measure();
  expect((busy - after) / 1000).toBeLessThan(30_000);
});

test("50 viewers that stall on a run of 20,000 events cost at most 10 MB", async () => {
  const { url, measure, open } = await startServer();
  // The same before, so that code and caches are there.
  await run(url, "warm", "r1", [20_000, 1000]);
  await answerTo(post(url, "t1", "r1", [20_000, 1000, true]));
  const stalled: ClientRequest[] = [];
  const stall = async (query = ""): Promise<void> => {
    const viewer = watch(url, "t1", query);
    stalled.push(viewer);
    (await answerTo(viewer)).pause();
  };
  for (let index = 0; index < 25; index++) await stall();
  open();
  let text = "";
  for await (const chunk of (await answerTo(watch(url, "t1", "?run=r1"))).setEncoding("utf8")) text += String(chunk);
  const cursors = Array.from(text.matchAll(/^id: (\S+)$/gm), ([, cursor]) => cursor);
  expect(cursors).toHaveLength(20_004);
  // Half of them came late, each at a place of its own, so that nothing of what they wait for is shared.
  for (let index = 0; index < 25; index++) await stall(`?after=${cursors[index * 7]}`);
  const held = await measure();
  for (const viewer of stalled) viewer.destroy();
  await run(url, "last", "r1", [1, 1]);
  expect(held - (await measure())).toBeLessThan(10_000_000);
});
