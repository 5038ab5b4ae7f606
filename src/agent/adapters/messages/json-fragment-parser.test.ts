import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JsonFragmentParser } from "./index.ts";
import type { JsonFragment } from "./index.ts";

const RUNS = { numRuns: Math.ceil(500 * Number(process.env["HEDDLE_TEST_SCALE"] ?? 1)) };

function read(...pieces: readonly string[]): readonly JsonFragment[] {
  const parser = new JsonFragmentParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

/** The value that fragments describe: containers, and the complete values in them. */
function rebuild(fragments: readonly JsonFragment[]): unknown {
  const root: Record<string, unknown> = {};
  const at = (path: string): [object, string] => {
    const tokens = path.split("/").map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
    let parent: object = root;
    for (const token of tokens.slice(0, -1)) parent = Object(Reflect.get(parent, token));
    return [parent, tokens.at(-1) ?? ""];
  };
  for (const { kind, path, value } of fragments) {
    const [parent, token] = at(path);
    const set = (made: unknown): void =>
      void Object.defineProperty(parent, token, { value: made, enumerable: true, configurable: true, writable: true });
    if (kind === "object-start") set({});
    else if (kind === "array-start") set([]);
    else if (kind === "null") set(null);
    else if (kind === "string-end" || kind === "number" || kind === "boolean") set(value);
  }
  return root[""];
}

describe("JSON fragments", () => {
  test("say the same value, wherever the text is cut", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue())),
        fc.constantFrom(undefined, 2),
        fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
        (value, indent, sizes) => {
          const text = JSON.stringify(value, null, indent);
          const pieces: string[] = [];
          for (let from = 0; from < text.length;) {
            const size = Number(sizes.next().value);
            pieces.push(text.slice(from, from + size));
            from += size;
          }
          expect(rebuild(read(...pieces))).toEqual(JSON.parse(text));
        },
      ),
      RUNS,
    );
  });

  test("the parts of a string are the string, cut in the middle of an escape too", () => {
    const text = String.raw`["a\"b\n\u00e9\ud83d\ude00/\/"]`;
    for (let cut = 1; cut < text.length; cut++) {
      const fragments = read(text.slice(0, cut), text.slice(cut));
      const parts = fragments.flatMap(({ kind, value }) => (kind === "string-part" ? [value] : []));
      expect(parts.join("")).toBe('a"b\n\u00e9\ud83d\ude00//');
      expect(fragments.find(({ kind }) => kind === "string-end")?.value).toBe('a"b\n\u00e9\ud83d\ude00//');
    }
  });

  test("keys with slashes and tildes are escaped in the path", () => {
    expect(read('{"a/b~c":1}')).toContainEqual({ kind: "number", path: "/a~1b~0c", value: 1 });
  });

  test.each(["[nope]", "{1:2}", "{]", "}", '{"a" 1 2}', "[?]", "[1e]"])(
    "text that is no JSON is no error, and nothing is said after it: %s",
    (text) => {
      const parser = new JsonFragmentParser();
      parser.push(text);
      expect(parser.push('{"a":1}')).toEqual([]);
    },
  );
});
