/** PROTOCOL.md and the tests name the same clauses: none unproved, none unwritten. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const CLAUSE = /\b(?:PROTO|HTTP|WS|SES|STORE)-[A-Z]+-\d+\b/g;

const written = [...readFileSync("PROTOCOL.md", "utf8").matchAll(/^- \*\*([A-Z-]+\d+)\*\*/gm)].map(
  ([, id]) => id ?? "",
);
const cited = new Map<string, string[]>();
// Cases of the store's contract kit are run by the tests of each store, under the titles that they have in the kit.
for (const file of globSync(["src/**/*.test.ts", "src/testing/store-contract/*-cases.ts", "test/**/*.test.ts"])) {
  for (const [id] of readFileSync(file, "utf8").matchAll(CLAUSE)) cited.set(id, [...(cited.get(id) ?? []), file]);
}

describe("PROTOCOL.md", () => {
  it("numbers every clause once", () => {
    expect(written.length).toBeGreaterThan(30);
    expect(new Set(written).size).toBe(written.length);
  });

  it.each(written)("%s is cited by a test", (id) => {
    expect(cited.get(id)).toBeDefined();
  });

  it("has every clause that a test cites", () => {
    expect([...cited.keys()].filter((id) => !written.includes(id))).toEqual([]);
  });
});
