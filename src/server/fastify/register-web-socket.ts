/**
 * WebSocket for routes of an instance: the library, set up once, whoever of us registers first. A host application that has it
 * already keeps its own.
 *
 * Only upgrades to WebSocket on paths of ours are taken off HTTP: others are the host's, or offers that a server may ignore
 * (HTTP/2 in clear text, which some clients make with every request). It has to be registered before any hook that may
 * refuse: the library ends the connection of an upgrade that was refused, which nobody else would.
 */
import { createServer } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { fastifyWebsocket } from "@fastify/websocket";
import type { FastifyInstance } from "fastify";
import { serverClosing } from "../http/index.ts";
import { SUBPROTOCOL, ourCloseCode } from "../ws/index.ts";
import { loggedError } from "./logged-error.ts";
import type { WebSocketOptions } from "./web-sockets.ts";

/** Whether a path, without its query, is one of ours. */
type IsOurs = (path: string) => boolean;

/** What a socket is closed with that nobody serves, because its handler failed. */
const FAILED = 4500;

/** The paths of each library that we have set up. */
const taken = new WeakMap<object, IsOurs[]>();

/** Takes upgrades on some paths, and registers the library where it is not there. */
export async function registerWebSocket(
  app: FastifyInstance,
  { maxFrameBytes, deflate }: Pick<WebSocketOptions, "maxFrameBytes" | "deflate">,
  isOurs: IsOurs,
): Promise<void> {
  if (app.hasDecorator("websocketServer")) return void taken.get(app.websocketServer)?.push(isOurs);
  const paths = [isOurs];
  const upgrades = upgradesOf(app.server, ({ url = "" }) => {
    const [path = url] = url.split("?", 1);
    return paths.some((isOne) => isOne(path));
  });
  await app.register(fastifyWebsocket, {
    options: {
      maxPayload: maxFrameBytes,
      perMessageDeflate: deflate,
      // Sessions have none, and a browser that offers some wants one of them back.
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : ([...offered][0] ?? false)),
      // Where it listens for upgrades: it asks for nothing else.
      server: upgrades,
    },
    // A client did something wrong, and the library has closed the socket with the code for it: to cut it now would lose that.
    errorHandler: (error, socket, request) => {
      request.log.info({ err: loggedError(error) }, "a socket broke");
      socket.close(FAILED);
    },
    // Whoever serves sockets lets them go, with a code. Fastify would answer those who come now past the library.
    preClose: (done) => {
      upgrades.removeAllListeners("upgrade").on("upgrade", (_, socket) => refuseLate(socket));
      done();
    },
  });
  const { options } = app.websocketServer;
  taken.set(app.websocketServer, paths);
  const Library = options.WebSocket;
  if (Library === undefined) return;
  options.WebSocket = class extends Library {
    override close(code?: number, reason?: string | Buffer): void {
      super.close(ourCloseCode(code), reason);
    }
  };
}

function refuseLate(socket: Duplex): void {
  const body = JSON.stringify(serverClosing());
  const head = `HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket
    .on("error", () => undefined)
    .end(`${head}\r\nretry-after: 1\r\nconnection: close\r\n\r\n${body}`, () => socket.destroy());
}

/** Upgrades of a server that are ours. Node asks since 24.9 which to take; before, one that is nobody's is cut. */
function upgradesOf(server: Server, isOurs: (request: IncomingMessage) => boolean): Server {
  // It never listens: it only passes on.
  const upgrades = createServer();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (isOurs(request)) upgrades.emit("upgrade", request, socket, head);
    else if (server.listenerCount("upgrade") === 1) socket.destroy();
  });
  const others: unknown = Reflect.get(server, "shouldUpgradeCallback");
  const shouldUpgradeCallback = (request: IncomingMessage): boolean => {
    if (isOurs(request)) return request.headers.upgrade?.toLowerCase() === "websocket";
    const isAlone = server.listenerCount("upgrade") === 1;
    return !isAlone && (typeof others !== "function" || Boolean(Reflect.apply(others, server, [request])));
  };
  Object.assign(server, { shouldUpgradeCallback });
  return upgrades;
}
