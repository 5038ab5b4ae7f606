/**
 * The generated table of shapes, made ready for use: each shape is read once, when it is first needed, into a check
 * that says whether a value is exactly right, with nothing unknown in it. No code is generated at run time, so it
 * works under a strict content security policy.
 *
 * A shape's code: `s` string, `b` boolean, `i` integer, `u` integer from 0, `p` JSON Pointer, `j` any JSON, `v` any JSON
 * but null, `o` open object, `=x` the constant x, `#E` enum E, `@O` object O, `%U` union U, `[c` list of c, `+c` list of
 * at least one c, `~c` text or list of c.
 */
import { ENUMS, OBJECTS, UNIONS } from "./generated/shapes.ts";

/** Whether a value is exactly right. */
export type Check = (value: unknown) => boolean;

/** A field of an object. */
export interface FieldShape {
  /** Whether it must be there. */
  readonly required: boolean;
  /** The code of what it may hold. */
  readonly code: string;
  /** Whether a value is exactly right for it. */
  readonly check: Check;
}

/** An object: its fields, and whether it keeps others. */
export interface ObjectShape {
  /** Whether members that are not named here are kept. */
  readonly open: boolean;
  /** Fields by name. */
  readonly fields: ReadonlyMap<string, FieldShape>;
  /** How many fields must be there. */
  readonly requiredCount: number;
}

/** A union: the field that tells its members apart, and the members. */
export interface UnionShape {
  /** The field that tells them apart. */
  readonly by: string;
  /** Members by the value of that field. */
  readonly members: ReadonlyMap<string, ObjectShape>;
}

/** An object, as opposed to a list, null, or anything else. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What each one-letter code allows. */
export const LEAVES: Readonly<Record<string, readonly [expected: string, check: Check]>> = {
  s: ["a string", (value) => typeof value === "string"],
  b: ["true or false", (value) => typeof value === "boolean"],
  i: ["an integer", Number.isSafeInteger],
  u: ["an integer from 0", (value) => Number.isSafeInteger(value) && Number(value) >= 0],
  p: ["a JSON Pointer", (value) => typeof value === "string" && /^(\/|$)/.test(value) && !/~(?![01])/.test(value)],
  j: ["a JSON value", (value) => value !== undefined],
  v: ["a JSON value other than null", (value) => value !== undefined && value !== null],
  o: ["an object", isObject],
};

function memoised<T>(make: (key: string) => T): (key: string) => T {
  const made = new Map<string, T>();
  return (key) => {
    let value = made.get(key);
    if (value === undefined) made.set(key, (value = make(key)));
    return value;
  };
}

const lookup = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** Values of an enum. */
export const enumValues = memoised((name): readonly string[] => (lookup<string>(ENUMS, name) ?? "").split(" "));

/** Fields of every object that is not the member of a union. */
const objects: Record<string, string> = { ...OBJECTS };

/** Makes objects known beside those of events and inputs. They keep their names: doing it again changes nothing. */
export function addObjects(table: Readonly<Record<string, string>>): void {
  Object.assign(objects, table);
}

/** An object that is not the member of a union. */
export const objectShape = memoised((name): ObjectShape => readObject(lookup<string>(objects, name) ?? ""));

/** A union with its members. */
export const unionShape = memoised((name): UnionShape => {
  const union = lookup<{ by: string; members: Readonly<Record<string, string>> }>(UNIONS, name);
  const by = union?.by ?? "";
  const members = Object.entries(union?.members ?? {}).map(
    ([tag, text]) => [tag, readObject(`${text} ${by}:=${tag}`)] as const,
  );
  return { by, members: new Map(members) };
});

/** The code of a definition by name. */
export const codeOf = (name: string): string =>
  lookup<unknown>(UNIONS, name) ? `%${name}` : lookup<unknown>(ENUMS, name) ? `#${name}` : `@${name}`;

function readObject(text: string): ObjectShape {
  const fields = new Map<string, FieldShape>();
  let open = false;
  let requiredCount = 0;
  for (const word of text.split(" ")) {
    if (word === "*") open = true;
    const [, optional, name, code = "s"] = /^(\??)(\w+)(?::(.*))?$/.exec(word) ?? [];
    if (name === undefined) continue;
    if (!optional) requiredCount++;
    fields.set(name, { required: !optional, code, check: checkOf(code) });
  }
  return { open, fields, requiredCount };
}

/** The check of a shape, by its code. */
export const checkOf: (code: string) => Check = memoised((code) => {
  const rest = code.slice(1);
  switch (code[0]) {
    case "=":
      return (value) => value === rest;
    case "#": {
      const values = enumValues(rest);
      return (value) => typeof value === "string" && values.includes(value);
    }
    case "@": {
      const shape = objectShape(rest);
      return (value) => isObject(value) && isExact(shape, value);
    }
    case "%": {
      const { by, members } = unionShape(rest);
      return (value) => {
        if (!isObject(value)) return false;
        const member = members.get(value[by] as string);
        return member !== undefined && isExact(member, value);
      };
    }
    case "[":
    case "+": {
      const check = checkOf(rest);
      const atLeast = code[0] === "+" ? 1 : 0;
      return (value) => Array.isArray(value) && value.length >= atLeast && all(value, check);
    }
    case "~": {
      const check = checkOf(rest);
      return (value) => typeof value === "string" || (Array.isArray(value) && all(value, check));
    }
    default:
      return LEAVES[code]?.[1] ?? (() => false);
  }
});

/** Whether every element passes; unlike `every`, holes are asked too. */
function all(list: readonly unknown[], check: Check): boolean {
  for (let index = 0; index < list.length; index++) if (!check(list[index])) return false;
  return true;
}

/** Whether an object has all that it must have, right, and nothing unknown. Allocates nothing. */
function isExact({ open, fields, requiredCount }: ObjectShape, value: Readonly<Record<string, unknown>>): boolean {
  let found = 0;
  for (const key in value) {
    const field = fields.get(key);
    if (field === undefined) {
      if (!open) return false;
    } else {
      const held = value[key];
      // Most fields are strings: asking here saves a call.
      if (!(field.code === "s" ? typeof held === "string" : field.check(held))) return false;
      if (field.required) found++;
    }
  }
  return found === requiredCount;
}
