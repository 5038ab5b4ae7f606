/**
 * `heddle serve`: collects agents, serves them, and closes cleanly when it is told to stop. What keeps it from starting
 * is the user's to mend, so it ends with a sentence and exit code 2.
 */
import { parseArgs } from "node:util";
import { HeddleError } from "../protocol/index.ts";
import { DEFAULT_HOST, DEFAULT_PORT, readPageFiles, serve } from "../server/fastify/index.ts";
import type { AuthOptions, Pages, Served } from "../server/fastify/index.ts";
import type { Store } from "../store/index.ts";
import { authOf } from "./auth-settings.ts";
import { readConfiguration } from "./configuration.ts";
import { tellWatcher } from "./loaded-files.ts";
import { storeOf } from "./open-store.ts";
import { servedAgents } from "./served-agents.ts";
import { DEFAULT_STORE, SETTINGS } from "./settings.ts";
import type { Configuration, Environment } from "./settings.ts";
import { watchCommand } from "./watch-command.ts";

const HELP = `Usage: heddle serve [agent.ts …] [options]

Serves the agents that the files export, every export made by defineAgent, and
agents that run elsewhere. A model is served as "assistant" where OPENAI_MODEL is
set together with OPENAI_API_KEY or OPENAI_BASE_URL.

Options:
  --agent N=URL  Serve an agent of any language that answers AG-UI at this address,
                 or, at ws:// and wss://, one that speaks the session dialect.
                 May be repeated. Also HEDDLE_AGENTS
  --forward-header H
                 Pass this header of requests on to those agents. May be repeated;
                 no header is passed on by itself. Also HEDDLE_FORWARD_HEADERS
  --port N       Port to listen on; 0 for any free one.
                 Default ${DEFAULT_PORT}, or the next free one. Also HEDDLE_PORT
  --host H       Host to listen on. Default ${DEFAULT_HOST}. Also HEDDLE_HOST
  --store S      Where the log is kept: memory:, sqlite:<file> or postgres://…
                 Default ${DEFAULT_STORE}. Also HEDDLE_STORE
  --page P=F     Serve the files of the folder F at the path P, such as /app=public. May be
                 repeated. Also HEDDLE_PAGES
  --origin O     Origin of pages that may call, such as https://app.example. May be
                 repeated. Default: pages of this machine. Also HEDDLE_ORIGINS
  --log-level L  From which level on to say things on stderr, as JSON lines: debug,
                 info, warn, error or silent. Default error. Also HEDDLE_LOG_LEVEL
  --no-auth      Allow a host that others can reach although nobody is asked who they are.
                 Also HEDDLE_NO_AUTH
  --checks       Let operators try any agent's address from here (POST /checks). Default: where
                 only this machine reaches the server. Also HEDDLE_CHECKS, where false forbids it
  --jwks-url U   Address of the public keys that tokens (JWT) are signed with.
                 Also HEDDLE_JWKS_URL
  --jwt-issuer I Who issues these tokens. Also HEDDLE_JWT_ISSUER
  --jwt-audience A
                 Whom they are for. May be repeated. Also HEDDLE_JWT_AUDIENCE
                 Secrets are no flags: HEDDLE_JWT_SECRET for tokens that are signed
                 with one, HEDDLE_AUTH_KEY for a key that may do everything
  --config F     Configuration file. Default heddle.config.ts, .js or .json
  --watch        Start anew when an agent file or the configuration changes
  --help         Show this help

Flags win over the environment, the environment over heddle.config.<environment>.json
(HEDDLE_ENV, else NODE_ENV), and that over the configuration file. Its settings:
${Object.keys(SETTINGS)
  .join(", ")
  .replaceAll(/(.{1,78})(?: |$)/g, "  $1\n")}`;

const OPTIONS = {
  agent: { type: "string", multiple: true },
  "forward-header": { type: "string", multiple: true },
  port: { type: "string" },
  host: { type: "string" },
  store: { type: "string" },
  page: { type: "string", multiple: true },
  origin: { type: "string", multiple: true },
  "log-level": { type: "string" },
  "no-auth": { type: "boolean" },
  checks: { type: "boolean" },
  "jwks-url": { type: "string" },
  "jwt-issuer": { type: "string" },
  "jwt-audience": { type: "string", multiple: true },
  config: { type: "string" },
  watch: { type: "boolean" },
  watched: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/** Runs the command until SIGINT or SIGTERM. */
export async function serveCommand(args: readonly string[], env: Environment): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
  if (values.help === true) {
    console.log(HELP.trimEnd());
    return 0;
  }
  const [, entry] = process.argv;
  if (values.watch === true && entry !== undefined) {
    return watchCommand(
      entry,
      args.filter((argument) => argument !== "--watch"),
    );
  }
  if (values.watched === true) tellWatcher();
  const flags = {
    port: values.port,
    host: values.host,
    store: values.store,
    agents: values.agent,
    pages: values.page,
    origins: values.origin,
    noAuth: values["no-auth"],
    checks: values.checks,
    jwksUrl: values["jwks-url"],
    jwtIssuer: values["jwt-issuer"],
    jwtAudience: values["jwt-audience"],
    logLevel: values["log-level"],
    forwardHeaders: values["forward-header"],
    files: positionals.length === 0 ? undefined : positionals,
  };
  const read = await readConfiguration({ flags, env, file: values.config, folder: process.cwd() });
  const { settings, places } = read;
  const auth = authOf(read);
  const setting = { setting: places["store"] ?? SETTINGS.store.variable, value: settings.store ?? DEFAULT_STORE };
  return serveUntilStopped(settings, auth, await storeOf(setting, { listen: settings.storeListen }), env);
}

async function serveUntilStopped(
  settings: Configuration,
  auth: AuthOptions | undefined,
  store: Store,
  env: Environment,
): Promise<number> {
  const {
    files: _,
    agents: _remotes,
    store: _store,
    pages: folders = {},
    storeListen: _listen,
    agentResponseMs: _response,
    agentIdleMs: _idle,
    auth: _auth,
    authKey: _key,
    jwtSecret: _secret,
    jwksUrl: _jwks,
    jwtIssuer: _issuer,
    jwtAudience: _audience,
    rateLimit: perPrincipal,
    globalRateLimit: global,
    sessions: sessionOptions = {},
    sessionTimeoutMs: timeoutMs,
    ...options
  } = settings;
  const rateLimits = perPrincipal === undefined && global === undefined ? undefined : { perPrincipal, global };
  const sessions =
    timeoutMs === undefined || sessionOptions === false ? sessionOptions : { ...sessionOptions, timeoutMs };
  try {
    const { agents, notes } = await servedAgents(settings, env);
    const pages = await pagesOf(folders);
    const stopped = stopSignal();
    const served = { ...options, sessions, auth, rateLimits, agents, store, pages };
    const server = await started(() => serve(served));
    if (server === undefined) return 2;
    console.log([readyLine(server, agents), ...notes].join("\n"));
    await stopped;
    await server.close();
  } finally {
    await store.close();
  }
  return 0;
}

async function pagesOf(folders: Readonly<Record<string, string>>): Promise<Pages> {
  const read = Object.entries(folders).map(async ([path, folder]) => [path, await readPageFiles(folder)] as const);
  return Object.fromEntries(await Promise.all(read));
}

/** Starts, or says why that is impossible: a port, a folder or a database that is not as it has to be. */
async function started(start: () => Promise<Served>): Promise<Served | undefined> {
  try {
    return await start();
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code === "config-invalid") throw error;
    console.error(`heddle: ${error.message} (${error.code})`);
    return undefined;
  }
}

function readyLine({ url, moved }: Served, agents: readonly { readonly name: string }[]): string {
  const why = moved ? ` (port ${DEFAULT_PORT} is taken)` : "";
  const names = agents.map(({ name }) => name);
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
