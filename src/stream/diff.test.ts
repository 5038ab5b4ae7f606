import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyPatch } from "./apply-patch.ts";
import { diff } from "./diff.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const RUNS = { numRuns: Math.ceil(5_000 * SCALE) };

const PADDING = "so long a text that nobody would rather send its container again than a patch";

type Row = readonly [what: string, before: unknown, after: unknown, patch: readonly unknown[]];

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe("a patch that a reader would write", () => {
  const rows: readonly Row[] = [
    ["equal scalars", 1, 1, []],
    ["equal documents", { a: [{ b: null }] }, { a: [{ b: null }] }, []],
    ["another order of keys", { a: 1, b: [2] }, { b: [2], a: 1 }, []],
    ["zeros", { a: -0 }, { a: 0 }, []],
    ["a scalar for another", "a", "b", [{ op: "replace", path: "", value: "b" }]],
    ["null for an object", {}, null, [{ op: "replace", path: "", value: null }]],
    ["a list for an object", {}, [], [{ op: "replace", path: "", value: [] }]],
    [
      "an object for a list",
      { a: [PADDING] },
      { a: { 0: PADDING } },
      [{ op: "replace", path: "/a", value: { 0: PADDING } }],
    ],
    ["a leaf", { a: { b: 1 } }, { a: { b: 2 } }, [{ op: "replace", path: "/a/b", value: 2 }]],
    [
      "text that grew",
      { a: PADDING, b: "He" },
      { a: PADDING, b: "Hello" },
      [{ op: "replace", path: "/b", value: "Hello" }],
    ],
    ["a new key", { a: PADDING }, { a: PADDING, b: {} }, [{ op: "add", path: "/b", value: {} }]],
    ["a lost key", { a: PADDING, b: {} }, { a: PADDING }, [{ op: "remove", path: "/b" }]],
    [
      "a key to escape",
      { p: PADDING, "a/~b": 1 },
      { p: PADDING, "a/~b": 2 },
      [{ op: "replace", path: "/a~1~0b", value: 2 }],
    ],
    [
      "an empty key",
      { p: PADDING, "": { "": 1 } },
      { p: PADDING, "": { "": 2 } },
      [{ op: "replace", path: "//", value: 2 }],
    ],
    ["null that came", { p: PADDING }, { p: PADDING, a: null }, [{ op: "add", path: "/a", value: null }]],
    ["an undefined member is none", { a: undefined, b: 1 }, { b: 1, c: undefined }, []],
    [
      "a member that became undefined",
      { p: PADDING, a: 1 },
      { p: PADDING, a: undefined },
      [{ op: "remove", path: "/a" }],
    ],
    [
      "a member that was undefined",
      { p: PADDING, a: undefined },
      { p: PADDING, a: 1 },
      [{ op: "add", path: "/a", value: 1 }],
    ],
    ["an inherited name", { p: PADDING }, { p: PADDING, toString: 1 }, [{ op: "add", path: "/toString", value: 1 }]],
    ["an element in front of 500", numbers(500), [-1, ...numbers(500)], [{ op: "add", path: "/0", value: -1 }]],
    ["an element behind 500", numbers(500), numbers(501), [{ op: "add", path: "/500", value: 500 }]],
    ["the first of 500 gone", numbers(500), numbers(500).slice(1), [{ op: "remove", path: "/0" }]],
    ["an element amid equal ones", [PADDING, 1, 1, 1], [PADDING, 1, 1, 1, 1], [{ op: "add", path: "/4", value: 1 }]],
    [
      "both ends of 500, and one within",
      numbers(500),
      [-1, ...numbers(250), "in", ...numbers(499).slice(251)],
      [
        { op: "add", path: "/0", value: -1 },
        { op: "replace", path: "/251", value: "in" },
        { op: "remove", path: "/500" },
      ],
    ],
    [
      "a leaf within an element of a list that shifts",
      {
        rows: [
          { id: 1, text: PADDING, done: false },
          { id: 2, text: PADDING },
        ],
      },
      { rows: [{ id: 0 }, { id: 2, text: PADDING }, { id: 1, text: PADDING, done: true }] },
      [
        { op: "replace", path: "/rows/0", value: { id: 0 } },
        { op: "add", path: "/rows/2", value: { id: 1, text: PADDING, done: true } },
      ],
    ],
    [
      "leaves within elements",
      [
        { id: 1, text: PADDING, done: false },
        { id: 2, text: PADDING, done: false },
      ],
      [
        { id: 1, text: PADDING, done: true },
        { id: 2, text: PADDING, done: true },
      ],
      [
        { op: "replace", path: "/0/done", value: true },
        { op: "replace", path: "/1/done", value: true },
      ],
    ],
    [
      "two elements of 3,000, too many to align: by place",
      numbers(3_000),
      numbers(3_000).with(10, -1).with(2_990, -1),
      [
        { op: "replace", path: "/10", value: -1 },
        { op: "replace", path: "/2990", value: -1 },
      ],
    ],
    [
      "a container that is shorter than its changes",
      { p: PADDING, a: { b: 1, c: 2 } },
      { p: PADDING, a: { b: 2, c: 1 } },
      [{ op: "replace", path: "/a", value: { b: 2, c: 1 } }],
    ],
    [
      "a list that is shorter than its changes",
      { p: PADDING, a: [1, 2, 3] },
      { p: PADDING, a: [] },
      [{ op: "replace", path: "/a", value: [] }],
    ],
    ["undefined in a list is null", [PADDING], [PADDING, undefined], [{ op: "add", path: "/1", value: null }]],
  ];
  it.each(rows)("%s", (_, before, after, patch) => {
    expect(diff(before, after)).toEqual(patch);
  });
});

describe("what applyPatch refuses to name", () => {
  const rows = [
    ["changed", '{"a":{"x":1,"__proto__":1}}', '{"a":{"x":1,"__proto__":2}}', ["/a"]],
    ["come", '{"p":1,"a":{"x":1}}', '{"p":1,"a":{"x":1,"__proto__":{}}}', ["/a"]],
    ["gone", '{"p":1,"a":{"x":1,"__proto__":{}}}', '{"p":1,"a":{"x":1}}', ["/a"]],
    ["changed within", '{"__proto__":{"x":{"y":1}}}', '{"__proto__":{"x":{"y":2}}}', [""]],
    ["unchanged", '{"x":1,"__proto__":{"y":1}}', '{"x":2,"__proto__":{"y":1}}', ["/x"]],
  ] as const;
  it.each(rows)("a member __proto__ that is %s", (_, before, after, paths) => {
    const patch = diff(JSON.parse(before), JSON.parse(after));
    expect(patch.map(({ path }) => path)).toEqual(paths);
    const result = applyPatch(JSON.parse(before), patch);
    expect(JSON.stringify(result.ok && result.value)).toBe(after);
  });
});

const nested = (leaf: unknown): unknown => {
  let value = leaf;
  for (let level = 0; level < 10_000; level++) value = level % 2 === 0 ? { a: value } : [value];
  return value;
};

describe("depth", () => {
  it("10,000 levels, equal and not", () => {
    expect(diff(nested(1), nested(1))).toHaveLength(0);
    const patch = diff(nested(1), nested(2));
    expect(patch).toHaveLength(1);
    const result = applyPatch(nested(1), patch);
    expect(result.ok && diff(result.value, nested(2))).toHaveLength(0);
  });
});

/** Documents that resemble each other: few keys, few scalars, and lists that are edited versions of one another. */
const KEYS = ["a", "b", "id", "", "/", "~", "__proto__", "constructor", "0"];
const { value: document } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, 0, 1, 2, "", "text", PADDING),
    tie("list"),
    tie("object"),
  ),
  list: fc.array(tie("value"), { maxLength: 6 }),
  object: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...KEYS), tie("value")), { maxLength: 4, selector: ([key]) => key })
    .map((entries): unknown => Object.fromEntries(entries)),
}));

/** A document and an edited version of it: some values within are replaced, taken out or doubled. */
const edited = fc
  .tuple(document, fc.infiniteStream(fc.nat(19)), fc.infiniteStream(document))
  .map(([before, dice, values]) => {
    const edit = (value: unknown): unknown => {
      const roll = dice.next().value;
      if (roll === 0) return values.next().value;
      if (Array.isArray(value)) {
        const kept = value.filter(() => dice.next().value !== 0).map(edit);
        return dice.next().value < 5
          ? kept.toSpliced(dice.next().value % (kept.length + 1), 0, values.next().value)
          : kept;
      }
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(
        Object.entries(value).flatMap(([key, member]) => (dice.next().value === 0 ? [] : [[key, edit(member)]])),
      );
    };
    return [before, edit(before)] as const;
  });

const pairs = fc.oneof({ weight: 3, arbitrary: edited }, { weight: 1, arbitrary: fc.tuple(document, document) });

/** JSON with its keys in order, to compare by text what has hostile keys. */
const sortedText = (value: unknown): string =>
  JSON.stringify(value, (_, held: unknown) =>
    typeof held === "object" && held !== null && !Array.isArray(held)
      ? Object.fromEntries(Object.entries(held).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : held,
  );

interface Element {
  readonly id: number;
}

describe("properties", () => {
  it("applied to the one, the patch makes the other, and is never longer than a replacement", () => {
    let partial = 0;
    fc.assert(
      fc.property(pairs, ([before, after]) => {
        const texts = JSON.stringify([before, after]);
        const patch = diff(before, after);
        const result = applyPatch(before, patch);
        expect(sortedText(result.ok && result)).toBe(sortedText({ ok: true, value: after }));
        const replacement = [{ op: "replace", path: "", value: after }];
        expect(JSON.stringify(patch).length).toBeLessThanOrEqual(JSON.stringify(replacement).length);
        expect(JSON.stringify([before, after])).toBe(texts);
        partial += Number(patch.length > 0 && patch[0]?.path !== "");
      }),
      RUNS,
    );
    expect(partial / RUNS.numRuns).toBeGreaterThan(0.2);
  });

  it("is empty for equal values, and only for them", () => {
    fc.assert(
      fc.property(pairs, ([before, after]) => {
        expect(diff(before, structuredClone(before))).toHaveLength(0);
        expect(diff(before, after).length === 0).toBe(sortedText(before) === sortedText(after));
      }),
      RUNS,
    );
  });

  it("lists: an insertion or a removal for each element that is not common", () => {
    const element = fc.nat(5).map((id) => ({ id, text: PADDING }));
    fc.assert(
      fc.property(fc.array(element, { maxLength: 12 }), fc.array(element, { maxLength: 12 }), (before, after) => {
        const changes = diff(before, after).length;
        const common = commonLength(before, after);
        // A removal and an insertion in the same place are one operation.
        expect(changes).toBeLessThanOrEqual(before.length + after.length - 2 * common);
      }),
      RUNS,
    );
  });
});

/** Length of a longest common subsequence, as the textbook has it. */
function commonLength(left: readonly Element[], right: readonly Element[]): number {
  const rows = left.reduce<readonly number[]>(
    (above, one) => {
      const row = [0];
      right.forEach((other, index) => {
        row.push(one.id === other.id ? (above[index] ?? 0) + 1 : Math.max(above[index + 1] ?? 0, row[index] ?? 0));
      });
      return row;
    },
    Array.from({ length: right.length + 1 }, () => 0),
  );
  return rows.at(-1) ?? 0;
}
