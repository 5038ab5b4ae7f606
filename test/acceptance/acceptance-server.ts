/** A server process with the agents of the acceptance tests, whose gates the test holds. */
import type { Gates } from "../gate.ts";
import { startServer } from "../server-process.ts";
import type { ServeRequest, ServerProcess } from "../server-process.ts";

/** File of the agents. */
const AGENTS = "test/acceptance/agents.ts";

/** Starts a server. Whatever it says of its own runs on stderr is part of the test that reads it. */
export const acceptanceServer = (gates: Gates, request: ServeRequest = {}): Promise<ServerProcess> =>
  startServer({ files: [AGENTS], ...request, env: { ACCEPTANCE_GATES: gates.url, ...request.env } });
