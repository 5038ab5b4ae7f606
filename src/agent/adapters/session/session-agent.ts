/**
 * A server of the session dialect as an agent: what puts an old server behind the gateway.
 *
 * Each run has a socket and, unless told otherwise, a session of its own, and sends the whole conversation: the log is
 * here, and nothing is asked of the server's memory. A session that lasted from run to run would have to be named after
 * the thread, whose id is unique in a tenant only: whoever serves several decides that with `sessionId`. Stopping the
 * run closes the socket. Only the address that is configured is ever called.
 */
import type { RunAgentInput } from "../../../protocol/index.ts";
import type { Agent } from "../../index.ts";
import { agentElsewhere } from "../ag-ui/agent-elsewhere.ts";
import type { AgentElsewhereOptions } from "../ag-ui/agent-elsewhere.ts";
import { runSession } from "./run-session.ts";

/** What `sessionAgent` is given. */
export interface SessionAgentOptions extends AgentElsewhereOptions {
  /** The session that a run belongs to; undefined begins a new one. Default: a new one for each run. */
  readonly sessionId?: (input: RunAgentInput) => string | undefined;
}

/** An agent behind a WebSocket. Throws `config-invalid` where its address or its headers cannot be used. */
export const sessionAgent = (options: SessionAgentOptions): Agent => agentElsewhere(options, ["ws", "wss"], runSession);
