import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonPatch } from "../protocol/index.ts";
import { applyPatch } from "./apply-patch.ts";
import { foldPatches } from "./compact-patches.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

const path = fc.constantFrom("", "/a", "/b", "/a/c", "/list", "/list/0", "/list/-");
const value = fc.constantFrom<unknown>(1, null, {}, { c: 2 }, [1, 2]);
const operation = fc.oneof(
  fc.record({ op: fc.constantFrom("add", "replace", "test"), path, value }),
  fc.record({ op: fc.constant("remove"), path }),
  fc.record({ op: fc.constantFrom("move", "copy"), from: path, path }),
) as fc.Arbitrary<JsonPatch[number]>;
const patches = fc.array(fc.array(operation, { maxLength: 3 }), { maxLength: 12, size: "max" });

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

test.each([
  ["any value", () => true],
  ["objects only", isObject],
])("many patches make what they make one by one: %s", (_, accepts) => {
  const check = (base: unknown, many: readonly JsonPatch[]): void => {
    const wanted = { value: base, last: -1 };
    for (const [index, patch] of many.entries()) {
      const result = applyPatch(wanted.value, patch);
      if (result.ok && accepts(result.value)) Object.assign(wanted, { value: result.value, last: index });
    }
    expect(foldPatches(base, many, accepts)).toEqual(wanted);
  };
  const bases = fc.constantFrom({}, { a: { c: 1 }, list: [0] });
  fc.assert(fc.property(bases, patches, check), { numRuns: Math.ceil(5000 * SCALE) });
});

test("a long list of patches costs each once, also where many do not apply", () => {
  const add: JsonPatch = [{ op: "replace", path: "/n", value: 1 }];
  const fail: JsonPatch = [{ op: "remove", path: "/none" }];
  const many = Array.from({ length: 20_000 }, (_, index) => (index % 2 === 0 ? add : fail));
  expect(foldPatches({ n: 0 }, many)).toEqual({ value: { n: 1 }, last: 19_998 });
});
