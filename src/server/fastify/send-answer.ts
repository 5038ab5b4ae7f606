/**
 * An answer as a Fastify reply. A stream is written past Fastify: nothing goes beyond a full socket, and a reader that
 * leaves only ends its own stream. Headers that hooks and plugins of the host set (CORS, for one) are kept.
 */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { SAFE_HEADERS, isStream } from "../http/index.ts";
import type { Answer, StreamAnswer } from "../http/index.ts";
import type { Connections } from "./connections.ts";
import { loggedError } from "./logged-error.ts";

/** A signal that aborts when the reader of a reply has gone. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  return gone.signal;
}

/** Sends an answer, a stream to its end. */
export async function sendAnswer(reply: FastifyReply, answer: Answer, connections: Connections): Promise<void> {
  if (isStream(answer)) return sendStream(reply, answer, connections);
  await reply
    .code(answer.status)
    .headers({ ...SAFE_HEADERS, ...answer.headers })
    .send(answer.body);
}

/** Never rejects: what fails once the stream is open cuts the stream. */
async function sendStream(reply: FastifyReply, answer: StreamAnswer, connections: Connections): Promise<void> {
  const { frames } = answer;
  reply.hijack();
  const response = reply.raw;
  // Gone already: it will not say so a second time.
  if (response.destroyed) return void (await frames.return?.());
  response.on("error", (error) => reply.log.info({ err: loggedError(error) }, "an event stream broke"));
  try {
    // All at once: what is set one by one is kept as long as the stream is.
    response.writeHead(answer.status, headersOf(reply, answer)).flushHeaders();
    connections.add(response, answer);
    while (await writeNext(response, frames, connections)) continue;
    if (!response.destroyed) connections.end(response);
  } catch (error) {
    reply.log.error({ err: loggedError(error) }, "an event stream failed");
    response.destroy();
  }
}

/** Headers of the answer over those of the host over those that every answer has. */
function headersOf(reply: FastifyReply, { headers }: StreamAnswer): OutgoingHttpHeaders {
  const all = { ...SAFE_HEADERS, ...reply.getHeaders(), ...headers };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Writes what comes next. A function of its own: while it waits for more, what was written before is let go. */
async function writeNext(
  response: ServerResponse,
  frames: AsyncIterator<Uint8Array>,
  connections: Connections,
): Promise<boolean> {
  const { done, value } = await frames.next();
  if (done === true) return false;
  if (await connections.write(response, value)) return true;
  await frames.return?.();
  return false;
}
