/** The sample as a process of its own, with settings that a test changes. Needs dist/, which `npm test` builds first. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { readyUrl, runNode } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";

/** The entry file. */
export const MAIN = "examples/sample/main.ts";

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Settings of any form: some tests mean to be wrong. */
export type Changes = { readonly [name: string]: unknown };

/** Writes the sample's own settings, as fast as can be and with changes, into a folder of its own. Returns the file. */
export function settingsFile(
  changes: Changes = {},
  overlay?: { readonly name: string; readonly changes: Changes },
): string {
  const folder = mkdtempSync(join(tmpdir(), "heddle-sample-"));
  folders.push(folder);
  const own: unknown = JSON.parse(readFileSync("examples/sample/settings.json", "utf8"));
  const file = join(folder, "settings.json");
  writeFileSync(file, JSON.stringify(merged({ ...Object(own), paceMs: 0 }, changes)));
  if (overlay !== undefined) {
    writeFileSync(join(folder, `settings.${overlay.name}.json`), JSON.stringify(overlay.changes));
  }
  return file;
}

function merged(base: Changes, changes: Changes): Changes {
  const pairs = Object.entries(changes).map(([name, value]) => [
    name,
    isRecord(value) ? merged(Object(base[name]), value) : value,
  ]);
  return { ...base, ...Object.fromEntries(pairs) };
}

const isRecord = (value: unknown): value is Changes =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Starts the sample with a file, and waits until it is ready. */
export async function startSample(file: string, env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const started = runNode([MAIN, file], { HEDDLE_PORT: "0", ...env });
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
