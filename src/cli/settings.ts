/**
 * The settings: one table of their names, their variables and what they may hold. An empty variable counts as absent; a
 * wrong value stops the start with a sentence that names it and says what was expected.
 */
import { HeddleError } from "../protocol/index.ts";
import { LOG_LEVELS } from "../server/fastify/index.ts";
import { authSetting, hiddenText, rate } from "./auth-kinds.ts";
import {
  agentRules,
  count,
  flag,
  headerName,
  host,
  hostHeader,
  list,
  listenAt,
  milliseconds,
  mounts,
  oneOf,
  origin,
  pages,
  port,
  remoteAgents,
  text,
} from "./setting-kinds.ts";
import { sessions } from "./session-kinds.ts";
import { views } from "./view-kinds.ts";
import type { Kind } from "./setting-kinds.ts";

/** The environment that settings are read from. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Every setting: its variable, and its flag where it has one. Its key is its name in configuration files. */
export const SETTINGS = {
  /** Port to listen on. */
  port: { variable: "HEDDLE_PORT", flag: "--port", kind: port },
  /** Host to listen on. */
  host: { variable: "HEDDLE_HOST", flag: "--host", kind: host },
  /** Where the log is kept. */
  store: { variable: "HEDDLE_STORE", flag: "--store", kind: text },
  /** Where PostgreSQL is listened to, past a pooler; `false` for polls alone. */
  storeListen: { variable: "HEDDLE_STORE_LISTEN", flag: undefined, kind: listenAt },
  /** Whether a host that others can reach is allowed. */
  noAuth: { variable: "HEDDLE_NO_AUTH", flag: "--no-auth", kind: flag },
  /** Who may ask. The five that follow are parts of it, for where there is no file. */
  auth: { variable: "HEDDLE_AUTH", flag: undefined, kind: authSetting },
  /** A static key that may do everything. */
  authKey: { variable: "HEDDLE_AUTH_KEY", flag: undefined, kind: hiddenText },
  /** The secret that tokens are signed with. */
  jwtSecret: { variable: "HEDDLE_JWT_SECRET", flag: undefined, kind: hiddenText },
  /** Address of the public keys that tokens are signed with. */
  jwksUrl: { variable: "HEDDLE_JWKS_URL", flag: "--jwks-url", kind: hiddenText },
  /** Who issues tokens. */
  jwtIssuer: { variable: "HEDDLE_JWT_ISSUER", flag: "--jwt-issuer", kind: hiddenText },
  /** Whom tokens are for. */
  jwtAudience: { variable: "HEDDLE_JWT_AUDIENCE", flag: "--jwt-audience", kind: list(hiddenText) },
  /** How often requests of each principal are taken. */
  rateLimit: { variable: "HEDDLE_RATE_LIMIT", flag: undefined, kind: rate },
  /** How often requests are taken in all. */
  globalRateLimit: { variable: "HEDDLE_GLOBAL_RATE_LIMIT", flag: undefined, kind: rate },
  /** How many runs of one principal may be under way. */
  maxRunsPerPrincipal: { variable: "HEDDLE_MAX_RUNS_PER_PRINCIPAL", flag: undefined, kind: count },
  /** Whether operators may have addresses of agents tried. */
  checks: { variable: "HEDDLE_CHECKS", flag: "--checks", kind: flag },
  /** Files that export agents. */
  files: { variable: "HEDDLE_FILES", flag: "the files", kind: list(text) },
  /** Agents that run elsewhere. */
  agents: { variable: "HEDDLE_AGENTS", flag: "--agent", kind: remoteAgents },
  /** Paths of their own for agents. */
  mounts: { variable: "HEDDLE_MOUNTS", flag: undefined, kind: mounts },
  /** Folders of pages, by their path. */
  pages: { variable: "HEDDLE_PAGES", flag: "--page", kind: pages },
  /** How posts for agents are taken. */
  rules: { variable: "HEDDLE_RULES", flag: undefined, kind: agentRules },
  /** Request headers to pass on to agents that run elsewhere. */
  forwardHeaders: { variable: "HEDDLE_FORWARD_HEADERS", flag: "--forward-header", kind: list(headerName) },
  /** Origins of pages that may call. */
  origins: { variable: "HEDDLE_ORIGINS", flag: "--origin", kind: list(origin) },
  /** Names that the server may be called by. */
  hosts: { variable: "HEDDLE_HOSTS", flag: undefined, kind: list(hostHeader) },
  /** How often an idle stream gets a comment. */
  keepAliveMs: { variable: "HEDDLE_KEEP_ALIVE_MS", flag: undefined, kind: milliseconds },
  /** How long a reader may take for what was written to it. */
  stallMs: { variable: "HEDDLE_STALL_MS", flag: undefined, kind: milliseconds },
  /** How long a WebSocket may be open on which nothing is followed and nothing asked. */
  socketIdleMs: { variable: "HEDDLE_SOCKET_IDLE_MS", flag: undefined, kind: milliseconds },
  /** How long a WebSocket may be open at all. */
  socketMaxAgeMs: { variable: "HEDDLE_SOCKET_MAX_AGE_MS", flag: undefined, kind: milliseconds },
  /** Whether WebSocket frames are compressed for clients that offer it. */
  socketDeflate: { variable: "HEDDLE_SOCKET_DEFLATE", flag: undefined, kind: flag },
  /** How long a run may be silent towards the store before it counts as lost. */
  leaseMs: { variable: "HEDDLE_LEASE_MS", flag: undefined, kind: milliseconds },
  /** How often leases are renewed. */
  heartbeatMs: { variable: "HEDDLE_HEARTBEAT_MS", flag: undefined, kind: milliseconds },
  /** How long an event waits for company on its way into the store. */
  lingerMs: { variable: "HEDDLE_LINGER_MS", flag: undefined, kind: milliseconds },
  /** How often lost runs are looked for. */
  reapMs: { variable: "HEDDLE_REAP_MS", flag: undefined, kind: milliseconds },
  /** How often viewers look into the store unasked. */
  pollMs: { variable: "HEDDLE_POLL_MS", flag: undefined, kind: milliseconds },
  /** How long a run that is stopped may take to end by itself. */
  cancelGraceMs: { variable: "HEDDLE_CANCEL_GRACE_MS", flag: undefined, kind: milliseconds },
  /** How long runs may take to end by themselves when the server stops. */
  shutdownGraceMs: { variable: "HEDDLE_SHUTDOWN_GRACE_MS", flag: undefined, kind: milliseconds },
  /** Largest event that an agent may send, as bytes of JSON. */
  maxEventBytes: { variable: "HEDDLE_MAX_EVENT_BYTES", flag: undefined, kind: count },
  /** Most events of one run. */
  maxEventsPerRun: { variable: "HEDDLE_MAX_EVENTS_PER_RUN", flag: undefined, kind: count },
  /** Most that one run may say in all, as characters of JSON. */
  maxRunChars: { variable: "HEDDLE_MAX_RUN_CHARS", flag: undefined, kind: count },
  /** So many runs may wait in a thread. */
  maxQueuedRuns: { variable: "HEDDLE_MAX_QUEUED_RUNS", flag: undefined, kind: count },
  /** How long an agent that runs elsewhere may take to begin its answer. */
  agentResponseMs: { variable: "HEDDLE_AGENT_RESPONSE_MS", flag: undefined, kind: milliseconds },
  /** How long an agent that runs elsewhere may be silent in the middle of its answer. */
  agentIdleMs: { variable: "HEDDLE_AGENT_IDLE_MS", flag: undefined, kind: milliseconds },
  /** Most messages, calls, steps and subagents of a run that are open at a time. */
  maxOpenItems: { variable: "HEDDLE_MAX_OPEN_ITEMS", flag: undefined, kind: count },
  /** Largest body that is read, in bytes. */
  maxBodyBytes: { variable: "HEDDLE_MAX_BODY_BYTES", flag: undefined, kind: count },
  /** How long a request may take to arrive. */
  requestTimeoutMs: { variable: "HEDDLE_REQUEST_TIMEOUT_MS", flag: undefined, kind: milliseconds },
  /** How often those who watch are looked for whose role another process may have changed. */
  accessMs: { variable: "HEDDLE_ACCESS_MS", flag: undefined, kind: milliseconds },
  /** Conversations in the session dialect, or `false` for none. */
  sessions: { variable: "HEDDLE_SESSIONS", flag: undefined, kind: sessions },
  /** How long a session may be idle, whatever else is said of sessions. */
  sessionTimeoutMs: { variable: "HEDDLE_SESSION_TIMEOUT_MS", flag: undefined, kind: milliseconds },
  /** What each role gets to see. */
  views: { variable: "HEDDLE_VIEWS", flag: undefined, kind: views },
  /** From which level on the server says things on stderr. */
  logLevel: { variable: "HEDDLE_LOG_LEVEL", flag: "--log-level", kind: oneOf(LOG_LEVELS) },
  /** Whether a breach of AG-UI's rules of order ends a run instead of being repaired. */
  strict: { variable: "HEDDLE_STRICT", flag: undefined, kind: flag },
} as const satisfies Record<string, SettingEntry>;

/** One row of the table. */
export interface SettingEntry {
  /** The variable. */
  readonly variable: string;
  /** The flag; undefined where there is none. */
  readonly flag: string | undefined;
  /** What it may hold. */
  readonly kind: Kind<unknown>;
}

/** Name of a setting. */
export type SettingName = keyof typeof SETTINGS;

/** What is set. */
export type Configuration = {
  readonly [N in SettingName]?: ReturnType<(typeof SETTINGS)[N]["kind"]["read"]>;
};

/** Where the log is kept where nothing else is said. */
export const DEFAULT_STORE = "sqlite:heddle.db";

/** A setting that was found. */
export interface Setting {
  /** The flag or the variable. */
  readonly setting: string;
  /** What it holds. */
  readonly value: string;
}

/** Where the log is kept, by flag or environment. What it names is judged by whoever opens it. */
export function readStore(given: string | undefined, env: Environment): Setting {
  const { flag: flagName, variable } = SETTINGS.store;
  if (given !== undefined) return { setting: flagName, value: given };
  return { setting: variable, value: env[variable] || DEFAULT_STORE };
}

/** The error for a setting that holds something else than expected. */
export function wrongValue({ setting, value }: Setting, expected: string): HeddleError {
  const received = JSON.stringify(value);
  const message = `${setting} is ${received}: expected ${expected}.`;
  return new HeddleError("config-invalid", message, { setting, expected, received });
}
