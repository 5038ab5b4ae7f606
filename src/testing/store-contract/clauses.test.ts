/** The contract in code, the contract in words and the kit name the same clauses. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CONTRACT_CASES } from "./store-contract.ts";

const clausesIn = (text: string): readonly string[] =>
  [...new Set(text.match(/\bSTORE-[A-Z]+-\d+\b/g) ?? [])].toSorted();

const promised = (readFileSync("src/store/store.ts", "utf8").match(/INVARIANT: [^]*?\(STORE-[A-Z]+-\d+\)/g) ?? []).join(
  "\n",
);
const written = readFileSync("PROTOCOL.md", "utf8").match(/^- \*\*STORE-[A-Z]+-\d+\*\*/gm) ?? [];

describe("clauses of the store", () => {
  test("are promised in store.ts and written in PROTOCOL.md, the same ones", () => {
    expect(clausesIn(promised).length).toBeGreaterThan(25);
    expect(clausesIn(promised)).toEqual(clausesIn(written.join("\n")));
  });

  test("have each a case in the kit, and the kit has no other", () => {
    expect(clausesIn(CONTRACT_CASES.map(({ clause }) => clause).join("\n"))).toEqual(clausesIn(written.join("\n")));
  });

  test("stand in front of the title of each case, and no two titles are the same", () => {
    const titles = CONTRACT_CASES.map(({ title }) => title);
    expect(titles.filter((title) => !/^STORE-[A-Z]+-\d+: /.test(title))).toEqual([]);
    expect(new Set(titles).size).toBe(titles.length);
  });
});
