/**
 * The description of the routes, written from their own table: what is read is what is described. OpenAPI 3.1, whose
 * schemas are JSON Schema 2020-12, as ours are.
 */
import { ERRORS } from "../../protocol/index.ts";
import type { ErrorCode } from "../../protocol/index.ts";
import { definitionSchemas } from "../../protocol/schema.ts";
import type { JsonSchema } from "../../protocol/schema.ts";
import type { Described, Route } from "./route.ts";

type Json = Readonly<Record<string, unknown>>;

/** Errors that any route may answer. */
const COMMON: readonly ErrorCode[] = [
  "internal-error",
  "origin-refused",
  "rate-limited",
  "server-closing",
  "store-unavailable",
];

/** Lines of JSON are no JSON. */
const LINES = { type: "string" } as const;

const ERROR_SCHEMA: JsonSchema = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "message"],
      properties: {
        code: { type: "string", enum: Object.keys(ERRORS) },
        message: { type: "string" },
        details: { type: "object" },
      },
    },
  },
};

/** Describes routes that are mounted under a prefix. */
export function openApi(routes: readonly Route[], prefix: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const operations = (paths[route.path] ??= {});
    operations[route.method.toLowerCase()] = operation(route);
  }
  const schemas = { ...definitionSchemas, Error: ERROR_SCHEMA };
  return {
    openapi: "3.1.0",
    info: { title: "Heddle", version: "1.0", description: "The durable event log of AG-UI agents." },
    servers: [{ url: prefix === "" ? "/" : prefix }],
    paths,
    components: {
      schemas: JSON.parse(JSON.stringify(schemas).replaceAll('"#/$defs/', '"#/components/schemas/')),
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "Where the server asks who calls." },
        ticket: { type: "apiKey", in: "query", name: "ticket", description: "From POST /tickets: once, within 30 s." },
      },
    },
  };
}

function operation(route: Route): Json {
  const { id, summary, parameters = [], body, bytes, answers, errors, needs } = route;
  const isPublic = needs === "nobody";
  const asks: readonly ErrorCode[] = isPublic ? [] : ["unauthenticated", "keys-unavailable", "role-missing"];
  const security = isPublic ? [] : [{}, { token: [] }, { ticket: [] }];
  const media =
    bytes === undefined ? { "application/json": { schema: body } } : { [bytes.mediaType]: { schema: LINES } };
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const others = parameters.map(({ name, place, description, schema }) => ({ name, in: place, description, schema }));
  return {
    operationId: id,
    summary,
    security,
    parameters: [...inPath, ...others],
    ...(body === undefined && bytes === undefined ? {} : { requestBody: { required: true, content: media } }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, response(answer)])),
      ...refusals([...errors, ...asks, ...COMMON]),
    },
  };
}

function response({ description, content = {} }: Described): Json {
  const media = Object.entries(content).map(([type, schema]) => [type, { schema }]);
  return media.length === 0 ? { description } : { description, content: Object.fromEntries(media) };
}

/** Errors by the status that carries them. */
function refusals(codes: readonly ErrorCode[]): Json {
  const byStatus = Map.groupBy(new Set(codes), (code) => ERRORS[code].status);
  const content = { "application/json": { $ref: "#/components/schemas/Error" } };
  return Object.fromEntries(
    [...byStatus].map(([status, found]) => [status, response({ description: found.toSorted().join(", "), content })]),
  );
}
