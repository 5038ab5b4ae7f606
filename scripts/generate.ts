/** `npm run generate`: rewrites the generated sources. With `--check`, only says whether they are stale (exit 1). */
import { readFileSync, writeFileSync } from "node:fs";
import { generatedFiles } from "./generate/generated-files.ts";

const checkOnly = process.argv.includes("--check");
const stale = generatedFiles().filter(({ path, text }) => {
  if (read(path) === text) return false;
  if (!checkOnly) writeFileSync(path, text);
  return true;
});

for (const { path } of stale) process.stdout.write(`${checkOnly ? "stale" : "wrote"} ${path}\n`);
if (checkOnly && stale.length > 0) process.exitCode = 1;

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
