/** What JSON can say: null, booleans, finite numbers, strings, and lists and plain objects of these. */

/** Deepest nesting that is JSON for us; what goes in circles is deeper. */
const MAX_DEPTH = 512;

/** Whether a value means the same after a trip through JSON. Members that are undefined count as absent. */
export function isJson(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      if (value === null) return true;
      return depth < MAX_DEPTH && (Array.isArray(value) ? isJsonList(value, depth) : isJsonObject(value, depth));
    default:
      return false;
  }
}

function isJsonList(list: readonly unknown[], depth: number): boolean {
  for (let index = 0; index < list.length; index++) if (!isJson(list[index], depth + 1)) return false;
  return true;
}

function isJsonObject(object: object, depth: number): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const member of Object.values(object)) if (member !== undefined && !isJson(member, depth + 1)) return false;
  return true;
}
