/**
 * An old server of the session dialect, written by hand after the seed's examples: it sends the fields that the seed
 * shows, and nothing of ours. It knows nothing of Heddle's own code. Test scripts say what it does after a request.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";

/** A connection, as a script sees it. */
export interface OldConnection {
  /** Sends an event in the seed's envelope. */
  say(type: string, data?: object, messageId?: string): void;
  /** Sends any text. */
  raw(text: string): void;
  /** The request. */
  readonly request: {
    readonly type: string;
    readonly sessionId?: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
  /** Headers of the upgrade. */
  readonly headers: IncomingHttpHeaders;
  /** The socket itself. */
  readonly socket: WebSocket;
  /** Resolves with the code when the client has closed. */
  readonly closed: Promise<number>;
}

/** Options of `oldSessionServer`. */
export interface OldServerOptions {
  /** Does not greet; called with the socket instead. */
  readonly onConnect?: (socket: WebSocket) => void;
  /** Status to refuse with, and a body. */
  readonly refuse?: { readonly status: number; readonly body: string };
}

/** A running server. */
export interface OldServer extends AsyncDisposable {
  /** Its address. */
  readonly url: string;
  /** Requests so far. */
  readonly requests: readonly OldConnection["request"][];
  /** How many sockets are open. */
  readonly open: () => number;
}

/** Starts a server that answers each request by the script. */
export async function oldSessionServer(
  script: (connection: OldConnection) => unknown,
  { onConnect, refuse }: OldServerOptions = {},
): Promise<OldServer> {
  const http = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  const requests: OldConnection["request"][] = [];
  http.on("upgrade", (request, socket, head) => {
    if (refuse !== undefined) {
      socket.end(`HTTP/1.1 ${refuse.status} No\r\nContent-Length: ${refuse.body.length}\r\n\r\n${refuse.body}`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (connected) => greet(connected, request.headers));
  });
  function greet(socket: WebSocket, headers: IncomingHttpHeaders): void {
    const sessionId = "5f0c2c0e-0000-4000-8000-000000000001";
    const closed = once(socket, "close").then(([code]) => Number(code));
    const raw = (text: string): void => socket.send(text);
    const say: OldConnection["say"] = (type, data = {}, messageId) =>
      raw(JSON.stringify({ type, sessionId, messageId, timestamp: "2025-01-02T03:04:05.678Z", data }));
    socket.on("error", () => undefined);
    socket.on("message", (data) => {
      const request = JSON.parse(String(data));
      requests.push(request);
      script({ say, raw, request, headers, socket, closed });
    });
    if (onConnect === undefined) say("session-started");
    else onConnect(socket);
  }
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/api/ag-ui/chat`,
    requests,
    open: () => sockets.clients.size,
    async [Symbol.asyncDispose]() {
      for (const client of sockets.clients) client.terminate();
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };
}
