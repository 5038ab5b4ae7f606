import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HeddleError } from "../errors.ts";
import { ENUMS, OBJECTS, SESSION_EVENT_TYPES, UNIONS, eventFields } from "./definition.ts";
import type { Fields, SessionDefinition, Shape } from "./definition.ts";
import { checkSession } from "./session-check.ts";
import { decodeSessionEvent } from "./session-codec.ts";
import { sessionEventSchema, sessionSchemaFor, sessionSchemas } from "./session-schema.ts";

const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);
const notable = ["", "x", "run-agent", "text", "user", "2026-08-01T09:30:00Z", "2026-02-29T09:30:00Z", "text-chunk"];
const time = fc
  .date({ min: new Date("0000-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true })
  .map((date) => date.toISOString());
const json = fc.jsonValue({ maxDepth: 3 });

const BUILT_IN: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: fc.oneof(fc.string(), fc.constantFrom(...notable)),
  boolean: fc.boolean(),
  count: fc.maxSafeNat(),
  time,
  json,
  open: fc.dictionary(fc.string(), json),
  true: fc.constant(true),
};

/** Values that a shape allows, from the same table as everything else. */
function arbitraryOf(shape: Shape): fc.Arbitrary<unknown> {
  if (typeof shape !== "string") return arbitraryObject(shape);
  if (shape.endsWith("[]")) return fc.array(arbitraryOf(shape.slice(0, -2)), { maxLength: 3 });
  if (shape.startsWith("=")) return fc.constant(shape.slice(1));
  if (shape === "content") return fc.oneof(fc.string(), arbitraryOf("ContentPart[]"));
  if (shape === "SessionEvent") {
    return fc.oneof(...SESSION_EVENT_TYPES.map((type) => arbitraryObject(eventFields(type))));
  }
  const values = Object.entries<readonly string[]>(ENUMS).find(([name]) => name === shape)?.[1];
  if (values !== undefined) return fc.constantFrom(...values);
  const union = Object.entries(UNIONS).find(([name]) => name === shape)?.[1];
  if (union !== undefined) return fc.oneof(...Object.values<string>(union.members).map(arbitraryOf));
  const object = Object.entries<Fields>(OBJECTS).find(([name]) => name === shape)?.[1];
  return object === undefined ? (BUILT_IN[shape] ?? fc.constant(undefined)) : arbitraryObject(object);
}

function arbitraryObject(fields: Fields): fc.Arbitrary<unknown> {
  const members = Object.entries(fields).map(([key, shape]) => {
    const optional = key.endsWith("?");
    const held = optional
      ? fc.oneof({ weight: 4, arbitrary: arbitraryOf(shape) }, fc.constant(null))
      : arbitraryOf(shape);
    return [optional ? key.slice(0, -1) : key, held, optional] as const;
  });
  const requiredKeys = members.filter(([, , optional]) => !optional).map(([name]) => name);
  return fc.record(Object.fromEntries(members.map(([name, held]) => [name, held])), { requiredKeys });
}

/** The value with one place changed: taken out, put in, or replaced by something else. */
function mutate(value: unknown, at: number, put: unknown): unknown {
  const copy: unknown = structuredClone(value);
  const places: (() => void)[] = [];
  const visit = (held: unknown): void => {
    if (typeof held !== "object" || held === null) return;
    for (const key of Object.keys(held)) {
      places.push(() => Reflect.set(held, key, put));
      if (!Array.isArray(held)) places.push(() => Reflect.deleteProperty(held, key));
      visit(Reflect.get(held, key));
    }
    places.push(() => Reflect.set(held, Array.isArray(held) ? held.length : "unheardOf", put));
  };
  visit(copy);
  if (places.length === 0) return put;
  places[at % places.length]?.();
  return copy;
}

function isAccepted(name: SessionDefinition, value: unknown): boolean {
  try {
    checkSession(name, value);
    return true;
  } catch (error) {
    if (error instanceof HeddleError && error.code === "session-invalid") return false;
    throw error;
  }
}

const NAMES = [
  "SessionEvent",
  "SessionRunInput",
  "AgentMessage",
  "ToolCall",
  "ToolResult",
  "ThoughtBlock",
  "SessionMetadata",
  "SessionUsage",
] as const satisfies readonly SessionDefinition[];

const other = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 2 ** 60, {}, [], [null], ["x"], { type: "text" }),
  fc.constantFrom<unknown>(...notable),
);

describe.each(NAMES)("the JSON Schema of %s", (name) => {
  const validator = new Validator(sessionSchemaFor(name), "2020-12");

  it("accepts what the decoder accepts, and refuses what it refuses", () => {
    const counts = { valid: 0, invalid: 0 };
    fc.assert(
      fc.property(arbitraryOf(name), fc.nat(), other, (value, at, put) => {
        expect(isAccepted(name, value)).toBe(true);
        expect(validator.validate(value).valid).toBe(true);
        const mutant = mutate(value, at, put);
        const accepted = isAccepted(name, mutant);
        counts[accepted ? "valid" : "invalid"]++;
        if (validator.validate(mutant).valid !== accepted) throw new Error(`differ on ${JSON.stringify(mutant)}`);
      }),
      { numRuns: (name === "SessionEvent" ? 1_500 : 400) * SCALE },
    );
    // Both kinds came up, so both answers were compared.
    expect(Math.min(counts.valid, counts.invalid)).toBeGreaterThan(20);
  });
});

describe("the JSON Schema", () => {
  it("is a 2020-12 document whose references all lead somewhere", () => {
    expect(sessionEventSchema["$schema"]).toBe("https://json-schema.org/draft/2020-12/schema");
    const references = [...JSON.stringify(sessionSchemas).matchAll(/"#\/\$defs\/([^"]+)"/g)].map(([, name]) => name);
    expect(references.length).toBeGreaterThan(30);
    expect(references.filter((name) => !Object.hasOwn(sessionSchemas, name ?? ""))).toEqual([]);
  });

  it("has an entry for each event, for run-agent and for each data object", () => {
    expect(Object.keys(sessionSchemas)).toEqual(expect.arrayContaining([...SESSION_EVENT_TYPES, ...NAMES]));
  });

  it("agrees with the decoder on the seed's own examples", () => {
    const event = {
      type: "tool-result-chunk",
      sessionId: "s",
      messageId: "m",
      timestamp: "2026-08-01T09:30:00Z",
      data: { toolCallId: "c", result: "fine", isError: false, isComplete: false },
    };
    expect(new Validator(sessionEventSchema, "2020-12").validate(event).valid).toBe(true);
    expect(decodeSessionEvent(JSON.stringify(event))).toEqual(event);
  });
});
