/**
 * Heddle's routes as a Fastify plugin. Register it in an application of yours, under a prefix if you like; `serve`
 * is this plugin on a Fastify of its own.
 *
 * Error handler, body parser and hooks stay inside the plugin. A reader that goes away ends its stream and nothing
 * else: runs are stopped only when the application closes.
 */
import { Readable } from "node:stream";
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest, RegisterOptions } from "fastify";
import { HeddleError, NDJSON_MEDIA_TYPE, decodeJson } from "../../protocol/index.ts";
import { createHeddle } from "../index.ts";
import type { Conversations, Heddle, HeddleOptions } from "../index.ts";
import {
  NO_BYTES,
  SOCKET_ROUTE,
  admit,
  checkEncoding,
  doorOf,
  limitedBytes,
  originPolicy,
  routesOf,
  serverClosing,
  wrongMediaType,
} from "../http/index.ts";
import type { Answer, DoorRules, Mounts, OriginRules, Route, RouteRequest, Site } from "../http/index.ts";
import { createSessions } from "../session/index.ts";
import type { SessionOptions, Sessions } from "../session/index.ts";
import { addPages } from "./add-pages.ts";
import type { Pages } from "./add-pages.ts";
import { inspectorFiles } from "./inspector-files.ts";
import { Connections } from "./connections.ts";
import { errorReplies } from "./error-reply.ts";
import { LOG_SERIALIZERS, aboutRun, told } from "./log-lines.ts";
import { loggedError } from "./logged-error.ts";
import { headerOf, queryOf } from "./request-parts.ts";
import { goneSignal, sendAnswer } from "./send-answer.ts";
import { addSessions } from "./session-sockets.ts";
import { WebSockets } from "./web-sockets.ts";

/** How the routes answer. */
interface HttpOptions extends OriginRules, DoorRules {
  /** How often an idle stream gets a comment, so that proxies keep it open. Default 10,000. */
  readonly keepAliveMs?: number;
  /** How long a reader may take for what was written to it before it is cut. Default 30,000. */
  readonly stallMs?: number;
  /** How long a WebSocket may be open on which nothing is followed and nothing asked. Default 30 minutes. */
  readonly socketIdleMs?: number;
  /** How long a WebSocket may be open at all. Default a day. */
  readonly socketMaxAgeMs?: number;
  /** Conversations in the session dialect, at `/api/ag-ui/{endpoint}`. Default: on, each agent under its name. */
  readonly sessions?: SessionOptions | false | undefined;
  /** Whether WebSocket frames are compressed for clients that offer it; it costs more than it saves, see docs. Default false. */
  readonly socketDeflate?: boolean;
  /** Request headers that agents may read by `forwardedHeaders` while they run. Default none. */
  readonly forwardHeaders?: readonly string[];
  /** Paths of their own for agents, such as `{ "/agui": "assistant" }`. Each has `/agents/{name}` anyway. Default none. */
  readonly mounts?: Mounts;
  /** Pages of your own, such as `{ "/sample": await readPageFiles("public") }`. One at `/` replaces ours. Default none. */
  readonly pages?: Pages | undefined;
  /** Whether the inspector is the page at `/`, where `pages` has no other. Default true. */
  readonly inspector?: boolean | undefined;
}

/** Options of `heddlePlugin`. */
export interface HeddlePluginOptions<S = undefined> extends HeddleOptions<S>, HttpOptions {}

declare module "fastify" {
  interface FastifyInstance {
    /** The server behind the routes, for routes and plugins of your own: runs, threads, attachments. */
    heddle: Heddle;
    /** Its sessions; undefined where they are switched off. */
    heddleSessions: Sessions | undefined;
  }
}

/** What those may do who were let in, while they are answered. */
const admitted = new WeakMap<FastifyRequest, Conversations>();

/** How long readers may take to receive the rest when the server closes. */
const CLOSE_GRACE_MS = 1000;

/** How requests are logged here. Fastify takes any value of a serialiser; its type says that it has to be a text. */
const LOGGING = { logSerializers: LOG_SERIALIZERS };

/**
 * The routes of Heddle. The instance that it is registered in gets the server as `heddle`; of several that are registered in
 * one, the first.
 */
export const heddlePlugin = async <S = undefined>(
  app: FastifyInstance,
  options: HeddlePluginOptions<S> & RegisterOptions,
): Promise<void> => {
  const { prefix = "", ...rest } = options;
  const heddle = createHeddle({ ...reporting(app.log), ...rest });
  const sessions = sessionsOf(app.log, heddle, rest);
  if (!app.hasDecorator("heddle")) {
    app.decorate("heddle", heddle);
    app.decorate("heddleSessions", sessions);
  }
  // What is the plugin's own stays inside an instance of its own.
  const scope: Pick<RegisterOptions, "prefix"> = { prefix, ...LOGGING };
  await app.register(async (inner) => addRoutes(inner, heddle, sessions, rest), scope);
};

// Fastify's word for a plugin whose decorations belong to whoever registers it.
Object.assign(heddlePlugin, { [Symbol.for("skip-override")]: true });

/** What happens in runs, as lines of a log. */
function reporting(
  log: FastifyBaseLogger,
): Required<Pick<HeddleOptions, "onError" | "onLog" | "onRepair" | "onTrouble">> {
  return {
    onError: (error, run) => {
      // What an agent refuses is its client's fault, and the client has the sentence: no need to alarm anybody.
      const level = error instanceof HeddleError && error.status < 500 ? "info" : "error";
      log[level]({ err: loggedError(error), ...aboutRun(run) }, "a run failed");
    },
    onLog: (level, message, fields, run) => log[level]({ ...told(fields), ...aboutRun(run) }, message),
    onRepair: ({ rule, message }, run) => log.info({ rule, ...aboutRun(run) }, message),
    onTrouble: (error) => log.error({ err: loggedError(error) }, "the store gives trouble"),
  };
}

function sessionsOf(
  log: FastifyBaseLogger,
  heddle: Heddle,
  { sessions = {} }: Pick<HttpOptions, "sessions">,
): Sessions | undefined {
  if (sessions === false) return undefined;
  return createSessions(heddle, sessions, (level, message, { err, ...fields }) =>
    log[level](err === undefined ? fields : { ...fields, err: loggedError(err) }, message),
  );
}

async function addRoutes(
  app: FastifyInstance,
  heddle: Heddle,
  sessions: Sessions | undefined,
  options: HttpOptions,
): Promise<void> {
  const routes = routesOf(options.mounts ?? {}, heddle.agents, [SOCKET_ROUTE]);
  const { keepAliveMs = 10_000, stallMs = 30_000, forwardHeaders = [] } = options;
  const { socketIdleMs = 30 * 60_000, socketMaxAgeMs = 24 * 60 * 60_000, socketDeflate = false } = options;
  const connections = new Connections({ keepAliveMs, stallMs });
  const site: Site = {
    ...doorOf(heddle, options),
    prefix: app.prefix,
    forwardHeaders: forwardHeaders.map((name) => name.toLowerCase()),
    onWarnings: (warnings, run) => app.log.warn({ warnings, ...run }, "a run input was changed"),
  };
  const kept = { keepAliveMs, stallMs, idleMs: socketIdleMs, maxAgeMs: socketMaxAgeMs, deflate: socketDeflate };
  const sockets = new WebSockets(site, { ...kept, maxFrameBytes: site.maxBodyBytes });
  let closing = false;

  const { replyError, replyNotFound } = errorReplies((code) => heddle.telemetry.rejected(code));
  app.setErrorHandler(replyError);
  // The root's belongs to the host application.
  if (app.prefix !== "") app.setNotFoundHandler(replyNotFound);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, async (request: FastifyRequest, body: Buffer) => {
    checkEncoding(request.headers["content-encoding"]);
    return decodeJson(body, { maxBytes: site.maxBodyBytes });
  });
  // Only whoever answers knows whether it reads lines.
  app.addContentTypeParser(NDJSON_MEDIA_TYPE, async (_: FastifyRequest, body: Readable) => body);
  await sockets.register(app);
  if (sessions !== undefined) await addSessions(app, site, sessions, sockets);
  app.addHook("onRequest", async () => {
    if (closing) throw serverClosing();
  });
  guard(app, options);
  app.addHook("preClose", async () => {
    closing = true;
    connections.beginClose();
    await heddle.stop();
    await Promise.all([connections.closed(CLOSE_GRACE_MS), sockets.end()]);
    sessions?.end();
    await heddle.close();
  });

  await heddle.open();
  const inspector = options.inspector === false ? undefined : await inspectorFiles();
  const pages = { ...(inspector !== undefined && { "/": inspector }), ...options.pages };
  const replaced = Object.hasOwn(pages, "/") ? "page" : undefined;
  for (const route of routes) if (route.id !== replaced) addRoute(app, route, site, connections);
  addPages(app, pages);
}

/** Refuses callers from elsewhere, and answers what browsers ask before they call. */
function guard(app: FastifyInstance, rules: OriginRules): void {
  const judge = originPolicy(rules);
  app.addHook("onRequest", async (request, reply) => {
    const { headers, refusal } = judge({ method: request.method, header: headersOf(request) });
    reply.headers(headers);
    if (refusal !== undefined) throw refusal;
  });
  if (rules.origins !== undefined) app.options("/*", async (_, reply) => reply.code(204).send());
}

function addRoute(app: FastifyInstance, route: Route, site: Site, connections: Connections): void {
  app.route<{ Params: Record<string, string> }>({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ":$1"),
    bodyLimit: site.maxBodyBytes,
    // A stream that never ends has no head to show.
    exposeHeadRoute: route.method === "GET" && route.streams !== true,
    // Before the body is read: a stranger's is not.
    onRequest: async (request) => {
      const { method, url } = request;
      const [path = url] = url.split("?", 1);
      const asked = { method, path, query: queryOf(url), header: headersOf(request) };
      admitted.set(request, await admit(site, route, asked));
    },
    handler: async (request, reply) => {
      await sendAnswer(reply, await answerOf(route, site, request, reply), connections);
      return reply;
    },
  });
}

/** A function of its own: a stream goes on for long, and what it was asked with need not. */
async function answerOf(
  route: Route,
  site: Site,
  request: FastifyRequest<{ Params: Record<string, string> }>,
  reply: FastifyReply,
): Promise<Answer> {
  const heddle = admitted.get(request);
  if (heddle === undefined) throw new HeddleError("internal-error", "Nobody was let in.", {});
  const header = headersOf(request);
  const asked: RouteRequest = {
    path: request.params,
    query: queryOf(request.url),
    header,
    ...bodyOf(route, request, header),
    origin: `${request.protocol}://${request.host}`,
    signal: goneSignal(reply),
  };
  return route.answer({ ...site, heddle }, asked);
}

/** The body, as the route reads it. */
function bodyOf(
  { bytes }: Route,
  { body }: FastifyRequest,
  header: RouteRequest["header"],
): Pick<RouteRequest, "body" | "bytes"> {
  const isBytes = body instanceof Readable;
  if (bytes === undefined) {
    if (isBytes) throw wrongMediaType(header("content-type"));
    return { body, bytes: NO_BYTES };
  }
  return { body: undefined, bytes: limitedBytes(bytes, header, isBytes ? body : NO_BYTES) };
}

const headersOf =
  (request: FastifyRequest): RouteRequest["header"] =>
  (name) =>
    headerOf(request, name);
