/**
 * What one event changed, place by place: each operation of a patch with what was there before and what is there after. A
 * patch is applied operation by operation, so a later one sees what an earlier one left.
 */
import type { Event, JsonPatch } from "heddle/protocol";
import { applyPatch } from "heddle/stream";
import type { Moment } from "./branch-fold.ts";

/** One place that changed. */
export interface PlaceChange {
  /** What was done. */
  readonly op: JsonPatch[number]["op"];
  /** Where: a JSON Pointer; the empty text is all of it. */
  readonly path: string;
  /** Where it came from, where it was moved or copied. */
  readonly from?: string;
  /** What was there; undefined where there was nothing. */
  readonly before: unknown;
  /** What is there now; undefined where there is nothing. */
  readonly after: unknown;
}

/** So many places of a patch are told: each costs a copy of what it is in. */
export const MAX_PLACES = 20;

/** The places that a patch changes, in order, as many as are told; none where it does not apply as a whole. */
export function placesOf(document: unknown, patch: JsonPatch): readonly PlaceChange[] {
  const places: PlaceChange[] = [];
  if (!applyPatch(document, patch).ok) return places;
  let held = document;
  for (const operation of patch) {
    const { op, path } = operation;
    if (op === "test") continue;
    if (places.length === MAX_PLACES) break;
    const patched = applyPatch(held, [operation]);
    if (!patched.ok) break;
    const isInsert = op === "add" && isElement(held, path);
    places.push({
      op,
      path,
      ...("from" in operation && { from: operation.from }),
      before: isInsert ? undefined : valueAt(held, path),
      after: op === "remove" ? undefined : valueAt(patched.value, path),
    });
    held = patched.value;
  }
  return places;
}

/** How many places an event changes beyond those that are told. */
export function untoldPlaces(event: Event): number {
  const patch = event.type === "STATE_DELTA" ? event.delta : event.type === "ACTIVITY_DELTA" ? event.patch : [];
  return Math.max(0, patch.filter(({ op }) => op !== "test").length - MAX_PLACES);
}

/** The places that an event changed, where it is a patch; undefined for any other. */
export function eventPlaces(event: Event, before: Moment): readonly PlaceChange[] | undefined {
  if (event.type === "STATE_DELTA") return placesOf(before.view.state, event.delta);
  if (event.type !== "ACTIVITY_DELTA") return undefined;
  const held = before.view.messages.find(({ id }) => id === event.messageId);
  return held?.role === "activity" ? placesOf(held.content, event.patch) : [];
}

const tokensOf = (path: string): readonly string[] =>
  path
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));

/** What stands at a place; `-` is the last element. */
function valueAt(document: unknown, path: string): unknown {
  return tokensOf(path).reduce<unknown>((value, token) => {
    if (Array.isArray(value)) return token === "-" ? value.at(-1) : value[Number(token)];
    return typeof value === "object" && value !== null && Object.hasOwn(value, token)
      ? Reflect.get(value, token)
      : undefined;
  }, document);
}

/** Whether a place is one in a list, where adding moves the others aside. */
const isElement = (document: unknown, path: string): boolean =>
  path !== "" && Array.isArray(valueAt(document, path.slice(0, path.lastIndexOf("/"))));

/** A JSON Pointer as people write places: `steps[2].done`. */
export function readablePath(path: string): string {
  if (path === "") return "everything";
  return tokensOf(path)
    .map((token, index) => {
      if (/^(\d+|-)$/.test(token)) return `[${token}]`;
      const name = token === "" ? '""' : token;
      return index === 0 ? name : `.${name}`;
    })
    .join("");
}
