/**
 * `npm run build`: compiles the package into dist/, makes few files of what clients load, which start several times quicker, and
 * builds the inspector of them.
 *
 * Rooms import each other only through the entries that are joined here, so there is still one of everything, the error class
 * among them. What runs on servers stays as it is compiled: some of it is started by the address of its file.
 */
import { spawnSync } from "node:child_process";
import { globSync, readFileSync, rmSync } from "node:fs";
import { normalize } from "node:path";
import { build } from "esbuild";
import { buildInspector } from "./build-inspector.ts";

const CLIENT_ROOMS = /^\.\/dist\/(?:index|(?:protocol|stream|client)\/.*)\.js$/;

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
process.exitCode = status ?? 1;
if (status === 0) {
  await joinEntries();
  await buildInspector();
}

async function joinEntries(): Promise<void> {
  const { exports }: { readonly exports: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync("package.json", "utf8"),
  );
  const entries = Object.values(exports).filter((path) => CLIENT_ROOMS.test(path));
  await build({
    entryPoints: entries,
    outdir: "dist",
    outbase: "dist",
    chunkNames: "chunks/[name]-[hash]",
    allowOverwrite: true,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "neutral",
    target: "es2024",
    packages: "external",
    sourcemap: true,
    logLevel: "warning",
  });
  // What they were made of is in them now.
  const kept = new Set(entries.map((path) => normalize(path)));
  for (const path of globSync("dist/{protocol,stream,client}/**/*.js")) {
    if (!kept.has(path)) for (const file of [path, `${path}.map`]) rmSync(file);
  }
}
