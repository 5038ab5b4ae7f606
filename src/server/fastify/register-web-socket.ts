/**
 * WebSocket for the routes of an instance: the library, set up once, whoever of us registers first. A host application that has
 * it already keeps its own.
 *
 * Only what asks for WebSocket is taken off HTTP. Other upgrades are offers that a server may ignore (HTTP/2 in clear text,
 * which some clients offer with every request), and Node would ignore them, were nobody listening.
 */
import { fastifyWebsocket } from "@fastify/websocket";
import type { FastifyInstance } from "fastify";
import { loggedError } from "./logged-error.ts";
import { SUBPROTOCOL, ourCloseCode } from "../ws/index.ts";

/** Registers the library where it is not there. */
export async function registerWebSocket(app: FastifyInstance, maxFrameBytes: number): Promise<void> {
  if (app.hasDecorator("websocketServer")) return;
  await app.register(fastifyWebsocket, {
    options: {
      maxPayload: maxFrameBytes,
      // Measured: it costs more than it saves on frames of one event. Events that are compressed cannot be shared.
      perMessageDeflate: false,
      // Sessions have none, and a browser that offers some wants one of them back.
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : ([...offered][0] ?? false)),
    },
    // A client did something wrong, and the library has closed the socket with the code for it: to cut it now would lose that.
    errorHandler: (error, socket, request) => {
      request.log.info({ err: loggedError(error) }, "a socket broke");
      socket.close(FAILED);
    },
  });
  const { options } = app.websocketServer;
  const Library = options.WebSocket;
  if (Library !== undefined) {
    options.WebSocket = class extends Library {
      override close(code?: number, reason?: string | Buffer): void {
        super.close(ourCloseCode(code), reason);
      }
    };
  }
  leaveOtherUpgrades(app.server);
}

/** What a socket is closed with that nobody serves, because its handler failed. */
const FAILED = 4500;

/** Node asks since 24.9; before, what offers another protocol is refused. */
function leaveOtherUpgrades(server: object): void {
  const before: unknown = Reflect.get(server, "shouldUpgradeCallback");
  const shouldUpgradeCallback = (request: { readonly headers: { readonly upgrade?: string } }): boolean =>
    request.headers.upgrade?.toLowerCase() === "websocket" &&
    (typeof before !== "function" || Boolean(Reflect.apply(before, server, [request])));
  Object.assign(server, { shouldUpgradeCallback });
}
