/** The JSON Schemas against the enforcement: a schema validates exactly what is accepted without a warning. */
import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryEvent, arbitraryJson, arbitraryJsonObject, arbitraryRunInput } from "../../test/arbitrary-event.ts";
import { arbitraryMutated } from "../../test/differential-differences.ts";
import { definitions } from "./definition/index.ts";
import type { Definition, Shape } from "./definition/index.ts";
import { parseEvent, parseRunInput } from "./enforce.ts";
import { parseAs } from "./parse-as.ts";
import type { Enforced } from "./enforce.ts";
import type { Judgeable } from "./parse-as.ts";
import { HeddleError } from "./errors.ts";
import { definitionSchemas, eventSchema, runInputSchema, schemaFor } from "./schema.ts";
import type { JsonSchema, SchemaName } from "./schema.ts";

const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);
const NAMES = Object.keys(definitions) as readonly SchemaName[];

/** Whether a schema validates a value. */
function validates(schema: JsonSchema): (value: unknown) => boolean {
  const validator = new Validator(schema, "2020-12");
  return (value) => validator.validate(value).valid;
}

/** Whether the enforcement accepts a value without a warning: the strict reading. */
function isStrictlyRight(parse: (value: unknown) => Enforced<unknown>, value: unknown): boolean {
  try {
    return parse(value).warnings.length === 0;
  } catch (error) {
    if (error instanceof HeddleError) return false;
    throw error;
  }
}

function reportOf(values: fc.Arbitrary<unknown>, schema: JsonSchema, parse: Parse, numRuns: number): Report {
  const isValid = validates(schema);
  const seen = { right: 0, wrong: 0 };
  const property = fc.property(values, (value) => {
    const right = isStrictlyRight(parse, value);
    seen[right ? "right" : "wrong"]++;
    if (isValid(value) !== right) throw new Error(right ? "only the enforcement accepts it" : "only the schema does");
  });
  return { complaint: fc.defaultReportMessage(fc.check(property, { numRuns: Math.ceil(numRuns * SCALE) })), seen };
}

type Parse = (value: unknown) => Enforced<unknown>;

interface Report {
  readonly complaint: string | undefined;
  readonly seen: { readonly right: number; readonly wrong: number };
}

describe("events and run inputs", () => {
  it.each([
    ["eventSchema", eventSchema, parseEvent, arbitraryEvent()],
    ["runInputSchema", runInputSchema, parseRunInput, arbitraryRunInput()],
  ] as const)("%s validates what is accepted without a warning, and nothing else", (_, schema, parse, values) => {
    const { complaint, seen } = reportOf(arbitraryMutated(values), schema, parse, 2000);
    expect(complaint).toBeUndefined();
    expect(Math.min(seen.right, seen.wrong)).toBeGreaterThan(200);
  });
});

/** Arbitrary right values of a shape, read off the definitions. */
function arbitraryOf(shape: Shape): fc.Arbitrary<unknown> {
  switch (shape.kind) {
    case "string":
      return fc.string({ maxLength: 5 });
    case "boolean":
      return fc.boolean();
    case "int":
      return fc.maxSafeInteger();
    case "uint":
      return fc.maxSafeNat();
    case "pointer":
      return fc.constantFrom("", "/", "/a/b", "/~0~1", "/ü");
    case "json":
      return arbitraryJson();
    case "value":
      return arbitraryJson().filter((value) => value !== null);
    case "open":
      return arbitraryJsonObject();
    case "const":
      return fc.constant(shape.value);
    case "list":
      return fc.array(arbitraryOf(shape.of), { minLength: shape.atLeast ?? 0, maxLength: 2 });
    case "text-or":
      return fc.oneof(fc.string({ maxLength: 5 }), arbitraryOf(shape.list));
    case "ref":
      return ARBITRARIES[shape.to] ?? fc.constant(undefined);
  }
}

function arbitraryDefinition(definition: Definition): fc.Arbitrary<unknown> {
  if (definition.kind === "enum") return fc.constantFrom(...definition.values);
  if (definition.kind === "alias") return arbitraryOf(definition.shape);
  if (definition.kind === "union") {
    return fc.oneof(...definition.members.map((member) => arbitraryOf({ kind: "ref", to: member })));
  }
  const fields = Object.entries(definition.fields);
  return fc.record(Object.fromEntries(fields.map(([name, { shape }]) => [name, arbitraryOf(shape)])), {
    requiredKeys: fields.flatMap(([name, { required }]) => (required ? [name] : [])),
    noNullPrototype: true,
  });
}

// Getters, so that each definition is built when another one needs it; none holds itself.
const ARBITRARIES: Readonly<Record<string, fc.Arbitrary<unknown>>> = Object.defineProperties(
  {},
  Object.fromEntries(
    Object.entries(definitions).map(([name, definition]) => [name, { get: () => arbitraryDefinition(definition) }]),
  ),
);

/** The enforcement of a definition; that of a union's member goes by the union, and asks for the right tag. */
function parserOf(name: SchemaName): Parse | undefined {
  const definition = definitions[name];
  const union = Object.entries(definitions).find(([, one]) => one.kind === "union" && one.members.includes(name));
  if (union?.[1].kind !== "union") {
    return definition?.kind === "object" || definition?.kind === "union"
      ? (value) => parseAs(name as Judgeable, value)
      : undefined;
  }
  const [unionName, { by }] = union;
  const tag = definition?.kind === "object" ? definition.fields[by]?.shape : undefined;
  return (value) => {
    const isMember = tag?.kind === "const" && (value as Record<string, unknown> | null)?.[by] === tag.value;
    return isMember ? parseAs(unionName as Judgeable, value) : REFUSED;
  };
}

const REFUSED: Enforced<undefined> = {
  value: undefined,
  warnings: [{ code: "unknown-member", path: "", message: "Of another member." }],
};

describe("every definition", () => {
  it("has a schema, and no schema is of anything else", () => {
    expect(Object.keys(definitionSchemas)).toEqual(NAMES);
  });

  it.each(NAMES)("%s: its schema is a whole document, and has a description", (name) => {
    const schema = schemaFor(name);
    expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(definitionSchemas[name].description).not.toBe("");
    expect(() => validates(schema)({})).not.toThrow();
  });

  it.each(NAMES.flatMap((name) => (parserOf(name) === undefined ? [] : [name])))(
    "%s: its schema validates what is accepted without a warning, and nothing else",
    (name) => {
      const parse = parserOf(name) as Parse;
      const { complaint, seen } = reportOf(
        arbitraryMutated(arbitraryOf({ kind: "ref", to: name })),
        schemaFor(name),
        parse,
        120,
      );
      expect(complaint).toBeUndefined();
      expect(seen.right).toBeGreaterThan(0);
      expect(seen.wrong).toBeGreaterThan(0);
    },
  );

  it.each([
    ["TextMessageRole", "user", "tool"],
    ["Role", "tool", "narrator"],
    ["ResumeStatus", "resolved", "rejected"],
    ["ReasoningEncryptedValueSubtype", "tool-call", "step"],
    ["JsonPointer", "/a~1b", "a"],
    ["JsonPatch", [{ op: "remove", path: "", value: 1 }], [{ op: "add", path: "" }]],
    ["Metadata", { any: null }, null],
    ["TokenUsage", { inputTokens: 0 }, { inputTokens: -1 }],
    [
      "TextMessageChunkEvent",
      { type: "TEXT_MESSAGE_CHUNK", timestamp: 2 ** 53 - 1 },
      { type: "TEXT_MESSAGE_CHUNK", timestamp: 2 ** 53 },
    ],
    [
      "RunFinishedOutcome",
      { type: "interrupt", interrupts: [{ id: "", reason: "" }] },
      { type: "interrupt", interrupts: [] },
    ],
    ["SubagentRunId", "", 7],
  ] as const)("%s: its schema validates %j and not %j", (name, right, wrong) => {
    expect(validates(schemaFor(name))(right)).toBe(true);
    expect(validates(schemaFor(name))(wrong)).toBe(false);
  });

  it("State: its schema validates every JSON value, null included", () => {
    for (const value of [null, 0, "", false, [], {}]) expect(validates(schemaFor("State"))(value)).toBe(true);
  });
});
