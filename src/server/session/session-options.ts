/**
 * How sessions are set up: rules for all endpoints, and rules of each that come before them. Everything has a default; a
 * value that is wrong, or an endpoint without an agent, stops the start with the path of the value.
 */
import type { Agent } from "../../agent/index.ts";
import { HeddleError } from "../../protocol/index.ts";
import { readRate } from "../auth/index.ts";
import type { Rate } from "../auth/index.ts";
import type { HistoryRule } from "../index.ts";

/** What becomes of a request that comes while another is under way. */
export const CONCURRENCY = ["queue", "concurrent"] as const;

/** What becomes of a session whose agent has failed. */
export const AGENT_ERROR_POLICIES = ["continue", "end"] as const;

/** Rules of sessions. */
export interface SessionRules {
  /** How long a session may be idle before it ends. Default 30 minutes; whatever is sent or received begins it anew. */
  readonly timeoutMs?: number | undefined;
  /** Requests while one is under way: one after the other (default), or side by side, each on a branch of its own. */
  readonly concurrency?: (typeof CONCURRENCY)[number] | undefined;
  /** So many requests may wait on one connection, or be under way beside the first. Default 16. */
  readonly maxQueued?: number | undefined;
  /** Whether the session ends after each response. Default false. */
  readonly endAfterResponse?: boolean | undefined;
  /** Whether reasoning is sent as thought events. Default true. */
  readonly reasoning?: boolean | undefined;
  /** How much of the conversation the agent is given: so many messages, or what a function makes of them. Default 100. */
  readonly history?: HistoryRule | undefined;
  /** Largest message of a client, in bytes. Default 1 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** How often requests of one session are taken. Default: as often as the caller may ask at all. */
  readonly rateLimit?: Rate | undefined;
  /** Whether the session goes on after `agent-error` (default), or ends. */
  readonly onAgentError?: (typeof AGENT_ERROR_POLICIES)[number] | undefined;
}

/** One endpoint. */
export interface SessionEndpoint extends SessionRules {
  /** Name of the agent that answers there. */
  readonly agent: string;
}

/** Options of sessions. */
export interface SessionOptions extends SessionRules {
  /** Path that endpoints stand under. Default `/api/ag-ui`. */
  readonly path?: string | undefined;
  /** The endpoints, by their names. Default: one for each agent, under its own. */
  readonly endpoints?: Readonly<Record<string, SessionEndpoint>> | undefined;
  /** Most that sessions may hold, by our own count of it; above, the oldest idle ones go first. Default: any. */
  readonly memoryLimitBytes?: number | undefined;
}

/** The rules of one endpoint, with their defaults. */
export interface SessionSettings extends Defaulted {
  /** The agent that answers. */
  readonly agent: Agent;
  /** How often requests of one session are taken. */
  readonly rateLimit: Rate | undefined;
}

type Defaulted = { readonly [K in keyof Omit<SessionRules, "rateLimit">]-?: Exclude<SessionRules[K], undefined> };

/** What rules are where nothing else is said. */
export const SESSION_DEFAULTS = {
  timeoutMs: 30 * 60_000,
  concurrency: "queue",
  maxQueued: 16,
  endAfterResponse: false,
  reasoning: true,
  history: 100,
  maxMessageBytes: 1024 * 1024,
  onAgentError: "continue",
} as const satisfies Defaulted;

/** Path that endpoints stand under where nothing else is said. */
export const SESSION_PATH = "/api/ag-ui";

const DAY_MS = 86_400_000;
const MOST = 999_999_999;

type Judge = (value: unknown, place: string) => void;

const whole =
  (most: number, what = "a whole number"): Judge =>
  (value, place) => {
    if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most) return;
    throw wrong(place, value, `${what} from 1 to ${most}`);
  };
const flag: Judge = (value, place) => {
  if (typeof value !== "boolean") throw wrong(place, value, "true or false");
};
const oneOf =
  (words: readonly string[]): Judge =>
  (value, place) => {
    if (!words.some((word) => word === value)) throw wrong(place, value, words.join(" or "));
  };
const text: Judge = (value, place) => {
  if (typeof value !== "string" || value === "") throw wrong(place, value, "a text");
};
const path: Judge = (value, place) => {
  if (typeof value === "string" && /^(\/[\w.~-]+)+$/.test(value)) return;
  throw wrong(place, value, `a path such as ${SESSION_PATH}`);
};

const RULES: Readonly<Record<keyof SessionRules, Judge>> = {
  timeoutMs: whole(DAY_MS, "a whole number of milliseconds"),
  concurrency: oneOf(CONCURRENCY),
  maxQueued: whole(MOST),
  endAfterResponse: flag,
  reasoning: flag,
  history: (value, place) => {
    if (typeof value !== "function") whole(MOST)(value, place);
  },
  maxMessageBytes: whole(MOST),
  rateLimit: readRate,
  onAgentError: oneOf(AGENT_ERROR_POLICIES),
};
const ENDPOINT: Readonly<Record<keyof SessionEndpoint, Judge>> = { ...RULES, agent: text };
const OPTIONS: Readonly<Record<keyof SessionOptions, Judge>> = {
  ...RULES,
  path,
  endpoints: (value, place) => {
    if (!isRecord(value)) throw wrong(place, value, "an object of endpoints");
    for (const [name, endpoint] of Object.entries(value)) {
      judge(endpoint, `${place}/${name}`, ENDPOINT);
      if (endpoint.agent === undefined) throw wrong(`${place}/${name}/agent`, undefined, "the name of an agent");
    }
  },
  memoryLimitBytes: whole(Number.MAX_SAFE_INTEGER, "a whole number of bytes"),
};

/** Judges options that may be anything. Throws `config-invalid` with the place of what is wrong. */
export function assertSessionOptions(value: unknown, place = "sessions"): asserts value is SessionOptions {
  judge(value, place, OPTIONS);
}

function judge(value: unknown, place: string, judges: Readonly<Record<string, Judge>>): asserts value is Fields {
  const names = Object.keys(judges).join(", ");
  if (!isRecord(value)) throw wrong(place, value, `an object of ${names}`);
  for (const [name, held] of Object.entries(value)) {
    const judged = Object.hasOwn(judges, name) ? judges[name] : undefined;
    if (judged === undefined) throw wrong(`${place}/${name}`, held, `nothing: there is ${names}`);
    if (held !== undefined) judged(held, `${place}/${name}`);
  }
}

/** The endpoints with their rules. Throws `config-invalid` for one whose agent is not served. */
export function endpointsOf(options: SessionOptions, agents: readonly Agent[]): ReadonlyMap<string, SessionSettings> {
  const { path: _path, memoryLimitBytes: _limit, endpoints, ...common } = options;
  const given = endpoints ?? Object.fromEntries(agents.map(({ name }) => [name, { agent: name }]));
  return new Map(
    Object.entries(given).map(([name, { agent: agentName, ...own }]) => {
      const agent = agents.find((each) => each.name === agentName);
      if (agent === undefined) {
        const names = agents.map((each) => each.name);
        const expected = names.length === 0 ? "an agent, and none is served" : `one of ${names.join(", ")}`;
        throw wrong(`sessions/endpoints/${name}/agent`, agentName, expected);
      }
      const rules = { ...SESSION_DEFAULTS, ...present(common), ...present(own) };
      return [name, { rateLimit: undefined, ...rules, agent }];
    }),
  );
}

/** What is said; undefined says nothing. */
function present<T extends object>(rules: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const said: { [K in keyof T]?: Exclude<T[K], undefined> } = {};
  return Object.assign(said, Object.fromEntries(Object.entries(rules).filter(([, value]) => value !== undefined)));
}

type Fields = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function wrong(place: string, value: unknown, expected: string): HeddleError<"config-invalid"> {
  const received = value === undefined ? "not set" : (JSON.stringify(value) ?? typeof value);
  const message = `${place} is ${received}: expected ${expected}.`;
  return new HeddleError("config-invalid", message, { setting: place, expected, received });
}
