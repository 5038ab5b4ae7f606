/**
 * Properties of `applyPatch`, and the comparison with fast-json-patch, which the published client uses.
 *
 * A patch is drawn as a list of seeds; each becomes an operation on the document as it stands at that point, mostly on
 * places that exist, so that about half of the patches apply. Documents and patches are frozen: a change of either
 * throws.
 */
import fc from "fast-check";
import fastJsonPatch from "fast-json-patch";
import { describe, expect, it } from "vitest";
import type { JsonPatch, JsonPatchOperation } from "../protocol/index.ts";
import { type PatchResult, applyPatch } from "./apply-patch.ts";
import { pointerTo } from "./json-pointer.ts";
import { isContainer, jsonEqual } from "./json-value.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const RUNS = { numRuns: Math.ceil(5_000 * SCALE) };

const KEYS = ["a", "b", "", "0", "1", "-", "x/y", "~1", "é"];
const HOSTILE_KEYS = ["__proto__", "constructor", "prototype", "toString", "length", "hasOwnProperty"];
const TOKENS = [...KEYS, "2", "7", "absent"];
const HOSTILE_TOKENS = [...TOKENS, ...HOSTILE_KEYS, "01", "1e0", " 1", "+1"];

function json(keys: readonly string[]): {
  readonly value: fc.Arbitrary<unknown>;
  readonly document: fc.Arbitrary<unknown>;
} {
  const { value, list, object } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, true, 0, 1, 1.5, "", "0", "text"),
      tie("list"),
      tie("object"),
    ),
    list: fc.array(tie("value"), { maxLength: 4 }),
    object: fc
      .uniqueArray(fc.tuple(fc.constantFrom(...keys), tie("value")), { maxLength: 4, selector: ([key]) => key })
      .map((entries): unknown => Object.fromEntries(entries)),
  }));
  return {
    value,
    document: fc.oneof(
      { weight: 1, arbitrary: value },
      { weight: 9, arbitrary: object },
      { weight: 4, arbitrary: list },
    ),
  };
}

interface Seed {
  readonly op: JsonPatchOperation["op"];
  readonly at: number;
  readonly from: number;
  readonly below: boolean;
  readonly token: string;
  readonly wild: boolean;
  readonly value: unknown;
  readonly right: boolean;
}

const seeds = (value: fc.Arbitrary<unknown>, tokens: readonly string[]): fc.Arbitrary<Seed> =>
  fc.record({
    op: fc.constantFrom("add", "add", "remove", "replace", "move", "copy", "test"),
    at: fc.nat(),
    from: fc.nat(),
    below: fc.boolean(),
    token: fc.constantFrom(...tokens),
    wild: fc.nat(7).map((chance) => chance === 0),
    value,
    right: fc.nat(3).map((chance) => chance > 0),
  });

type Place = readonly [path: string, value: unknown];

/** Every pointer into a document, with what it leads to. */
function placesOf(document: unknown): Place[] {
  const places: Place[] = [["", document]];
  for (const [path, value] of places) {
    if (!isContainer(value)) continue;
    for (const [key, member] of Object.entries(value)) places.push([pointerTo(path, key), member]);
  }
  return places;
}

/** The operation that a seed stands for in a document; a wild one takes any place and any token. */
function operationOf(document: unknown, seed: Seed): JsonPatchOperation {
  const { op, wild, value } = seed;
  const places = placesOf(document);
  const members = places.length > 1 && !wild ? places.slice(1) : places;
  const from = members[seed.from % members.length]?.[0] ?? "";
  const isNew = seed.below && (op === "add" || op === "move" || op === "copy" || wild);
  const targets =
    isNew && !wild
      ? places.filter(([path, held]) => isContainer(held) && !(op === "move" && `${path}/`.startsWith(`${from}/`)))
      : members;
  const [place, held] = targets[seed.at % targets.length] ?? ["", document];
  const token = Array.isArray(held) && !wild ? (seed.at % 2 === 0 ? "-" : seed.at % (held.length + 1)) : seed.token;
  const path = isNew ? pointerTo(place, token) : place;
  switch (op) {
    case "move":
    case "copy":
      return { op, from, path };
    case "remove":
      return { op, path };
    default:
      return { op, path, value: op === "test" && seed.right && !isNew ? structuredClone(held) : value };
  }
}

interface Case {
  readonly document: unknown;
  readonly patch: JsonPatch;
}

function cases(keys: readonly string[], tokens: readonly string[]): fc.Arbitrary<Case> {
  const { value, document } = json(keys);
  return fc.tuple(document, fc.array(seeds(value, tokens), { maxLength: 6 })).map(([document, drawn]) => {
    const patch: JsonPatchOperation[] = [];
    let result: PatchResult = { ok: true, value: document };
    for (const seed of drawn) {
      if (!result.ok) break;
      const operation = operationOf(result.value, seed);
      patch.push(operation);
      result = applyPatch(result.value, [operation]);
    }
    return deepFreeze({ document, patch });
  });
}

function deepFreeze<T>(value: T): T {
  if (!isContainer(value)) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

const ordinary = cases(KEYS, TOKENS);
const hostile = cases([...KEYS, ...HOSTILE_KEYS], HOSTILE_TOKENS);

/** How far a document goes that one operation after the other makes. */
function oneByOne({ document, patch }: Case): unknown {
  let current = document;
  for (const operation of patch) {
    const result = applyPatch(current, [operation]);
    if (!result.ok) return result.ok;
    current = result.value;
  }
  return { value: current };
}

const prototypeNames = (): string =>
  JSON.stringify(
    [Object.prototype, Array.prototype, Object, Function.prototype].map((held) => Reflect.ownKeys(held).map(String)),
  );

const tokenCount = (pointer: string): number => pointer.split("/").length - 1;

describe("applyPatch", () => {
  it("changes neither document nor patch, and says the same as one operation after the other", () => {
    let appliedCount = 0;
    fc.assert(
      fc.property(hostile, (drawn) => {
        const before = JSON.stringify(drawn);
        const result = applyPatch(drawn.document, drawn.patch);
        expect(result.ok ? { value: result.value } : false).toEqual(oneByOne(drawn));
        expect(JSON.stringify(drawn)).toBe(before);
        if (result.ok) appliedCount++;
      }),
      RUNS,
    );
    expect(appliedCount / RUNS.numRuns).toBeGreaterThan(0.35);
    expect(appliedCount / RUNS.numRuns).toBeLessThan(0.9);
  });

  it("makes no more containers than the touched paths have", () => {
    fc.assert(
      fc.property(hostile, ({ document, patch }) => {
        const result = applyPatch(document, patch);
        fc.pre(result.ok);
        const known = new Set(
          [document, ...patch.map((operation) => ("value" in operation ? operation.value : null))].flatMap((value) =>
            placesOf(value).map(([, held]) => held),
          ),
        );
        const made = new Set(
          placesOf(result.value).flatMap(([, held]) => (isContainer(held) && !known.has(held) ? [held] : [])),
        );
        const touched = patch.map(
          (operation) => tokenCount(operation.path) + ("from" in operation ? tokenCount(operation.from) : 0),
        );
        expect(made.size).toBeLessThanOrEqual(touched.reduce((sum, count) => sum + count, 0));
        expect(result.value === document || patch.some(({ op }) => op !== "test")).toBe(true);
      }),
      RUNS,
    );
  });

  it("keeps every value that is neither above nor below a replaced one", () => {
    fc.assert(
      fc.property(json(KEYS).document, fc.nat(), fc.anything(), (document, at, value) => {
        const places = placesOf(document);
        const path = places[at % places.length]?.[0] ?? "";
        const result = applyPatch(deepFreeze(document), [{ op: "replace", path, value: value ?? null }]);
        if (!result.ok) throw new Error(result.problem.reason);
        const after = new Map(placesOf(result.value));
        for (const [place, held] of places) {
          const isBelow = `${place}/`.startsWith(`${path}/`);
          const isAbove = `${path}/`.startsWith(`${place}/`);
          expect(isBelow || (after.has(place) && (after.get(place) === held) !== isAbove)).toBe(true);
        }
      }),
      RUNS,
    );
  });

  it("never reaches a prototype", () => {
    const before = prototypeNames();
    fc.assert(
      fc.property(hostile, ({ document, patch }) => {
        const result = applyPatch(document, patch);
        expect(prototypeNames()).toBe(before);
        const refused = patch.some((operation) => {
          const pointers = `${operation.path} ${"from" in operation ? operation.from : ""} `;
          return /\/__proto__[/ ]/.test(pointers);
        });
        expect(refused && result.ok).toBe(false);
        const made = result.ok ? placesOf(result.value).flatMap(([, held]) => (isContainer(held) ? [held] : [])) : [];
        for (const held of made) {
          expect(Object.getPrototypeOf(held)).toBe(Array.isArray(held) ? Array.prototype : Object.prototype);
        }
      }),
      RUNS,
    );
  });
});

const peerResult = ({ document, patch }: Case): { readonly ok: boolean; readonly value?: unknown } => {
  try {
    // It writes into the values of the patch, so it gets its own.
    const operations = structuredClone(patch) as fastJsonPatch.Operation[];
    return { ok: true, value: fastJsonPatch.applyPatch(document, operations, true, false).newDocument };
  } catch {
    return { ok: false };
  }
};

/** Whether a move takes a member out of a container that its path goes through. */
const shiftsItsWay = (operation: JsonPatchOperation): boolean =>
  operation.op === "move" &&
  operation.path.startsWith(operation.from.slice(0, operation.from.lastIndexOf("/") + 1)) &&
  tokenCount(operation.path) > tokenCount(operation.from);

/** Where we mean to differ from fast-json-patch 3.1.1: why, how to know it, and a case. */
const DIFFERENCES: readonly {
  readonly why: string;
  readonly covers: (ours: PatchResult, operation: JsonPatchOperation | undefined, patch: JsonPatch) => boolean;
  readonly example: readonly [document: unknown, patch: JsonPatch];
}[] = [
  {
    why: "it takes a member of a number, text or boolean for written, and changes nothing",
    covers: (ours) => !ours.ok && ours.problem.reason === "parent-missing" && tokenCount(ours.problem.path) === 1,
    example: [5, [{ op: "add", path: "/a", value: 1 }]],
  },
  {
    why: "it moves values into themselves: a circle, or a change of whatever took their place",
    covers: (ours) => !ours.ok && ours.problem.reason === "move-into-itself",
    example: [{}, [{ op: "move", from: "", path: "/a" }]],
  },
  {
    why: "it takes an empty token or leading zeros for an index",
    covers: (ours) => !ours.ok && ours.problem.reason === "index-invalid" && /\/(0\d+)?$/.test(ours.problem.path),
    example: [[1], [{ op: "add", path: "/", value: 1 }]],
  },
  {
    why: "it judges a move by the document before the removal, which may shift the list that the path goes through",
    covers: (_, __, patch) => patch.some(shiftsItsWay),
    example: [[0, { a: 1 }, []], [{ op: "move", from: "/0", path: "/1/a" }]],
  },
  {
    why: "it copies and moves to indices beyond the end, which it does not allow in an add",
    covers: (ours, operation) => !ours.ok && ours.problem.reason === "index-out-of-range" && operation?.op !== "add",
    example: [[1], [{ op: "copy", from: "/0", path: "/7" }]],
  },
  {
    why: "it finds inherited members",
    covers: (ours) =>
      !ours.ok &&
      ours.problem.reason === "target-missing" &&
      /(constructor|toString|hasOwnProperty|length)$/.test(ours.problem.path),
    example: [{}, [{ op: "replace", path: "/toString", value: 1 }]],
  },
  {
    why: "it calls a document's own `hasOwnProperty` in a test",
    covers: (_, __, patch) =>
      patch.some((operation) => operation.op === "test" && JSON.stringify(operation).includes("hasOwnProperty")),
    example: [{ a: { hasOwnProperty: 1 } }, [{ op: "test", path: "/a", value: { hasOwnProperty: 1 } }]],
  },
  {
    why: "it refuses own members `constructor` / `prototype`, which are harmless where only own members count",
    covers: (_, __, patch) => patch.some((operation) => JSON.stringify(operation).includes("constructor/prototype")),
    example: [{ constructor: {} }, [{ op: "add", path: "/constructor/prototype", value: 1 }]],
  },
  {
    why: "it lets malformed escapes pass",
    covers: (ours) => !ours.ok && ours.problem.reason === "pointer-invalid",
    example: [{ "~2": 1 }, [{ op: "remove", path: "/~2" }]],
  },
];

const isSame = (drawn: Case): boolean => {
  const ours = applyPatch(drawn.document, drawn.patch);
  const peer = peerResult(drawn);
  return ours.ok === peer.ok && (!ours.ok || jsonEqual(ours.value, peer.value));
};

const covering = (drawn: Case): readonly string[] => {
  const ours = applyPatch(drawn.document, drawn.patch);
  const operation = ours.ok ? undefined : drawn.patch[ours.problem.index];
  return DIFFERENCES.filter(({ covers }) => covers(ours, operation, drawn.patch)).map(({ why }) => why);
};

describe("fast-json-patch", () => {
  it.each([
    ["ordinary", ordinary],
    ["hostile", hostile],
  ] as const)("says the same of %s patches, but for the differences that are listed", (_, arbitrary) => {
    let sameCount = 0;
    fc.assert(
      fc.property(arbitrary, (drawn) => {
        const same = isSame(drawn);
        sameCount += Number(same);
        expect(same || covering(drawn).length > 0).toBe(true);
      }),
      RUNS,
    );
    expect(sameCount / RUNS.numRuns).toBeGreaterThan(0.85);
  });

  it.each(DIFFERENCES)("differs: $why", ({ why, example: [document, patch] }) => {
    expect(isSame({ document, patch })).toBe(false);
    expect(covering({ document, patch })).toContain(why);
  });
});
