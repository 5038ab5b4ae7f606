/**
 * Builds the inspector into dist/inspector: everything that the page at `/` loads, under names that change with what is in it.
 * It is built from the package's own entries in dist/, as anybody's app would be; `node scripts/build-inspector.ts` builds it alone.
 */
import { build } from "vite";

/** Builds it. */
export async function buildInspector(): Promise<void> {
  await build({
    configFile: false,
    root: "inspector",
    base: "./",
    logLevel: "warn",
    oxc: { jsx: { runtime: "automatic", development: false } },
    build: {
      outDir: "../dist/inspector",
      emptyOutDir: true,
      target: "es2023",
      // Files of their own only: the page may not run or load anything that stands in it.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      sourcemap: false,
      reportCompressedSize: false,
      rolldownOptions: {
        // Nothing is rendered on a server here.
        checks: { moduleLevelDirective: false },
      },
    },
  });
}

if (import.meta.main) await buildInspector();
