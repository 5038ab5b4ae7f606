/** A client of the session dialect for tests: a WebSocket as a browser opens it. It knows nothing of Heddle's own code. */
import { once } from "node:events";
import { WebSocket } from "ws";

/** An event of the server. */
export interface SessionClientEvent {
  readonly type: string;
  readonly sessionId: string;
  readonly messageId?: string;
  readonly timestamp: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- what a test expects to find there, it says
  readonly data: any;
}

/** An open socket. */
export interface SessionClient {
  /** The session that it began in. */
  readonly sessionId: string;
  /** Every event so far. */
  readonly events: readonly SessionClientEvent[];
  /** Sends a text, or an object as JSON. */
  send(message: object | string): void;
  /** Asks with one message of the user. */
  say(content: string, more?: object): void;
  /** The next event of a type; those before it are passed over. */
  next(type: string): Promise<SessionClientEvent>;
  /** Asks, and gives the events up to the end of the response. */
  ask(content: string, more?: object): Promise<readonly SessionClientEvent[]>;
  /** How it was closed, once it is. */
  readonly closed: Promise<readonly [code: number, reason: string]>;
  /** Closes it from here. */
  close(): Promise<void>;
  /** The socket itself. */
  readonly socket: WebSocket;
}

/** What ends a response. */
const isEnd = ({ type }: SessionClientEvent): boolean => type === "agent-response-complete" || type === "agent-error";

/** Opens a socket and waits for `session-started`. Rejects with the status where the server refuses. */
export async function openSession(
  url: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<SessionClient> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}`, { headers });
  const refused = once(socket, "unexpected-response").then(([, response]) => {
    throw new Error(`refused with ${Object(response).statusCode}`);
  });
  refused.catch(() => undefined);
  const events: SessionClientEvent[] = [];
  const looking = new Set<() => void>();
  socket.on("message", (data) => {
    events.push(JSON.parse(String(data)));
    for (const look of looking) look();
  });
  const closed = once(socket, "close").then(([code, reason]) => [Number(code), String(reason)] as const);
  closed.catch(() => undefined);
  await Promise.race([once(socket, "open"), refused]);
  let seen = 0;
  const find = (fits: (event: SessionClientEvent) => boolean): Promise<SessionClientEvent> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = events.findIndex((event, index) => index >= seen && fits(event));
        const event = events[found];
        if (event === undefined) return;
        seen = found + 1;
        looking.delete(look);
        resolve(event);
      };
      looking.add(look);
      look();
    });
  const next = (type: string): Promise<SessionClientEvent> => find((event) => event.type === type);
  const send = (message: object | string): void =>
    socket.send(typeof message === "string" ? message : JSON.stringify(message));
  const say = (content: string, more: object = {}): void =>
    send({ type: "run-agent", data: { messages: [{ role: "user", content }] }, ...more });
  const { sessionId } = await next("session-started");
  return {
    sessionId,
    events,
    send,
    say,
    next,
    async ask(content, more) {
      const from = seen;
      say(content, more);
      await find(isEnd);
      return events.slice(from, seen);
    },
    closed,
    async close() {
      socket.close();
      await closed;
    },
    socket,
  };
}
