/**
 * A remote AG-UI endpoint as an agent: the heart of the gateway.
 *
 * The run input is posted as the peer can read it, the answer is read as SSE or protobuf, and its events are yielded as
 * they come, the remote run's own RUN_STARTED and terminal event included. Stopping the run ends the request. Only the
 * address that is configured is ever called: nothing in a run input, its forwarded properties included, can name one.
 */
import type { AgentCapabilities, RunAgentInput, Warning } from "../../../protocol/index.ts";
import type { Peer } from "../../../protocol/dialects/index.ts";
import { defineAgent } from "../../index.ts";
import type { Agent } from "../../index.ts";
import { checkedHeaders, checkedUrl, traced } from "./request-settings.ts";
import type { RequestHeaders } from "./request-settings.ts";
import { runRemotely } from "./run-remotely.ts";

/** What `remoteAgent` is given. */
export interface RemoteAgentOptions {
  /** Name of the agent here; the remote one may have another. */
  readonly name: string;
  /** What it is for. */
  readonly description?: string;
  /** What it says that it can do; it is not asked. */
  readonly capabilities?: AgentCapabilities;
  /** Address of the AG-UI endpoint, http or https. It is called as it is written. */
  readonly url: string | URL;
  /** Headers to send, such as `Authorization`; a function is asked before each run. */
  readonly headers?: RequestHeaders | ((input: RunAgentInput) => RequestHeaders | Promise<RequestHeaders>);
  /** What makes the request. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** What is known of the agent's version; unknown counts as current. One before 1.0 is asked for SSE only. */
  readonly peer?: Peer;
  /** How long the agent may take until its answer begins. Default 120,000. */
  readonly responseTimeoutMs?: number;
  /** How long the agent may be silent, heartbeats counting as sound. Default 120,000. */
  readonly idleTimeoutMs?: number;
  /** How long the agent may keep the stream open behind its terminal event. Default 1,000. */
  readonly closeTimeoutMs?: number;
  /** Largest event that is read, in bytes. Default 10 MiB. */
  readonly maxFrameBytes?: number;
  /** Most events of one answer that are read, those that are dropped included. Default 1,000,000. */
  readonly maxEvents?: number;
  /** Told what could not be said to the agent, and what in its answer was translated or dropped. Default: the run's log. */
  readonly onWarning?: (warning: Warning) => void;
}

/** An agent that runs elsewhere. Throws `config-invalid` where its address or its headers cannot be used. */
export function remoteAgent(options: RemoteAgentOptions): Agent {
  const { name, headers, description, capabilities, onWarning } = options;
  const url = checkedUrl(options.url, ["http", "https"]);
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
      yield* runRemotely(run, input, signal);
    },
  });
}
