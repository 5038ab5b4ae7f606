/**
 * `npm test`: everything that has to hold, one after the other: build, types, lint, format, generated sources, then all
 * tests with coverage. Ends in the line `N passed, N failed`, in which each check and each test counts as one.
 * Arguments are handed to vitest, for a part of the tests.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const CHECKS: readonly (readonly [name: string, command: string, ...args: string[]])[] = [
  ["build", "node", "scripts/build.ts"],
  ["types", "tsc", "-p", "tsconfig.json"],
  ["lint", "oxlint"],
  ["format", "oxfmt", "--check"],
  ["generated sources", "node", "scripts/generate.ts", "--check"],
];

let passed = 0;
let failed = 0;

// Threads and child processes of the tests start from sources: compiled once, they start several times quicker.
const env = { NODE_COMPILE_CACHE: join(tmpdir(), "heddle-compile-cache"), ...process.env };

const run = (command: string, args: readonly string[]): boolean =>
  spawnSync(command, args, { stdio: "inherit", env }).status === 0;

function count(name: string, ok: boolean): void {
  if (ok) passed++;
  else failed++;
  process.stdout.write(`${ok ? "ok    " : "FAILED"} ${name}\n`);
}

for (const [name, command, ...args] of CHECKS) count(name, run(command, args));

const folder = mkdtempSync(join(tmpdir(), "heddle-test-"));
const reportFile = join(folder, "report.json");
const ok = run("vitest", [
  "run",
  "--coverage",
  "--reporter=default",
  "--reporter=json",
  `--outputFile.json=${reportFile}`,
  ...process.argv.slice(2),
]);
const report = readReport(reportFile);
rmSync(folder, { recursive: true });
passed += report.passed;
failed += report.failed;
// Coverage that is too low, or a file that does not load, fails the run without failing a test.
if (report.failed === 0) count("coverage and clean end", ok);

process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

function readReport(file: string): { readonly passed: number; readonly failed: number } {
  const read: unknown = JSON.parse(readFileSync(file, "utf8"));
  const number = (key: string): number => {
    const value =
      typeof read === "object" && read !== null ? Object.entries(read).find(([name]) => name === key)?.[1] : 0;
    return typeof value === "number" ? value : 0;
  };
  return { passed: number("numPassedTests"), failed: number("numFailedTests") };
}
