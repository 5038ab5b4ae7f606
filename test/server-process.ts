/**
 * The `heddle` command as a process of its own, for tests over real sockets: started, stopped, killed. Needs dist/, which
 * `npm test` builds first. Whatever a test leaves running is killed when its file has ended.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterAll } from "vitest";

/** The built command. */
export const COMMAND = "dist/cli/heddle.js";

/** A command that was started. */
export interface Running {
  /** The process. */
  readonly child: ChildProcess;
  /** What it printed so far. */
  readonly printed: { out: string; err: string };
  /** Its exit code, when it has ended. */
  readonly ended: Promise<number | null>;
}

/** A server that is ready. */
export interface ServerProcess extends Running {
  /** Where it answers. */
  readonly url: string;
  /** Asks it to stop, and gives its exit code. */
  stop(): Promise<number | null>;
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>;
}

/** What is served, and how. */
export interface ServeRequest {
  /** Files with agents. */
  readonly files?: readonly string[];
  /** More arguments of `heddle serve`. */
  readonly args?: readonly string[];
  /** The store, as `--store` names it. Default: in memory. */
  readonly store?: string;
  /** Port. Default: any free one. */
  readonly port?: number;
  /** Variables, such as `HEDDLE_LEASE_MS`. */
  readonly env?: Readonly<Record<string, string>>;
}

const running = new Set<ChildProcess>();

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts Node. */
export function runNode(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  const { HEDDLE_PORT: _port, HEDDLE_HOST: _host, ...inherited } = process.env;
  const child = spawn(process.execPath, args, {
    env: { ...inherited, HEDDLE_STORE: "memory:", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  const printed = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (printed.out += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (printed.err += chunk));
  const ended = once(child, "close").then(([code]: (number | null)[]) => {
    running.delete(child);
    return code ?? null;
  });
  return { child, printed, ended };
}

/** Starts the command. */
export const heddle = (args: readonly string[], env?: Readonly<Record<string, string>>): Running =>
  runNode([COMMAND, ...args], env);

/** Waits for the line that names the URL, and gives the URL. */
export async function readyUrl({ child, printed, ended }: Running): Promise<string> {
  const over = ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${printed.err}`)));
  while (!printed.out.includes("\n")) {
    if (child.stdout === null) throw new Error("no stdout");
    await Promise.race([once(child.stdout, "data"), over]);
  }
  over.catch(() => {});
  const url = /http:\S+/.exec(printed.out)?.[0];
  if (url === undefined) throw new Error(`no URL in ${printed.out}`);
  return url;
}

/** Starts a server and waits until it is ready. */
export async function startServer(request: ServeRequest = {}): Promise<ServerProcess> {
  const { files = [], args = [], store = "memory:", port = 0, env } = request;
  const started = heddle(["serve", ...files, "--port", String(port), "--store", store, ...args], env);
  const end = (signal: NodeJS.Signals): Promise<number | null> => {
    started.child.kill(signal);
    return started.ended;
  };
  return {
    ...started,
    url: await readyUrl(started),
    stop: () => end("SIGTERM"),
    kill: async () => void (await end("SIGKILL")),
  };
}
