/** A SQLite file in a folder of its own, as `--store` names it; it is gone when the test has finished. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Makes room for a log in a file. */
export async function sqliteFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-acceptance-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return `sqlite:${join(folder, "heddle.db")}`;
}
