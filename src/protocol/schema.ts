/** `heddle/protocol/schema`: every definition by name, as JSON Schema 2020-12 and as a judgement (`parseAs`). */
import { definitionSchemas } from "./generated/definition-schemas.ts";
import type { JsonSchema } from "./generated/definition-schemas.ts";

export { definitionSchemas };
export type { JsonSchema };
export { parseAs } from "./parse-as.ts";
export type { Judgeable } from "./parse-as.ts";

/** Every name that has a schema. */
export type SchemaName = keyof typeof definitionSchemas;

/** A whole schema document for one definition, with all that it refers to. */
export function schemaFor(name: SchemaName): JsonSchema {
  return { $schema: "https://json-schema.org/draft/2020-12/schema", $ref: `#/$defs/${name}`, $defs: definitionSchemas };
}

/** Schema of every event. */
export const eventSchema: JsonSchema = schemaFor("Event");

/** Schema of a run input, the body of a request. */
export const runInputSchema: JsonSchema = schemaFor("RunAgentInput");
