/** What a page loads: no Node module, nothing that a content security policy forbids, and not much of it. */
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";

const all = (entries: readonly string[]): string => entries.map((entry) => `export * from "./${entry}";`).join("\n");

async function bundle(
  entries: readonly string[] | string,
): Promise<{ readonly text: string; readonly gzipped: number; readonly inputs: readonly string[] }> {
  const result = await build({
    stdin: {
      contents: typeof entries === "string" ? entries : all(entries),
      resolveDir: ".",
      loader: "ts",
    },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    write: false,
    metafile: true,
    logLevel: "silent",
    external: ["react", "react/*"],
  });
  const text = result.outputFiles[0]?.text ?? "";
  return { text, gzipped: gzipSync(text, { level: 9 }).length, inputs: Object.keys(result.metafile.inputs) };
}

describe("heddle/protocol", () => {
  it("stays under 10 kB gzipped", async () => {
    const { gzipped } = await bundle(["src/protocol/index.ts"]);
    expect(gzipped).toBeLessThan(10_000);
    expect(gzipped).toBeGreaterThan(3_000);
  });

  it("leaves protobuf, JSON Schemas and dialects to subpaths of their own", async () => {
    const { inputs } = await bundle(["src/protocol/index.ts"]);
    expect(inputs.filter((input) => /binary|schema|dialects|session|protobuf/.test(input))).toEqual([]);
  });
});

describe("heddle/stream", () => {
  it("adds at most 12 kB gzipped to heddle/protocol", async () => {
    const both = await bundle(["src/protocol/index.ts", "src/stream/index.ts"]);
    const protocol = await bundle(["src/protocol/index.ts"]);
    expect(both.gzipped - protocol.gzipped).toBeLessThan(12_000);
    expect(both.gzipped - protocol.gzipped).toBeGreaterThan(4_000);
  });

  it("leaves at most 15 kB of both to a client: read, judge, expand, verify, fold, patch", async () => {
    const { gzipped } = await bundle(`
      export { HeddleError, decodeSse, parseEvent } from "./src/protocol/index.ts";
      export { applyPatch, createExpandState, createReduceState, createVerifyState, expand, reduce, verify, verifyEnd, view }
        from "./src/stream/index.ts";`);
    expect(gzipped).toBeLessThanOrEqual(15_000);
  });
});

describe("heddle/react", () => {
  it("adds at most 8 kB gzipped to heddle/client, React itself apart", async () => {
    const both = await bundle(["src/client/index.ts", "src/client/react/index.ts"]);
    const client = await bundle(["src/client/index.ts"]);
    expect(both.gzipped - client.gzipped).toBeLessThan(8_000);
    expect(both.gzipped - client.gzipped).toBeGreaterThan(2_000);
    expect(both.inputs.filter((input) => input.includes("node_modules/react"))).toEqual([]);
  });
});

describe("heddle/client", () => {
  it("is at most 20 kB gzipped, with all that it needs", async () => {
    const { gzipped } = await bundle(["src/client/index.ts"]);
    expect(gzipped).toBeLessThanOrEqual(20_000);
    expect(gzipped).toBeGreaterThan(10_000);
  });
});

describe.each([
  "src/client/index.ts",
  "src/index.ts",
  "src/client/react/index.ts",
  "src/stream/index.ts",
  "src/stream/lineage/index.ts",
  "src/stream/repair/index.ts",
  "src/protocol/index.ts",
  "src/protocol/binary/index.ts",
  "src/protocol/dialects/index.ts",
  "src/protocol/schema.ts",
  "src/protocol/session/index.ts",
])("%s", (entry) => {
  it("needs no Node module and no eval", async () => {
    const { text } = await bundle([entry]);
    expect(text).not.toMatch(/["']node:/);
    expect(text).not.toMatch(/\beval\(|new Function\b|\bFunction\(/);
  });
});

it("would notice a Node module", async () => {
  await expect(bundle(["src/cli/main.ts"])).rejects.toThrow(/node:/);
});
