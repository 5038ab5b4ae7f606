/**
 * `heddle conformance <dir>`: runs AG-UI's conformance fixtures through the whole pipeline, without repair.
 *
 * The corpus is of version 1.1, so that is what we declare here: a producer newer than ourselves is worth a warning.
 */
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { HeddleError, decodeJson } from "../protocol/index.ts";
import { judgeFixture } from "../testing/index.ts";
import type { Fixture } from "../testing/index.ts";

const CORPUS_VERSION = "1.1";

const HELP = `Usage: heddle conformance <dir> [options]

Runs every fixture (*.json) of a folder in AG-UI's conformance format: one line for each difference,
and last "N passed, N failed".

Options:
  --json         Print the findings as JSON
  --help         Show this help`;

/** Runs the command; 1 where a fixture failed. */
export async function conformanceCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { json: { type: "boolean" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const [folder, ...others] = positionals;
  if (folder === undefined || others.length > 0) {
    console.error(HELP);
    return 2;
  }
  const files = await fixtureFiles(folder);
  const results = await Promise.all(
    files.map(async (file) => ({ file, problems: await judgeFile(join(folder, file)) })),
  );
  const failed = results.filter(({ problems }) => problems.length > 0);
  const passed = results.length - failed.length;
  if (values.json === true) console.log(JSON.stringify({ passed, failed: failed.length, results }, undefined, 2));
  else {
    for (const { file, problems } of failed) for (const problem of problems) console.log(`${file}: ${problem}`);
    console.log(`${passed} passed, ${failed.length} failed`);
  }
  return failed.length > 0 ? 1 : 0;
}

async function fixtureFiles(folder: string): Promise<readonly string[]> {
  const files = await readdir(folder).catch((cause: unknown) => {
    throw notFixtures(folder, "a folder that can be read", cause);
  });
  const fixtures = files.filter((file) => file.endsWith(".json")).toSorted();
  if (fixtures.length === 0) throw notFixtures(folder, "a folder with fixtures (*.json)");
  return fixtures;
}

/** Differences of one fixture; a file that is no fixture is one too. */
async function judgeFile(path: string): Promise<readonly string[]> {
  try {
    const fixture = decodeJson(await readFile(path));
    return isFixture(fixture)
      ? judgeFixture(fixture, { version: CORPUS_VERSION })
      : ["is no fixture: expected an object with a list `stream` and an object `expect`"];
  } catch (error) {
    if (error instanceof HeddleError) return [`cannot be run: ${error.message}`];
    throw error;
  }
}

function isFixture(value: unknown): value is Fixture {
  if (typeof value !== "object" || value === null || !("stream" in value) || !("expect" in value)) return false;
  return Array.isArray(value.stream) && typeof value.expect === "object" && value.expect !== null;
}

function notFixtures(folder: string, expected: string, cause?: unknown): HeddleError {
  const details = { setting: "dir", expected, received: folder };
  return new HeddleError("config-invalid", `The folder is ${folder}: expected ${expected}.`, details, { cause });
}
