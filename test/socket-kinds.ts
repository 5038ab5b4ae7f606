/** The kinds of WebSocket that the server has, and what a client may say on each: well, badly, and too much. */

/** A kind of socket. */
export interface SocketKind {
  /** Its path. */
  readonly path: string;
  /** Its subprotocol, where it has one. */
  readonly protocol: string | undefined;
  /** Requests that are answered at once, each by one text that `isAnswer` knows. */
  readonly asks: readonly ((ref: string) => object)[];
  /** Whether a text answers a request. */
  readonly isAnswer: (text: string) => boolean;
  /** Texts that are not what they should be; each is answered by one that `isError` knows. */
  readonly malformed: readonly string[];
  /** Whether a text says that a frame was refused. */
  readonly isError: (text: string) => boolean;
  /** Follows what goes on for long. */
  readonly watches: object;
  /** Asks for more than the buffers of a connection hold. */
  readonly wantsLots: object;
}

/** Texts that are no request of anybody's. */
const NO_REQUESTS = [
  "",
  "{",
  "null",
  "7",
  '"ping"',
  "[]",
  '{"type":1}',
  "[".repeat(2000),
  '{"type":"none"}',
  '{"a":1e999}',
];

/** All kinds, by name. */
export const SOCKET_KINDS: Readonly<Record<string, SocketKind>> = {
  "heddle.v1": {
    path: "/ws",
    protocol: "heddle.v1",
    asks: [
      (ref) => ({ type: "ping", ref }),
      (ref) => ({ type: "attach", ref, thread: "brief" }),
      (ref) => ({ type: "detach", ref, thread: "brief" }),
      (ref) => ({ type: "run", ref, agent: "nobody", input: { threadId: "x", runId: ref, messages: [] } }),
      (ref) => ({ type: "cancel", ref, thread: "brief", run: "none" }),
    ],
    isAnswer: (text) => text.includes('"ref":"'),
    malformed: [...NO_REQUESTS, '{"type":"attach"}', '{"type":"run","agent":"brief","input":[]}'],
    isError: (text) => text.startsWith('{"type":"error"'),
    watches: { type: "attach", thread: "clock" },
    wantsLots: { type: "attach", thread: "lots" },
  },
};
