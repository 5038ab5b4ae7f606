/** Writes JSON Schema 2020-12 of every definition. */
import { definitions } from "../../src/protocol/definition/index.ts";
import type { Definition, Shape } from "../../src/protocol/definition/index.ts";
import { HEADER } from "./outline.ts";

const MAX = Number.MAX_SAFE_INTEGER;

export function writeSchema(): string {
  const defs = Object.fromEntries(
    Object.entries(definitions).map(([name, definition]) => [name, schemaOf(definition)]),
  );
  return `${HEADER}
/** A JSON Schema, as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** JSON Schema of every definition; they refer to each other as \`#/$defs/<Name>\`. */
export const definitionSchemas = ${JSON.stringify(defs, null, 2)} as const satisfies Readonly<Record<string, JsonSchema>>;
`;
}

function schemaOf(definition: Definition): object {
  const description = definition.doc;
  switch (definition.kind) {
    case "enum":
      return { description, type: "string", enum: definition.values };
    case "alias":
      return { description, ...shapeSchema(definition.shape) };
    case "union":
      return { description, oneOf: definition.members.map((member) => ({ $ref: `#/$defs/${member}` })) };
    case "object": {
      const entries = Object.entries(definition.fields);
      return {
        description,
        type: "object",
        properties: Object.fromEntries(
          entries.map(([name, field]) => [name, { description: field.doc, ...shapeSchema(field.shape) }]),
        ),
        required: entries.filter(([, field]) => field.required).map(([name]) => name),
        additionalProperties: definition.open,
      };
    }
  }
}

function shapeSchema(shape: Shape): object {
  switch (shape.kind) {
    case "string":
    case "boolean":
      return { type: shape.kind };
    case "int":
      return { type: "integer", minimum: -MAX, maximum: MAX };
    case "uint":
      return { type: "integer", minimum: 0, maximum: MAX };
    case "pointer":
      return { type: "string", pattern: "^(/([^/~]|~[01])*)*$" };
    case "json":
      return {};
    case "value":
      return { not: { type: "null" } };
    case "open":
      return { type: "object" };
    case "const":
      return { const: shape.value };
    case "ref":
      return { $ref: `#/$defs/${shape.to}` };
    case "list":
      return { type: "array", items: shapeSchema(shape.of), ...(shape.atLeast ? { minItems: shape.atLeast } : {}) };
    case "text-or":
      return { oneOf: [{ type: "string" }, shapeSchema(shape.list)] };
  }
}
