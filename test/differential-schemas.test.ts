/**
 * Our judgement against `@ag-ui/core/schemas` 1.0.0 on generated events and run inputs, valid and mutated.
 *
 * The same means: both refuse; or both accept, with the same value once what their schemas do not describe is taken
 * out of theirs, which keep it. Everything else is explained by an entry of `differential-differences.ts` or fails.
 * Where only we accept, what we let through has to be what the rules leave of the input, read off their schemas.
 */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { EventSchema, RunAgentInputSchema } from "@ag-ui/core/schemas";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HeddleError, parseEvent, parseRunInput } from "../src/protocol/index.ts";
import { arbitraryEvent, arbitraryJsonObject, arbitraryRunInput, arbitraryText } from "./arbitrary-event.ts";
import { DIFFERENCES, arbitraryMutated } from "./differential-differences.ts";
import type { Difference, Subject } from "./differential-differences.ts";

const CLAUSES = readFileSync(new URL("../PROTOCOL.md", import.meta.url), "utf8");
const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);

type Fields = Readonly<Record<string, unknown>>;

/** What of a zod schema the stripping below reads. */
interface Schema {
  readonly def: {
    readonly type: string;
    readonly innerType?: Schema;
    readonly in?: Schema;
    readonly shape?: Readonly<Record<string, Schema>>;
    readonly element?: Schema;
    readonly options?: readonly Schema[];
    readonly discriminator?: string;
    readonly entries?: Fields;
    readonly values?: readonly unknown[];
  };
  readonly meta: () => { readonly specOpen?: boolean } | undefined;
  readonly safeParse: (value: unknown) => { readonly success: boolean; readonly data?: unknown };
}

const SCHEMAS: Readonly<Record<Subject["as"], Schema>> = {
  Event: EventSchema as unknown as Schema,
  RunAgentInput: RunAgentInputSchema as unknown as Schema,
};

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const GONE = Symbol("gone");

/**
 * What R-PROC-08, 10 and 12 leave of a value, by their schema; what is malformed stays, for the schema to refuse.
 * `also` is a key that stays beside `encryptedValue`, as in 1.1.
 */
function strip(value: unknown, wrapped: Schema, also?: string): unknown {
  const schema = unwrap(wrapped);
  const { type, shape, element, options, discriminator, entries } = schema.def;
  if (type === "enum") return typeof value === "string" && !Object.values(entries ?? {}).includes(value) ? GONE : value;
  if (type === "array" && element !== undefined && Array.isArray(value)) {
    return value.map((item) => strip(item, element, also)).filter((item) => item !== GONE);
  }
  if (type === "union" && options !== undefined) {
    if (discriminator === undefined) return Array.isArray(value) ? strip(value, options[1] as Schema, also) : value;
    if (!isObject(value) || typeof value[discriminator] !== "string") return value;
    const member = options.find((option) => tagOf(option, discriminator) === value[discriminator]);
    return member === undefined ? GONE : strip(value, member, also);
  }
  if (type !== "object" || shape === undefined || !isObject(value)) return value;
  const isOpen = schema.meta()?.specOpen === true;
  const left: Record<string, unknown> = {};
  for (const [key, held] of Object.entries(value)) {
    const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
    const kept = field === undefined ? GONE : strip(held, field, also);
    if (kept !== GONE) left[key] = kept;
    else if (field === undefined && (isOpen || (key === also && shape.encryptedValue))) left[key] = held;
    else if (field !== undefined && !["optional", "default"].includes(field.def.type)) return GONE;
  }
  return left;
}

function unwrap(schema: Schema): Schema {
  const inner = schema.def.innerType ?? schema.def.in;
  return inner === undefined ? schema : unwrap(inner);
}

const tagOf = (option: Schema, by: string): unknown => option.def.shape?.[by]?.def.values?.[0];

interface Judgement {
  readonly accepts: boolean;
  readonly value?: unknown;
}

function judgeOurs({ as, value }: Subject): Judgement {
  try {
    return { accepts: true, value: (as === "Event" ? parseEvent(value) : parseRunInput(value)).value };
  } catch (error) {
    if (error instanceof HeddleError && error.code === (as === "Event" ? "event-invalid" : "input-invalid")) {
      return { accepts: false };
    }
    throw error;
  }
}

function judgeTheirs({ as, value }: Subject): Judgement {
  const { success, data } = SCHEMAS[as].safeParse(value);
  return success ? { accepts: true, value: strip(data, SCHEMAS[as]) } : { accepts: false };
}

/** How the two judgements part, or undefined where they do not. */
function disagreement(subject: Subject): Difference["explains"] | undefined {
  const ours = judgeOurs(subject);
  const theirs = judgeTheirs(subject);
  if (ours.accepts !== theirs.accepts) return ours.accepts ? "only ours accepts" : "only theirs accepts";
  return isDeepStrictEqual(ours.value, theirs.value) ? undefined : "values differ";
}

const explanations = (subject: Subject, kind: Difference["explains"]): readonly Difference[] =>
  DIFFERENCES.filter(({ explains, applies }) => explains === kind && applies(subject));

/** Their value with all that is explained brought to ours. */
const levelled = (theirs: unknown, subject: Subject): unknown =>
  explanations(subject, "values differ").reduce((value, { level }) => level?.(value, subject) ?? value, theirs);

/** Says what is wrong with a subject's two judgements, and notes which differences explained them. */
function complaint(subject: Subject, explained: Map<string, number>): string | undefined {
  const kind = disagreement(subject);
  if (kind === undefined) return undefined;
  const because = explanations(subject, kind);
  for (const { id } of because) explained.set(id, (explained.get(id) ?? 0) + 1);
  if (because.length === 0) return `${kind}, and no difference explains it`;
  const ours = judgeOurs(subject).value;
  if (kind === "values differ") {
    const theirs = levelled(judgeTheirs(subject).value, subject);
    return isDeepStrictEqual(ours, theirs) ? undefined : "the explained differences do not account for the values";
  }
  return kind === "only ours accepts" && !isMeta(subject) ? overreach(subject, ours) : undefined;
}

const isMeta = ({ value }: Subject): boolean => isObject(value) && value.type === "META";

/** What we let through that they refused has to be exactly what the rules leave of it, and right in their eyes. */
function overreach(subject: Subject, ours: unknown): string | undefined {
  const left = strip(subject.value, SCHEMAS[subject.as], "encryptedValueType");
  if (left === GONE) return ours === undefined ? undefined : "we kept what the rules drop";
  const rest = { as: subject.as, value: left };
  const theirs = judgeTheirs(rest);
  if (!theirs.accepts) return "we accepted what is malformed besides what is unknown in it";
  const same = isDeepStrictEqual(ours, left) && isDeepStrictEqual(ours, levelled(theirs.value, rest));
  return same ? undefined : "we took out more or less than the rules say";
}

const metaEvent = fc.record(
  { type: fc.constant("META"), metaType: arbitraryText(), payload: arbitraryJsonObject(), timestamp: fc.nat() },
  { requiredKeys: ["type", "metaType", "payload"], noNullPrototype: true },
);
const subjects: fc.Arbitrary<Subject> = fc.oneof(
  {
    weight: 12,
    arbitrary: arbitraryMutated(arbitraryEvent()).map((value): Subject => ({ as: "Event", value })),
  },
  { weight: 1, arbitrary: arbitraryMutated(metaEvent).map((value): Subject => ({ as: "Event", value })) },
  {
    weight: 7,
    arbitrary: arbitraryMutated(arbitraryRunInput()).map((value): Subject => ({ as: "RunAgentInput", value })),
  },
);

describe("events and run inputs are judged as @ag-ui/core/schemas judges them", () => {
  const explained = new Map<string, number>();
  const seen = { accepted: 0, refused: 0 };

  it("agrees on 20,000 generated values, apart from the listed differences", { timeout: 300_000 }, () => {
    const property = fc.property(subjects, (subject) => {
      seen[judgeOurs(subject).accepts ? "accepted" : "refused"]++;
      const found = complaint(subject, explained);
      if (found !== undefined) throw new Error(found);
    });
    const run = fc.check(property, { numRuns: Math.round(20_000 * SCALE) });
    expect(fc.defaultReportMessage(run)).toBeUndefined();
  });

  it("generated both kinds: at least a fifth accepted, and a fifth refused", () => {
    const { accepted, refused } = seen;
    expect(Math.min(accepted, refused)).toBeGreaterThan((accepted + refused) / 5);
  });

  it("met every listed difference in that run", () => {
    expect(DIFFERENCES.map(({ id }) => id).filter((id) => !explained.has(id))).toEqual([]);
  });
});

describe("the list of differences", () => {
  it("names each difference once", () => {
    expect(new Set(DIFFERENCES.map(({ id }) => id)).size).toBe(DIFFERENCES.length);
  });

  it.each(DIFFERENCES.map((difference) => [difference.id, difference] as const))(
    "%s has a rule, a reason, and a case that it alone explains",
    (_, difference) => {
      expect(difference.rule).toMatch(/^(R|PROTO)-[A-Z]+-\d+$/);
      expect(difference.rule.startsWith("R-") || CLAUSES.includes(`**${difference.rule}**`)).toBe(true);
      expect(difference.why).not.toBe("");
      expect(disagreement(difference.case)).toBe(difference.explains);
      expect(explanations(difference.case, difference.explains).map(({ id }) => id)).toEqual([difference.id]);
      expect(complaint(difference.case, new Map())).toBeUndefined();
    },
  );

  it("explains nothing where both judge the same", () => {
    const same: Subject = { as: "Event", value: { type: "RUN_ERROR", message: "no" } };
    expect(disagreement(same)).toBeUndefined();
    expect(DIFFERENCES.filter(({ applies }) => applies(same))).toEqual([]);
  });
});
