/**
 * Those who read from WebSockets, in a process of their own: `websocket-readers.ts <url> <count> <first frame | ->`. They open so
 * many sockets, send the first frame on each, and are ready when each has got a frame, or is open where there is none to send.
 * The same for every server that is measured, with the client of `ws`.
 */
import { once } from "node:events";
import { WebSocket } from "ws";
import { answerParent } from "./answer-parent.ts";

const [, , url = "", count = "0", first = "-"] = process.argv;
const isDeflating = url.includes("deflate");

interface Reader {
  readonly socket: WebSocket;
  readonly ended: Promise<number>;
}

const END = '{"type":"ended"';

async function join(): Promise<Reader> {
  const socket = new WebSocket(url, "heddle.v1", {
    perMessageDeflate: isDeflating,
    skipUTF8Validation: true,
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let frames = 0;
  socket.on("message", (data: Buffer) => {
    frames += 1;
    if (data.length < 200 && data.toString("latin1").startsWith(END)) resolve(frames);
  });
  socket.on("close", () => reject(new Error(`a socket was closed after ${frames} frames`)));
  promise.catch(() => undefined);
  await once(socket, "open");
  if (first !== "-") {
    const answered = once(socket, "message");
    socket.send(first);
    await answered;
  }
  return { socket, ended: promise };
}

const readers: Reader[] = [];
// Some at a time, so that no queue of the system overflows.
while (readers.length < Number(count)) {
  const missing = Math.min(50, Number(count) - readers.length);
  readers.push(...(await Promise.all(Array.from({ length: missing }, join))));
}

/** One small frame there and one back, so many times on each socket, on all sockets at once. */
async function echo(): Promise<number> {
  const rounds = 200;
  const took = readers.map(async ({ socket }) => {
    for (let round = 0; round < rounds; round++) {
      const answered = once(socket, "message");
      socket.send(`{"type":"ping","ref":"${round}"}`);
      await answered;
    }
  });
  await Promise.all(took);
  return rounds * readers.length;
}

answerParent(url, {
  echo,
  /** Frames that came, when all have got their last. */
  ended: async () => (await Promise.all(readers.map(({ ended }) => ended))).reduce((sum, frames) => sum + frames, 0),
});
