/**
 * The open event streams of one server: what is under way to them, their heartbeat and their end.
 *
 * A stream has one write under way at a time, and its reader so long to take it; one that does not is cut, which readers
 * answer by attaching again where they were. One timer beats for all streams and finds those that stall, and it runs only
 * while there are any. A stream with a write under way gets no heartbeat: its reader is behind, not idle. When the server
 * closes, readers get a moment to take what is left for them.
 */
import type { ServerResponse } from "node:http";
import type { StreamAnswer } from "../http/index.ts";

/** How streams are kept. */
export interface ConnectionsOptions {
  /** How often an idle stream gets a comment. */
  readonly keepAliveMs: number;
  /** How long a reader may take for one write; seen at the next beat. */
  readonly stallMs: number;
}

interface Stream {
  readonly heartbeat: Uint8Array | undefined;
  readonly farewell: Uint8Array | undefined;
  /** Since when a write is under way. */
  sinceMs: number | undefined;
  /** Whoever waits for that. */
  written: ((open: boolean) => void) | undefined;
}

/** Open event streams. */
export class Connections {
  readonly #open = new Map<ServerResponse, Stream>();
  readonly #options: ConnectionsOptions;
  readonly #closed: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #closing = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** How many streams are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Keeps a stream until it closes. */
  add(response: ServerResponse, { heartbeat, farewell }: StreamAnswer): void {
    this.#open.set(response, { heartbeat, farewell, sinceMs: undefined, written: undefined });
    this.#timer ??= setInterval(() => this.#beat(), this.#options.keepAliveMs).unref();
    response.once("close", () => this.#remove(response));
  }

  #remove(response: ServerResponse): void {
    const stream = this.#open.get(response);
    this.#open.delete(response);
    stream?.written?.(false);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const resolve of this.#closed.splice(0)) resolve();
  }

  /** Writes, and resolves when the socket has taken it: to true, or to false where the reader is gone. */
  write(response: ServerResponse, bytes: Uint8Array): Promise<boolean> {
    const stream = this.#open.get(response);
    if (stream === undefined || response.destroyed) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    stream.sinceMs = performance.now();
    stream.written = resolve;
    response.write(bytes, (error) => {
      stream.sinceMs = stream.written = undefined;
      resolve(error === null || error === undefined);
    });
    return promise;
  }

  /**
   * Ends a stream. While the server closes, its reader is asked to come back, and its socket goes too: an idle one would
   * hold up the server's end.
   */
  end(response: ServerResponse): void {
    const { socket } = response;
    if (!this.#closing) return void response.end();
    response.end(this.#open.get(response)?.farewell);
    socket?.destroySoon();
  }

  /** From now on a stream that ends takes its socket along. */
  beginClose(): void {
    this.#closing = true;
  }

  /** Resolves when every stream has ended. Those that have not within `graceMs` are cut: their readers stall. */
  async closed(graceMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    const cut = setTimeout(() => {
      for (const response of this.#open.keys()) response.destroy();
    }, graceMs);
    await new Promise<void>((resolve) => this.#closed.push(resolve));
    clearTimeout(cut);
  }

  #beat(): void {
    const stalledMs = performance.now() - this.#options.stallMs;
    for (const [response, { sinceMs, heartbeat }] of this.#open) {
      if (sinceMs !== undefined) {
        if (sinceMs <= stalledMs) response.destroy();
      } else if (heartbeat !== undefined && isIdle(response)) {
        response.write(heartbeat);
      }
    }
  }
}

const isIdle = (response: ServerResponse): boolean =>
  !response.destroyed && !response.writableEnded && !response.writableNeedDrain;
