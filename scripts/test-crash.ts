/**
 * `npm run test:crash`: `kill -9` at 2,000 moments, and ten times the work of two processes on one database. Set
 * HEDDLE_TEST_SCALE for another size, and HEDDLE_TEST_SEED to see a failure again.
 */
import { spawnSync } from "node:child_process";

const env = { HEDDLE_TEST_SCALE: "10", ...process.env };
const files = [
  "test/store-crash.test.ts",
  "test/server-crash.test.ts",
  "test/store-two-processes.test.ts",
  "test/instances-crash.test.ts",
];
process.exitCode = spawnSync("vitest", ["run", ...files], { stdio: "inherit", env }).status ?? 1;
