/**
 * `GET /api/ag-ui/{endpoint}`: sockets of the session dialect in a Fastify application.
 *
 * Who asks, for which endpoint and for which session is judged before the upgrade, so a refusal is an HTTP answer. The rest is
 * `heddle/server/session`; sockets are kept as those of `/ws` are.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HeddleError } from "../../protocol/index.ts";
import { admit, faultOf, withForwardedHeaders } from "../http/index.ts";
import type { Site } from "../http/index.ts";
import type { SessionHost, SessionVisitor, Sessions } from "../session/index.ts";
import { loggedError } from "./logged-error.ts";
import { headerOf, queryOf } from "./request-parts.ts";
import { askedOf } from "./web-sockets.ts";
import type { WebSockets } from "./web-sockets.ts";

/** Who was let in, until their socket is open. */
const admitted = new WeakMap<FastifyRequest, SessionVisitor>();

/** Adds the route of the endpoints, before any hook that may refuse a request. */
export async function addSessions(
  app: FastifyInstance,
  site: Site,
  sessions: Sessions,
  sockets: WebSockets,
): Promise<void> {
  const ours = `${app.prefix}${sessions.path}/`;
  await sockets.take(app, (path) => path.startsWith(ours));
  app.route<{ Params: { endpoint: string } }>({
    method: "GET",
    url: `${sessions.path}/:endpoint`,
    exposeHeadRoute: false,
    onRequest: async (request) => {
      const { principal } = await admit(site, {}, askedOf(request));
      if (!request.ws) throw notWebSocket();
      const sessionId = queryOf(request.url).get("sessionId") ?? undefined;
      admitted.set(request, await sessions.admit(principal, request.params.endpoint, sessionId));
    },
    handler: () => {
      throw notWebSocket();
    },
    wsHandler: (socket, request) => {
      const visitor = admitted.get(request);
      if (visitor === undefined) return void socket.terminate();
      admitted.delete(request);
      const host = hostOf(site, request, visitor);
      sockets.keep(socket, request, visitor.principal, (wire) => sessions.serve(visitor, wire, host));
    },
  });
}

function hostOf(site: Site, request: FastifyRequest, { entrance }: SessionVisitor): SessionHost {
  const { sessionId, endpoint } = entrance;
  const { log } = request;
  return {
    take: ({ tenant, user }) => site.limits?.take(JSON.stringify([tenant, user])),
    around: (work) => withForwardedHeaders(site.forwardHeaders, (name) => headerOf(request, name), work),
    faultOf: (error) => {
      log.error({ err: loggedError(error), sessionId, endpoint }, "a request of a session failed");
      return faultOf(error);
    },
    onRefusal: (error) => {
      site.server.telemetry.rejected(error.code);
      // One that is a fault of ours was told with its cause.
      if (error.code === "internal-error") return;
      const level = error.status < 500 ? "info" : "error";
      const line = {
        sessionId,
        endpoint,
        // Asked for only where the line is written: whoever floods us is not worth a stack that nobody reads.
        get err() {
          return loggedError(error);
        },
      };
      log[level](line, "a request of a session was refused");
    },
  };
}

function notWebSocket(): HeddleError {
  const message = "This address speaks WebSocket only: open a socket to it.";
  return new HeddleError("request-invalid", message, { reason: "websocket" });
}
