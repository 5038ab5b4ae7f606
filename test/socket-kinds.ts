/** The kinds of WebSocket that the server has, and what a client may say on each: well, badly, and too much. */

/** What is asked for by opening a socket and, in some kinds, a frame. */
export interface Wish {
  /** Path to open. */
  readonly path: string;
  /** Frame to send then. */
  readonly frame?: object;
}

/** A kind of socket. */
export interface SocketKind {
  /** Its path, where nothing is wished for. */
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
  /** To follow the clock. */
  readonly watch: Wish;
  /** To be told more than the buffers of a connection hold. */
  readonly lots: Wish;
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
    watch: { path: "/ws", frame: { type: "attach", thread: "clock" } },
    lots: { path: "/ws", frame: { type: "attach", thread: "lots" } },
  },
  "the session dialect": {
    path: "/api/ag-ui/brief",
    protocol: undefined,
    // Those that come while too many wait are refused, which is an answer too.
    asks: [
      (ref) => ({ type: "run-agent", data: { messages: [{ role: "user", content: `What is ${ref}?` }] } }),
      () => ({ type: "run-agent", sessionId: "none", data: { messages: [{ role: "user", content: "Hello" }] } }),
    ],
    isAnswer: (text) => /"type":"(agent-response-complete|session-error)"/.test(text),
    malformed: [...NO_REQUESTS, '{"type":"run-agent"}', '{"type":"run-agent","data":{"messages":[{"role":"x"}]}}'],
    isError: (text) => text.includes('"type":"session-error"'),
    // A run that is under way is told to whoever comes back to its session.
    watch: { path: "/api/ag-ui/clock?sessionId=clock" },
    lots: { path: "/api/ag-ui/lots?sessionId=lots" },
  },
};
