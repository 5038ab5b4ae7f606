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
import type { SocketUser, Wire } from "../ws/index.ts";
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
        // Sessions have none, and a browser that offers some wants one of them back.
        handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : ([...offered][0] ?? false)),
      },
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
    this.keep(socket, request, (wire) => {
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
  }

  /** Keeps a socket until it is closed, and has it served. */
  keep(socket: WebSocket, request: FastifyRequest, user: (wire: Wire) => SocketUser): void {
    const open = new OpenSocket(socket, request.raw.socket, user);
    this.#open.add(open);
    this.#timer ??= setInterval(() => this.#beat(), this.#options.keepAliveMs).unref();
    socket.on("close", () => this.#remove(open));
  }

  #remove(open: OpenSocket): void {
    this.#open.delete(open);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
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

/** Who was let in, until their socket is open. */
const admitted = new WeakMap<FastifyRequest, Principal>();

/** A request to open a socket, as it is judged. */
export function askedOf(request: FastifyRequest): AskedRequest {
  const { method, url } = request;
  const [path = url] = url.split("?", 1);
  return { method, path, query: queryOf(url), header: (name) => headerOf(request, name) };
}

/** One socket, and what is under way on it. */
class OpenSocket implements Wire {
  readonly #socket: WebSocket;
  readonly #raw: Socket;
  readonly #desk: SocketUser;
  readonly #openedMs = performance.now();
  readonly #closed: Promise<void>;
  #usedMs = this.#openedMs;
  /** Since when each write is under way that is not taken yet. */
  readonly #writing = new Set<{ readonly sinceMs: number }>();
  #isAlive = true;

  constructor(socket: WebSocket, raw: Socket, desk: (wire: Wire) => SocketUser) {
    this.#socket = socket;
    this.#raw = raw;
    this.#closed = new Promise((resolve) => socket.once("close", () => resolve()));
    this.#desk = desk(this);
    socket.on("message", (data, isBinary) => void this.#receive(data, isBinary));
    socket.on("pong", () => (this.#isAlive = true));
    socket.on("close", () => this.#desk.gone());
    // The library closes the socket itself, with the code that the fault has.
    socket.on("error", () => this.#desk.gone());
  }

  async #receive(data: unknown, isBinary: boolean): Promise<void> {
    this.#usedMs = performance.now();
    this.#isAlive = true;
    if (isBinary || !Buffer.isBuffer(data)) return this.#desk.fail(notText());
    await this.#desk.receive(data);
  }

  send(text: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) return this.#desk.end(CLOSE.tooSlow, "too slow");
    this.#socket.send(text);
  }

  /** Past the library: it writes its own frames whole too, so none falls into another. */
  write(frames: Uint8Array): Promise<boolean> {
    if (this.#socket.readyState !== this.#socket.OPEN || this.#raw.destroyed) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const write = { sinceMs: performance.now() };
    this.#writing.add(write);
    this.#raw.write(frames, (error) => {
      this.#writing.delete(write);
      resolve(error === undefined || error === null);
    });
    return promise;
  }

  /** Closes, and cuts the connection where the client does not answer. */
  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
    const cut = setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS);
    void this.#closed.then(() => clearTimeout(cut));
  }

  /** Has it ended by whoever serves it, and resolves when it is closed. */
  async end(code: number, reason: string): Promise<void> {
    this.#desk.end(code, reason);
    await this.#closed;
  }

  /** Looks whether anybody is there, and whether they take what they asked for. */
  beat(nowMs: number, { stallMs, idleMs, maxAgeMs }: WebSocketOptions): void {
    const [oldest] = this.#writing;
    if (oldest !== undefined && nowMs - oldest.sinceMs >= stallMs) return this.#desk.end(CLOSE.tooSlow, "too slow");
    if (nowMs - this.#openedMs >= maxAgeMs) return this.#desk.end(CLOSE.aged, "open for too long");
    if (this.#desk.isBusy) this.#usedMs = nowMs;
    else if (nowMs - this.#usedMs >= idleMs) return this.#desk.end(CLOSE.aged, "idle for too long");
    if (oldest !== undefined) return;
    if (!this.#isAlive) return this.#socket.terminate();
    this.#isAlive = false;
    this.#socket.ping();
  }
}

function notText(): HeddleError {
  return new HeddleError("frame-invalid", "Frames of a client are texts of JSON.", { reason: "binary" });
}
