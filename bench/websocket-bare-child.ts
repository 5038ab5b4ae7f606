/**
 * What `ws` alone can do, in a process of its own: `websocket-bare-child.ts <batches> <way> [deflate]`. Every frame that comes is
 * parsed and answered. `open` sends so many batches of 16 events to all sockets, each event a frame as long as ours, in one of
 * these ways. All build or serialise once for all sockets, and pause as long between batches.
 */
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";
import { answerParent, heldBytes, listening } from "./answer-parent.ts";
import { PER_TURN, WRITE_EVERY_MS, word } from "./workloads.ts";

interface Open {
  readonly socket: WebSocket;
  readonly raw: Socket;
}

/** How a batch goes to every socket. */
const WAYS: Readonly<Record<string, (events: readonly string[]) => (open: Open) => void>> = {
  /** The library sends each event; the socket is corked, so that a batch is one write to the system. */
  send: (events) => {
    const payloads = events.map((event) => Buffer.from(event));
    return ({ socket, raw }) => {
      raw.cork();
      for (const payload of payloads) socket.send(payload, { binary: false });
      raw.uncork();
    };
  },
  /** Frames are built before, and written past the library; the socket is corked. */
  frames: (events) => {
    const frames = events.map(frameOf);
    return ({ raw }) => {
      raw.cork();
      for (const frame of frames) raw.write(frame);
      raw.uncork();
    };
  },
  /** The frames of a batch are one buffer, in one write. */
  batch: (events) => {
    const bytes = Buffer.concat(events.map(frameOf));
    return ({ raw }) => void raw.write(bytes);
  },
  /** One message holds the whole batch; the library sends it. */
  message: (events) => {
    const payload = Buffer.from(`[${events.join(",")}]`);
    return ({ socket }) => socket.send(payload, { binary: false });
  },
};

const [, , batches = "0", way = "send", compression = ""] = process.argv;
const sockets: Open[] = [];
let seq = 0;

/** A text of fewer than 64 KiB and more than 125 bytes as a frame of a server. */
function frameOf(text: string): Buffer {
  const frame = Buffer.allocUnsafe(4 + Buffer.byteLength(text));
  frame[0] = 0x81;
  frame[1] = 126;
  frame.writeUInt16BE(frame.length - 4, 2);
  frame.write(text, 4);
  return frame;
}

/** An event, as long as ours. */
function content(index: number): string {
  seq += 1;
  const messageId = "msg_0123456789abcdef0123456789abcdef";
  return JSON.stringify({
    type: "event",
    thread: "thread-123456-1",
    run: "run-123456-1",
    id: `0123456789abcdef_${String(seq).padStart(16, "0")}`,
    event: { type: "TEXT_MESSAGE_CONTENT", messageId, delta: word(index), timestamp: Date.now() },
  });
}

async function open(): Promise<void> {
  for (let batch = 0; batch < Number(batches); batch++) {
    const events = Array.from({ length: PER_TURN }, (_, index) => content(batch * PER_TURN + index));
    const sendTo = WAYS[way]?.(events);
    for (const each of sockets) sendTo?.(each);
    await pause(WRITE_EVERY_MS);
  }
  for (const { socket } of sockets) socket.send('{"type":"ended"}');
}

const http = createServer();
// Whatever is long enough to be worth a context is compressed: frames of one event too.
const perMessageDeflate = compression === "deflate" && { threshold: 0 };
const server = new WebSocketServer({ server: http, perMessageDeflate, handleProtocols: () => "heddle.v1" });
server.on("connection", (socket, { socket: raw }) => {
  const each = { socket, raw };
  sockets.push(each);
  socket.on("message", (data: Buffer) => {
    const { ref }: { ref?: string } = JSON.parse(data.toString());
    socket.send(JSON.stringify({ type: "pong", ref }));
  });
  socket.on("close", () => sockets.splice(sockets.indexOf(each), 1));
});

answerParent(await listening(http), {
  heldBytes,
  open: () => void open(),
  /** Bytes that went out on the sockets that are open. */
  sentBytes: () => sockets.reduce((sum, { raw }) => sum + raw.bytesWritten, 0),
});
