/**
 * A server in one call: Heddle's plugin on a Fastify of its own, listening.
 *
 * Port 5000 unless another is asked for; where 5000 is taken and nobody asked for it, the next free one. Without `auth` it
 * listens beyond this machine only where `noAuth` says that this is meant; on this machine it answers only to the
 * machine's own names, and to pages that the machine itself serves unless `origins` lists others.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { fastify } from "fastify";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { HeddleError } from "../../protocol/index.ts";
import { LOOPBACK_HOSTS, LOOPBACK_ORIGINS } from "../http/index.ts";
import type { OriginRules } from "../http/index.ts";
import { errorReplies } from "./error-reply.ts";
import { isPortTaken } from "./is-port-taken.ts";
import { heddlePlugin } from "./heddle-plugin.ts";
import type { HeddlePluginOptions } from "./heddle-plugin.ts";
import { LOG_SERIALIZERS } from "./log-lines.ts";

/** Port that is used where none is asked for. */
export const DEFAULT_PORT = 5000;

/** Host that is used where none is asked for. */
export const DEFAULT_HOST = "localhost";

/** How many ports are tried, from the default on, where none is asked for. */
const PORTS_TO_TRY = 100;

/** Levels of the server's own log, the most talkative first. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

/** From which level on something is said. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Options of `serve`. */
export interface ServeOptions<S = undefined> extends HeddlePluginOptions<S> {
  /** Port to listen on; 0 for any free one. Default 5000, or the next free one. */
  readonly port?: number | undefined;
  /** Host to listen on. Default `localhost`. */
  readonly host?: string | undefined;
  /** True allows listening beyond this machine although nobody is asked who they are. */
  readonly noAuth?: boolean | undefined;
  /** How long a request may take to arrive, its headers and its body. Default 120,000. */
  readonly requestTimeoutMs?: number;
  /** From which level on the server says things on stderr, as JSON lines. Default error. */
  readonly logLevel?: LogLevel;
  /** A logger of yours instead. */
  readonly logger?: FastifyBaseLogger;
}

/** A server that listens. */
export interface Served {
  /** Where it answers. */
  readonly url: string;
  /** The port that it listens on. */
  readonly port: number;
  /** Whether the default port was taken, so that this is another one. */
  readonly moved: boolean;
  /** Stops runs, ends streams, and resolves when everything is closed. */
  close(): Promise<void>;
}

/** Starts a server. Throws `config-invalid` or `address-unavailable`. */
export async function serve<S = undefined>(options: ServeOptions<S>): Promise<Served> {
  const { port: asked, host = DEFAULT_HOST, noAuth = false, ...rest } = options;
  const { logger, logLevel = "error", requestTimeoutMs = 120_000, ...pluginOptions } = rest;
  if (!noAuth && options.auth === undefined && !isLoopback(host)) throw beyondLoopback(host);
  const app = createApp(logger, logLevel, requestTimeoutMs);
  try {
    const checks = options.checks ?? isOurOwn(host, options);
    await app.register(heddlePlugin, { ...pluginOptions, ...originRules(host, options), checks });
    const wanted = asked ?? (await firstFreePort(host));
    await listen(app, host, wanted);
    const port = portOf(app) ?? wanted;
    const url = `http://${shownHost(host)}:${port}`;
    return { url, port, moved: asked === undefined && port !== DEFAULT_PORT, close: () => app.close() };
  } catch (error) {
    await app.close();
    throw error;
  }
}

function createApp(logger: FastifyBaseLogger | undefined, level: LogLevel, requestTimeout: number): FastifyInstance {
  /** The newest answer on each connection: those before it have ended, or are under way. */
  const answers = new WeakMap<Socket, ServerResponse>();
  // The plugin is there before the first request is.
  const { replyError, replyNotFound } = errorReplies((code) => app.heddle.telemetry.rejected(code));
  const own = { logger: { level, stream: process.stderr, serializers: LOG_SERIALIZERS } };
  const app: FastifyInstance = fastify({
    ...(logger === undefined ? own : { loggerInstance: logger }),
    requestTimeout,
    // Ids in paths are up to 256 characters, each up to 12 in its percent-encoded form.
    routerOptions: { maxParamLength: 256 * 12 },
    // Fastify's own answer would not have the form of our errors; the plugin refuses in its place.
    return503OnClosing: false,
    // Browsers hold connections open on which nothing was ever asked; streams have had their grace by then.
    forceCloseConnections: true,
    frameworkErrors: replyError,
    clientErrorHandler: (error, socket) => refuseBadBytes(error, socket, answers.get(socket)),
    http: {
      // Node's own answer would have no body.
      requireHostHeader: false,
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeout),
      connectionsCheckingInterval: Math.min(HEADERS_TIMEOUT_MS / 2, requestTimeout),
    },
  });
  app.addHook("onRequest", async ({ raw: { httpVersion, headers } }) => {
    if (httpVersion === "1.1" && headers.host === undefined) throw withoutHost();
  });
  app.server.on("request", ({ socket }, response) => answers.set(socket, response));
  // What else is expected of us is ignored, as HTTP allows; Node's own answer would have no body.
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  app.setNotFoundHandler(replyNotFound);
  app.setErrorHandler(replyError);
  return app;
}

/** Longest time that the headers of a request may take. */
const HEADERS_TIMEOUT_MS = 60_000;

/** How long a client may take to read why its bytes are refused. */
const REFUSAL_GRACE_MS = 1000;

/**
 * Answers what is not HTTP, unless an answer is under way, which the words would spoil. The connection goes either way:
 * a client that does not close its end would hold it for ever.
 */
function refuseBadBytes(error: NodeJS.ErrnoException, socket: Socket, answer: ServerResponse | undefined): void {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  // One that waits for its turn has no socket yet, and one that has ended has none any more.
  const isSilent = answer === undefined || (answer.socket === null ? answer.writableFinished : !answer.headersSent);
  if (!socket.writable || !isSilent) return void socket.destroy();
  const failure = new HeddleError("request-invalid", refusalOf(error), { reason: error.code });
  const body = JSON.stringify(failure);
  const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket.end(`${head}\r\nconnection: close\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), REFUSAL_GRACE_MS).unref();
}

const refusalOf = ({ code }: NodeJS.ErrnoException): string =>
  code === "ERR_HTTP_REQUEST_TIMEOUT"
    ? "The request did not arrive in time."
    : "This is not a request that HTTP allows.";

function withoutHost(): HeddleError {
  return new HeddleError("request-invalid", "The request names no host: HTTP asks for the header Host.", {
    reason: "host",
  });
}

async function firstFreePort(host: string): Promise<number> {
  for (let port = DEFAULT_PORT; port < DEFAULT_PORT + PORTS_TO_TRY; port++) {
    if (!(await isPortTaken(host, port))) return port;
  }
  const message = `The ports ${DEFAULT_PORT} to ${DEFAULT_PORT + PORTS_TO_TRY - 1} of ${host} are all taken: ask for another.`;
  throw new HeddleError("address-unavailable", message, { host, port: DEFAULT_PORT });
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  if (port !== 0 && (await isPortTaken(host, port))) {
    const message = `Port ${port} of ${host} is taken: stop what uses it, or ask for another.`;
    throw new HeddleError("address-unavailable", message, { host, port });
  }
  try {
    await app.listen({ host, port });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `Cannot listen on port ${port} of ${host}: ${reason}.`;
    throw new HeddleError("address-unavailable", message, { host, port }, { cause });
  }
}

function portOf(app: FastifyInstance): number | undefined {
  const address = app.server.address();
  return typeof address === "object" ? address?.port : undefined;
}

/** Whom to answer where nothing else is said: pages of this machine, and where only it is served, by its names. */
function originRules(host: string, { origins = LOOPBACK_ORIGINS, hosts }: OriginRules): OriginRules {
  if (hosts !== undefined || !isLoopback(host)) return { origins, hosts };
  return { origins, hosts: [...LOOPBACK_HOSTS, shownHost(host)] };
}

/** Whether only this machine reaches the server: by a loopback host, and by no other name that is ours. */
const isOurOwn = (host: string, { hosts }: OriginRules): boolean => hosts === undefined && isLoopback(host);

/** Whether a host reaches this machine only. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

function beyondLoopback(host: string): HeddleError {
  const message =
    `The host is ${JSON.stringify(host)}, which others can reach, and nobody is asked who they are: ` +
    `expected localhost, 127.0.0.1 or ::1, or keys or tokens (auth), or the word that this is meant (--no-auth, noAuth).`;
  const details = { setting: "host", expected: "a loopback host", received: JSON.stringify(host) };
  return new HeddleError("config-invalid", message, details);
}

/** The host of the URL: a wildcard is no address that one can open. */
function shownHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
