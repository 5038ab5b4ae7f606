/**
 * The configuration: flags over environment over `heddle.config.<environment>.json` over `heddle.config.{ts,js,json}`.
 *
 * A setting that is named higher up replaces the one below as a whole. All of it is judged by one table, before anything
 * starts: a mistake is told with its place and with what was expected there. Paths in a file are relative to the file.
 */
import { access } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { HeddleError } from "../protocol/index.ts";
import { kindOf } from "../server/fastify/index.ts";
import { isRecord, wrongValueAt } from "./setting-kinds.ts";
import { SETTINGS } from "./settings.ts";
import type { Configuration, Environment, SettingName } from "./settings.ts";

/** What was given on the command line: texts by the name of the setting. */
export type Flags = { readonly [N in SettingName]?: string | readonly string[] | boolean | undefined };

/** What is set, and where each setting stands. */
export interface ReadConfiguration {
  /** What is set. */
  readonly settings: Configuration;
  /** The place that a setting was read from, for errors that are found later. */
  readonly places: Readonly<Record<string, string>>;
}

/** Where to look. */
export interface ConfigurationSources {
  /** Flags. */
  readonly flags: Flags;
  /** Variables. */
  readonly env: Environment;
  /** The configuration file that was asked for; undefined: the one in the folder, if there is one. */
  readonly file?: string | undefined;
  /** The folder that the command was started in. */
  readonly folder: string;
}

const CANDIDATES = ["heddle.config.ts", "heddle.config.js", "heddle.config.json"];

/** One value with its place, judged. */
interface Found {
  readonly place: string;
  readonly value: unknown;
}

type Layer = ReadonlyMap<SettingName, Found>;

/** Reads everything that is set. Throws `config-invalid`. */
export async function readConfiguration(sources: ConfigurationSources): Promise<ReadConfiguration> {
  const { flags, env, folder } = sources;
  const base = await configurationFile(sources);
  const overlay = await overlayFile(base === undefined ? folder : dirname(base), env);
  const layers: Layer[] = [];
  // The lowest first: a mistake in a file that is overruled is a mistake too.
  for (const file of [base, overlay]) if (file !== undefined) layers.push(await fileLayer(file, folder));
  layers.push(environmentLayer(env, flags), flagLayer(flags));
  const settings: Record<string, unknown> = {};
  const places: Record<string, string> = {};
  for (const layer of layers) {
    for (const [name, { place, value }] of layer) {
      settings[name] = value;
      places[name] = place;
    }
  }
  return { settings, places };
}

const NAMES = Object.keys(SETTINGS).filter((name): name is SettingName => name in SETTINGS);

function flagLayer(flags: Flags): Layer {
  const layer = new Map<SettingName, Found>();
  for (const name of NAMES) {
    const given = flags[name];
    if (given === undefined || (Array.isArray(given) && given.length === 0)) continue;
    const { flag: place = name, kind } = SETTINGS[name];
    const value = typeof given === "string" ? kind.fromText(given) : given;
    layer.set(name, { place, value: kind.read(place, value) });
  }
  return layer;
}

/** A variable that a flag overrules is not judged: whoever sets the flag may not be able to change it. */
function environmentLayer(env: Environment, flags: Flags): Layer {
  const layer = new Map<SettingName, Found>();
  for (const name of NAMES) {
    const { variable, kind } = SETTINGS[name];
    const given = env[variable];
    if (given === undefined || given === "" || flags[name] !== undefined) continue;
    layer.set(name, { place: variable, value: kind.read(variable, kind.fromText(given)) });
  }
  return layer;
}

async function fileLayer(path: string, folder: string): Promise<Layer> {
  const shown = relative(folder, path);
  const contents = await load(path, shown);
  if (!isRecord(contents)) {
    const expected = path.endsWith(".json")
      ? "an object of settings"
      : "a default export that is an object of settings";
    throw wrongValueAt(shown, contents, expected);
  }
  const layer = new Map<SettingName, Found>();
  for (const [key, value] of Object.entries(contents)) {
    const place = `${shown}#/${key}`;
    const name = NAMES.find((known) => known === key);
    if (name === undefined) throw unknownSetting(place, value);
    layer.set(name, { place, value: located(name, SETTINGS[name].kind.read(place, value), dirname(path)) });
  }
  return layer;
}

/** A name that is not known may be that of a secret with a slip in it: a text is not repeated. */
function unknownSetting(place: string, value: unknown): HeddleError {
  const received = typeof value === "number" || typeof value === "boolean" ? String(value) : kindOf(value);
  const expected = `nothing: the settings are ${NAMES.join(", ")}`;
  const message = `${place} is ${received}: expected ${expected}.`;
  return new HeddleError("config-invalid", message, { setting: place, expected, received });
}

/** Paths of a file, as they are from here. */
function located(name: SettingName, value: unknown, folder: string): unknown {
  if (name === "files" && Array.isArray(value)) return value.map((file: unknown) => resolve(folder, String(file)));
  if (name === "pages" && isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([path, each]) => [path, resolve(folder, String(each))]));
  }
  const database = name === "store" ? /^sqlite:(.+)$/s.exec(String(value))?.[1] : undefined;
  return database === undefined ? value : `sqlite:${resolve(folder, database)}`;
}

/** Imported, JSON too: whoever watches the modules of this process sees the configuration change. */
async function load(path: string, shown: string): Promise<unknown> {
  try {
    const { href } = pathToFileURL(path);
    const module: { default?: unknown } = await (path.endsWith(".json")
      ? import(href, { with: { type: "json" } })
      : import(href));
    return module.default;
  } catch (cause) {
    const reason = withoutSource(cause instanceof Error ? cause.message : String(cause));
    const expected = "a file that can be read";
    const message = `${shown} cannot be read: ${reason}`;
    throw new HeddleError("config-invalid", message, { setting: shown, expected, received: reason }, { cause });
  }
}

/** What is said about JSON that cannot be read, without the stretch of it that is quoted: it may be a secret. */
const withoutSource = (reason: string): string =>
  reason.replace(/(token) .*, (?:\.{3})?".*"(?:\.{3})? is not valid JSON$/s, "$1: it is not valid JSON");

async function configurationFile({ file, folder }: ConfigurationSources): Promise<string | undefined> {
  if (file !== undefined) {
    const path = resolve(folder, file);
    if (await exists(path)) return path;
    throw wrongValueAt("--config", file, "a file that is there");
  }
  const found: string[] = [];
  for (const name of CANDIDATES) if (await exists(join(folder, name))) found.push(name);
  const [first, second] = found;
  if (second !== undefined) throw wrongValueAt("The configuration", found, "one file: remove the others");
  return first === undefined ? undefined : join(folder, first);
}

async function overlayFile(folder: string, env: Environment): Promise<string | undefined> {
  const variable = env["HEDDLE_ENV"] ? "HEDDLE_ENV" : "NODE_ENV";
  const environment = env[variable];
  if (environment === undefined || environment === "") return undefined;
  if (!/^[\w.-]+$/.test(environment)) {
    throw wrongValueAt(variable, environment, "letters, digits, '.', '_' and '-'");
  }
  const path = join(folder, `heddle.config.${environment}.json`);
  return (await exists(path)) ? path : undefined;
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
