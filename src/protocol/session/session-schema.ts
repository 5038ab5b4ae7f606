/**
 * JSON Schema 2020-12 of the session dialect, from the same tables as its types and checks.
 *
 * It says what a reader accepts: members that are not named are allowed (they are ignored), and null is allowed
 * where a member may be absent.
 */
import type { JsonSchema } from "../generated/definition-schemas.ts";
import { ENUMS, OBJECTS, SESSION_EVENT_TYPES, TIME_PATTERN, UNIONS, eventFields } from "./definition.ts";
import type { Fields, SessionDefinition, Shape } from "./definition.ts";
import type { SessionEventType } from "./model.ts";

/** Every name that has a schema: event types, data objects, and the unions of them. */
export type SessionSchemaName = SessionEventType | SessionDefinition | keyof typeof ENUMS;

const BUILT_IN: Readonly<Record<string, JsonSchema>> = {
  string: { type: "string" },
  boolean: { type: "boolean" },
  count: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  time: { type: "string", format: "date-time", pattern: TIME_PATTERN },
  json: {},
  open: { type: "object" },
  content: { oneOf: [{ type: "string" }, { type: "array", items: { $ref: "#/$defs/ContentPart" } }] },
  true: { const: true },
};

/** JSON Schema of every definition; they refer to each other as `#/$defs/<name>`. */
export const sessionSchemas: Readonly<Record<string, JsonSchema>> = {
  SessionEvent: { oneOf: SESSION_EVENT_TYPES.map((type) => ({ $ref: `#/$defs/${type}` })) },
  ...Object.fromEntries(SESSION_EVENT_TYPES.map((type) => [type, objectSchema(eventFields(type))])),
  ...mapValues(OBJECTS, objectSchema),
  ...mapValues(UNIONS, ({ members }) => ({
    oneOf: Object.values<string>(members).map((name) => ({ $ref: `#/$defs/${name}` })),
  })),
  ...mapValues(ENUMS, (values) => ({ enum: values })),
};

/** A whole schema document for one definition, with all that it refers to. */
export function sessionSchemaFor(name: SessionSchemaName): JsonSchema {
  return { $schema: "https://json-schema.org/draft/2020-12/schema", $ref: `#/$defs/${name}`, $defs: sessionSchemas };
}

/** Schema of every session event. */
export const sessionEventSchema: JsonSchema = sessionSchemaFor("SessionEvent");

/** Schema of the request `run-agent`. */
export const sessionRunInputSchema: JsonSchema = sessionSchemaFor("SessionRunInput");

function schemaOf(shape: Shape): JsonSchema {
  if (typeof shape !== "string") return objectSchema(shape);
  if (shape.endsWith("[]")) return { type: "array", items: schemaOf(shape.slice(0, -2)) };
  if (shape.startsWith("=")) return { const: shape.slice(1) };
  return BUILT_IN[shape] ?? { $ref: `#/$defs/${shape}` };
}

function objectSchema(fields: Fields): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const [key, shape] of Object.entries(fields)) {
    if (key.endsWith("?")) {
      properties[key.slice(0, -1)] = shape === "json" ? {} : { anyOf: [schemaOf(shape), { type: "null" }] };
    } else {
      properties[key] = schemaOf(shape);
      required.push(key);
    }
  }
  return { type: "object", properties, required };
}

function mapValues<V>(table: Readonly<Record<string, V>>, map: (value: V) => JsonSchema): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(table).map(([name, value]) => [name, map(value)]));
}
