/**
 * Schemas of any library, behind one face: a check, and the JSON Schema that travels to models and clients.
 *
 * A Standard Schema (zod, valibot, arktype and others) is known by its `~standard` member and checked by its own
 * library. Anything else is a JSON Schema. A library that cannot say its schema as JSON Schema by itself is given as
 * `{ schema, jsonSchema }`. Nothing of any library is imported.
 */
import { Validator } from "@cfworker/json-schema";
import { HeddleError } from "../protocol/index.ts";

/** A JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a Standard Schema says of a value. */
export type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** Something that a Standard Schema found wrong. */
export interface StandardIssue {
  /** What is wrong. */
  readonly message: string;
  /** Where: keys, or objects that hold one. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A schema of any library that follows standardschema.dev; `T` is what it makes of a value. */
export interface StandardSchema<T = unknown> {
  /** The standard's own member. */
  readonly "~standard": {
    /** Version of the standard. */
    readonly version: 1;
    /** The library. */
    readonly vendor: string;
    /** Judges a value. */
    readonly validate: (value: unknown) => StandardResult<T> | Promise<StandardResult<T>>;
  };
}

/** A schema: of a library, of a library together with its JSON Schema, or a JSON Schema alone. */
export type Schema<T = unknown> =
  | StandardSchema<T>
  | { readonly schema: StandardSchema<T>; readonly jsonSchema: JsonSchema }
  | JsonSchema;

/** A value that was judged: the value as the schema makes it, or what is wrong with it. */
export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Judges a value. At once where the library does. */
export type Check<T> = (value: unknown) => Checked<T> | Promise<Checked<T>>;

/** The check that a schema stands for. */
export function checkOf<T>(schema: Schema<T>): Check<T> {
  if (isStandard<T>(schema)) return checkByLibrary(schema);
  if (hasLibrarySchema<T>(schema)) return checkByLibrary(schema.schema);
  // A copy: the validator writes notes into what it is given.
  const validator = new Validator(structuredClone(schema), draftOf(schema), false);
  return (value) => {
    if (value === undefined) return { ok: false, problems: ["#: there is no value"] };
    const { valid, errors } = validator.validate(value);
    // The type that an author gives to a JSON Schema is a promise of theirs: nothing at run time could tie the two.
    if (valid) return { ok: true, value: value as T };
    return { ok: false, problems: errors.map((each) => `${each.instanceLocation}: ${each.error}`) };
  };
}

/** What is wrong with a value by a schema; nothing where it fits. */
export async function checkSchema(schema: Schema, value: unknown): Promise<readonly string[]> {
  const checked = await checkOf(schema)(value);
  return checked.ok ? [] : checked.problems;
}

/** The JSON Schema of a schema. Throws `config-invalid` where its library does not say one. */
export function jsonSchemaOf(schema: Schema, setting: string): JsonSchema {
  if (!isStandard(schema)) return hasLibrarySchema(schema) ? schema.jsonSchema : schema;
  const { vendor } = schema["~standard"];
  const said = askLibrary(schema);
  if (isRecord(said)) return said;
  const expected = "a JSON Schema, or a schema of a library that can say it as one";
  const message = `The schema of ${vendor} in ${setting} has no JSON Schema: give { schema, jsonSchema }.`;
  throw new HeddleError("config-invalid", message, { setting, expected, received: `a schema of ${vendor}` });
}

/** By the Standard JSON Schema interface, else by the method that some libraries have. */
function askLibrary(schema: StandardSchema): unknown {
  const standard: object = schema["~standard"];
  const converter: unknown = Reflect.get(standard, "jsonSchema");
  if (isRecord(converter) && typeof converter.input === "function") return converter.input({ target: "draft-2020-12" });
  for (const name of ["toJsonSchema", "toJSONSchema"]) {
    const method: unknown = Reflect.get(schema, name);
    if (typeof method === "function") return Reflect.apply(method, schema, []);
  }
  return undefined;
}

function checkByLibrary<T>(schema: StandardSchema<T>): Check<T> {
  const judged = (result: StandardResult<T>): Checked<T> =>
    result.issues === undefined
      ? { ok: true, value: result.value }
      : { ok: false, problems: result.issues.map(({ message, path = [] }) => `${pathText(path)}: ${message}`) };
  return (value) => {
    const result = schema["~standard"].validate(value);
    return result instanceof Promise ? result.then(judged) : judged(result);
  };
}

const pathText = (path: NonNullable<StandardIssue["path"]>): string =>
  ["#", ...path.map((each) => String(typeof each === "object" ? each.key : each))].join("/");

/** Which edition of JSON Schema a schema is written in. */
function draftOf({ $schema }: JsonSchema): "4" | "7" | "2019-09" | "2020-12" {
  const named = typeof $schema === "string" ? /draft-0?([47])|2019-09/.exec($schema) : null;
  if (named === null) return "2020-12";
  return named[1] === "4" ? "4" : named[1] === "7" ? "7" : "2019-09";
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  (typeof value === "object" || typeof value === "function") && value !== null;

function isStandard<T>(schema: Schema<T>): schema is StandardSchema<T> {
  const standard: unknown = Reflect.get(schema, "~standard");
  return isRecord(standard) && typeof standard.validate === "function";
}

function hasLibrarySchema<T>(
  schema: Schema<T>,
): schema is { readonly schema: StandardSchema<T>; readonly jsonSchema: JsonSchema } {
  const held: unknown = Reflect.get(schema, "schema");
  const jsonSchema: unknown = Reflect.get(schema, "jsonSchema");
  return isRecord(held) && isRecord(jsonSchema) && isRecord(Reflect.get(held, "~standard"));
}
