/**
 * An agent at an address, whatever is spoken there: what it is given, and how its address and headers are judged, before any
 * run and before each. How a run is had from there is for each kind to say.
 */
import type { AgentCapabilities, Event, RunAgentInput, Warning } from "../../../protocol/index.ts";
import { defineAgent } from "../../index.ts";
import type { Agent } from "../../index.ts";
import { checkedHeaders, checkedUrl, traced } from "./request-settings.ts";
import type { RequestHeaders } from "./request-settings.ts";

/** What every agent at an address is given. */
export interface AgentElsewhereOptions {
  /** Name of the agent here; the remote one may have another. */
  readonly name: string;
  /** What it is for. */
  readonly description?: string;
  /** What it says that it can do; it is not asked. */
  readonly capabilities?: AgentCapabilities;
  /** Address of the endpoint: http or https for AG-UI, ws or wss for the session dialect. It is called as it is written. */
  readonly url: string | URL;
  /** Headers to send, such as `Authorization`; a function is asked before each run. */
  readonly headers?: RequestHeaders | ((input: RunAgentInput) => RequestHeaders | Promise<RequestHeaders>);
  /** How long the agent may take until its answer begins, or its socket is open and greets. Default 120,000. */
  readonly responseTimeoutMs?: number;
  /** How long the agent may be silent, heartbeats and pings counting as sound. Default 120,000. */
  readonly idleTimeoutMs?: number;
  /** How long the agent may keep its side open when its run is over. Default 1,000. */
  readonly closeTimeoutMs?: number;
  /** Largest event that is read, in bytes. Default 10 MiB. */
  readonly maxFrameBytes?: number;
  /** Most events of one run that are read, those that are dropped included. Default 1,000,000. */
  readonly maxEvents?: number;
  /** Told what could not be said to the agent, and what of its answer was translated or dropped. Default: the run's log. */
  readonly onWarning?: (warning: Warning) => void;
}

/** What a run is had with. */
interface Judged {
  readonly url: URL;
  readonly headers: Headers;
  readonly onWarning: (warning: Warning) => void;
}

/** An agent at an address. Throws `config-invalid` where its address or its headers cannot be used. */
export function agentElsewhere<O extends AgentElsewhereOptions>(
  options: O,
  schemes: readonly [string, string],
  runThere: (run: O & Judged, input: RunAgentInput, signal: AbortSignal) => AsyncIterable<Event>,
): Agent {
  const { name, headers, description, capabilities, onWarning } = options;
  const url = checkedUrl(options.url, schemes);
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
      yield* runThere(run, input, signal);
    },
  });
}
