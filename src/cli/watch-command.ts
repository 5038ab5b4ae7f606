/**
 * `heddle serve --watch`: the same command under Node's own watcher, which starts it anew whenever a module that it loaded
 * changes: agents, what they import, and the configuration.
 *
 * The watcher gets a process group of its own. Otherwise a terminal would send its interrupt to the server too, which
 * would get a second one from the watcher, and a second one means: at once.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";

/** Runs the command under the watcher until a signal ends it, and returns its exit code. */
export async function watchCommand(entry: string, args: readonly string[]): Promise<number> {
  const options = [...process.execArgv, "--watch", "--watch-preserve-output", entry, "serve", ...args];
  const child = spawn(process.execPath, options, { stdio: "inherit", detached: true });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGINT", pass).on("SIGTERM", pass).on("SIGHUP", pass);
  const [code]: (number | null)[] = await once(child, "close");
  process.off("SIGINT", pass).off("SIGTERM", pass).off("SIGHUP", pass);
  return code ?? 1;
}
