/**
 * A provider on 127.0.0.1 that answers with recorded bytes, for tests of adapters: what a request asked is kept, and
 * an answer is sent whole, in pieces, cut off, or never.
 */
import { createServer } from "node:http";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { once } from "node:events";

/** One answer. */
export interface Answer {
  /** HTTP status. Default 200. */
  readonly status?: number;
  /** Headers. Default an event stream. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The bytes. */
  readonly body: string | Uint8Array;
  /** What follows the bytes: the end, a cut connection, or nothing at all. Default the end. */
  readonly after?: "end" | "cut" | "hang";
  /** Sends the body in pieces of this many bytes. */
  readonly pieceBytes?: number;
}

/** One request as it came. */
export interface Asked {
  /** Path and query. */
  readonly url: string;
  /** Headers, names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The JSON body. */
  readonly body: Record<string, unknown>;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<unknown>;
}

/** A running provider. */
export interface ReplayProvider extends AsyncDisposable {
  /** Where it is, without a slash at the end. */
  readonly url: string;
  /** What it was asked. */
  readonly asked: readonly Asked[];
}

/** Starts a provider that gives these answers in turn; the last one again and again. */
export async function replayProvider(...answers: readonly Answer[]): Promise<ReplayProvider> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const answer = answers[Math.min(asked.length, answers.length - 1)];
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
      if (answer === undefined || typeof body !== "object" || body === null) throw new Error("Nothing to answer.");
      const closed = once(response, "close");
      asked.push({ url: request.url ?? "", headers: request.headers, body: { ...body }, closed });
      void send(response, answer);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function send(response: ServerResponse, answer: Answer): Promise<void> {
  const { status = 200, headers = { "content-type": "text/event-stream" }, after = "end" } = answer;
  const bytes = Buffer.from(answer.body);
  const { pieceBytes = bytes.length } = answer;
  response.writeHead(status, headers);
  response.flushHeaders();
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = bytes.subarray(at, at + pieceBytes);
    await new Promise((resolve) => response.write(piece, resolve));
    if (pieceBytes < bytes.length) await new Promise((resolve) => setImmediate(resolve));
  }
  if (after === "end") response.end();
  if (after === "cut") response.destroy();
}
