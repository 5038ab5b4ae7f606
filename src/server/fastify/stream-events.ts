/**
 * One attachment as Server-Sent Events on one response.
 *
 * Every event carries its cursor, nothing is written past a full socket, and a reader that leaves only ends its own
 * stream. Headers that hooks and plugins of the host set (CORS, for one) are kept.
 */
import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { SSE } from "../index.ts";
import type { Attachment } from "../index.ts";
import type { Connections } from "./connections.ts";

const SSE_HEADERS = {
  "content-type": SSE.mediaType,
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/** A signal that aborts when the reader of a reply has gone. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  return gone.signal;
}

/** Answers with the events, to their end. Never rejects: what fails once the stream is open cuts the stream. */
export async function streamEvents(
  reply: FastifyReply,
  attachment: Attachment,
  connections: Connections,
): Promise<void> {
  reply.hijack();
  const response = reply.raw;
  // Gone already: it will not say so a second time.
  if (response.destroyed) return;
  response.on("error", (error) => reply.log.info({ err: error }, "an event stream broke"));
  try {
    for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...SSE_HEADERS })) {
      if (value !== undefined) response.setHeader(name, value);
    }
    response.writeHead(200).flushHeaders();
    connections.add(response);
    const frames = attachment.frames(SSE);
    while (await writeNext(response, frames, connections)) continue;
    if (!response.destroyed) connections.end(response);
  } catch (error) {
    reply.log.error({ err: error }, "an event stream failed");
    response.destroy();
  }
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
