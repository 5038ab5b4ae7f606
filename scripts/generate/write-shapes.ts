/**
 * Writes the table that enforcement reads, as short as it can be: it is most of what a browser loads.
 *
 * Fields are words: `name` is a required string, `?name` an optional one, `name:code` anything else. A first word `*`
 * makes the object open. Members of a union leave out the constant that tells them apart. The codes are explained
 * where they are read, in src/protocol/shape.ts.
 */
import { definitions } from "../../src/protocol/definition/index.ts";
import type { ObjectDefinition, Shape } from "../../src/protocol/definition/index.ts";
import { HEADER, objectNamed, objects, resolve, tagOf, unions } from "./outline.ts";

const LETTERS = { string: "s", boolean: "b", int: "i", uint: "u", pointer: "p", json: "j", value: "v", open: "o" };

/** Runs of words that many objects share, by the name that the table gives them. */
const SHARED = {
  base: "?timestamp:i ?rawEvent:v ?metadata:o",
  attributable: "${base} ?subagentRunId",
  encrypted: "?encryptedValue ?encryptedValueType",
  owned: "?metadata:o ?subagentRunId",
  named: "?name ${encrypted}",
};

const members = new Set(unions.flatMap(([, union]) => union.members));

/** Capabilities are no part of a stream: whoever judges them loads them apart. */
const isCapability = (name: string): boolean => /Capabilities$|^SubagentInfo$/.test(name);

function objectLines(wanted: (name: string) => boolean): string {
  return objects
    .filter(([name]) => !members.has(name) && wanted(name))
    .map(([name, definition]) => `  ${name}: ${words(definition)},`)
    .join("\n");
}

export function writeCapabilityShapes(): string {
  return `${HEADER}
/** Fields of every object that capabilities are made of. */
export const CAPABILITY_OBJECTS = {
${objectLines(isCapability)}
};
`;
}

export function writeShapes(): string {
  const unionLines = unions.map(([name, { by, members: names }]) => {
    const lines = names.map(
      (member) => `      ${JSON.stringify(tagOf(member, by))}: ${words(objectNamed(member), by)},`,
    );
    return `  ${name}: {\n    by: "${by}",\n    members: {\n${lines.join("\n")}\n    },\n  },`;
  });
  const enumLines = Object.entries(definitions).flatMap(([name, definition]) =>
    definition.kind === "enum" ? [`  ${name}: ${JSON.stringify(definition.values.join(" "))},`] : [],
  );
  const shared = Object.entries(SHARED).map(([name, text]) => `const ${name} = \`${text}\`;`);
  return `${HEADER}
${shared.join("\n")}

/** Fields of every object that is not the member of a union. */
export const OBJECTS = {
${objectLines((name) => !isCapability(name))}
};

/** Members of every union, by the constant that tells them apart. */
export const UNIONS = {
${unionLines.join("\n")}
};

/** Values of every enum. */
export const ENUMS = {
${enumLines.join("\n")}
};
`;
}

function words(definition: ObjectDefinition, implied?: string): string {
  const fields = Object.entries(definition.fields)
    .filter(([name]) => name !== implied)
    .map(([name, { shape, required }]) => {
      const code = codeOf(shape);
      return `${required ? "" : "?"}${name}${code === "s" ? "" : `:${code}`}`;
    });
  let text = [...(definition.open ? ["*"] : []), ...fields].join(" ");
  for (const [name, run] of Object.entries(SHARED)) text = text.replace(run, `\${${name}}`);
  return text.includes("${") ? `\`${text}\`` : `"${text}"`;
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
