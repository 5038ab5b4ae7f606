import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    tsconfigPaths: true,
  },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: ["test/unpack-browser.ts"],
    setupFiles: ["test/seed.ts"],
    // Two also on two cores: much of a test's time is spent waiting for other processes.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A second, as by default, is less than a busy machine may stand still.
    expect: { poll: { timeout: 20_000 } },
    coverage: {
      provider: "v8",
      include: ["src/**/*.{ts,tsx}"],
      exclude: ["src/**/*.test.ts", "src/**/*.test-d.ts", "src/protocol/definition/**"],
      reporter: ["text-summary", "json-summary"],
      thresholds: {
        lines: 80,
        "src/protocol/**": { lines: 90 },
        "src/store/**": { lines: 90 },
        "src/stream/**": { lines: 90 },
      },
    },
  },
});
