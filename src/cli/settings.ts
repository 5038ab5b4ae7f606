/**
 * Settings: flags over environment. An empty variable counts as absent; a wrong value stops the start with a sentence
 * that names it and says what was expected.
 */
import { HeddleError } from "../protocol/index.ts";

/** The environment that settings are read from. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The port that is asked for, or undefined. Throws `config-invalid`. */
export function readPort(flag: string | undefined, env: Environment): number | undefined {
  const found = find("--port", flag, "HEDDLE_PORT", env);
  if (found === undefined) return undefined;
  const port = /^\d{1,5}$/.test(found.value) ? Number(found.value) : Number.NaN;
  if (port <= 65_535) return port;
  throw wrongValue(found, "a whole number from 0 to 65535");
}

/** The host that is asked for, or undefined. Throws `config-invalid`. */
export function readHost(flag: string | undefined, env: Environment): string | undefined {
  const found = find("--host", flag, "HEDDLE_HOST", env);
  if (found === undefined) return undefined;
  if (/^[0-9A-Za-z.:_-]+$/.test(found.value)) return found.value;
  throw wrongValue(found, "a host name or an IP address");
}

/** Where the log is kept. What it names is judged by whoever opens it. */
export function readStore(flag: string | undefined, env: Environment): Setting {
  return find("--store", flag, "HEDDLE_STORE", env) ?? { setting: "HEDDLE_STORE", value: DEFAULT_STORE };
}

/** Where the log is kept where nothing else is said. */
export const DEFAULT_STORE = "sqlite:heddle.db";

/** A setting that was found. */
export interface Setting {
  /** The flag or the variable. */
  readonly setting: string;
  /** What it holds. */
  readonly value: string;
}

function find(flagName: string, flag: string | undefined, name: string, env: Environment): Setting | undefined {
  if (flag !== undefined) return { setting: flagName, value: flag };
  const value = env[name];
  return value === undefined || value === "" ? undefined : { setting: name, value };
}

/** The error for a setting that holds something else than expected. */
export function wrongValue({ setting, value }: Setting, expected: string): HeddleError {
  const received = JSON.stringify(value);
  const message = `${setting} is ${received}: expected ${expected}.`;
  return new HeddleError("config-invalid", message, { setting, expected, received });
}
