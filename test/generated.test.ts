/** Generated sources are what the generator writes now: whoever changes a definition has to run it. */
import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { generatedFiles } from "../scripts/generate/generated-files.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FOLDER = "src/protocol/generated";

describe("generated files", () => {
  it.each(generatedFiles().map(({ path, text }) => [path, text] as const))(
    "%s is not stale: `npm run generate` would write the same",
    (path, text) => {
      expect(readFileSync(join(ROOT, path), "utf8") === text).toBe(true);
    },
  );

  it("are all that their folder holds, each with a line that says where it comes from", () => {
    const written = generatedFiles().filter(({ path }) => path.startsWith(FOLDER));
    expect(readdirSync(join(ROOT, FOLDER)).toSorted()).toEqual(written.map(({ path }) => basename(path)).toSorted());
    for (const { text } of written) expect(text.split("\n", 1)[0]).toContain("npm run generate");
  });
});
