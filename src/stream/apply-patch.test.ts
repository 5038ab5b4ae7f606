import { describe, expect, it } from "vitest";
import type { JsonPatch } from "../protocol/index.ts";
import { type PatchFailure, PATCH_FAILURES, applyPatch } from "./apply-patch.ts";

/** A patch as it may come from outside, where no type has judged it. */
const untyped = (patch: unknown): JsonPatch => patch as JsonPatch;

const applied = (document: unknown, patch: unknown): unknown => {
  const result = applyPatch(document, untyped(patch));
  if (!result.ok) throw new Error(`does not apply: ${JSON.stringify(result.problem)}`);
  return result.value;
};

type Row = readonly [what: string, document: unknown, patch: readonly unknown[], result: unknown];

describe("RFC 6902, appendix A", () => {
  const rows: readonly Row[] = [
    ["A.1 a member is added", { foo: "bar" }, [{ op: "add", path: "/baz", value: "qux" }], { baz: "qux", foo: "bar" }],
    ["A.2 an element is added", { foo: [1, 3] }, [{ op: "add", path: "/foo/1", value: 2 }], { foo: [1, 2, 3] }],
    ["A.3 a member is removed", { baz: 1, foo: 2 }, [{ op: "remove", path: "/baz" }], { foo: 2 }],
    ["A.4 an element is removed", { foo: [1, 2, 3] }, [{ op: "remove", path: "/foo/1" }], { foo: [1, 3] }],
    ["A.5 a value is replaced", { baz: 1, foo: 2 }, [{ op: "replace", path: "/baz", value: 3 }], { baz: 3, foo: 2 }],
    [
      "A.6 a value moves to another parent",
      { foo: { bar: "baz", waldo: "fred" }, qux: { corge: "grault" } },
      [{ op: "move", from: "/foo/waldo", path: "/qux/thud" }],
      { foo: { bar: "baz" }, qux: { corge: "grault", thud: "fred" } },
    ],
    ["A.7 an element moves", { a: [1, 2, 3, 4] }, [{ op: "move", from: "/a/1", path: "/a/3" }], { a: [1, 3, 4, 2] }],
    [
      "A.8 tests that hold",
      { baz: "qux", foo: ["a", 2, "c"] },
      [
        { op: "test", path: "/baz", value: "qux" },
        { op: "test", path: "/foo/1", value: 2 },
      ],
      { baz: "qux", foo: ["a", 2, "c"] },
    ],
    ["A.10 an object is added", { a: 1 }, [{ op: "add", path: "/b", value: { c: {} } }], { a: 1, b: { c: {} } }],
    ["A.11 unknown members", { a: 1 }, [{ op: "add", path: "/b", value: 2, xyz: 3 }], { a: 1, b: 2 }],
    ["A.14 escapes", { "/": 9, "~1": 10 }, [{ op: "test", path: "/~01", value: 10 }], { "/": 9, "~1": 10 }],
    ["A.16 a list is appended", { foo: ["x"] }, [{ op: "add", path: "/foo/-", value: ["y"] }], { foo: ["x", ["y"]] }],
  ];
  it.each(rows)("%s", (_, document, patch, result) => {
    expect(applied(document, patch)).toEqual(result);
  });
});

describe("RFC 6901, section 5", () => {
  const document = {
    foo: ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
  };
  const rows: readonly (readonly [string, unknown])[] = [
    ["", document],
    ["/foo", ["bar", "baz"]],
    ["/foo/0", "bar"],
    ["/", 0],
    ["/a~1b", 1],
    ["/c%d", 2],
    ["/e^f", 3],
    ["/g|h", 4],
    ["/i\\j", 5],
    ['/k"l', 6],
    ["/ ", 7],
    ["/m~0n", 8],
  ];
  it.each(rows)("%j", (path, value) => {
    expect(applied(document, [{ op: "test", path, value }])).toBe(document);
    expect(applied(document, [{ op: "copy", from: path, path: "" }])).toEqual(value);
  });
});

describe("what applies", () => {
  const rows: readonly Row[] = [
    ["nothing", { a: 1 }, [], { a: 1 }],
    ["a document of null is replaced", null, [{ op: "replace", path: "", value: 1 }], 1],
    ["a document of null is tested", null, [{ op: "test", path: "", value: null }], null],
    [
      "a number becomes a list",
      5,
      [
        { op: "add", path: "", value: [] },
        { op: "add", path: "/-", value: 1 },
      ],
      [1],
    ],
    ["the document is removed", { a: 1 }, [{ op: "remove", path: "" }], null],
    [
      "a removed document is added",
      { a: 1 },
      [
        { op: "remove", path: "" },
        { op: "add", path: "", value: 2 },
      ],
      2,
    ],
    ["a member moves to the root", { a: { b: 1 } }, [{ op: "move", from: "/a", path: "" }], { b: 1 }],
    ["the document is copied into itself", { a: 1 }, [{ op: "copy", from: "", path: "/b" }], { a: 1, b: { a: 1 } }],
    ["add replaces a member", { a: 1 }, [{ op: "add", path: "/a", value: null }], { a: null }],
    ["null is a value", { a: null }, [{ op: "replace", path: "/a", value: false }], { a: false }],
    ["an index at the end", [1], [{ op: "add", path: "/1", value: 2 }], [1, 2]],
    ["an index at the start", [1], [{ op: "add", path: "/0", value: 2 }], [2, 1]],
    ["digits and a dash are keys of an object", { "01": 1 }, [{ op: "move", from: "/01", path: "/-" }], { "-": 1 }],
    ["length is a key of an object", {}, [{ op: "add", path: "/length", value: 3 }], { length: 3 }],
    ["an empty key", { "": { "": 1 } }, [{ op: "replace", path: "//", value: 2 }], { "": { "": 2 } }],
    ["a move onto itself", { a: [1, 2] }, [{ op: "move", from: "/a/0", path: "/a/0" }], { a: [1, 2] }],
    ["a move to a longer name", { a: 1 }, [{ op: "move", from: "/a", path: "/ab" }], { ab: 1 }],
    [
      "a key order that differs",
      { a: { x: 1, y: [2] } },
      [{ op: "test", path: "/a", value: { y: [2], x: 1 } }],
      { a: { x: 1, y: [2] } },
    ],
    ["numbers by value", [0, 10], [{ op: "test", path: "", value: [-0, 1e1] }], [0, 10]],
    [
      "an absent member and an undefined one",
      { a: {} },
      [{ op: "test", path: "/a", value: { b: undefined } }],
      { a: {} },
    ],
  ];
  it.each(rows)("%s", (_, document, patch, result) => {
    const before = structuredClone(document);
    expect(applied(document, patch)).toEqual(result);
    expect(document).toEqual(before);
  });
});

describe("what does not apply", () => {
  const document = { a: { b: 1 }, list: [1, 2], text: "abc", none: null };
  type Refusal = readonly [reason: PatchFailure, operation: unknown, path?: string];
  const rows: readonly Refusal[] = [
    ["op-unknown", { op: "merge", path: "/a" }],
    ["op-unknown", { path: "/a" }],
    ["op-unknown", { op: "toString", path: "/a" }],
    ["op-unknown", null, "undefined"],
    ["op-unknown", "add", "undefined"],
    ["value-missing", { op: "add", path: "/a" }],
    ["value-missing", { op: "replace", path: "/a" }],
    ["value-missing", { op: "test", path: "/nothing" }],
    ["pointer-invalid", { op: "remove", path: "a" }],
    ["pointer-invalid", { op: "remove", path: "a/b" }],
    ["pointer-invalid", { op: "remove", path: "#/a" }],
    ["pointer-invalid", { op: "remove", path: "/~" }],
    ["pointer-invalid", { op: "remove", path: "/~2" }],
    ["pointer-invalid", { op: "remove", path: "/a~" }],
    ["pointer-invalid", { op: "remove" }, "undefined"],
    ["pointer-invalid", { op: "remove", path: ["a"] }, "a"],
    ["pointer-invalid", { op: "copy", path: "/a" }, "undefined"],
    ["pointer-invalid", { op: "move", path: "/a", from: 7 }, "7"],
    ["pointer-invalid", { op: "move", path: "/a", from: "b" }, "b"],
    ["pointer-invalid", { op: "copy", path: "x", from: "/a" }, "x"],
    ["pointer-invalid", { op: "move", path: 7, from: "/a" }, "7"],
    ["key-refused", { op: "add", path: "/__proto__", value: 1 }],
    ["key-refused", { op: "add", path: "/__proto__/polluted", value: 1 }],
    ["key-refused", { op: "add", path: "/a/__proto__/polluted", value: 1 }],
    ["key-refused", { op: "test", path: "/list/__proto__/length", value: 0 }],
    ["key-refused", { op: "copy", from: "/__proto__", path: "/b" }, "/__proto__"],
    ["parent-missing", { op: "add", path: "/b/c", value: 1 }],
    ["parent-missing", { op: "add", path: "/a/b/c", value: 1 }],
    ["parent-missing", { op: "add", path: "/text/0", value: "x" }],
    ["parent-missing", { op: "test", path: "/text/length", value: 3 }],
    ["parent-missing", { op: "add", path: "/none/x", value: 1 }],
    ["parent-missing", { op: "add", path: "/list/2/x", value: 1 }],
    ["parent-missing", { op: "add", path: "/list/-/x", value: 1 }],
    ["parent-missing", { op: "add", path: "/constructor/prototype/polluted", value: 1 }],
    ["parent-missing", { op: "add", path: "/toString/x", value: 1 }],
    ["target-missing", { op: "remove", path: "/b" }],
    ["target-missing", { op: "remove", path: "/A" }],
    ["target-missing", { op: "replace", path: "/b", value: 1 }],
    ["target-missing", { op: "test", path: "/b", value: null }],
    ["target-missing", { op: "remove", path: "/list/2" }],
    ["target-missing", { op: "remove", path: "/list/-" }],
    ["target-missing", { op: "replace", path: "/list/-", value: 1 }],
    ["target-missing", { op: "remove", path: "/list/99999999999999999999" }],
    ["target-missing", { op: "move", from: "/b", path: "/c" }, "/b"],
    ["target-missing", { op: "move", from: "/b", path: "/b" }],
    ["target-missing", { op: "copy", from: "/list/-", path: "/c" }, "/list/-"],
    ["target-missing", { op: "replace", path: "/constructor", value: 1 }],
    ["target-missing", { op: "remove", path: "/hasOwnProperty" }],
    ["target-missing", { op: "copy", from: "/toString", path: "/b" }, "/toString"],
    ["index-invalid", { op: "add", path: "/list/01", value: 1 }],
    ["index-invalid", { op: "add", path: "/list/+1", value: 1 }],
    ["index-invalid", { op: "add", path: "/list/-1", value: 1 }],
    ["index-invalid", { op: "add", path: "/list/1.0", value: 1 }],
    ["index-invalid", { op: "add", path: "/list/1e0", value: 1 }],
    ["index-invalid", { op: "add", path: "/list/ 1", value: 1 }],
    ["index-invalid", { op: "add", path: "/list/1\n", value: 1 }],
    ["index-invalid", { op: "add", path: "/list/", value: 1 }],
    ["index-invalid", { op: "add", path: "/list/length", value: 0 }],
    ["index-invalid", { op: "replace", path: "/list/length", value: 0 }],
    ["index-invalid", { op: "test", path: "/list/length", value: 2 }],
    ["index-invalid", { op: "remove", path: "/list/00" }],
    ["index-invalid", { op: "add", path: "/list/constructor/x", value: 0 }],
    ["index-out-of-range", { op: "add", path: "/list/3", value: 1 }],
    ["index-out-of-range", { op: "add", path: "/list/99999999999999999999", value: 1 }],
    ["index-out-of-range", { op: "move", from: "/list/0", path: "/list/2" }],
    ["move-into-itself", { op: "move", from: "/a", path: "/a/b" }],
    ["move-into-itself", { op: "move", from: "/a", path: "/a/c/d" }],
    ["move-into-itself", { op: "move", from: "", path: "/b" }],
    ["test-failed", { op: "test", path: "/a/b", value: "1" }],
    ["test-failed", { op: "test", path: "/a", value: {} }],
    ["test-failed", { op: "test", path: "/a", value: { b: 1, c: 2 } }],
    ["test-failed", { op: "test", path: "/a", value: { c: 1 } }],
    ["test-failed", { op: "test", path: "/list", value: [2, 1] }],
    ["test-failed", { op: "test", path: "/list", value: [1, 2, 3] }],
    ["test-failed", { op: "test", path: "/list", value: { 0: 1, 1: 2 } }],
    ["test-failed", { op: "test", path: "/none", value: false }],
    ["test-failed", { op: "test", path: "/none", value: {} }],
    ["test-failed", { op: "test", path: "/a", value: [] }],
  ];
  it.each(rows)("%s: %j", (reason, operation, path = (operation as { path: string }).path) => {
    const before = structuredClone(document);
    const patch = untyped([
      { op: "add", path: "/a/c", value: [] },
      { op: "add", path: "/list/0", value: 0 },
      { op: "remove", path: "/list/0" },
      operation,
    ]);
    const op = String((operation as { op?: unknown } | null)?.op);
    expect(applyPatch(document, patch)).toEqual({ ok: false, problem: { index: 3, op, path, reason } });
    expect(document).toEqual(before);
    expect(Object.prototype).not.toHaveProperty("polluted");
  });
  it("covers every reason", () => {
    expect(new Set(rows.map(([reason]) => reason))).toEqual(new Set(Object.keys(PATCH_FAILURES)));
  });
});

const document = () => ({ touched: { deep: { list: [1, { x: 1 }] }, beside: {} }, untouched: { deep: {} } });

describe("sharing", () => {
  it("copies the touched path and nothing else", () => {
    const before = document();
    const after = applied(before, [{ op: "replace", path: "/touched/deep/list/0", value: 9 }]) as typeof before;
    expect(after).not.toBe(before);
    expect(after.touched).not.toBe(before.touched);
    expect(after.touched.deep.list).not.toBe(before.touched.deep.list);
    expect(after.touched.deep.list[1]).toBe(before.touched.deep.list[1]);
    expect(after.touched.beside).toBe(before.touched.beside);
    expect(after.untouched).toBe(before.untouched);
  });

  it("keeps the document when nothing is written", () => {
    const before = document();
    const patch = [
      { op: "test", path: "/touched/beside", value: {} },
      { op: "move", from: "/untouched", path: "/untouched" },
    ];
    expect(applied(before, patch)).toBe(before);
  });

  it("takes values by reference, and copies them when a later operation changes them", () => {
    const value = { list: [{}] };
    expect(applied({}, [{ op: "add", path: "/a", value }])).toStrictEqual({ a: value });
    expect((applied({}, [{ op: "add", path: "/a", value }]) as { a: unknown }).a).toBe(value);
    const after = applied({}, [
      { op: "add", path: "/a", value },
      { op: "add", path: "/b", value },
      { op: "add", path: "/a/list/0/x", value: 1 },
      { op: "add", path: "/b/list/-", value: 2 },
    ]);
    expect(after).toEqual({ a: { list: [{ x: 1 }] }, b: { list: [{}, 2] } });
    expect(value).toEqual({ list: [{}] });
  });

  it("a copy and its source go their own ways, whatever the patch made before", () => {
    const patch = [
      { op: "add", path: "/touched/deep/list/1/x", value: 2 },
      { op: "copy", from: "/touched", path: "/copied" },
      { op: "add", path: "/touched/deep/list/1/x", value: 3 },
      { op: "copy", from: "/touched/deep", path: "/copied/again" },
      { op: "add", path: "/copied/again/list/1/x", value: 4 },
      { op: "add", path: "/copied/deep/list/1/x", value: 5 },
      { op: "move", from: "/copied/deep", path: "/moved" },
      { op: "add", path: "/moved/list/1/x", value: 6 },
    ];
    expect(applied(document(), patch)).toEqual({
      touched: { deep: { list: [1, { x: 3 }] }, beside: {} },
      untouched: { deep: {} },
      copied: { beside: {}, again: { list: [1, { x: 4 }] } },
      moved: { list: [1, { x: 6 }] },
    });
  });

  it("copies a container once a patch, however many operations meet it", () => {
    let copies = 0;
    /** A list that counts its copies, and theirs. */
    class CountingList extends Array<number> {
      override slice(start?: number, end?: number): number[] {
        copies++;
        return super.slice(start, end);
      }
    }
    const list = CountingList.from({ length: 100 }, (_, index) => index);
    const replaces = Array.from({ length: 5_000 }, (_, index) => ({
      op: "replace",
      path: `/list/${index % 100}`,
      value: 0,
    }));
    const copying = { op: "copy", from: "/list/0", path: "/list/-" };
    const after = applied({ list }, [...replaces, copying, { op: "remove", path: "/list/0" }, ...replaces]);
    expect(copies).toBe(1);
    expect(JSON.stringify(after)).toBe(JSON.stringify({ list: Array.from({ length: 100 }, () => 0) }));
  });
});

const nested = (depth: number, leaf: unknown): unknown => {
  let value = leaf;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? { a: value } : [value];
  return value;
};

describe("depth and hostile keys", () => {
  const tokens = Array.from({ length: 10_000 }, (_, level) => (level % 2 === 0 ? "/0" : "/a"));

  it("a document of 10,000 levels is patched, copied and tested", () => {
    const result = applied(nested(10_000, 1), [
      { op: "replace", path: tokens.join(""), value: 2 },
      { op: "test", path: "", value: nested(10_000, 2) },
      { op: "copy", from: tokens.slice(0, -1).join(""), path: "/0" },
    ]);
    expect(applyPatch(result, [{ op: "test", path: "/1", value: nested(9_999, 2) }]).ok).toBe(true);
    expect(applyPatch(result, [{ op: "test", path: "/1", value: nested(9_999, 3) }]).ok).toBe(false);
    expect(applyPatch(result, [{ op: "test", path: "/0", value: { a: 2 } }]).ok).toBe(true);
  });

  it("an own member called __proto__ survives a copy of its object", () => {
    const before: unknown = JSON.parse('{"a":{"__proto__":{"x":1},"b":1}}');
    expect(JSON.stringify(applied(before, [{ op: "replace", path: "/a/b", value: 2 }]))).toBe(
      '{"a":{"__proto__":{"x":1},"b":2}}',
    );
  });

  it("names of inherited members are ordinary keys", () => {
    const after = applied({}, [
      { op: "add", path: "/constructor", value: {} },
      { op: "add", path: "/constructor/prototype", value: { x: 1 } },
      { op: "replace", path: "/constructor/prototype/x", value: 2 },
      { op: "add", path: "/toString", value: 3 },
    ]);
    expect(Object.entries(after as object)).toEqual([
      ["constructor", { prototype: { x: 2 } }],
      ["toString", 3],
    ]);
    expect(Object).not.toHaveProperty("x");
  });
});
