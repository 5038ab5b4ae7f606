/** What a stranger reads first is there, short, and true. */
import { existsSync, readFileSync } from "node:fs";
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

  it("links only to what is there", () => {
    const links = [...readme.matchAll(/\]\((?!https?:|#)([^)]+)\)/g)].map(([, target]) => target ?? "");
    expect(links.length).toBeGreaterThan(3);
    expect(links.filter((link) => !existsSync(link))).toEqual([]);
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
