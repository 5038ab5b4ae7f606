/**
 * Connections that asked for a WebSocket and got an answer instead. Node counts them no longer among those of HTTP: they have
 * no timeouts, and hold up the end of the server as long as their clients like. So they get a time of their own; whoever
 * makes a WebSocket of one takes it away, as the library does.
 */
import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import { Socket } from "node:net";

/** How long one may be silent that was not made a WebSocket. */
const SILENCE_MS = 30_000;

/** Watches over them, and ends those that are left. */
export class RefusedUpgrades {
  readonly #asked = new Set<Socket>();
  readonly #server: Server;
  readonly #watch = (_request: unknown, socket: Duplex): void => {
    if (!(socket instanceof Socket)) return;
    this.#asked.add(socket);
    socket.once("close", () => this.#asked.delete(socket));
    socket.setTimeout(SILENCE_MS, () => socket.destroy());
  };

  constructor(server: Server) {
    this.#server = server;
    server.on("upgrade", this.#watch);
  }

  /** The server closes: those that are no WebSockets go. */
  end(): void {
    this.#server.off("upgrade", this.#watch);
    for (const socket of this.#asked) if (socket.timeout !== 0) socket.destroySoon();
  }
}
