import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { main } from "./main.ts";

let folder: string;
let printed: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "heddle-conformance-"));
  printed = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void printed.push(line));
  vi.spyOn(console, "error").mockImplementation((line: string) => void printed.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const run = [
  { type: "RUN_STARTED", threadId: "t", runId: "r", protocolVersion: "1.1" },
  { type: "RUN_FINISHED", threadId: "t", runId: "r" },
];
const fixture = (name: string, content: unknown): void =>
  writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));

describe("heddle conformance", () => {
  it("says how many passed, with 1.1 as the declared version", async () => {
    fixture("quiet.json", { stream: run, expect: { outcome: "completed", noWarnings: true } });
    expect(await main(["conformance", folder], {})).toBe(0);
    expect(printed).toEqual(["1 passed, 0 failed"]);
  });

  it("prints one line for each difference, and ends with 1", async () => {
    fixture("a-good.json", { stream: run, expect: { outcome: "completed" } });
    fixture("b-wrong.json", { stream: run, expect: { outcome: "failed", messageCount: 3 } });
    fixture("c-no-json.json", "{");
    fixture("d-no-fixture.json", {});
    expect(await main(["conformance", folder], {})).toBe(1);
    expect(printed).toHaveLength(5);
    expect(printed[0]).toBe('b-wrong.json: outcome: expected "failed", got completed');
    expect(printed[2]).toMatch(/^c-no-json\.json: cannot be run/);
    expect(printed[3]).toMatch(/^d-no-fixture\.json: is no fixture/);
    expect(printed[4]).toBe("1 passed, 3 failed");
  });

  it("prints JSON where it is asked to", async () => {
    fixture("quiet.json", { stream: run, expect: {} });
    expect(await main(["conformance", folder, "--json"], {})).toBe(0);
    expect(JSON.parse(printed.join("\n"))).toEqual({
      passed: 1,
      failed: 0,
      results: [{ file: "quiet.json", problems: [] }],
    });
  });

  it.each([[[]], [["a", "b"]], [["nowhere"]], [["--strange"]]])("takes %j for misuse", async (words) => {
    expect(await main(["conformance", ...words], {})).toBe(2);
    expect(printed.length).toBeGreaterThan(0);
  });

  it("refuses a folder without fixtures, and shows its help", async () => {
    expect(await main(["conformance", folder], {})).toBe(2);
    expect(await main(["conformance", "--help"], {})).toBe(0);
    expect(printed.at(-1)).toContain("Usage: heddle conformance");
  });
});
