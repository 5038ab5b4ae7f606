/**
 * Two servers on one PostgreSQL: whatever runs on one is followed, joined and cut off on the other, with hints and
 * without, and over a restart of the database.
 */
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { defineAgent } from "heddle/agent";
import type { Event, Message } from "heddle/protocol";
import { serve } from "heddle/server/fastify";
import { postgresStore } from "heddle/store/postgres";
import type { PostgresStoreOptions } from "heddle/store/postgres";
import { reduceAll } from "heddle/stream";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { realPostgres } from "./real-postgres.ts";
import type { RealPostgres } from "./real-postgres.ts";

const SCHEMA = `two_servers_${process.pid}`;

let postgres: RealPostgres;
const cleanups: (() => Promise<void>)[] = [];

beforeAll(async () => {
  postgres = await realPostgres({ own: true });
});
afterAll(async () => {
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
  await client.end();
  await postgres.stop();
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const silence = (): void => undefined;
const silent = {
  level: "silent",
  fatal: silence,
  error: silence,
  warn: silence,
  info: silence,
  debug: silence,
  trace: silence,
  silent: silence,
  child: () => silent,
};

/** Speaks for about a second, a few words at a time. */
const talks = defineAgent({
  name: "talks",
  async run({ emit, signal }) {
    const reply = emit.text();
    for (let index = 0; index < 300; index++) {
      await reply.write(`${index} `);
      if (index % 3 === 0) await pause(10, undefined, { signal });
    }
  },
});

async function start(options: PostgresStoreOptions = {}): Promise<string> {
  const store = postgresStore(postgres.url, { schema: SCHEMA, ...options });
  const server = await serve({ agents: [talks], store, port: 0, host: "127.0.0.1", pollMs: 200, logger: silent });
  cleanups.push(
    () => server.close(),
    () => store.close(),
  );
  return server.url;
}

const post = (url: string, threadId: string): Promise<Response> =>
  fetch(`${url}/agents/talks`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId, runId: "r1", messages: [], protocolVersion: "1.0" }),
  });

const framesIn = (text: string): readonly string[] =>
  text
    .slice(0, text.lastIndexOf("\n\n") + 2)
    .split("\n\n")
    .filter((frame) => /^(id|data): /.test(frame));

const messagesIn = (frames: readonly string[]): readonly Message[] =>
  reduceAll(frames.map((frame): Event => JSON.parse(frame.slice(frame.indexOf("{"))))).messages;

const isEnd = (frame = ""): boolean => /"type":"RUN_(FINISHED|ERROR)"/.test(frame);

const textOf = async (answer: Response | undefined): Promise<string> => (await answer?.text()) ?? "";

/** Follows a run to its end, attaching again wherever it is cut. */
async function follow(url: string, threadId: string, onText = silence): Promise<readonly string[]> {
  const frames: string[] = [];
  while (!isEnd(frames.at(-1))) {
    const after = /^id: (\S+)/.exec(frames.at(-1) ?? "")?.[1];
    const headers = after === undefined ? {} : { "last-event-id": after };
    let text = "";
    try {
      const sent = request(`${url}/threads/${threadId}/events?run=r1`, { agent: false, headers }).end();
      const [answer]: IncomingMessage[] = await once(sent, "response");
      for await (const chunk of answer?.setEncoding("utf8") ?? []) {
        text += String(chunk);
        if (text.includes('"30 "')) onText();
      }
    } catch {
      // Cut: what came before counts.
    }
    frames.push(...framesIn(text));
  }
  return frames;
}

test.each<[string, PostgresStoreOptions]>([
  ["hears hints", {}],
  ["has to poll", { listen: false, pollMs: 50 }],
])("viewers on either see identical streams where the other server %s", async (name, options) => {
  const [one, two] = [await start(), await start(options)];
  const threads = [0, 1, 2, 3].map((index) => `${name} ${index}`.replaceAll(" ", "-"));
  const answers = await Promise.all(threads.map((thread, index) => post(index % 2 === 0 ? one : two, thread)));
  const streams = await Promise.all(
    threads.map((thread, index) => {
      const joined = post(index % 2 === 0 ? two : one, thread);
      return Promise.all([textOf(answers[index]), follow(one, thread), follow(two, thread), joined.then(textOf)]);
    }),
  );
  for (const [posted, here, there, joined] of streams) {
    expect(here).toHaveLength(304);
    expect(there).toEqual(here);
    expect(framesIn(posted)).toEqual(here);
    // Whoever joins gets what was said before as a snapshot: the same in the end.
    expect(framesIn(joined).at(-1)).toBe(here.at(-1));
    expect(messagesIn(framesIn(joined))).toEqual(messagesIn(here));
  }
});

test("a restart of the database in the middle of runs loses nothing that was shown, and the runs go on", async () => {
  const [one, two] = [await start(), await start()];
  const threads = [0, 1, 2, 3].map((index) => `restart-${index}`);
  const answers = await Promise.all(threads.map((thread) => post(one, thread)));
  for (const answer of answers) await answer.body?.cancel();
  const inTheMiddle = Promise.withResolvers<void>();
  const following = threads.flatMap((thread) => [follow(one, thread), follow(two, thread, inTheMiddle.resolve)]);
  await inTheMiddle.promise;
  await postgres.restart();
  const streams = await Promise.all(following);
  for (const [index, thread] of threads.entries()) {
    const logged = framesIn(await (await fetch(`${two}/threads/${thread}/events?run=r1`)).text());
    expect(logged).toHaveLength(304);
    expect(logged.at(-1)).toContain('"RUN_FINISHED"');
    expect(streams[index * 2]).toEqual(logged);
    expect(streams[index * 2 + 1]).toEqual(logged);
  }
});
