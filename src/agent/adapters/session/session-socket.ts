/**
 * The socket of one run: what the server sends, one message for each that is asked for. Whoever does not take them makes
 * the server wait, since nothing more is read while enough is held.
 *
 * Made with `ws`, not with the global WebSocket: that one tells neither why a server refuses nor how large a message is
 * before it is held, and cannot stop reading.
 */
import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { cutStream, refusedRun, unreachable } from "../ag-ui/failures.ts";
import type { Remote } from "../ag-ui/failures.ts";
import { badWire, closedEarly } from "./failures.ts";

/** How a socket is opened. */
export interface SocketOptions {
  /** Whose socket it is. */
  readonly remote: Remote;
  /** Headers of the request, complete. */
  readonly headers: Headers;
  /** Largest message. */
  readonly maxFrameBytes: number;
  /** How long the server may take to close its side. */
  readonly closeTimeoutMs: number;
  /** Aborts when the run is to stop, or takes too long; its reason is the error to throw. */
  readonly signal: AbortSignal;
}

/** Messages that are held before the server has to wait. */
const MAX_HELD = 64;

/** How much of a refusal is read, and for how long, for the details of the error. */
const MAX_READ_CHARS = 4096;
const MAX_READ_MS = 1000;

/** An open socket. */
export class SessionSocket {
  readonly #socket: WebSocket;
  readonly #options: SocketOptions;
  readonly #held: string[] = [];
  /** Why nothing follows what is held. */
  #failure: Error | undefined;
  /** What goes on when something has come, and what a sign of life does. */
  #wake: (() => void) | undefined;
  #sound: (() => void) | undefined;

  constructor(socket: WebSocket, options: SocketOptions) {
    this.#socket = socket;
    this.#options = options;
    const { remote } = options;
    socket.on("message", (data) => {
      this.#held.push(String(data));
      if (this.#held.length >= MAX_HELD) socket.pause();
      this.#wake?.();
    });
    socket.on("ping", () => this.#sound?.());
    socket.on("error", (error) => this.#fail(failureOf(remote, error)));
    socket.on("close", (code) => this.#fail(closedEarly(remote, code)));
  }

  /** Sends a message. */
  send(text: string): void {
    this.#socket.send(text);
  }

  /** The next message. Throws `agent-stream-cut` or `agent-response-invalid` where none comes, or the signal's reason. */
  async next(idleTimeoutMs?: number): Promise<string> {
    const { remote, signal } = this.#options;
    signal.throwIfAborted();
    if (this.#held.length === 0 && this.#failure === undefined) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const onAbort = (): void => reject(signal.reason);
      const onIdle = (): void => reject(cutStream(remote, "idle"));
      const timer = idleTimeoutMs === undefined ? undefined : setTimeout(onIdle, idleTimeoutMs);
      this.#wake = resolve;
      this.#sound = () => timer?.refresh();
      signal.addEventListener("abort", onAbort);
      try {
        await promise;
      } finally {
        clearTimeout(timer);
        this.#wake = this.#sound = undefined;
        signal.removeEventListener("abort", onAbort);
      }
    }
    const message = this.#held.shift();
    if (message === undefined) throw this.#failure ?? cutStream(remote, "broken");
    if (this.#held.length === 0) this.#socket.resume();
    return message;
  }

  /** Closes the socket, and ends it where the server does not. */
  close(): void {
    const socket = this.#socket;
    if (socket.readyState === WebSocket.CLOSED) return;
    const timer = setTimeout(() => socket.terminate(), this.#options.closeTimeoutMs);
    socket.once("close", () => clearTimeout(timer));
    this.#held.length = 0;
    // A server that waits for us to read would never see the end.
    socket.resume();
    socket.close(1000);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#wake?.();
  }
}

/** Opens a socket. Throws `agent-unreachable`, or the signal's reason. */
export async function openSessionSocket(options: SocketOptions): Promise<SessionSocket> {
  const { remote, headers, maxFrameBytes: maxPayload, signal } = options;
  signal.throwIfAborted();
  const url = new URL(remote.url);
  // What stands behind # is never sent.
  url.hash = "";
  const socket = new WebSocket(url, { headers: Object.fromEntries(headers), maxPayload, perMessageDeflate: false });
  const { promise, resolve, reject } = Promise.withResolvers<SessionSocket>();
  const onAbort = (): void => {
    reject(signal.reason);
    socket.terminate();
  };
  signal.addEventListener("abort", onAbort);
  socket.on("error", (error) => reject(unreachable(remote, error)));
  socket.on("unexpected-response", async (request, response) => {
    reject(refusedRun(remote, response.statusCode ?? 0, await beginningOf(response)));
    request.destroy();
  });
  // Listening begins before anything else can come.
  socket.on("open", () => resolve(new SessionSocket(socket, options)));
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** The first text of a refusal; whatever goes wrong with it is less than what is wrong already. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  const timer = setTimeout(() => response.destroy(), MAX_READ_MS);
  let read = "";
  try {
    for await (const chunk of response.setEncoding("utf8")) {
      read += String(chunk);
      if (read.length >= MAX_READ_CHARS) break;
    }
  } catch {
    // The status is the failure to report; how its body broke is not.
  } finally {
    clearTimeout(timer);
  }
  return read.slice(0, MAX_READ_CHARS);
}

/** Faults of the wire have codes of `ws`; everything else is a broken connection. */
function failureOf(remote: Remote, error: Error): Error {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return code.startsWith("WS_ERR_") ? badWire(remote, code, error) : cutStream(remote, "broken", error);
}
