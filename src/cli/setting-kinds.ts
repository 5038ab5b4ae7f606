/**
 * What settings may hold. A kind reads a value wherever it came from: text of flags and variables is first made into
 * what a configuration file would hold, and then judged by the same rule. A wrong value is named by its place.
 */
import { HeddleError } from "../protocol/index.ts";
import { BUSY_POLICIES, CALL_POLICIES } from "../server/index.ts";
import type { BusyPolicy } from "../server/index.ts";

/** A kind of setting. */
export interface Kind<T> {
  /** Makes text of a flag or a variable into what a file would hold; text that cannot be read stays text. */
  fromText(text: string): unknown;
  /** Judges a value. Throws `config-invalid`. */
  read(place: string, value: unknown): T;
}

/** The error for a place that holds something else than expected. */
export function wrongValueAt(place: string, value: unknown, expected: string): HeddleError {
  const received = JSON.stringify(value) ?? typeof value;
  const message = `${place} is ${received}: expected ${expected}.`;
  return new HeddleError("config-invalid", message, { setting: place, expected, received });
}

function kind<T>(
  expected: string,
  accepts: (value: unknown) => value is T,
  fromText: (text: string) => unknown = (text) => text,
): Kind<T> {
  return {
    fromText,
    read(place, value) {
      if (accepts(value)) return value;
      throw wrongValueAt(place, value, expected);
    },
  };
}

const numberOf = (text: string): unknown => (/^\d{1,9}$/.test(text) ? Number(text) : text);

const isWhole = (value: unknown, from: number, to: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= from && value <= to;

/** A port, 0 for any free one. */
export const port: Kind<number> = kind(
  "a whole number from 0 to 65535",
  (value): value is number => isWhole(value, 0, 65_535),
  (text) => (text.length > 5 ? text : numberOf(text)),
);

/** A time. */
export const milliseconds: Kind<number> = kind(
  "a whole number of milliseconds from 1 to 86400000",
  (value): value is number => isWhole(value, 1, 86_400_000),
  numberOf,
);

/** A number of things. */
export const count: Kind<number> = kind(
  "a whole number from 1 to 999999999",
  (value): value is number => isWhole(value, 1, 999_999_999),
  numberOf,
);

/** Yes or no. */
export const flag: Kind<boolean> = kind(
  "true or false",
  (value): value is boolean => typeof value === "boolean",
  (text) => (text === "true" || text === "false" ? text === "true" : text),
);

const matching = (expected: string, pattern: RegExp): Kind<string> =>
  kind(expected, (value): value is string => typeof value === "string" && pattern.test(value));

/** A host to listen on. */
export const host: Kind<string> = matching("a host name or an IP address", /^[0-9A-Za-z.:_-]+$/);

/** A text; whoever uses it judges it. */
export const text: Kind<string> = kind("a text", (value): value is string => typeof value === "string");

/** Name of a request header. */
export const headerName: Kind<string> = matching("the name of a header", /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/);

/** An origin of pages. */
export const origin: Kind<string> = matching(
  "an origin such as https://app.example or http://localhost:*, or *",
  /^(\*|https?:\/\/[^\s/?#@]+)$/,
);

/** A name that a server is called by. */
export const hostHeader: Kind<string> = matching("a host name, with or without a port", /^[^\s/?#@]+$/);

/** One of some words. */
export function oneOf<W extends string>(words: readonly W[]): Kind<W> {
  return kind(`one of ${words.join(", ")}`, (value): value is W => words.some((word) => word === value));
}

/** A list; as text, its members stand between spaces or commas. */
export function list<T>(member: Kind<T>): Kind<readonly T[]> {
  return {
    fromText: (given) => given.split(/[\s,]+/).filter((part) => part !== ""),
    read(place, value) {
      if (!Array.isArray(value)) throw wrongValueAt(place, value, "a list");
      const isOfFile = place.includes("#");
      return value.map((each: unknown, index) => member.read(isOfFile ? `${place}/${index}` : place, each));
    },
  };
}

/** An agent that runs elsewhere. */
export interface RemoteSetting {
  /** Address of its endpoint: AG-UI over HTTP, or the session dialect over WebSocket. */
  readonly url: string;
  /** Headers to send to it with every run. */
  readonly headers?: Readonly<Record<string, string>>;
}

const AGENT_URL = "an http or https URL (AG-UI) or a ws or wss URL (session dialect) without a name and a password";
const AGENT_SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "ws:", "wss:"]);

/** Agents that run elsewhere, by name; as text, `name=url` between spaces. */
export const remoteAgents: Kind<Readonly<Record<string, RemoteSetting>>> = {
  fromText: (given) => given.split(/\s+/).filter((part) => part !== ""),
  read(place, value) {
    if (Array.isArray(value)) return Object.fromEntries(value.map((pair: unknown) => namedUrl(place, pair)));
    if (!isRecord(value)) throw wrongValueAt(place, value, "an object of names and addresses");
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, remote(`${place}/${name}`, each)]));
  },
};

/** Paths with the name of an agent each; as text, `/path=name` between spaces. Whoever serves them judges them. */
export const mounts: Kind<Readonly<Record<string, string>>> = {
  fromText: (given) =>
    Object.fromEntries(given.split(/\s+/).map((pair) => [pair.split("=", 1)[0], pair.split("=").slice(1).join("=")])),
  read(place, value) {
    if (!isRecord(value)) throw wrongValueAt(place, value, "an object of paths and names of agents");
    return Object.fromEntries(Object.entries(value).map(([path, name]) => [path, text.read(`${place}/${path}`, name)]));
  },
};

/** Paths with the folder of a page each; as text, `/path=folder` between spaces. Whoever serves them judges them. */
export const pages: Kind<Readonly<Record<string, string>>> = {
  fromText: (given) => given.split(/\s+/).filter((part) => part !== ""),
  read(place, value) {
    if (Array.isArray(value)) return Object.fromEntries(value.map((pair: unknown) => pageFolder(place, pair)));
    if (!isRecord(value)) throw wrongValueAt(place, value, "an object of paths and folders");
    const folders = Object.entries(value).map(([path, each]) => [path, text.read(`${place}/${path}`, each)]);
    return Object.fromEntries(folders);
  },
};

/** How posts for an agent are taken; a strategy is for those who serve by themselves. */
export interface RuleSetting {
  /** What becomes of a run while another is under way. */
  readonly onBusy?: BusyPolicy;
  /** What becomes of a message while calls wait for the client. */
  readonly onOpenCalls?: (typeof CALL_POLICIES)[number];
  /** Where new messages behind a shorter list go. */
  readonly onStale?: "fork" | "append";
  /** Whether instructions are taken on a thread that exists. */
  readonly acceptInstructions?: boolean;
  /** Most messages that the agent is given. */
  readonly history?: number;
}

/** Rules by the agent's name, `*` for all; as text, JSON. */
export const agentRules: Kind<Readonly<Record<string, RuleSetting>>> = {
  fromText: jsonText,
  read(place, value) {
    if (!isRecord(value)) throw wrongValueAt(place, value, "an object of agents and their rules");
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, ruleOf(`${place}/${name}`, each)]));
  },
};

function ruleOf(place: string, value: unknown): RuleSetting {
  if (!isRecord(value)) throw wrongValueAt(place, value, "an object of rules");
  const members = Object.entries(value).map(([name, each]) => {
    const known = RULES.get(name);
    if (known === undefined) {
      throw wrongValueAt(`${place}/${name}`, each, `nothing: the rules are ${[...RULES.keys()].join(", ")}`);
    }
    return [name, known.read(`${place}/${name}`, each)];
  });
  return Object.fromEntries(members);
}

function namedUrl(place: string, pair: unknown): [string, RemoteSetting] {
  const [, name, url] = /^([^=]+)=(.+)$/s.exec(String(pair)) ?? [];
  if (name === undefined || url === undefined) throw wrongValueAt(place, pair, "name=url");
  return [name, { url: agentUrl(place, url) }];
}

function pageFolder(place: string, pair: unknown): [string, string] {
  const [, path, folder] = /^(\/[^=]*)=(.+)$/s.exec(String(pair)) ?? [];
  if (path === undefined || folder === undefined) throw wrongValueAt(place, pair, "/path=folder");
  return [path, folder];
}

function remote(place: string, value: unknown): RemoteSetting {
  if (typeof value === "string") return { url: agentUrl(place, value) };
  if (!isRecord(value)) throw wrongValueAt(place, value, `${AGENT_URL}, or an object with a url and headers`);
  const unknown = Object.keys(value).find((key) => key !== "url" && key !== "headers");
  if (unknown !== undefined)
    throw wrongValueAt(`${place}/${unknown}`, value[unknown], "nothing: there is url and headers");
  const url = agentUrl(`${place}/url`, value["url"]);
  const { headers } = value;
  if (headers === undefined) return { url };
  if (!isRecord(headers)) throw wrongValueAt(`${place}/headers`, headers, "an object of names and values");
  const pairs = Object.entries(headers).map(([name, each]) => [name, text.read(`${place}/headers/${name}`, each)]);
  return { url, headers: Object.fromEntries(pairs) };
}

/** What is wrong with an address may be that it holds a password: it is not repeated. */
function agentUrl(place: string, value: unknown): string {
  const url = typeof value === "string" ? URL.parse(value) : null;
  const isKnown = AGENT_SCHEMES.has(url?.protocol ?? "");
  if (url !== null && isKnown && url.username === "" && url.password === "") return url.href;
  const received = url === null ? "no URL" : isKnown ? "a URL with credentials" : `a URL of ${url.protocol}`;
  const message = `${place} is ${received}: expected ${AGENT_URL}.`;
  throw new HeddleError("config-invalid", message, { setting: place, expected: AGENT_URL, received });
}

/** What a variable holds as JSON; the text itself where it is none, for whoever judges it to refuse. */
export function jsonText(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

/** A database to listen to, or whether to. The URL may hold a password: what is wrong is not repeated. */
export const listenAt: Kind<string | boolean> = {
  fromText: (given) => (given === "false" ? false : given === "true" ? true : given),
  read(place, value) {
    if (typeof value === "boolean") return value;
    if (typeof value === "string" && /^postgres(ql)?:\/\//.test(value) && URL.canParse(value)) return value;
    throw wrongValueAt(place, "…", "postgres://… past the pooler, or false for polls alone");
  },
};

/** Whether a value is an object of named members. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const RULES: ReadonlyMap<string, Kind<unknown>> = new Map<string, Kind<unknown>>([
  ["onBusy", oneOf(BUSY_POLICIES)],
  ["onOpenCalls", oneOf(CALL_POLICIES)],
  ["onStale", oneOf(["fork", "append"])],
  ["acceptInstructions", flag],
  ["history", count],
]);
