/**
 * `heddle serve`: loads agents from files, serves them, and closes cleanly when it is told to stop.
 */
import { parseArgs } from "node:util";
import { DEFAULT_HOST, DEFAULT_PORT, serve } from "../server/fastify/index.ts";
import type { Served } from "../server/fastify/index.ts";
import { loadAgents } from "./load-agents.ts";
import { storeOf } from "./open-store.ts";
import { DEFAULT_STORE, readHost, readPort, readStore } from "./settings.ts";
import type { Environment } from "./settings.ts";

const HELP = `Usage: heddle serve [agent.ts …] [options]

Serves the agents that the files export: every export made by defineAgent.

Options:
  --port N       Port to listen on; 0 for any free one.
                 Default ${DEFAULT_PORT}, or the next free one. Also HEDDLE_PORT
  --host H       Host to listen on. Default ${DEFAULT_HOST}. Also HEDDLE_HOST
  --store S      Where the log is kept: memory:, sqlite:<file> or postgres://…
                 Default ${DEFAULT_STORE}. Also HEDDLE_STORE
  --no-auth      Allow a host that others can reach. There is no authentication yet
  --help         Show this help

Flags win over the environment.`;

/** Runs the command until SIGINT or SIGTERM. */
export async function serveCommand(args: readonly string[], env: Environment): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      port: { type: "string" },
      host: { type: "string" },
      store: { type: "string" },
      "no-auth": { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const port = readPort(values.port, env);
  const host = readHost(values.host, env);
  const store = await storeOf(readStore(values.store, env));
  try {
    const agents = await loadAgents(positionals);
    const stopped = stopSignal();
    const server = await serve({ agents, port, host, store, noAuth: values["no-auth"] });
    const names = agents.map(({ name }) => name);
    console.log(readyLine(server, names));
    await stopped;
    await server.close();
  } finally {
    await store.close();
  }
  return 0;
}

function readyLine({ url, moved }: Served, names: readonly string[]): string {
  const why = moved ? ` (port ${DEFAULT_PORT} is taken)` : "";
  const what = names.length === 0 ? "without agents: name files that export some" : `with ${names.join(", ")}`;
  return `Heddle is ready at ${url}${why} ${what}`;
}

/** Resolves on the first signal to stop. A second one ends the process at once, as it would without us. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      process.off("SIGINT", stop).off("SIGTERM", stop);
      resolve();
    };
    process.once("SIGINT", stop).once("SIGTERM", stop);
  });
}
