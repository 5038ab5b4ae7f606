/**
 * `GET /ws`: sockets of the dialect `heddle.v1` in a Fastify application.
 *
 * Who asks is judged before the upgrade, like any request, so a refusal is an HTTP answer. Events go out past the library, as
 * whole frames that are shared with everybody who watches the same; only one write of each thread is under way on a socket.
 * One timer for all sockets finds those that are gone, stalled, idle or old, and runs only while there are any.
 */
import type { Socket } from "node:net";
import { fastifyWebsocket } from "@fastify/websocket";
import type { WebSocket } from "@fastify/websocket";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HeddleError } from "../../protocol/index.ts";
import { admit, faultOf } from "../http/index.ts";
import type { AskedRequest, Site } from "../http/index.ts";
import type { Principal } from "../index.ts";
import { CLOSE, EventFrames, SUBPROTOCOL, SocketDesk } from "../ws/index.ts";
import type { Wire } from "../ws/index.ts";
import { headerOf, queryOf } from "./request-parts.ts";

/** How sockets are kept. */
export interface WebSocketOptions {
  /** How often a socket is asked whether anybody is there; one that has not answered by the next time is gone. */
  readonly keepAliveMs: number;
  /** How long a client may take for what was written to it. */
  readonly stallMs: number;
  /** How long a socket may be open on which nothing is followed and nothing asked. */
  readonly idleMs: number;
  /** How long a socket may be open at all. */
  readonly maxAgeMs: number;
  /** Largest frame of a client, in bytes. */
  readonly maxFrameBytes: number;
}

/** Most that may wait in the library for a client that reads slowly, in bytes. */
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;

/** How long a client may take to answer a close. */
const CLOSE_GRACE_MS = 1000;

/** The sockets of one application. */
export class WebSockets {
  readonly #open = new Set<OpenSocket>();
  readonly #frames = new EventFrames();
  readonly #site: Site;
  readonly #options: WebSocketOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(site: Site, options: WebSocketOptions) {
    this.#site = site;
    this.#options = options;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Adds the route. */
  async register(app: FastifyInstance): Promise<void> {
    await app.register(fastifyWebsocket, {
      options: {
        maxPayload: this.#options.maxFrameBytes,
        // Measured: it costs more than it saves on frames of one event. Events that are compressed cannot be shared.
        perMessageDeflate: false,
        handleProtocols: () => SUBPROTOCOL,
      },
      errorHandler: onSocketError,
    });
    app.route({
      method: "GET",
      url: "/ws",
      websocket: true,
      onRequest: async (request) => this.#admit(request),
      handler: (socket, request) => this.#serve(socket, request),
    });
  }

  async #admit(request: FastifyRequest): Promise<void> {
    const header = (name: string): string | undefined => headerOf(request, name);
    const offered = (header("sec-websocket-protocol") ?? "").split(",").map((name) => name.trim());
    if (!offered.includes(SUBPROTOCOL)) {
      const message = `This address speaks WebSocket, and of it the subprotocol ${SUBPROTOCOL} only: offer it.`;
      throw new HeddleError("request-invalid", message, { reason: "subprotocol" });
    }
    admitted.set(request, (await admit(this.#site, {}, askedOf(request))).principal);
  }

  #serve(socket: WebSocket, request: FastifyRequest): void {
    const principal = admitted.get(request);
    if (principal === undefined) return void socket.terminate();
    const { server, authenticate, limits } = this.#site;
    const open = new OpenSocket(socket, request.raw.socket, (wire) => {
      const byToken = (token: string): Promise<Principal> => {
        const header = (name: string): string | undefined =>
          name === "authorization" ? `Bearer ${token}` : headerOf(request, name);
        return authenticate === undefined
          ? Promise.resolve(principal)
          : authenticate({ ...askedOf(request), query: new URLSearchParams(), header });
      };
      return new SocketDesk(
        {
          server,
          frames: this.#frames,
          authenticate: byToken,
          take: ({ tenant, user }) => limits?.take(JSON.stringify([tenant, user])),
          maxFrameBytes: this.#options.maxFrameBytes,
          faultOf: (error) => {
            request.log.error({ err: error }, "a frame failed");
            return faultOf(error);
          },
        },
        principal,
        wire,
      );
    });
    this.#open.add(open);
    this.#timer ??= setInterval(() => this.#beatSoon(), this.#options.keepAliveMs).unref();
    socket.on("close", () => this.#remove(open));
  }

  #remove(open: OpenSocket): void {
    this.#open.delete(open);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** What has come meanwhile is read first: whoever has answered is not gone because we were busy. */
  #beatSoon(): void {
    setImmediate(() => this.#beat());
  }

  #beat(): void {
    const nowMs = performance.now();
    for (const open of this.#open) open.beat(nowMs, this.#options);
  }

  /** Lets every client go, with the word to come back, and cuts those who do not answer. */
  async end(): Promise<void> {
    const closed = [...this.#open].map((open) => open.end(CLOSE.goingAway, "going away"));
    await Promise.all(closed);
  }
}

/** Goes out when everything before it has. */
const NO_BYTES = new Uint8Array();

/** Who was let in, until their socket is open. */
const admitted = new WeakMap<FastifyRequest, Principal>();

/**
 * A fault of the client: the library closes the socket itself, with the code that the fault has. Only where it was not that
 * far yet, the fault is ours.
 */
function onSocketError(error: Error, socket: WebSocket, request: FastifyRequest): void {
  if (socket.readyState !== socket.OPEN) return;
  request.log.error({ err: error }, "a socket failed");
  socket.terminate();
}

function askedOf(request: FastifyRequest): AskedRequest {
  const { method, url } = request;
  const [path = url] = url.split("?", 1);
  return { method, path, query: queryOf(url), header: (name) => headerOf(request, name) };
}

/** One socket, and what is under way on it. */
class OpenSocket implements Wire {
  readonly #socket: WebSocket;
  readonly #raw: Socket;
  readonly #desk: SocketDesk;
  readonly #openedMs = performance.now();
  readonly #closed: Promise<void>;
  #usedMs = this.#openedMs;
  /** Since when each write is under way that is not taken yet. */
  readonly #writing = new Set<{ readonly sinceMs: number }>();
  /** What had been read when it was asked last whether anybody is there. */
  #readBytes = -1;

  constructor(socket: WebSocket, raw: Socket, desk: (wire: Wire) => SocketDesk) {
    this.#socket = socket;
    this.#raw = raw;
    this.#desk = desk(this);
    this.#closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.on("message", (data, isBinary) => void this.#receive(data, isBinary));
    socket.on("close", () => this.#desk.gone());
    // The library has said why; the client need not answer.
    socket.on("error", () => this.close(CLOSE.goingAway, ""));
  }

  async #receive(data: unknown, isBinary: boolean): Promise<void> {
    this.#usedMs = performance.now();
    if (isBinary || !Buffer.isBuffer(data)) return this.#desk.fail(notText());
    await this.#desk.receive(data);
  }

  send(text: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) return this.#desk.end(CLOSE.tooSlow, "too slow");
    this.#socket.send(text);
  }

  /** Past the library: it writes its own frames whole too, so none falls into another. */
  write(frames: Uint8Array): boolean | Promise<boolean> {
    if (this.#socket.readyState !== this.#socket.OPEN || this.#raw.destroyed) return false;
    this.#raw.write(frames);
    // The system has taken it all, as it mostly does: nobody has to be called later.
    if (this.#raw.writableLength === 0) return !this.#raw.destroyed;
    return this.#taken();
  }

  /** Resolves when all that was written is taken: to true, or to false where nobody is there any more. */
  #taken(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const write = { sinceMs: performance.now() };
    this.#writing.add(write);
    this.#raw.write(NO_BYTES, (error) => {
      this.#writing.delete(write);
      resolve(error === undefined || error === null);
    });
    return promise;
  }

  close(code: number, reason: string): void {
    void this.end(code, reason);
  }

  /** Closes, and cuts the connection where the client does not answer. */
  async end(code: number, reason: string): Promise<void> {
    this.#desk.gone();
    this.#socket.close(code, reason);
    const cut = setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS);
    await this.#closed;
    clearTimeout(cut);
  }

  /** Looks whether anybody is there, and whether they take what they asked for. */
  beat(nowMs: number, { stallMs, idleMs, maxAgeMs }: WebSocketOptions): void {
    const [oldest] = this.#writing;
    if (oldest !== undefined && nowMs - oldest.sinceMs >= stallMs) return this.close(CLOSE.tooSlow, "too slow");
    if (nowMs - this.#openedMs >= maxAgeMs) return this.close(CLOSE.aged, "open for too long");
    if (this.#desk.isBusy) this.#usedMs = nowMs;
    else if (nowMs - this.#usedMs >= idleMs) return this.close(CLOSE.aged, "idle for too long");
    if (oldest !== undefined) return;
    // Whatever comes is a sign of life: a pong cannot overtake a large frame that takes its time.
    if (this.#raw.bytesRead === this.#readBytes) return this.#socket.terminate();
    this.#readBytes = this.#raw.bytesRead;
    this.#socket.ping();
  }
}

function notText(): HeddleError {
  return new HeddleError("frame-invalid", "Frames of a client are texts of JSON.", { reason: "binary" });
}
