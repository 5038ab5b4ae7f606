/** One factory per event: what it builds is valid on every wire, and what is not is refused where it is made. */
import { isDeepStrictEqual } from "node:util";
import { EventSchema } from "@ag-ui/core/schemas";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryEvent, arbitraryJsonObject, arbitraryText } from "../../test/arbitrary-event.ts";
import { definitions } from "./definition/index.ts";
import type { Definition, Shape } from "./definition/index.ts";
import { parseEvent } from "./enforce.ts";
import { HeddleError } from "./errors.ts";
import * as generated from "./generated/factories.ts";
import { EventType } from "./generated/model.ts";
import type { Event } from "./generated/model.ts";

type Factory = (fields: Fields) => Event;
type Fields = Readonly<Record<string, unknown>>;

const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);
const FACTORIES = generated as unknown as Readonly<Record<string, Factory>>;
const TYPES = Object.values(EventType);

const nameOf = (type: string): string =>
  type
    .split("_")
    .map((word, index) => (index === 0 ? word.toLowerCase() : `${word.charAt(0)}${word.slice(1).toLowerCase()}`))
    .join("");

function factoryOf(type: string): Factory {
  const factory = FACTORIES[nameOf(type)];
  if (factory === undefined) throw new Error(`${type} has no factory`);
  return factory;
}

const metaEvents: fc.Arbitrary<Fields> = fc.record(
  { type: fc.constant("META"), metaType: arbitraryText(), payload: arbitraryJsonObject(), timestamp: fc.nat() },
  { requiredKeys: ["type", "metaType", "payload"], noNullPrototype: true },
);
const plain = (values: fc.Arbitrary<object>): fc.Arbitrary<Fields> => values.map((value) => ({ ...value }));
const eventsOf = (type: EventType): fc.Arbitrary<Fields> =>
  type === "META" ? metaEvents : plain(arbitraryEvent(type));

const withoutType = ({ type, ...fields }: Fields): Fields => (type === undefined ? {} : fields);
const sampleOf = (type: EventType): Fields => fc.sample(eventsOf(type), { numRuns: 1, seed: 7 })[0] ?? {};

function check<T>(values: fc.Arbitrary<T>, predicate: (value: T) => void, numRuns: number): string | undefined {
  return fc.defaultReportMessage(fc.check(fc.property(values, predicate), { numRuns: Math.ceil(numRuns * SCALE) }));
}

function refusal(run: () => unknown): HeddleError<"event-invalid"> {
  try {
    run();
  } catch (error) {
    if (error instanceof HeddleError && error.code === "event-invalid") return error as HeddleError<"event-invalid">;
    throw error;
  }
  throw new Error("Nothing was refused.");
}

describe("every event type has a factory", () => {
  it("has as many factories as events", () => {
    expect(Object.keys(FACTORIES).toSorted()).toEqual(TYPES.map(nameOf).toSorted());
  });

  it.each(TYPES)("%s: builds what its fields say, and @ag-ui/core/schemas accepts it", (type) => {
    const build = (event: Fields): void => {
      const built = factoryOf(type)(withoutType(event));
      expect(isDeepStrictEqual(built, event)).toBe(true);
      expect(type === "META" || EventSchema.safeParse(built).success).toBe(true);
    };
    expect(check(eventsOf(type), build, 60)).toBeUndefined();
  });

  it("builds its own type or nothing, also from a whole event of another type", () => {
    const wrong = TYPES.flatMap((type) =>
      TYPES.flatMap((other) => {
        const built = attempt(() => factoryOf(type)(sampleOf(other)));
        return built === undefined || built.type === type ? [] : [`${nameOf(type)} built ${built.type}`];
      }),
    );
    expect(wrong.slice(0, 10)).toEqual([]);
  });

  it.each(TYPES)("%s: refuses a required field that is missing, undefined, or null where null is no value", (type) => {
    const whole = withoutType(sampleOf(type));
    const bad = requiredFields(type).flatMap(([field, nullable]) => [
      [field, undefined] as const,
      ...(nullable ? [] : [[field, null] as const]),
    ]);
    for (const [field, value] of bad) {
      const details = { path: `/${field}`, received: value === null ? "null" : "nothing" };
      expect(refusal(() => factoryOf(type)({ ...whole, [field]: value })).details).toMatchObject(details);
    }
    expect(parseEvent({ type, ...whole }).warnings).toEqual([]);
  });

  it.each(TYPES)("%s: refuses an unknown field, and names it", (type) => {
    const error = refusal(() => factoryOf(type)({ ...withoutType(sampleOf(type)), unheardOf: 1 }));
    expect(error.details.path).toBe("/unheardOf");
  });
});

/** Required fields of an event, and whether null is a value there. */
function requiredFields(type: EventType): readonly (readonly [field: string, nullable: boolean])[] {
  const event = Object.values(definitions).find((one) => one.kind === "object" && tagOf(one, "type") === type);
  if (event?.kind !== "object") throw new Error(`${type} is not defined`);
  const required = Object.entries(event.fields).filter(([field, { required }]) => required && field !== "type");
  return required.map(([field]) => [field, ["snapshot", "event", "value"].includes(field)]);
}

function tagOf(definition: Definition | undefined, by: string): string | undefined {
  const shape = definition?.kind === "object" ? definition.fields[by]?.shape : undefined;
  return shape?.kind === "const" ? shape.value : undefined;
}

describe("optional fields without a value are left out", () => {
  it("at every depth, null and undefined alike, and without touching what was passed", () => {
    const empties = fc.infiniteStream(fc.constantFrom(null, undefined, "leave"));
    expect(check(fc.tuple(plain(arbitraryEvent()), empties), leftOut, 1500)).toBeUndefined();
  });

  it("keeps a null that is data: inside open objects, and as a required JSON value", () => {
    const metadata = { note: null, deep: { again: [null] } };
    expect(generated.custom({ name: "n", value: null, metadata })).toEqual({
      type: "CUSTOM",
      name: "n",
      value: null,
      metadata,
    });
    expect(generated.stateSnapshot({ snapshot: null })).toEqual({ type: "STATE_SNAPSHOT", snapshot: null });
    const delta = [{ op: "add", path: "/a", value: null }] as const;
    expect(generated.stateDelta({ delta })).toEqual({ type: "STATE_DELTA", delta });
  });
});

/** Expects a factory to build an event from its fields and some empty ones as if those were not there. */
function leftOut([event, stream]: Padding): void {
  const fields = withoutType(padded(event, { kind: "ref", to: "Event" }, stream) as Fields);
  const before = JSON.stringify(fields);
  const built = factoryOf(String(event.type))(fields);
  expect(isDeepStrictEqual(built, event)).toBe(true);
  expect(JSON.stringify(fields)).toBe(before);
}

type Padding = readonly [event: Fields, empties: Iterator<unknown>];

/** A value with some of its absent optional fields put in as null or undefined, at every depth that AG-UI describes. */
function padded(value: unknown, shape: Shape, empties: Iterator<unknown>): unknown {
  if (shape.kind === "text-or") return typeof value === "string" ? value : padded(value, shape.list, empties);
  if (shape.kind === "list") return (value as readonly unknown[]).map((item) => padded(item, shape.of, empties));
  const definition = shape.kind === "ref" ? definitions[shape.to] : undefined;
  if (definition?.kind === "alias") return padded(value, definition.shape, empties);
  if (definition?.kind === "union") {
    const tag = (value as Fields)[definition.by];
    const member = definition.members.find((name) => tagOf(definitions[name], definition.by) === tag);
    return padded(value, { kind: "ref", to: member ?? "" }, empties);
  }
  if (definition?.kind !== "object") return value;
  const result: Record<string, unknown> = {};
  for (const [field, { shape: fieldShape, required }] of Object.entries(definition.fields)) {
    const held = (value as Fields)[field];
    if (held !== undefined) result[field] = padded(held, fieldShape, empties);
    else if (!required) {
      const empty = empties.next().value;
      if (empty !== "leave") result[field] = empty;
    }
  }
  // Members that an open object keeps.
  return { ...(value as Fields), ...result };
}

describe("invalid values are refused with event-invalid", () => {
  const cases: readonly (readonly [string, () => unknown, string])[] = [
    ["a field of the wrong type", () => generated.runError({ message: 7 as unknown as string }), "/message"],
    [
      "an outcome that asks nothing",
      () => generated.runFinished({ threadId: "t", runId: "r", outcome: { type: "interrupt", interrupts: [] } }),
      "/outcome/interrupts",
    ],
    ["a float for a time", () => generated.stepStarted({ stepName: "s", timestamp: 0.5 }), "/timestamp"],
    [
      "a path that is no JSON Pointer",
      () => generated.stateDelta({ delta: [{ op: "remove", path: "a" }] }),
      "/delta/0/path",
    ],
    ["an unknown role", () => generated.textMessageStart({ messageId: "m", role: "tool" as "user" }), "/role"],
    [
      "an unknown subtype",
      () => generated.reasoningEncryptedValue({ subtype: "step" as "message", entityId: "e", encryptedValue: "v" }),
      "/subtype",
    ],
    [
      "an unknown field deep inside",
      () =>
        generated.messagesSnapshot({
          messages: [
            {
              id: "m",
              role: "user",
              content: [{ type: "text", text: "", colour: 1 } as { type: "text"; text: string }],
            },
          ],
        }),
      "/messages/0/content/0/colour",
    ],
    [
      "an unknown content part",
      () =>
        generated.toolCallResult({
          messageId: "m",
          toolCallId: "c",
          content: [{ type: "binary" } as unknown as { type: "text"; text: string }],
        }),
      "/content/0",
    ],
    [
      "a null in a list",
      () => generated.runFinished({ threadId: "t", runId: "r", usage: [null as unknown as object] }),
      "/usage/0",
    ],
  ];

  it.each(cases)("%s", (_, build, path) => {
    expect(refusal(build).details.path).toBe(path);
  });
});

describe("what JSON cannot carry never makes an invalid event on the wire", () => {
  const cases: readonly (readonly [string, () => Event])[] = [
    [
      "NaN for a raw event, which JSON writes as null",
      () => generated.runError({ message: "no", rawEvent: Number.NaN }),
    ],
    ["a function for a required value, which JSON leaves out", () => generated.custom({ name: "n", value: () => 1 })],
    ["a symbol for a state, which JSON leaves out", () => generated.stateSnapshot({ snapshot: Symbol("s") })],
    [
      "a date for metadata, which JSON writes as a string",
      () => generated.runError({ message: "no", metadata: new Date(0) as unknown as Fields }),
    ],
    ["a list with a hole, which JSON writes as null", () => generated.messagesSnapshot({ messages: Array(1) })],
  ];

  it.each(cases)("%s: refused when built, or right when read back", (_, build) => {
    const readBack = (): unknown => {
      const event = attempt(build);
      return event === undefined ? [] : parseEvent(JSON.parse(JSON.stringify(event))).warnings;
    };
    expect(readBack()).toEqual([]);
  });
});

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof HeddleError) return undefined;
    throw error;
  }
}
