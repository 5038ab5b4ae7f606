/**
 * What JSON Patch asks of JSON values: which ones have members, which members are their own, which values are equal.
 *
 * A member that is undefined counts as absent, as it does for `JSON.stringify`: what we judge here is what a peer sees
 * after the wire. Nothing recurses, so that a deep document cannot exhaust the stack.
 */

/** An object of JSON. */
export type JsonObject = Record<string, unknown>;

/** What has members: an object, or a list with its elements. */
export type Container = JsonObject | unknown[];

/** Whether a value has members. */
export const isContainer = (value: unknown): value is Container => typeof value === "object" && value !== null;

/** Whether a token names a place in a list: digits without a leading zero. */
export const isIndex = (token: string): boolean => /^(0|[1-9]\d*)$/.test(token);

/** A member by its key, or an element by its index as text; undefined when there is none. Prototypes have no say. */
export function memberOf(container: Container, key: string): unknown {
  if (Array.isArray(container)) return isIndex(key) ? container[Number(key)] : undefined;
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

/** Keys of the members that are there. */
export const keysOf = (object: JsonObject): string[] => Object.keys(object).filter((key) => object[key] !== undefined);

/** Whether two values are the same JSON: numbers by value, objects whatever the order of their keys. */
export function jsonEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  const pending: unknown[] = [];
  /** Judges two values, and puts off what they hold. */
  const mayBeEqual = (a: unknown, b: unknown): boolean =>
    a === b || (isContainer(a) && isContainer(b) && pending.push(a, b) > 0);

  let equal = mayBeEqual(left, right);
  while (equal && pending.length > 0) {
    const b = pending.pop();
    const a = pending.pop();
    if (Array.isArray(a) && Array.isArray(b)) {
      equal = a.length === b.length && a.every((element, index) => mayBeEqual(element, b[index]));
    } else if (isObject(a) && isObject(b)) {
      const keys = keysOf(a);
      equal = keys.length === keysOf(b).length && keys.every((key) => mayBeEqual(a[key], memberOf(b, key)));
    } else equal = false;
  }
  return equal;
}

/** Whether a value has members by name. */
export const isObject = (value: unknown): value is JsonObject => isContainer(value) && !Array.isArray(value);
