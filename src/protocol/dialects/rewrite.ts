/** What translating between dialects is made of: copies with members changed, and a list of what was changed. */
import type { Warning, WarningCode } from "../enforce.ts";
import { METADATA_KEY } from "../metadata-key.ts";
import { isObject } from "../shape.ts";

/** An object whose members are not known yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** Takes note of changes. */
export type Note = (path: string, message: string) => void;

/** A list of warnings, and the function that adds to it. */
export function notes(code: WarningCode): { readonly warnings: Warning[]; readonly note: Note } {
  const warnings: Warning[] = [];
  return { warnings, note: (path, message) => warnings.push({ code, path, message }) };
}

/** A copy without some members; the object itself where it has none of them. */
export function without<T extends Fields>(object: T, ...keys: readonly string[]): T {
  if (!keys.some((key) => key in object)) return object;
  const copy: Record<string, unknown> = { ...object };
  for (const key of keys) delete copy[key];
  return copy as T;
}

/** A copy that keeps values in its metadata, under our key and beside what is there. */
export function keep(object: Fields, kept: Fields): Fields {
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const own = isObject(metadata[METADATA_KEY]) ? metadata[METADATA_KEY] : {};
  return { ...object, metadata: { ...metadata, [METADATA_KEY]: { ...own, ...kept } } };
}

/** What `keep` kept, or undefined. */
export function kept(object: Fields, key: string): unknown {
  const own = isObject(object.metadata) ? object.metadata[METADATA_KEY] : undefined;
  return isObject(own) ? own[key] : undefined;
}

/** A copy with one member rewritten; the object itself where the member stays what it is. */
export function rewrite<T extends Fields>(object: T, key: string, change: (value: unknown) => unknown): T {
  const value = object[key];
  const changed = change(value);
  return changed === value ? object : { ...object, [key]: changed };
}

/** A list with its elements rewritten; the list itself where none changes. Anything else comes back as it is. */
export function rewriteList(list: unknown, change: (value: unknown, index: number) => unknown): unknown {
  if (!Array.isArray(list)) return list;
  const changed = list.map((value: unknown, index) => change(value, index));
  return changed.some((value, index) => value !== list[index]) ? changed : list;
}

/** A copy in which members that are null are absent. */
export function dropNulls(object: Fields, keys: readonly string[], path: string, note: Note): Fields {
  const nulls = keys.filter((key) => object[key] === null);
  for (const key of nulls) note(`${path}/${key}`, "null means absent since 1.0.");
  return without(object, ...nulls);
}

/** A copy in which members in snake_case have the name that the known fields have. */
export function camelCaseKnown(object: Fields, known: (name: string) => boolean, path: string, note: Note): Fields {
  let changed = object;
  for (const key of Object.keys(object)) {
    const name = key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (name === key || name in object || !known(name)) continue;
    note(`${path}/${key}`, `${key} is spelled ${name}.`);
    changed = { ...without(changed, key), [name]: object[key] };
  }
  return changed;
}
