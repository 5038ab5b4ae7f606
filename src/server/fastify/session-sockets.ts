/**
 * `GET /api/ag-ui/{endpoint}`: sockets of the session dialect in a Fastify application.
 *
 * Who asks, for which endpoint and for which session is judged before the upgrade, so a refusal is an HTTP answer. The rest is
 * `heddle/server/session`; sockets are kept as those of `/ws` are.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HeddleError } from "../../protocol/index.ts";
import { admit, faultOf } from "../http/index.ts";
import type { Site } from "../http/index.ts";
import type { SessionHost, SessionVisitor, Sessions } from "../session/index.ts";
import { loggedError } from "./logged-error.ts";
import { queryOf } from "./request-parts.ts";
import { askedOf } from "./web-sockets.ts";
import type { WebSockets } from "./web-sockets.ts";

/** Who was let in, until their socket is open. */
const admitted = new WeakMap<FastifyRequest, SessionVisitor>();

/** Adds the route of the endpoints. WebSockets have to be registered before. */
export function addSessions(app: FastifyInstance, site: Site, sessions: Sessions, sockets: WebSockets): void {
  app.route<{ Params: { endpoint: string } }>({
    method: "GET",
    url: `${sessions.path}/:endpoint`,
    websocket: true,
    onRequest: async (request) => {
      if (!request.ws) throw notWebSocket();
      const { principal } = await admit(site, {}, askedOf(request));
      const sessionId = queryOf(request.url).get("sessionId") ?? undefined;
      admitted.set(request, await sessions.admit(principal, request.params.endpoint, sessionId));
    },
    handler: (socket, request) => {
      const visitor = admitted.get(request);
      if (visitor === undefined) return void socket.terminate();
      admitted.delete(request);
      sockets.keep(socket, request, (wire) => sessions.serve(visitor, wire, hostOf(site, request, visitor)));
    },
  });
}

function hostOf(site: Site, { log }: FastifyRequest, { entrance }: SessionVisitor): SessionHost {
  const { sessionId, endpoint } = entrance;
  return {
    take: ({ tenant, user }) => site.limits?.take(JSON.stringify([tenant, user])),
    faultOf: (error) => {
      log.error({ err: loggedError(error), sessionId, endpoint }, "a request of a session failed");
      return faultOf(error);
    },
    onRefusal: (error) => {
      site.server.telemetry.rejected(error.code);
      // One that is a fault of ours was told with its cause.
      if (error.code === "internal-error") return;
      const level = error.status < 500 ? "info" : "error";
      log[level]({ err: loggedError(error), sessionId, endpoint }, "a request of a session was refused");
    },
  };
}

function notWebSocket(): HeddleError {
  const message = "This address speaks WebSocket only: open a socket to it.";
  return new HeddleError("request-invalid", message, { reason: "websocket" });
}
