/**
 * `GET /ws`: sockets of the dialect `heddle.v1` in a Fastify application.
 *
 * Who asks is judged before the upgrade, like any request, so a refusal is an HTTP answer. Events go out past the library, as
 * whole frames that are shared with everybody who watches the same; only one write of each thread is under way on a socket.
 * One timer for all sockets finds those that are gone, stalled, idle or old, and runs only while there are any.
 */
import type { Socket } from "node:net";
import type { WebSocket } from "@fastify/websocket";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HeddleError } from "../../protocol/index.ts";
import { SOCKET_ROUTE, admit, faultOf, notUpgraded, withForwardedHeaders } from "../http/index.ts";
import type { AskedRequest, Site } from "../http/index.ts";
import type { Principal } from "../index.ts";
import { within } from "../within.ts";
import { CLOSE, EventFrames, SUBPROTOCOL, SocketDesk, frameOf, textsIn } from "../ws/index.ts";
import type { SocketDeskParts, SocketUser, Wire } from "../ws/index.ts";
import { loggedError } from "./logged-error.ts";
import { registerWebSocket } from "./register-web-socket.ts";
import { headerOf, queryOf } from "./request-parts.ts";

/** How sockets are kept. */
export interface WebSocketOptions {
  /** How often a socket is asked whether anybody is there; one from which nothing has come by the next time is gone. */
  readonly keepAliveMs: number;
  /** How long a client may take for what was written to it. */
  readonly stallMs: number;
  /** How long a socket may be open on which nothing is followed and nothing asked. */
  readonly idleMs: number;
  /** How long a socket may be open at all. */
  readonly maxAgeMs: number;
  /** Largest frame of a client, in bytes. */
  readonly maxFrameBytes: number;
  /** Whether frames are compressed for clients that offer it. What is compressed cannot be shared between sockets. */
  readonly deflate: boolean;
}

/** Most that may wait for a client that reads slowly beside the events of each thread, in bytes. */
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
  #isEnding = false;

  constructor(site: Site, options: WebSocketOptions) {
    this.#site = site;
    this.#options = options;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Takes upgrades on some paths, before any hook that may refuse a request. */
  take(app: FastifyInstance, isOurs: (path: string) => boolean): Promise<void> {
    return registerWebSocket(app, this.#options, isOurs);
  }

  /** Adds the route, before any hook that may refuse a request. */
  async register(app: FastifyInstance): Promise<void> {
    const ours = `${app.prefix}${SOCKET_ROUTE.path}`;
    await this.take(app, (path) => path === ours);
    app.route({
      method: "GET",
      url: SOCKET_ROUTE.path,
      exposeHeadRoute: false,
      onRequest: async (request) => this.#admit(request),
      handler: () => {
        throw notUpgraded();
      },
      wsHandler: (socket, request) => this.#serve(socket, request),
    });
  }

  async #admit(request: FastifyRequest): Promise<void> {
    const { principal } = await admit(this.#site, SOCKET_ROUTE, askedOf(request));
    if (!request.ws) throw notUpgraded();
    const offered = (headerOf(request, "sec-websocket-protocol") ?? "").split(",").map((name) => name.trim());
    if (!offered.includes(SUBPROTOCOL)) throw withoutSubprotocol();
    admitted.set(request, principal);
  }

  #serve(socket: WebSocket, request: FastifyRequest): void {
    const principal = admitted.get(request);
    if (principal === undefined) return void socket.terminate();
    const parts = this.#partsFor(request);
    this.keep(socket, request, principal, (wire) => new SocketDesk(parts, principal, wire));
  }

  /** Keeps a socket of somebody until it is closed, and has it served. */
  keep(socket: WebSocket, request: FastifyRequest, { tenant }: Principal, user: (wire: Wire) => SocketUser): void {
    if (this.#isEnding) return socket.close(CLOSE.goingAway, GOING_AWAY);
    const { log } = request;
    const { telemetry } = this.#site.server;
    const open = new OpenSocket(socket, request.raw.socket, user);
    this.#open.add(open);
    telemetry.sockets += 1;
    this.#timer ??= setInterval(() => this.#beatSoon(), this.#options.keepAliveMs).unref();
    log.info({ tenant }, "socket opened");
    const sinceMs = performance.now();
    socket.on("close", (code) => {
      this.#remove(open);
      telemetry.sockets -= 1;
      log.info(
        { tenant, code: open.endedWith ?? code, durationMs: Math.round(performance.now() - sinceMs) },
        "socket closed",
      );
    });
  }

  #partsFor(request: FastifyRequest): SocketDeskParts {
    const { server, authenticate, limits, forwardHeaders, onWarnings } = this.#site;
    const headers = (token: string | undefined) => (name: string) =>
      token !== undefined && name === "authorization" ? `Bearer ${token}` : headerOf(request, name);
    return {
      server,
      frames: this.#frames,
      authenticate:
        authenticate &&
        ((token) => authenticate({ ...askedOf(request), query: new URLSearchParams(), header: headers(token) })),
      take: ({ tenant, user }) => limits?.take(JSON.stringify([tenant, user])),
      underHeaders: (token, work) => withForwardedHeaders(forwardHeaders, headers(token), work),
      maxFrameBytes: this.#options.maxFrameBytes,
      onWarnings,
      faultOf: (error) => {
        const fault = faultOf(error);
        request.log.error({ err: loggedError(error), ...fault.details }, "a request failed");
        return fault;
      },
    };
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

  /** Lets every client go, once it has what is left for it, with the word to come back; cuts those who do not answer. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(Array.from(this.#open, (open) => open.leave()));
  }
}

const GOING_AWAY = "going away";

/** Goes out when everything before it has. */
const NO_BYTES = new Uint8Array();

/** Who was let in, until their socket is open. */
const admitted = new WeakMap<FastifyRequest, Principal>();

/** A request to open a socket, as it is judged. */
export function askedOf(request: FastifyRequest): AskedRequest {
  const { method, url } = request;
  const [path = url] = url.split("?", 1);
  return { method, path, query: queryOf(url), header: (name) => headerOf(request, name) };
}

function withoutSubprotocol(): HeddleError {
  const message = `This address speaks the subprotocol ${SUBPROTOCOL} of WebSocket only: offer it.`;
  return new HeddleError("request-invalid", message, { reason: "subprotocol" });
}

interface Writing {
  /** Since when. */
  readonly sinceMs: number;
  /** Told how it went, once. */
  readonly taken: (isTaken: boolean) => void;
}

/** One socket, and what is under way on it. */
class OpenSocket implements Wire {
  readonly #socket: WebSocket;
  readonly #raw: Socket;
  readonly #desk: SocketUser;
  readonly #openedMs = performance.now();
  readonly #closed: Promise<void>;
  readonly #deflates: boolean;
  #usedMs = this.#openedMs;
  /** What is under way and not taken yet, the oldest first. */
  readonly #writing = new Set<Writing>();
  /** Bytes of texts that are not taken yet. */
  #waitingBytes = 0;
  /** What had been read when it was asked last whether anybody is there. */
  #readBytes = -1;
  /** What we closed it with; undefined where we did not. Who is cut never answers it. */
  endedWith: number | undefined;

  constructor(socket: WebSocket, raw: Socket, desk: (wire: Wire) => SocketUser) {
    this.#socket = socket;
    this.#raw = raw;
    this.#deflates = socket.extensions.includes("permessage-deflate");
    this.#closed = new Promise((resolve) => socket.once("close", () => resolve()));
    this.#desk = desk(this);
    socket.on("message", (data, isBinary) => void this.#receive(data, isBinary));
    socket.on("close", () => this.#gone());
    // The library has closed the socket, with the code that the fault has; who does not answer is cut.
    socket.on("error", () => void this.end());
  }

  /** Nobody waits any more for what is under way: a connection that is destroyed may forget its writes. */
  #gone(): void {
    this.#desk.gone();
    for (const write of this.#writing) write.taken(false);
    this.#writing.clear();
  }

  async #receive(data: unknown, isBinary: boolean): Promise<void> {
    this.#usedMs = performance.now();
    if (isBinary || !Buffer.isBuffer(data)) return this.#desk.fail(notText());
    await this.#desk.receive(data);
  }

  send(text: string): void {
    const frame = frameOf(text);
    if (!this.#deflates && this.#put(frame) !== undefined) return;
    this.#waitingBytes += frame.length;
    if (this.#waitingBytes > MAX_BUFFERED_BYTES) return this.#desk.end(CLOSE.tooSlow, TOO_SLOW);
    const taken = (): number => (this.#waitingBytes -= frame.length);
    if (this.#deflates) this.#compress([text], taken);
    else this.#await(taken);
  }

  write(frames: Uint8Array): boolean | Promise<boolean> {
    if (this.#deflates) return new Promise((resolve) => this.#compress(textsIn(frames), resolve));
    return this.#put(frames) ?? new Promise((resolve) => this.#await(resolve));
  }

  /**
   * Past the library: it writes its own frames whole too, so none falls into another, and all keep their order. True where the
   * system took it all at once, as it mostly does; false where nobody is there; undefined where it has to wait.
   */
  #put(frames: Uint8Array): boolean | undefined {
    if (!this.#isOpen || this.#raw.destroyed) return false;
    this.#raw.write(frames);
    return this.#raw.writableLength === 0 ? true : undefined;
  }

  /** Tells when all that was written so far is taken. */
  #await(taken: Writing["taken"]): void {
    const write = { sinceMs: performance.now(), taken };
    this.#writing.add(write);
    this.#raw.write(NO_BYTES, (error) => {
      if (this.#writing.delete(write)) taken(error === undefined || error === null);
    });
  }

  /** By the library, which compresses each text for this socket alone, and keeps their order. */
  #compress(texts: readonly string[], taken: Writing["taken"]): void {
    if (!this.#isOpen) return taken(false);
    const write = { sinceMs: performance.now(), taken };
    this.#writing.add(write);
    const done = (error?: Error): void => {
      if (this.#writing.delete(write)) taken(error === undefined || error === null);
    };
    texts.forEach((text, index) => this.#socket.send(text, index === texts.length - 1 ? done : undefined));
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  close(code: number, reason: string): void {
    void this.end(code, reason);
  }

  /** The server goes away, and what was followed ends. */
  async leave(): Promise<void> {
    await within(CLOSE_GRACE_MS, this.#desk.drained());
    this.#desk.end(CLOSE.goingAway, GOING_AWAY);
    await this.#closed;
  }

  /** Closes, and cuts the connection where the client does not answer. */
  async end(code?: number, reason?: string): Promise<void> {
    this.#gone();
    this.endedWith ??= code;
    this.#socket.close(code, reason);
    const cut = setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS);
    await this.#closed;
    clearTimeout(cut);
  }

  /** Looks whether anybody is there, and whether they take what they asked for. */
  beat(nowMs: number, { stallMs, idleMs, maxAgeMs }: WebSocketOptions): void {
    // One that closes is given its time once more, and then cut: who said that nothing follows may take nothing either.
    if (!this.#isOpen) return void this.end();
    const [oldest] = this.#writing;
    if (oldest !== undefined && nowMs - oldest.sinceMs >= stallMs) return this.#desk.end(CLOSE.tooSlow, TOO_SLOW);
    if (nowMs - this.#openedMs >= maxAgeMs) return this.#desk.end(CLOSE.aged, "open for too long");
    if (this.#desk.isBusy) this.#usedMs = nowMs;
    else if (nowMs - this.#usedMs >= idleMs) return this.#desk.end(CLOSE.aged, "idle for too long");
    if (oldest !== undefined) return;
    // Whatever comes is a sign of life: a pong cannot overtake a large frame that takes its time.
    if (this.#raw.bytesRead === this.#readBytes) return this.#socket.terminate();
    this.#readBytes = this.#raw.bytesRead;
    this.#socket.ping();
  }
}

const TOO_SLOW = "too slow";

function notText(): HeddleError {
  return new HeddleError("frame-invalid", "Frames of a client are texts of JSON.", { reason: "binary" });
}
