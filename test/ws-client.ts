/** A WebSocket of `heddle.v1` for tests: frames in, frames out, each once. It knows nothing of Heddle's own code. */
import { once } from "node:events";
import { WebSocket } from "ws";

/** A frame of the server. */
export interface ServerFrame {
  readonly type: string;
  readonly [name: string]: unknown;
}

/** An open socket. */
export interface TestSocket {
  /** Sends a frame. */
  send(frame: object | string): void;
  /** The next frame that fits; those before it are passed over. */
  next(fits: (frame: ServerFrame) => boolean): Promise<ServerFrame>;
  /** Sends a frame with a `ref`, and gives the answer to it. */
  ask(frame: object): Promise<ServerFrame>;
  /** Every frame so far. */
  readonly frames: readonly ServerFrame[];
  /** How it was closed, once it is. */
  readonly closed: Promise<readonly [code: number, reason: string]>;
  /** The socket itself. */
  readonly socket: WebSocket;
}

/** Opens a socket. Rejects with the status where the server refuses. */
export async function openSocket(url: string, headers: Record<string, string> = {}, path = "/ws"): Promise<TestSocket> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}`, "heddle.v1", { headers });
  const refused = once(socket, "unexpected-response").then(([, response]) => {
    throw new Error(`refused with ${Object(response).statusCode}`);
  });
  refused.catch(() => undefined);
  const frames: ServerFrame[] = [];
  const looking = new Set<() => void>();
  socket.on("message", (data) => {
    frames.push(JSON.parse(String(data)));
    for (const look of looking) look();
  });
  const closed = once(socket, "close").then(([code, reason]) => [Number(code), String(reason)] as const);
  closed.catch(() => undefined);
  await Promise.race([once(socket, "open"), refused]);
  let seen = 0;
  let asked = 0;
  const next: TestSocket["next"] = (fits) =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = frames.findIndex((frame, index) => index >= seen && fits(frame));
        if (found === -1) return;
        seen = found + 1;
        looking.delete(look);
        resolve(frames[found] ?? { type: "none" });
      };
      looking.add(look);
      look();
    });
  const send: TestSocket["send"] = (frame) => socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  return {
    socket,
    frames,
    closed,
    send,
    next,
    ask(frame) {
      const ref = `${++asked}`;
      send({ ref, ...frame });
      return next((answer) => answer["ref"] === ref);
    },
  };
}
