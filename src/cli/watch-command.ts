/**
 * `heddle serve --watch`: the same command in a process of its own, started anew whenever a module that it loaded changes:
 * agents, what they import, and the configuration.
 *
 * That process tells which version of a file it loads (`tellWatcher`), and the file is compared with that version: what is
 * saved while a server starts or ends counts too, which a watcher of changes would miss. Files are looked at again and
 * again rather than watched, which works on every file system.
 *
 * The server gets a process group of its own. Otherwise a terminal would send its interrupt to it too, and it would get
 * a second one from here, and a second one means: at once.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { isLoadedFile, versionOf } from "./loaded-files.ts";

const LOOK_EVERY_MS = 200;

/** Runs the command, and again on every change, until a signal ends it. Returns the last exit code. */
export async function watchCommand(entry: string, args: readonly string[]): Promise<number> {
  const options = [...process.execArgv, entry, "serve", "--watched", ...args];
  const stopped = new AbortController();
  let child: ChildProcess | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    stopped.abort();
    child?.kill(signal);
  };
  process.on("SIGINT", stop).on("SIGTERM", stop).on("SIGHUP", stop);
  let code = 0;
  while (!stopped.signal.aborted) {
    child = spawn(process.execPath, options, { stdio: ["inherit", "inherit", "inherit", "ipc"], detached: true });
    const ended = once(child, "close");
    await changeOf(child, stopped.signal);
    if (!stopped.signal.aborted) child.kill("SIGTERM");
    const [exitCode]: (number | null)[] = await ended;
    code = exitCode ?? 1;
  }
  process.off("SIGINT", stop).off("SIGTERM", stop).off("SIGHUP", stop);
  return code;
}

/** Resolves when what the process loaded is no longer what is there and has settled, or on the signal. */
async function changeOf(child: ChildProcess, signal: AbortSignal): Promise<void> {
  const folder = versionOf(process.cwd());
  const loaded = new Map<string, string>();
  child.on("message", (message) => {
    if (isLoadedFile(message)) loaded.set(message.path, message.version);
  });
  const endedByItself = (): void => {
    if (signal.aborted) return;
    // What it ended for may be a file that was not there.
    loaded.set(process.cwd(), folder);
    console.log("heddle: the server has ended; it starts again when a file changes.");
  };
  child.once("close", endedByItself);
  let before = "";
  while (!signal.aborted) {
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
    const changes = [...loaded].map(([path, version]) => [path, version, versionOf(path)] as const);
    const now = changes.flatMap(([path, version, current]) => (version === current ? [] : [path, current])).join("\n");
    if (now !== "" && now === before) break;
    before = now;
  }
  child.off("close", endedByItself);
}
