import fc from "fast-check";
import { expect, test } from "vitest";
import { splitLines } from "./split-lines.ts";

async function linesOf(chunks: Iterable<Uint8Array>, maxLineBytes?: number): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of splitLines(chunks, maxLineBytes)) lines.push(line);
  return lines;
}

test("lines are the same however their bytes are cut", async () => {
  const text = fc.string({ unit: "grapheme" }).map((line) => line.replaceAll(/[\n\ufeff]/g, ""));
  const property = fc.asyncProperty(fc.array(text), fc.array(fc.integer({ min: 1, max: 9 })), async (lines, cuts) => {
    const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) {
      const size = cuts[chunks.length % cuts.length] ?? 7;
      chunks.push(bytes.subarray(at, at + size));
      at += size;
    }
    expect(await linesOf(chunks)).toEqual(lines);
  });
  await fc.assert(property, { numRuns: 300 });
});

test("the last line may lack its end", async () => {
  expect(await linesOf([new TextEncoder().encode("a\n\nb")])).toEqual(["a", "", "b"]);
  expect(await linesOf([])).toEqual([]);
});

test("bytes that are not UTF-8 are found on their line", async () => {
  const chunks = [new Uint8Array([97, 10, 98, 10, 0xc3]), new Uint8Array([10, 99])];
  const refusal = { code: "import-invalid", details: { line: 3, problem: "is not UTF-8" } };
  await expect(linesOf(chunks)).rejects.toMatchObject(refusal);
  await expect(linesOf([new Uint8Array([97, 10, 0xf0, 0x9f])])).rejects.toMatchObject({ details: { line: 2 } });
});

test("a line that is too long is refused before it is held", async () => {
  let asked = 0;
  function* endless(): Generator<Uint8Array> {
    yield new Uint8Array([97, 10]);
    for (;;) {
      asked += 1;
      yield new Uint8Array(1000).fill(97);
    }
  }
  await expect(linesOf(endless(), 10_000)).rejects.toMatchObject({ code: "import-invalid", details: { line: 2 } });
  expect(asked).toBe(11);
  expect(await linesOf([new Uint8Array(10).fill(97)], 10)).toEqual(["aaaaaaaaaa"]);
});
