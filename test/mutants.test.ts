/** The tests are tested: every kept fault makes the test file fail that is there to find it. */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MUTANTS } from "./mutants.ts";

const copy = mkdtempSync(join(tmpdir(), "heddle-mutants-"));

beforeAll(() => {
  for (const part of ["src", "test", "package.json", "tsconfig.json", "vitest.config.ts"]) {
    cpSync(part, join(copy, part), { recursive: true });
  }
  symlinkSync(resolve("node_modules"), join(copy, "node_modules"));
});
afterAll(() => rmSync(copy, { recursive: true }));

/** Runs test files in the copy; true where all of them pass. */
function passes(files: readonly string[]): Promise<boolean> {
  return new Promise((done, failed) => {
    const child = spawn(resolve("node_modules/.bin/vitest"), ["run", "--bail=1", ...files], {
      cwd: copy,
      stdio: "ignore",
    });
    child.on("error", failed);
    child.on("exit", (code) => done(code === 0));
  });
}

describe("kept mutants", () => {
  it("all test files that have to find them pass without them", async () => {
    expect(await passes([...new Set(MUTANTS.map(({ killedBy }) => killedBy))])).toBe(true);
  });

  it.each(MUTANTS)("$what: found by $killedBy", async ({ file, find, replace, killedBy }) => {
    const path = join(copy, file);
    const source = readFileSync(path, "utf8");
    expect(source.split(find)).toHaveLength(2);
    writeFileSync(
      path,
      source.replace(find, () => replace),
    );
    try {
      expect(await passes([killedBy])).toBe(false);
    } finally {
      writeFileSync(path, source);
    }
  });
});
