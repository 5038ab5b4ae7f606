/** Writes the TypeScript types: one readonly interface per object, one union per union. */
import { definitions } from "../../src/protocol/definition/index.ts";
import type { Definition, ObjectDefinition, Shape } from "../../src/protocol/definition/index.ts";
import { HEADER, events } from "./outline.ts";

export function writeModel(): string {
  const blocks = Object.entries(definitions).map(([name, definition]) => write(name, definition));
  const types = events.map(({ type }) => `  ${type}: "${type}",`).join("\n");
  const map = Object.keys(definitions)
    .map((name) => `  /** See \`${name}\`. */\n  readonly ${name}: ${name};`)
    .join("\n");
  return `${HEADER}
/** The types of all events, by name. */
export const EventType = {
${types}
} as const;

/** The type of an event. */
export type EventType = keyof typeof EventType;

${blocks.join("\n\n")}

/** Every definition by its name. */
export interface Definitions {
${map}
}
`;
}

function write(name: string, definition: Definition): string {
  const doc = `/** ${definition.doc} */\n`;
  switch (definition.kind) {
    case "enum":
      return `${doc}export type ${name} = ${definition.values.map((value) => `"${value}"`).join(" | ")};`;
    case "alias":
      return `${doc}export type ${name} = ${typeOf(definition.shape)};`;
    case "union":
      return `${doc}export type ${name} =\n${definition.members.map((member) => `  | ${member}`).join("\n")};`;
    case "object":
      return `${doc}export interface ${name} {\n${members(definition)}\n}`;
  }
}

function members(definition: ObjectDefinition): string {
  return Object.entries(definition.fields)
    .map(
      ([name, field]) =>
        `  /** ${field.doc} */\n  readonly ${name}${field.required ? "" : "?"}: ${typeOf(field.shape)};`,
    )
    .join("\n");
}

function typeOf(shape: Shape): string {
  switch (shape.kind) {
    case "string":
    case "pointer":
      return "string";
    case "boolean":
      return "boolean";
    case "int":
    case "uint":
      return "number";
    case "json":
    case "value":
      return "unknown";
    case "open":
      return "Readonly<Record<string, unknown>>";
    case "const":
      return `"${shape.value}"`;
    case "ref":
      return shape.to;
    case "list":
      return `readonly ${typeOf(shape.of)}[]`;
    case "text-or":
      return `string | ${typeOf(shape.list)}`;
  }
}
