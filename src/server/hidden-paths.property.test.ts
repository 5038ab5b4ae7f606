/** Translated patches, folded, against a redaction that was written another way: by the text of every pointer. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonPatch, JsonPatchOperation } from "../protocol/index.ts";
import { applyPatch } from "../stream/index.ts";
import { HiddenPaths } from "./hidden-paths.ts";
import { tellPatch } from "./tell-patch.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const SECRET = "SECRET";

const KEYS = ["a", "b", "s/t", "m~n"];
const escaped = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");

const hiddenToken = fc.constantFrom("a", "b", "s~1t", "m~0n", "*");
const hiddenPointer = fc
  .array(hiddenToken, { minLength: 1, maxLength: 3 })
  .map((tokens) => tokens.map((token) => `/${token}`).join(""));
const pointers = fc.array(fc.oneof({ weight: 30, arbitrary: hiddenPointer }, fc.constant("")), {
  minLength: 1,
  maxLength: 3,
});

const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: "small", maxDepth: 3 }, fc.nat(3), tie("object"), tie("list")),
  object: fc.dictionary(fc.constantFrom(...KEYS), tie("value"), { maxKeys: 3, noNullPrototype: true }),
  list: fc.array(tie("value"), { maxLength: 3 }),
}));

const token = fc.constantFrom(...KEYS.map(escaped), "0", "1", "-");
const place = fc.array(token, { maxLength: 3 }).map((tokens) => tokens.map((each) => `/${each}`).join(""));
const operation = fc.oneof(
  fc.record({ op: fc.constantFrom("add", "add", "replace", "test"), path: place, value }),
  fc.record({ op: fc.constant("remove"), path: place, value }),
  fc.record({ op: fc.constantFrom("move", "copy"), from: place, path: place, comment: fc.constant(SECRET) }),
) as fc.Arbitrary<JsonPatchOperation>;

const isHidden = (pointer: string, hidden: readonly string[]): boolean =>
  hidden.some((each) => new RegExp(`^${each.replaceAll("*", "[^/]*")}$`).test(pointer));

/** Everything of a value that stands at no hidden place; undefined where all of it does. */
function without(held: unknown, hidden: readonly string[], pointer = ""): unknown {
  if (isHidden(pointer, hidden)) return undefined;
  if (Array.isArray(held)) {
    return held.map((each, index) => without(each, hidden, `${pointer}/${index}`)).filter((each) => each !== undefined);
  }
  if (typeof held !== "object" || held === null) return held;
  const members = Object.entries(held).map(([key, each]) => [key, without(each, hidden, `${pointer}/${escaped(key)}`)]);
  return Object.fromEntries(members.filter(([, each]) => each !== undefined));
}

/** Most patches that were thrown together do not apply: those parts that do are kept, and some of the others. */
function applicable(document: unknown, patch: JsonPatch, keepsFaults: boolean): JsonPatch {
  if (keepsFaults) return patch;
  const kept: JsonPatchOperation[] = [];
  for (const each of patch) if (applyPatch(document, [...kept, each]).ok) kept.push(each);
  return kept;
}

const after = (document: unknown, patch: JsonPatch): unknown => {
  const patched = applyPatch(document, patch);
  return patched.ok ? patched.value : document;
};

const patches = fc.array(fc.record({ patch: fc.array(operation, { maxLength: 4 }), faulty: fc.nat(5) }), {
  maxLength: 8,
});

test("whoever folds translated patches has the state without the hidden places, after each", () => {
  let [told, left] = [0, 0];
  const property = fc.property(value, pointers, pointers, patches, (first, hidden, others, said) => {
    const [paths, other] = [new HiddenPaths(hidden), new HiddenPaths(others)];
    let document = first;
    let seen = paths.redact(first);
    expect(seen).toEqual(without(first, hidden));
    for (const { patch, faulty } of said) {
      const delta = applicable(document, patch, faulty === 0);
      const event = tellPatch({ type: "STATE_DELTA", delta }, document, [paths, other]);
      const logged = event.type === "STATE_DELTA" ? event.delta : [];
      told += Number(logged !== delta);
      // What is told otherwise comes to the same.
      expect(after(document, logged)).toEqual(after(document, delta));
      document = after(document, delta);
      const translated = paths.translate(logged);
      left += Number(translated.length > 0);
      expect(JSON.stringify(translated)).not.toContain(SECRET);
      if (seen !== undefined) seen = after(seen, translated);
      expect(seen).toEqual(without(document, hidden));
    }
  });
  fc.assert(property, { numRuns: Math.ceil(3000 * SCALE) });
  expect(told).toBeGreaterThan(100);
  expect(left).toBeGreaterThan(1000);
});

/** A value with a secret at every place below a pointer that is hidden, and at no other. */
function planted(held: unknown, hidden: readonly string[], pointer: string): unknown {
  const above = pointer.split("/").map((_, index, all) => all.slice(0, index + 1).join("/"));
  if (above.some((each) => isHidden(each, hidden))) return { x: SECRET };
  if (Array.isArray(held)) return held.map((each, index) => planted(each, hidden, `${pointer}/${index}`));
  if (typeof held !== "object" || held === null) return held;
  return Object.fromEntries(
    Object.entries(held).map(([key, each]) => [key, planted(each, hidden, `${pointer}/${escaped(key)}`)]),
  );
}

test("a patch as an older log has it gives away nothing either", () => {
  const property = fc.property(pointers, fc.array(operation, { maxLength: 6 }), (hidden, patch) => {
    const secret = patch.map((each) =>
      "value" in each ? { ...each, value: planted(each.value, hidden, each.path) } : each,
    ) as JsonPatch;
    expect(JSON.stringify(new HiddenPaths(hidden).translate(secret))).not.toContain(SECRET);
  });
  fc.assert(property, { numRuns: Math.ceil(3000 * SCALE) });
});

test("who posts what they see of a state means all of it, and changes nothing that they do not see", () => {
  const property = fc.property(value, value, pointers, (state, posted, hidden) => {
    const paths = new HiddenPaths(hidden);
    const isAll = hidden.includes("");
    expect(paths.mean(paths.redact(state), state)).toEqual(state);
    expect(paths.see(paths.mean(posted, state))).toEqual(isAll ? {} : paths.see(posted));
    // What comes of it besides is the state's own.
    const marked = planted(posted, hidden, "");
    expect(JSON.stringify(paths.mean(marked, state))).not.toContain(SECRET);
  });
  fc.assert(property, { numRuns: Math.ceil(3000 * SCALE) });
});

test("elements that were moved, added and taken away keep what is hidden of them", () => {
  const paths = new HiddenPaths(["/users/*/key", "/secrets"]);
  const state = {
    users: [
      { name: "Ada", key: 1 },
      { name: "Bo", key: 2 },
      { name: "Cy", key: 3 },
    ],
    secrets: { k: 4 },
  };
  const posted = { users: [{ name: "Cy" }, { name: "Ada" }, { name: "Di", key: 9 }], note: 1 };
  const users = [{ name: "Cy", key: 3 }, { name: "Ada", key: 1 }, { name: "Di" }];
  expect(paths.mean(posted, state)).toEqual({ users, note: 1, secrets: { k: 4 } });
});

describe("places that may be named", () => {
  test.each(["secrets", "/users/0/key", "/users/-", "/a~b", "/a/007"])("not %s", (pointer) => {
    expect(() => new HiddenPaths([pointer])).toThrow(expect.objectContaining({ code: "config-invalid" }));
  });

  test("in whatever order, and however often, they are the same", () => {
    expect(new HiddenPaths(["/b", "/a", "/b"]).key).toBe(new HiddenPaths(["/a", "/b"]).key);
    expect(new HiddenPaths(["/b"]).key).not.toBe(new HiddenPaths(["/b/*"]).key);
  });
});

test("what has nothing hidden is handed on as it is", () => {
  const paths = new HiddenPaths(["/secrets", "/users/*/key"]);
  const state = { users: [{ name: "Ada" }], more: { secrets: 1 } };
  expect(paths.redact(state)).toBe(state);
});

test("an element that moves among its like is moved, not told anew", () => {
  const delta = [{ op: "move", from: "/users/0", path: "/users/1" }] as const;
  const document = { users: [{ key: 1 }, { key: 2 }] };
  const event = { type: "STATE_DELTA", delta } as const;
  expect(tellPatch(event, document, [new HiddenPaths(["/users/*/key"])])).toBe(event);
});

test("however often a patch copies, it is told once", () => {
  const long = "x".repeat(1000);
  const delta = Array.from({ length: 100 }, () => ({ op: "copy", from: "/secrets", path: "/copy" }) as const);
  const told = tellPatch({ type: "STATE_DELTA", delta }, { secrets: long }, [new HiddenPaths(["/secrets"])]);
  expect(told).toEqual({ type: "STATE_DELTA", delta: [{ op: "add", path: "/copy", value: long }] });
});
