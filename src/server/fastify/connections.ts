/**
 * The open event streams of one server: their heartbeat and their end.
 *
 * One timer beats for all of them, and only while there are any. A stream whose socket is full gets no heartbeat:
 * its reader is behind, not idle. When the server closes, readers get a moment to take what is left for them.
 */
import type { ServerResponse } from "node:http";
import { encodeSseComment } from "../../protocol/index.ts";

const HEARTBEAT = encodeSseComment();

/** Open event streams. */
export class Connections {
  readonly #open = new Map<ServerResponse, PromiseWithResolvers<void>>();
  readonly #heartbeatMs: number;
  #timer: NodeJS.Timeout | undefined;
  #closing = false;

  constructor(heartbeatMs: number) {
    this.#heartbeatMs = heartbeatMs;
  }

  /** Keeps a stream alive until it closes. */
  add(response: ServerResponse): void {
    const closed = Promise.withResolvers<void>();
    this.#open.set(response, closed);
    this.#timer ??= setInterval(() => this.#beat(), this.#heartbeatMs).unref();
    response.once("close", () => {
      this.#open.delete(response);
      closed.resolve();
      if (this.#open.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
  }

  /** Resolves when the socket takes more, or is gone. */
  async drained(response: ServerResponse): Promise<void> {
    if (response.destroyed || !response.writableNeedDrain) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = (): void => resolve();
    response.once("drain", done).once("close", done);
    await promise;
    response.off("drain", done).off("close", done);
  }

  /** Ends a stream. While the server closes its socket goes too: an idle one would hold up the server's end. */
  end(response: ServerResponse): void {
    const { socket } = response;
    response.end();
    if (this.#closing) socket?.destroySoon();
  }

  /** From now on a stream that ends takes its socket along. */
  beginClose(): void {
    this.#closing = true;
  }

  /** Resolves when every stream has ended. Those that have not within `graceMs` are cut: their readers stall. */
  async closed(graceMs: number): Promise<void> {
    const cut = setTimeout(() => {
      for (const response of this.#open.keys()) response.destroy();
    }, graceMs);
    await Promise.all(Array.from(this.#open.values(), ({ promise }) => promise));
    clearTimeout(cut);
  }

  #beat(): void {
    for (const response of this.#open.keys()) {
      if (!response.destroyed && !response.writableEnded && !response.writableNeedDrain) response.write(HEARTBEAT);
    }
  }
}
