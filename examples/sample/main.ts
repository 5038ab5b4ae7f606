/**
 * The sample: three agents, each at a WebSocket endpoint of its own, and a page to try them.
 *
 *   node examples/sample/main.ts [settings.json]
 */
import { fileURLToPath } from "node:url";
import { HeddleError } from "heddle/protocol";
import { readPageFiles, serve } from "heddle/server/fastify";
import { memoryStore } from "heddle/store";
import { sqliteStore } from "heddle/store/sqlite";
import { agentsOf } from "./agents/agents-of.ts";
import { readSettings } from "./settings.ts";
import type { Settings } from "./settings.ts";

const beside = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Starts the sample and returns when it is ready. */
async function start(settings: Settings): Promise<() => Promise<void>> {
  // Step 1: the agents. Each is also at /agents/{name}, for clients of AG-UI's own HTTP.
  const agents = agentsOf(settings);

  // Step 2: the store. Everything that is said is kept there, so a conversation survives a restart.
  const store = settings.store === "memory:" ? memoryStore() : sqliteStore(settings.store.slice("sqlite:".length));

  // Step 3: the page. Its list of endpoints is written from the settings.
  const page = { ...(await readPageFiles(beside("public"))), "endpoints.json": JSON.stringify(endpointsOf(settings)) };

  // Step 4: the server. `sessions` maps each endpoint to its agent, and says how sessions are kept.
  const { port, host, logLevel, endpointPath, sessionTimeoutMs, maxMessageHistorySize } = settings;
  const { concurrency, maxQueued, endAfterResponse, onAgentError } = settings;
  const endpoints = settings.endpoints.map(({ path, name, enableReasoning }) => [
    path.slice(1),
    { agent: name, reasoning: enableReasoning },
  ]);
  const server = await serve({
    agents,
    store,
    port,
    host,
    logLevel,
    pages: { "/": page },
    sessions: {
      path: endpointPath,
      timeoutMs: sessionTimeoutMs,
      history: maxMessageHistorySize,
      concurrency,
      maxQueued,
      endAfterResponse,
      onAgentError,
      endpoints: Object.fromEntries(endpoints),
    },
  });
  process.stdout.write(`The sample is ready at ${server.url}\n`);
  return async () => {
    await server.close();
    await store.close();
  };
}

/** What the page offers. */
const endpointsOf = ({ endpoints, endpointPath }: Settings): object =>
  endpoints.map(({ name, path, agentType }) => ({ name, path: `${endpointPath}${path}`, agentType }));

try {
  // Step 0: the settings. A mistake in them stops the start.
  const close = await start(readSettings(process.argv[2] ?? beside("settings.json"), process.env));

  // Step 5: stop in good order. Runs are ended, sessions are told, the store is closed.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void close());
} catch (error) {
  if (!(error instanceof HeddleError)) throw error;
  process.stderr.write(`sample: ${error.message} (${error.code})\n`);
  process.exitCode = 2;
}
