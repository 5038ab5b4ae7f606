/**
 * The words in which AG-UI's data is defined here.
 *
 * Types, validators, factories and JSON Schema are all generated from definitions in these words
 * (`npm run generate`), so they cannot disagree. Nothing in this folder is part of the package.
 */

/** What a field may hold. */
export type Shape =
  | { readonly kind: "string" | "boolean" | "int" | "uint" | "pointer" }
  /** Any JSON value, null included. */
  | { readonly kind: "json" }
  /** Any JSON value except null. */
  | { readonly kind: "value" }
  /** An object whose members are not ours to judge. */
  | { readonly kind: "open" }
  | { readonly kind: "const"; readonly value: string }
  /** A named enum, object or union. */
  | { readonly kind: "ref"; readonly to: string }
  | { readonly kind: "list"; readonly of: Shape; readonly atLeast?: number }
  /** Plain text, or a list. */
  | { readonly kind: "text-or"; readonly list: Shape };

/** One field: its shape, whether it must be there, and its line of documentation. */
export interface Field {
  readonly shape: Shape;
  readonly required: boolean;
  readonly doc: string;
}

/** Fields by name. */
export type Fields = Readonly<Record<string, Field>>;

/** A closed set of strings. */
export interface EnumDefinition {
  readonly kind: "enum";
  readonly doc: string;
  readonly values: readonly string[];
}

/** An object. `open` objects keep members that are not listed; closed ones lose them. */
export interface ObjectDefinition {
  readonly kind: "object";
  readonly doc: string;
  readonly open: boolean;
  readonly fields: Fields;
}

/** One of several objects, told apart by a constant field. */
export interface UnionDefinition {
  readonly kind: "union";
  readonly doc: string;
  readonly by: "type" | "role" | "op";
  readonly members: readonly string[];
}

/** A name for another shape. */
export interface AliasDefinition {
  readonly kind: "alias";
  readonly doc: string;
  readonly shape: Shape;
}

/** Anything that has a name. */
export type Definition = EnumDefinition | ObjectDefinition | UnionDefinition | AliasDefinition;

/** All definitions, in the order in which they are written out. */
export type Definitions = Readonly<Record<string, Definition>>;

export const string: Shape = { kind: "string" };
export const boolean: Shape = { kind: "boolean" };
export const int: Shape = { kind: "int" };
export const uint: Shape = { kind: "uint" };
export const pointer: Shape = { kind: "pointer" };
export const json: Shape = { kind: "json" };
export const value: Shape = { kind: "value" };
export const open: Shape = { kind: "open" };
export const constant = (constantValue: string): Shape => ({ kind: "const", value: constantValue });
export const ref = (to: string): Shape => ({ kind: "ref", to });
export const list = (of: Shape, atLeast?: number): Shape => ({
  kind: "list",
  of,
  ...(atLeast === undefined ? {} : { atLeast }),
});
export const textOr = (listShape: Shape): Shape => ({ kind: "text-or", list: listShape });

export const must = (shape: Shape, doc: string): Field => ({ shape, doc, required: true });
export const may = (shape: Shape, doc: string): Field => ({ shape, doc, required: false });

export const oneOf = (doc: string, values: readonly string[]): EnumDefinition => ({ kind: "enum", doc, values });
export const object = (doc: string, fields: Fields): ObjectDefinition => ({ kind: "object", doc, open: false, fields });
export const openObject = (doc: string, fields: Fields): ObjectDefinition => ({
  kind: "object",
  doc,
  open: true,
  fields,
});
export const union = (doc: string, by: UnionDefinition["by"], members: readonly string[]): UnionDefinition => ({
  kind: "union",
  doc,
  by,
  members,
});
export const alias = (doc: string, shape: Shape): AliasDefinition => ({ kind: "alias", doc, shape });
