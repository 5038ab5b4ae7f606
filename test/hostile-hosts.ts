/**
 * Who gives hostile answers: a server on a socket, for a gateway in another process, and a `fetch` that asks nobody,
 * for one in this process. Which kind is asked for stands in the run's id: `<number>~<kind>`.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { HOSTILE_KINDS } from "./hostile-answers.ts";
import type { HostileAnswer } from "./hostile-answers.ts";

/** Id of a run that is answered by a kind. */
export const hostileRunId = (index: number, kind: string): string => `${index}~${kind}`;

const SSE = { "content-type": "text/event-stream" };

function answerTo(body: string): HostileAnswer {
  const { threadId, runId }: { threadId: string; runId: string } = JSON.parse(body);
  const [index = "", kind = ""] = runId.split("~");
  const known = HOSTILE_KINDS[kind];
  if (known === undefined) throw new Error(`no kind ${kind}`);
  return known.answer({ threadId, runId, seed: Number(index) });
}

/** Serves hostile answers until the test has finished. */
export async function startHostileAgent(): Promise<{
  /** Where it answers. */
  readonly url: string;
  /** How many requests came. */
  readonly asked: () => number;
}> {
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    // A gateway that has seen enough hangs up, which is no failure here.
    give(request, response).catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port }: AddressInfo = Object(server.address());
  return { url: `http://127.0.0.1:${port}/agui`, asked: () => count };
}

async function give(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status = 200, headers = SSE, body = [], lastly } = answerTo(await text(request));
  if (status !== "none") {
    response.writeHead(status, headers).flushHeaders();
    await pipeline(Readable.from(body, { objectMode: false }), response, { end: false });
  }
  if (lastly === "dies") response.destroy();
  else if (lastly === undefined) response.end();
}

/** Gives hostile answers to who asks in this process. */
export const hostileFetch: typeof fetch = async (_url, { body, signal } = {}) => {
  const { status = 200, headers = SSE, body: said = [], lastly } = answerTo(String(body));
  const aborted = new Promise<never>((_, reject) =>
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true }),
  );
  aborted.catch(() => undefined);
  if (status === "none") {
    if (lastly === "dies") throw new TypeError("fetch failed");
    return aborted;
  }
  const stream = streamOf(said, lastly, aborted);
  const isPacked = "content-encoding" in headers;
  const readable = isPacked ? stream.pipeThrough(new DecompressionStream("gzip")) : stream;
  return new Response(status === 204 || status === 205 || status === 304 ? null : readable, { status, headers });
};

function streamOf(
  said: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>,
  lastly: HostileAnswer["lastly"],
  aborted: Promise<never>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = Readable.from(said, { objectMode: false })[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      // As a socket would: never twice in one turn.
      await nextTurn();
      const { done, value }: IteratorResult<Uint8Array> = await chunks.next();
      if (done !== true) return controller.enqueue(new Uint8Array(value));
      if (lastly === "dies") controller.error(new TypeError("terminated"));
      else if (lastly === "hangs") await aborted;
      else controller.close();
    },
    cancel: async () => void (await chunks.return?.()),
  });
}
