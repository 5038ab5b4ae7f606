/**
 * Writes the compact table that the enforcing walk reads. A field's code says what it may hold:
 * `s` string, `b` boolean, `i` integer, `u` integer from 0, `p` JSON Pointer, `j` any JSON, `v` any JSON but null,
 * `o` open object, `=x` the constant x, `#E` an enum, `@O` an object, `%U` a union, `[c` a list of c,
 * `+c` a list of at least one c, `~c` text or a list of c; a leading `?` means optional.
 */
import { definitions } from "../../src/protocol/definition/index.ts";
import type { Shape } from "../../src/protocol/definition/index.ts";
import { HEADER, objects, resolve, tagOf, unions } from "./outline.ts";

const LETTERS = { string: "s", boolean: "b", int: "i", uint: "u", pointer: "p", json: "j", value: "v", open: "o" };

export function writeShapes(): string {
  const objectLines = objects.map(([name, definition]) => {
    const fields = Object.entries(definition.fields).map(
      ([field, { shape, required }]) => `${field}: "${required ? "" : "?"}${codeOf(shape)}"`,
    );
    return `  ${name}: { ${compress(fields)} },`;
  });
  const enumLines = Object.entries(definitions).flatMap(([name, definition]) =>
    definition.kind === "enum" ? [`  ${name}: ${JSON.stringify(definition.values)},`] : [],
  );
  const unionLines = unions.map(([name, { by, members }]) => {
    const tags = members.map((member) => `${JSON.stringify(tagOf(member, by))}: "${member}"`);
    return `  ${name}: { by: "${by}", members: { ${tags.join(", ")} } },`;
  });
  const aliasLines = Object.entries(definitions).flatMap(([name, definition]) =>
    definition.kind === "alias" ? [`  ${name}: "${codeOf(definition.shape)}",`] : [],
  );
  const open = objects.flatMap(([name, definition]) => (definition.open ? [`"${name}"`] : []));
  return `${HEADER}
const base = { ${BASE.join(", ")} } as const;
const attributable = { ...base, ${ATTRIBUTION} } as const;

/** Fields of every object, each with the code of what it may hold. */
export const OBJECTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
${objectLines.join("\n")}
};

/** Values of every enum. */
export const ENUMS: Readonly<Record<string, readonly string[]>> = {
${enumLines.join("\n")}
};

/** Members of every union, by the constant that tells them apart. */
export const UNIONS: Readonly<
  Record<string, { readonly by: string; readonly members: Readonly<Record<string, string>> }>
> = {
${unionLines.join("\n")}
};

/** Names for other shapes. */
export const ALIASES: Readonly<Record<string, string>> = {
${aliasLines.join("\n")}
};

/** Objects that keep members they do not name. */
export const OPEN: readonly string[] = [${open.join(", ")}];
`;
}

const BASE = ['timestamp: "?i"', 'rawEvent: "?v"', 'metadata: "?o"'];
const ATTRIBUTION = 'subagentRunId: "?s"';

/** Writes the fields that all events share as one word. */
function compress(fields: readonly string[]): string {
  if (!BASE.every((field) => fields.includes(field))) return fields.join(", ");
  const attributed = fields.includes(ATTRIBUTION);
  const own = fields.filter((field) => !BASE.includes(field) && !(attributed && field === ATTRIBUTION));
  return [...own, attributed ? "...attributable" : "...base"].join(", ");
}

function codeOf(unresolved: Shape): string {
  const shape = resolve(unresolved);
  switch (shape.kind) {
    case "const":
      return `=${shape.value}`;
    case "list":
      return `${shape.atLeast === undefined ? "[" : "+"}${codeOf(shape.of)}`;
    case "text-or":
      return `~${codeOf(shape.list.kind === "list" ? shape.list.of : shape.list)}`;
    case "ref":
      return `${{ enum: "#", object: "@", union: "%", alias: "" }[definitions[shape.to]?.kind ?? "alias"]}${shape.to}`;
    default:
      return LETTERS[shape.kind];
  }
}
