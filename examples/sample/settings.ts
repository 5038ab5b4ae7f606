/**
 * The sample's settings: `settings.json`, with `settings.<environment>.json` over it where `HEDDLE_ENV` (else `NODE_ENV`)
 * names one, and `HEDDLE_PORT`, `HEDDLE_HOST` and `HEDDLE_STORE` over both.
 *
 * All of it is read before anything starts. A mistake stops the start, and names the place and what was expected.
 */
import { readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { LOG_LEVELS } from "heddle/server/fastify";
import type { LogLevel } from "heddle/server/fastify";
import { MIDDLEWARE_NAMES } from "./middleware.ts";
import type { MiddlewareName } from "./middleware.ts";
import { SettingPlace, refused } from "./setting-place.ts";

/** The kinds of agents that an endpoint can have. */
export const AGENT_TYPES = ["SimpleAgent", "ToolsAgent", "ReasoningAgent"] as const;

/** One endpoint. */
export interface EndpointSettings {
  /** Its name, which is also its agent's. */
  readonly name: string;
  /** Its path below the base path, such as `/chat`. */
  readonly path: string;
  /** Which agent answers. */
  readonly agentType: (typeof AGENT_TYPES)[number];
  /** The model that the agent names as its own. */
  readonly modelId: string;
  /** Whether an agent with tools has them. */
  readonly enableTools: boolean;
  /** Whether thoughts are shown. */
  readonly enableReasoning: boolean;
  /** What stands around the agent, the outermost first. */
  readonly middleware: readonly MiddlewareName[];
}

/** Everything that can be set. */
export interface Settings {
  /** Port to listen on; 0 for any free one. */
  readonly port: number;
  /** Host to listen on. */
  readonly host: string;
  /** Where conversations are kept: `memory:` or `sqlite:<file>`, the file relative to the settings. */
  readonly store: string;
  /** From which level on the server says things on stderr. */
  readonly logLevel: LogLevel;
  /** Milliseconds between two words of an answer. */
  readonly paceMs: number;
  /** Path that all endpoints are below. */
  readonly endpointPath: string;
  /** How long a session may be idle. */
  readonly sessionTimeoutMs: number;
  /** Most messages that an agent is given; the log keeps all. */
  readonly maxMessageHistorySize: number;
  /** What becomes of a request while another is answered. */
  readonly concurrency: "queue" | "concurrent";
  /** How many requests may wait. */
  readonly maxQueued: number;
  /** Whether a session ends after each response. */
  readonly endAfterResponse: boolean;
  /** Whether a session goes on after an agent failed. */
  readonly onAgentError: "continue" | "end";
  /** The endpoints. */
  readonly endpoints: readonly EndpointSettings[];
}

type Environment = Readonly<Record<string, string | undefined>>;

const TOP = ["port", "host", "store", "logLevel", "paceMs", "middleware", "agUi"];
const SESSIONS = [
  "sessionTimeout",
  "maxMessageHistorySize",
  "concurrency",
  "maxQueued",
  "endAfterResponse",
  "onAgentError",
];
const AG_UI = ["endpointPath", ...SESSIONS, "endpoints"];
const ENDPOINT = ["path", "agentType", "modelId", "enableTools", "enableReasoning", "middleware"];

/** Reads the settings. Throws `config-invalid`. */
export function readSettings(file: string, env: Environment): Settings {
  // Step 1: the files, the uppermost first, and what the environment sets over them.
  const { top, folder } = open(file, env);
  top.members(TOP);
  const agUi = top.at("agUi");
  agUi.members(AG_UI);

  // Step 2: every value is judged where it stands.
  const middleware = top.at("middleware").listOf(MIDDLEWARE_NAMES, []);
  const settings: Settings = {
    port: top.at("port").whole(0, 65_535),
    host: top.at("host").text("a host name or an IP address", /^[\w.:-]+$/),
    store: located(top.at("store").text("memory: or sqlite:<file>", /^(memory:|sqlite:.+)$/), folder),
    logLevel: top.at("logLevel").oneOf(LOG_LEVELS),
    paceMs: top.at("paceMs").whole(0, 10_000),
    endpointPath: agUi.at("endpointPath").text("a path such as /api/ag-ui", /^(\/[\w.~-]+)+$/),
    sessionTimeoutMs: duration(agUi.at("sessionTimeout")),
    maxMessageHistorySize: agUi.at("maxMessageHistorySize").whole(1, 1_000_000),
    concurrency: agUi.at("concurrency").oneOf(["queue", "concurrent"]),
    maxQueued: agUi.at("maxQueued").whole(1, 1000),
    endAfterResponse: agUi.at("endAfterResponse").flag(false),
    onAgentError: agUi.at("onAgentError").oneOf(["continue", "end"]),
    endpoints: agUi
      .at("endpoints")
      .members()
      .map((name) => endpoint(name, agUi.at("endpoints").at(name), middleware)),
  };
  // Step 3: what no single value can tell.
  const paths = settings.endpoints.map(({ path }) => path);
  const twice = settings.endpoints.find(({ path }, index) => paths.indexOf(path) < index);
  if (twice !== undefined) {
    throw refused(
      `${basename(file)}#/agUi/endpoints/${twice.name}/path`,
      twice.path,
      "a path that no other endpoint has",
    );
  }
  if (paths.length === 0) throw refused(`${basename(file)}#/agUi/endpoints`, {}, "at least one endpoint");
  return settings;
}

function endpoint(name: string, place: SettingPlace, middleware: readonly MiddlewareName[]): EndpointSettings {
  place.members(ENDPOINT);
  return {
    name,
    path: place.at("path").text("a path such as /chat", /^\/[A-Za-z0-9][\w.-]*$/),
    agentType: place.at("agentType").oneOf(AGENT_TYPES),
    modelId: place.at("modelId").text("the name of a model", /\S/),
    enableTools: place.at("enableTools").flag(true),
    enableReasoning: place.at("enableReasoning").flag(true),
    middleware: place.at("middleware").listOf(MIDDLEWARE_NAMES, middleware),
  };
}

/** Hours, minutes and seconds as milliseconds. */
function duration(place: SettingPlace): number {
  const form = /^(?!00:00:00)(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/;
  const text = place.text('hours, minutes and seconds, such as "00:30:00", and not zero', form);
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

const located = (store: string, folder: string): string =>
  store.startsWith("sqlite:") ? `sqlite:${resolve(folder, store.slice("sqlite:".length))}` : store;

function open(file: string, env: Environment): { readonly top: SettingPlace; readonly folder: string } {
  const name = env["HEDDLE_ENV"] || env["NODE_ENV"] || "";
  const over = /^[\w-]+$/.test(name) ? file.replace(/(?:\.json)?$/, `.${name}.json`) : undefined;
  const upper = over === undefined ? undefined : json(over);
  const lower = json(file);
  if (lower === undefined) throw refused(file, undefined, "a file with settings");
  const layers = [
    ...environment(env),
    ...(over === undefined || upper === undefined ? [] : [{ place: `${basename(over)}#`, value: upper }]),
    { place: `${basename(file)}#`, value: lower },
  ];
  return { top: new SettingPlace(`${basename(file)}#`, layers), folder: dirname(file) };
}

/** Three settings of the environment, in the form of a file. */
function environment({ HEDDLE_PORT, HEDDLE_HOST, HEDDLE_STORE }: Environment): { place: string; value: object }[] {
  const port = HEDDLE_PORT && /^\d+$/.test(HEDDLE_PORT) ? Number(HEDDLE_PORT) : HEDDLE_PORT;
  const given = Object.entries({ port, host: HEDDLE_HOST, store: HEDDLE_STORE });
  const set = Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== ""));
  return Object.keys(set).length === 0 ? [] : [{ place: "environment#", value: set }];
}

/** What a file holds; undefined where it is not there. */
function json(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refused(basename(file), error instanceof Error ? error.message : "unreadable", "JSON");
  }
}
