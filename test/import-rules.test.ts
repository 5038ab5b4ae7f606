/** The linter keeps the layout of DESIGN 4: a planted forbidden import is found, an allowed one is not. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";

const REFUSED = [
  ["src/protocol", "../stream/index.ts"],
  ["src/protocol/binary", "../../store/index.ts"],
  ["src/stream", "../server/index.ts"],
  ["src/stream", "../protocol/enforce.ts"],
  ["src/store", "../server/index.ts"],
  ["src/agent", "../server/index.ts"],
  ["src/client", "../server/index.ts"],
  ["src/client", "../store/index.ts"],
  ["src/client", "./react/index.ts"],
  ["src/client", "react"],
  ["src/client/react", "../thread.ts"],
  ["src/client/react", "../../server/index.ts"],
  ["src/client/react", "../../stream/reduce.ts"],
  ["src/client/react", "node:fs"],
  ["src/server", "../client/index.ts"],
  ["src/server", "../store/memory-log.ts"],
  ["src/server/fastify", "../../cli/main.ts"],
  ["src/server", "../testing/index.ts"],
  ["src/testing", "../cli/main.ts"],
  ["src/protocol", "node:fs"],
  ["src/stream", "node:fs"],
  ["src/client", "node:fs"],
  ["src/store", "node:fs"],
  ["inspector/pages/talk", "../../../src/client/index.ts"],
  ["inspector/ui", "../../dist/client/index.js"],
  ["inspector", "node:fs"],
] as const;

const FINE = [
  ["src/stream", "../protocol/index.ts"],
  ["src/store", "../stream/index.ts"],
  ["src/server", "../protocol/binary/index.ts"],
  ["src/server/fastify", "../index.ts"],
  ["src/server/fastify", "node:http"],
  ["src/store/sqlite", "node:sqlite"],
  ["src/cli", "../testing/index.ts"],
  ["src/protocol/binary", "../errors.ts"],
  ["src/client/react", "../index.ts"],
  ["src/client/react", "../../protocol/index.ts"],
  ["src/client/react", "./other.ts"],
  ["src/client/react", "react"],
  ["inspector/pages/talk", "heddle/client"],
  ["inspector/pages/talk", "../../ui/button.tsx"],
] as const;

const BARE = [
  "export const other = 1;\n",
  "/** A thing. */\nexport interface Thing {\n  readonly bare: string;\n}\n",
  "/** A thing. */\nexport class Thing {\n  method(): void {}\n}\n",
  "/** Not here. */\nconst one = 1;\nexport const other = one;\n",
];

const DOCUMENTED =
  "/** A thing. */\nexport interface Thing {\n  /** What it is called. */\n  readonly name: string;\n}\n";

const using = (specifier: string): string =>
  `import { thing } from "${specifier}";\n\n/** A thing. */\nexport const other: unknown = thing;\n`;

/** Where a case is planted: one file each, so that one run of the linter judges them all. */
const refusedFile = (index: number): string => `${REFUSED[index]?.[0]}/refused-${index}.ts`;
const fineFile = (index: number): string => `${FINE[index]?.[0]}/fine-${index}.ts`;
const bareFile = (index: number): string => `src/protocol/bare-${index}.ts`;
const documentedFile = "src/protocol/documented.ts";

/** Rules that each planted file broke. */
const broken = new Map<string, string[]>();
let judged = 0;

beforeAll(() => {
  const root = mkdtempSync(join(tmpdir(), "heddle-lint-"));
  const plant = (file: string, source: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), source);
  };
  cpSync(".oxlintrc.json", join(root, ".oxlintrc.json"));
  cpSync("lint", join(root, "lint"), { recursive: true });
  symlinkSync(resolve("node_modules"), join(root, "node_modules"));
  REFUSED.forEach(([, specifier], index) => plant(refusedFile(index), using(specifier)));
  FINE.forEach(([, specifier], index) => plant(fineFile(index), using(specifier)));
  BARE.forEach((source, index) => plant(bareFile(index), source));
  plant(documentedFile, DOCUMENTED);
  const { stdout } = spawnSync("oxlint", ["--format=json", "src", "inspector"], { cwd: root, encoding: "utf8" });
  const report = JSON.parse(stdout) as { diagnostics: { code: string; filename: string }[]; number_of_files: number };
  judged = report.number_of_files;
  for (const { code, filename } of report.diagnostics) broken.set(filename, [...(broken.get(filename) ?? []), code]);
  rmSync(root, { recursive: true });
});

it("all planted files are judged", () => {
  expect(judged).toBe(REFUSED.length + FINE.length + BARE.length + 1);
});

describe("imports", () => {
  it.each(REFUSED.map(([room, specifier], index) => ({ room, specifier, index })))(
    "of $room from $specifier are refused",
    ({ index }) => {
      expect(broken.get(refusedFile(index))?.join()).toMatch(/no-restricted-imports|no-nodejs-modules/);
    },
  );

  it.each(FINE.map(([room, specifier], index) => ({ room, specifier, index })))(
    "of $room from $specifier are fine",
    ({ index }) => {
      expect(broken.get(fineFile(index))).toBeUndefined();
    },
  );
});

describe("doc comments", () => {
  it.each(BARE.map((source, index) => ({ source, index })))("are demanded of $source", ({ index }) => {
    expect(broken.get(bareFile(index))?.join()).toContain("exported-docs");
  });

  it("suffice", () => {
    expect(broken.get(documentedFile)).toBeUndefined();
  });
});
