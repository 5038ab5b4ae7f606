/** Which files a process loads, in which version, told to the process that started it. */
import { readdirSync, statSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { isRecord } from "./setting-kinds.ts";

/** A file that is about to be loaded, as it was right before. */
interface LoadedFile {
  readonly path: string;
  readonly version: string;
}

/** Whether this is a message of `tellWatcher`. */
export const isLoadedFile = (message: unknown): message is LoadedFile =>
  isRecord(message) && typeof message["path"] === "string" && typeof message["version"] === "string";

/** A text that differs when a file was changed, replaced, removed or made, or when a folder has other files. */
export function versionOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return "";
  return stats.isDirectory() ? readdirSync(path).toSorted().join("/") : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
}

const isOwnFile = (url: string): boolean => url.startsWith("file:") && !url.includes("/node_modules/");

/**
 * Tells the process that started this one of every module that is loaded from here on, packages left out, and ends this one
 * when the other is gone.
 */
export function tellWatcher(): void {
  const told = new Set<string>();
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      // Whoever was told may be gone while this process still ends.
      if (process.connected && isOwnFile(found.url) && !told.has(found.url)) {
        told.add(found.url);
        const path = fileURLToPath(found.url);
        process.send?.({ path, version: versionOf(path) } satisfies LoadedFile);
      }
      return found;
    },
  });
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel?.unref();
}
