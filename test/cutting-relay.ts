/**
 * A proxy that cuts: it passes so many bytes of an answer's head or body, and no more. It speaks HTTP/1.0 to the server, as
 * nginx does unless told otherwise, so a connection carries one answer and a body is nothing but its bytes.
 *
 * A cut that is `reset` breaks the connection, which its reader sees as an error. One that is `ended` closes it as if the
 * answer were whole: nothing but the missing terminal event tells its reader.
 */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** Where an answer is cut, and how. */
export interface Cut {
  /** What the bytes are counted in. */
  readonly part: "head" | "body";
  /** So many bytes are passed. */
  readonly bytes: number;
  /** How the connection goes. */
  readonly how: "reset" | "ended";
}

/** A proxy at work. */
export interface CuttingRelay {
  /** The server, through the proxy. */
  readonly url: string;
  /** How many answers were cut so far. */
  readonly cuts: number;
  /** The answers that come next are cut so, in this order; those behind them are passed whole. */
  plan(cuts: readonly Cut[]): void;
  /** Ends it. */
  close(): Promise<void>;
}

const HEAD_END = "\r\n\r\n";

/** Starts a proxy in front of a server. */
export async function startRelay(target: string): Promise<CuttingRelay> {
  const { hostname, port } = new URL(target);
  const planned: Cut[] = [];
  const sockets = new Set<Socket>();
  let cuts = 0;
  const relay = createServer({ noDelay: true }, (reader) => {
    const server = connect({ host: hostname, port: Number(port), noDelay: true });
    const gone = (): void => {
      reader.destroy();
      server.destroy();
    };
    for (const socket of [reader, server]) {
      sockets.add(socket);
      socket.on("error", gone).on("close", () => sockets.delete(socket));
    }
    reader.on("close", () => server.destroy());
    asOldHttp(reader, server);
    pass(server, reader, planned.shift(), () => (cuts += 1));
  }).listen(0, "127.0.0.1");
  await once(relay, "listening");
  const address: AddressInfo = Object(relay.address());
  return {
    url: `http://127.0.0.1:${address.port}`,
    get cuts() {
      return cuts;
    },
    plan: (next) => void planned.splice(0, planned.length, ...next),
    async close() {
      relay.close();
      for (const socket of sockets) socket.destroy();
      await once(relay, "close");
    },
  };
}

/** Passes a request on. Its first line comes in one piece: it is short, and the first that is sent. */
function asOldHttp(reader: Socket, server: Socket): void {
  reader.once("data", (first) => {
    server.write(first.toString("latin1").replace(" HTTP/1.1\r\n", " HTTP/1.0\r\n"), "latin1");
    reader.on("data", (more) => server.write(more));
  });
}

/** Passes an answer on, up to where it is cut. */
function pass(server: Socket, reader: Socket, cut: Cut | undefined, onCut: () => void): void {
  let head: Buffer | undefined = Buffer.alloc(0);
  let left = cut?.bytes ?? Infinity;
  let over = false;
  /** Passes what it may of some bytes that count. */
  const counted = (bytes: Buffer): void => {
    reader.write(bytes.subarray(0, left));
    left -= bytes.length;
    if (left > 0) return;
    over = true;
    onCut();
    server.destroy();
    if (cut?.how === "ended") reader.end();
    else reader.resetAndDestroy();
  };
  server.on("data", (data) => {
    if (over) return;
    if (head === undefined) return counted(data);
    head = Buffer.concat([head, data]);
    const end = head.indexOf(HEAD_END);
    if (end === -1) return;
    const [whole, body] = [head.subarray(0, end + HEAD_END.length), head.subarray(end + HEAD_END.length)];
    head = undefined;
    if (cut?.part === "head") counted(whole);
    else reader.write(whole);
    if (!over) counted(body);
  });
  server.on("end", () => reader.end());
}
