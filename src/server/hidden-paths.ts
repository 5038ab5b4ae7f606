/**
 * Places of the shared state that a view does not show, and how a state, and a patch of it, look without them.
 *
 * A place is a JSON Pointer in which `*` stands for every member and every element. Elements of a list are hidden all or
 * none, since they move: an index, or `-`, is refused. So whether a place is hidden can be told from its pointer alone, and
 * a patch is translated one operation at a time, without the state: whoever folds what comes of it has the state
 * without the hidden places, after every patch that applies. Only what moves or copies a value to where other parts of it
 * are hidden than before cannot be told so (`isExact`): the log gets such a patch as what it comes to (`tell-patch.ts`).
 * Where an older log has it, what is hidden stays so, but a reader lacks what came out of hiding until the next snapshot.
 */
import { HeddleError } from "../protocol/index.ts";
import type { JsonPatch, JsonPatchOperation } from "../protocol/index.ts";
import type { StateSight } from "../stream/lineage/index.ts";

/** What is left of the hidden pointers below a place, as tokens; never empty ones: such a place is hidden itself. */
type Rests = readonly (readonly string[])[];

const NOTHING: Rests = [];

/** Hidden places of a state. */
export class HiddenPaths implements StateSight {
  /** Tells them apart: the same key, the same places. */
  readonly key: string;
  readonly #rests: Rests | undefined;

  /** Throws `config-invalid` for what is no such pointer. */
  constructor(pointers: readonly string[]) {
    const sorted = [...new Set(pointers)].toSorted();
    this.key = JSON.stringify(sorted);
    this.#rests = sorted.includes("") ? undefined : sorted.map(tokensOfHidden);
  }

  /** A state without the hidden places: itself where it has none. Undefined where all of it is hidden. */
  redact(state: unknown): unknown {
    return this.#rests === undefined ? undefined : redactBelow(state, this.#rests);
  }

  /** A state as somebody sees it; one that is hidden as a whole is as if nobody had said any. */
  see(state: unknown): unknown {
    const seen = this.redact(state);
    return seen === undefined && state !== undefined ? {} : seen;
  }

  /** The state that somebody means who posts what they see of it, changed: hidden places are as they are in `state`. */
  mean(posted: unknown, state: unknown): unknown {
    return this.#rests === undefined ? state : merge(posted, state, this.#rests);
  }

  /** A patch as it is for who has no hidden places; empty where nothing of it is left. Only what RFC 6902 names is kept. */
  translate(patch: JsonPatch): JsonPatch {
    return patch.flatMap((operation) => this.#translate(operation));
  }

  #translate(operation: JsonPatchOperation): JsonPatch {
    const { op, path } = operation;
    const at = this.#at(path);
    switch (op) {
      case "add":
      case "replace":
      case "test":
        return at === undefined ? [] : [{ op, path, value: redactBelow(operation.value, at) }];
      case "remove":
        return at === undefined ? [] : [{ op, path }];
      case "move":
      case "copy": {
        const { from } = operation;
        if (this.#at(from) === undefined) return [];
        if (at !== undefined) return [{ op, from, path }];
        return op === "move" ? [{ op: "remove", path: from }] : [];
      }
    }
  }

  /** Whether a patch names a place that is hidden, or holds one. */
  isTouchedBy(patch: JsonPatch): boolean {
    return patch.some(
      (operation) => this.#isNear(operation.path) || ("from" in operation && this.#isNear(String(operation.from))),
    );
  }

  #isNear(pointer: string): boolean {
    return this.#at(pointer)?.length !== 0;
  }

  /** Whether `translate` says all of an operation: not where a value comes to a place with other rules than its own. */
  isExact(operation: JsonPatchOperation): boolean {
    if (operation.op !== "move" && operation.op !== "copy") return true;
    const at = this.#at(operation.path);
    if (at === undefined) return true;
    const from = this.#at(operation.from);
    return from !== undefined && keyOf(from) === keyOf(at);
  }

  /** What is hidden below a place; undefined where it is hidden itself. */
  #at(pointer: string): Rests | undefined {
    return tokensOf(pointer).reduce<Rests | undefined>(below, this.#rests);
  }
}

const tokensOf = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));

/** The tokens of a pointer that a user wrote. */
function tokensOfHidden(pointer: string): readonly string[] {
  const tokens = tokensOf(pointer);
  const isPointer = pointer.startsWith("/") && !/~(?![01])/.test(pointer);
  if (isPointer && !tokens.some((token) => token === "-" || /^\d+$/.test(token))) return tokens;
  const expected =
    "JSON Pointers such as /secrets or /users/*/email, where * is any member or element and no index stands";
  const message = `A hidden place of the state is ${JSON.stringify(pointer)}: expected ${expected}.`;
  throw new HeddleError("config-invalid", message, { setting: "hiddenState", expected, received: pointer });
}

const keyOf = (rests: Rests): string => JSON.stringify(rests.map((rest) => JSON.stringify(rest)).toSorted());

/** One token further. */
function below(rests: Rests | undefined, token: string): Rests | undefined {
  if (rests === undefined || rests.length === 0) return rests;
  const further = rests.filter(([first]) => first === "*" || first === token).map((rest) => rest.slice(1));
  if (further.length === 0) return NOTHING;
  return further.some((rest) => rest.length === 0) ? undefined : further;
}

/** A value without what is hidden below it: itself where nothing is. No deeper than the pointers are long. */
function redactBelow(value: unknown, rests: Rests): unknown {
  if (rests.length === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return redactList(value, rests);
  const kept = Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const further = below(rests, key);
    return further === undefined ? [] : [[key, redactBelow(member, further)]];
  });
  const before = Object.values(value);
  const isSame = kept.length === before.length && kept.every(([, member], index) => member === before[index]);
  return isSame ? value : Object.fromEntries(kept);
}

function redactList(list: readonly unknown[], rests: Rests): readonly unknown[] {
  // No pointer names an element, so this is what holds for each.
  const further = below(rests, "0");
  if (further === undefined) return list.length === 0 ? list : [];
  const kept = list.map((element) => redactBelow(element, further));
  return kept.every((element, index) => element === list[index]) ? list : kept;
}

/** A value with what is hidden below it taken from another one. */
function merge(posted: unknown, held: unknown, rests: Rests): unknown {
  if (rests.length === 0) return posted;
  if (Array.isArray(posted) && Array.isArray(held)) return mergeLists(posted, held, rests);
  if (!isObject(posted) || !isObject(held)) return redactBelow(posted, rests);
  const shown = Object.entries(posted).flatMap(([key, member]): [string, unknown][] => {
    const further = below(rests, key);
    const theirs: unknown = Object.hasOwn(held, key) ? Reflect.get(held, key) : undefined;
    return further === undefined ? [] : [[key, merge(member, theirs, further)]];
  });
  const hidden = Object.entries(held).filter(([key]) => below(rests, key) === undefined);
  return Object.fromEntries([...shown, ...hidden]);
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Elements are known again by what is seen of them, else by their place. */
function mergeLists(posted: readonly unknown[], held: readonly unknown[], rests: Rests): readonly unknown[] {
  const further = below(rests, "0");
  if (further === undefined) return held;
  const places = new Map<string, number[]>();
  for (const [index, element] of held.entries()) {
    const text = JSON.stringify(redactBelow(element, further));
    const known = places.get(text);
    if (known === undefined) places.set(text, [index]);
    else known.push(index);
  }
  const found = posted.map((element) => places.get(JSON.stringify(element))?.shift());
  const taken = new Set(found);
  return posted.map((element, index) => {
    const place = found[index] ?? (taken.has(index) ? undefined : index);
    return place === undefined ? redactBelow(element, further) : merge(element, held[place], further);
  });
}
