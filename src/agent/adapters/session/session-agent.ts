/**
 * A server of the session dialect as an agent: what puts an old server behind the gateway.
 *
 * Each run has a socket and, unless told otherwise, a session of its own, and sends the whole conversation: the log is
 * here, and nothing is asked of the server's memory. A session that lasted from run to run would have to be named after
 * the thread, whose id is unique in a tenant only: whoever serves several decides that with `sessionId`. Stopping the
 * run closes the socket. Only the address that is configured is ever called.
 */
import type { AgentCapabilities, RunAgentInput, Warning } from "../../../protocol/index.ts";
import { defineAgent } from "../../index.ts";
import type { Agent } from "../../index.ts";
import { checkedHeaders, checkedUrl, traced } from "../ag-ui/request-settings.ts";
import type { RequestHeaders } from "../ag-ui/request-settings.ts";
import { runSession } from "./run-session.ts";

/** What `sessionAgent` is given. */
export interface SessionAgentOptions {
  /** Name of the agent here. */
  readonly name: string;
  /** What it is for. */
  readonly description?: string;
  /** What it says that it can do; it is not asked. */
  readonly capabilities?: AgentCapabilities;
  /** Address of the endpoint, ws or wss. It is called as it is written. */
  readonly url: string | URL;
  /** Headers to send when the socket is opened, such as `Authorization`; a function is asked before each run. */
  readonly headers?: RequestHeaders | ((input: RunAgentInput) => RequestHeaders | Promise<RequestHeaders>);
  /** The session that a run belongs to; undefined begins a new one. Default: a new one for each run. */
  readonly sessionId?: (input: RunAgentInput) => string | undefined;
  /** How long the server may take to accept the socket and greet with `session-started`. Default 120,000. */
  readonly responseTimeoutMs?: number;
  /** How long the server may be silent, pings counting as sound. Default 120,000. */
  readonly idleTimeoutMs?: number;
  /** How long the server may take to close its side of the socket. Default 1,000. */
  readonly closeTimeoutMs?: number;
  /** Largest event that is read, in bytes. Default 10 MiB. */
  readonly maxFrameBytes?: number;
  /** Most events of one run that are read, those that are dropped included. Default 1,000,000. */
  readonly maxEvents?: number;
  /** Told what could not be said to the server, and what of its events was dropped. Default: the run's log. */
  readonly onWarning?: (warning: Warning) => void;
}

/** An agent behind a WebSocket. Throws `config-invalid` where its address or its headers cannot be used. */
export function sessionAgent(options: SessionAgentOptions): Agent {
  const { name, headers, description, capabilities, onWarning } = options;
  const url = checkedUrl(options.url, ["ws", "wss"]);
  const headersFor = typeof headers === "function" ? headers : (): RequestHeaders | undefined => headers;
  if (typeof headers !== "function") checkedHeaders(headers);
  return defineAgent({
    name,
    ...(description === undefined ? {} : { description }),
    ...(capabilities === undefined ? {} : { capabilities }),
    run: async function* ({ input, signal, log, trace }) {
      const toLog = ({ message, ...fields }: Warning): void => log.warn(message, fields);
      const chosen = traced(checkedHeaders(await headersFor(input)), trace);
      const run = { ...options, url, headers: chosen, onWarning: onWarning ?? toLog };
      yield* runSession(run, input, signal);
    },
  });
}
