/** What a stranger reads first is there, short, and true. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const read = (file: string): string => readFileSync(file, "utf8");
const scripts = (JSON.parse(read("package.json")) as { scripts: Record<string, string> }).scripts;

describe("README", () => {
  const readme = read("README.md");

  it("is read in two minutes", () => {
    expect(readme.split("\n").length).toBeLessThanOrEqual(120);
  });

  it("names the two commands", () => {
    expect(readme).toContain("npm ci && npm start");
    expect(readme).toContain("npm ci && npm test");
  });
});

/** What stands behind the `#` for a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");

const anchorsIn = (page: string): Set<string> =>
  new Set([...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading)));

describe("every page", () => {
  const nested = ["docs", "examples"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)),
  );
  const pages = [...readdirSync("."), ...nested].filter((file) => file.endsWith(".md"));
  const prose = new Map(pages.map((page) => [page, read(page).replaceAll(/^```.*?^```$|`[^`\n]*`/gms, "")]));

  it("links only to what is there", () => {
    const links = [...prose].flatMap(([page, text]) =>
      [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target = ""]) => ({ page, target })),
    );
    expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/quick-start.md", "docs/recipes.md"]));
    expect(links.length).toBeGreaterThan(40);
    const broken = links.filter(({ page, target }) => {
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? page : join(dirname(page), path);
      return !existsSync(file) || (anchor !== undefined && !anchorsIn(file).has(anchor));
    });
    expect(broken).toEqual([]);
  });

  it("of docs/ that is written by hand can be reached from the README", () => {
    const written = pages.filter((page) => /^docs\/[^/]+\.md$/.test(page));
    expect(written.filter((page) => !prose.get("README.md")?.includes(`](${page})`))).toEqual([]);
  });
});

describe("the commands", () => {
  it("npm start serves the sample agents, npm test runs everything", () => {
    expect(scripts.start).toContain("serve examples/");
    expect(scripts.test).toBe("node scripts/test.ts");
    expect(scripts.prepare).toBe(scripts.build);
  });

  it("npm test checks build, types, lint, format and generated sources, and ends in one line of figures", () => {
    const source = read("scripts/test.ts");
    for (const part of ['"build"', '"types"', '"lint"', '"format"', '"generated sources"', '"--coverage"']) {
      expect(source).toContain(part);
    }
    expect(source).toContain("${passed} passed, ${failed} failed");
  });

  it("CI runs exactly the command of the README", () => {
    const lines = read(".ci/run").split("\n");
    expect(lines.filter((line) => line.startsWith("npm"))).toEqual(["npm ci", "npm test"]);
  });

  it("coverage below the line fails the test run", () => {
    expect(read("vitest.config.ts")).toMatch(/lines: 80,\s+"src\/protocol\/\*\*": \{ lines: 90 \}/);
  });

  it("the licence is there", () => {
    expect(read("LICENSE")).toMatch(/^MIT License/);
  });
});
