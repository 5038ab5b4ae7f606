/**
 * A remote AG-UI endpoint as an agent: the heart of the gateway.
 *
 * The run input is posted as the peer can read it, the answer is read as SSE or protobuf, and its events are yielded as
 * they come, the remote run's own RUN_STARTED and terminal event included. Stopping the run ends the request. Only the
 * address that is configured is ever called: nothing in a run input, its forwarded properties included, can name one.
 */
import { HeddleError } from "../../../protocol/index.ts";
import type { AgentCapabilities, RunAgentInput, Warning } from "../../../protocol/index.ts";
import type { Peer } from "../../../protocol/dialects/index.ts";
import { defineAgent } from "../../index.ts";
import type { Agent, TraceHeaders } from "../../index.ts";
import { runRemotely } from "./run-remotely.ts";

/** Headers of a request: names and values. */
export type RequestHeaders = Readonly<Record<string, string>>;

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
  const url = checkedUrl(options.url);
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

function checkedUrl(url: string | URL): URL {
  const parsed = URL.parse(url);
  const isHttp = parsed?.protocol === "http:" || parsed?.protocol === "https:";
  if (parsed !== null && isHttp && parsed.username === "" && parsed.password === "") return parsed;
  const expected = "an http or https URL without a name and a password";
  // The address is not repeated: what is wrong with it may be that it holds a password.
  const received = parsed === null ? "no URL" : isHttp ? "a URL with credentials" : `a URL of ${parsed.protocol}`;
  throw new HeddleError("config-invalid", `The url of a remote agent is ${received}: expected ${expected}.`, {
    setting: "url",
    expected,
    received,
  });
}

/** The agent's spans belong to the trace of the run, unless whoever configured the headers says otherwise. */
function traced(headers: Headers, trace: TraceHeaders | undefined): Headers {
  if (trace === undefined || headers.has("traceparent")) return headers;
  headers.set("traceparent", trace.traceparent);
  if (trace.tracestate !== undefined) headers.set("tracestate", trace.tracestate);
  return headers;
}

function checkedHeaders(given: RequestHeaders | undefined): Headers {
  try {
    return new Headers(given);
  } catch {
    // The cause repeats the value, which may be a secret.
    const expected = "names and values that HTTP allows";
    const message = `The headers of a remote agent cannot be sent: expected ${expected}.`;
    throw new HeddleError("config-invalid", message, { setting: "headers", expected, received: "another text" });
  }
}
