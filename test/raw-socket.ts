/**
 * A WebSocket by hand, for what no client would do: bytes go out as they are, nothing is answered, and nothing is read where
 * that is the point. It knows just enough of RFC 6455 to make frames and to count those that come.
 */
import { once } from "node:events";
import { request } from "node:http";
import type { Socket } from "node:net";

/** An upgraded connection. */
export interface RawSocket {
  /** The connection itself. */
  readonly socket: Socket;
  /** How many texts have come. */
  readonly frames: number;
  /** Code of the close frame that came; undefined where none did. */
  readonly closeCode: number | undefined;
  /** Resolves when so many texts have come. Rejects where the connection closes before. */
  received(count: number): Promise<void>;
  /** Sends bytes, and resolves when they are on their way. What breaks the connection is no failure here. */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
}

/** What a frame may have otherwise than it should. */
export interface FrameFaults {
  /** Its first byte. Default: a whole text. */
  readonly first?: number;
  /** Without a mask. */
  readonly bare?: boolean;
  /** The length that it claims. Default: what it has. */
  readonly claims?: number;
}

/** A frame of a client. The mask is zero, so the payload stays as it is. */
export function clientFrame(payload: string | Uint8Array, faults: FrameFaults = {}): Buffer {
  const bytes = Buffer.from(payload);
  const { first = 0x81, bare = false, claims = bytes.length } = faults;
  const mask = bare ? 0 : 0x80;
  const head = claims <= 125 ? [first, mask | claims] : [first, mask | 127, 0, 0, 0, 0, ...bigEndian(claims)];
  return Buffer.concat([Uint8Array.from(head), new Uint8Array(bare ? 0 : 4), bytes]);
}

const bigEndian = (value: number): readonly number[] => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff);

/** Opens a connection. With `reads: false` nothing is ever read from it. */
export async function openRawSocket(
  url: string,
  path: string,
  { protocol, reads = true }: { readonly protocol: string | undefined; readonly reads?: boolean },
): Promise<RawSocket> {
  const headers = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": Buffer.from("0123456789abcdef").toString("base64"),
    ...(protocol !== undefined && { "sec-websocket-protocol": protocol }),
  };
  const asked = request(`${url}${path}`, { headers, agent: false }).end();
  const [, socket, head]: [unknown, Socket, Buffer] = await upgraded(asked);
  const counter = new FrameCounter();
  const watchers = new Set<() => void>();
  const look = (): void => {
    for (const watcher of watchers) watcher();
  };
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  void closed.then(look);
  socket.on("error", () => undefined);
  if (reads) {
    counter.read(head);
    socket.on("data", (chunk: Buffer) => {
      counter.read(chunk);
      look();
    });
  } else socket.pause();
  return {
    socket,
    closed,
    get frames() {
      return counter.frames;
    },
    get closeCode() {
      return counter.closeCode;
    },
    received: (count) =>
      new Promise((resolve, reject) => {
        const watcher = (): void => {
          if (counter.frames >= count) resolve();
          else if (socket.destroyed) reject(new Error(`closed after ${counter.frames} of ${count} frames`));
          else return;
          watchers.delete(watcher);
        };
        watchers.add(watcher);
        watcher();
      }),
    write: (bytes) =>
      new Promise((resolve) => {
        void closed.then(resolve);
        socket.write(bytes, () => resolve());
      }),
  };
}

async function upgraded(asked: ReturnType<typeof request>): Promise<[unknown, Socket, Buffer]> {
  const refused = once(asked, "response").then(([answer]) => {
    throw new Error(`refused with ${Object(answer).statusCode}`);
  });
  const [answer, socket, head]: unknown[] = await Promise.race([once(asked, "upgrade"), refused]);
  refused.catch(() => undefined);
  return [answer, socket as Socket, head as Buffer];
}

/** Counts frames of a server, however they are cut into pieces. */
class FrameCounter {
  frames = 0;
  closeCode: number | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #toSkip = 0;

  read(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = Buffer.alloc(0);
    while (bytes.length > 0) {
      const skipped = Math.min(this.#toSkip, bytes.length);
      this.#toSkip -= skipped;
      bytes = bytes.subarray(skipped);
      const short = (bytes[1] ?? 0) & 0x7f;
      const head = short < 126 ? 2 : short === 126 ? 4 : 10;
      const isClose = bytes[0] === 0x88;
      // Of a close frame, its code is wanted too.
      if (bytes.length < (isClose ? head + 2 : head)) break;
      const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
      if (isClose) this.closeCode = bytes.readUInt16BE(head);
      if (bytes[0] === 0x81) this.frames += 1;
      this.#toSkip = head + length;
    }
    this.#rest = Buffer.from(bytes);
  }
}
