/**
 * A remote AG-UI endpoint as an agent: the heart of the gateway.
 *
 * The run input is posted as the peer can read it, the answer is read as SSE or protobuf, and its events are yielded as
 * they come, the remote run's own RUN_STARTED and terminal event included. Stopping the run ends the request. Only the
 * address that is configured is ever called: nothing in a run input, its forwarded properties included, can name one.
 */
import type { Peer } from "../../../protocol/dialects/index.ts";
import type { Agent } from "../../index.ts";
import { agentElsewhere } from "./agent-elsewhere.ts";
import type { AgentElsewhereOptions } from "./agent-elsewhere.ts";
import { runRemotely } from "./run-remotely.ts";

/** What `remoteAgent` is given. */
export interface RemoteAgentOptions extends AgentElsewhereOptions {
  /** What makes the request. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** What is known of the agent's version; unknown counts as current. One before 1.0 is asked for SSE only. */
  readonly peer?: Peer;
  /** Told what every frame of the answer holds, before anything is made of it; what it throws ends the run. Default: nobody. */
  readonly onFrame?: (value: unknown) => void;
}

/** An agent that runs elsewhere. Throws `config-invalid` where its address or its headers cannot be used. */
export const remoteAgent = (options: RemoteAgentOptions): Agent =>
  agentElsewhere(options, ["http", "https"], runRemotely);
