/**
 * 50,000 bad bodies through the door: each gives a judged value or a typed error, soon, and pollutes nothing.
 *
 * A body is a generated event or run input, valid or mutated, written as JSON and then distorted as text or as bytes;
 * and a table of the monstrous ones: 100,000 levels, megabytes, a hundred thousand members.
 */
import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HeddleError, decodeEvent, decodeRunInput } from "../src/protocol/index.ts";
import { arbitraryEvent, arbitraryRunInput } from "./arbitrary-event.ts";
import { arbitraryMutated } from "./differential-differences.ts";

const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);
const BODIES_PER_DOCUMENT = 10;
const LONGEST_MICROSECONDS = 1_000_000;

type Body = string | Uint8Array<ArrayBuffer>;
type Decode = (body: Body) => { readonly value: unknown; readonly warnings: readonly unknown[] };

const DOORS: readonly (readonly [name: string, decode: Decode, codes: readonly string[]])[] = [
  ["decodeEvent", decodeEvent, ["json-invalid", "limit-exceeded", "event-invalid"]],
  ["decodeRunInput", decodeRunInput, ["json-invalid", "limit-exceeded", "input-invalid"]],
];

const seen = { bodies: 0, accepted: 0, refused: 0, slow: [] as string[], codes: new Set<string>() };

const preview = (body: Body): string => `${body.length}: ${typeof body === "string" ? body.slice(0, 60) : "bytes"}`;

/** Sends a body through both doors; says what is wrong with what came of it. */
function complaint(body: Body): string | undefined {
  seen.bodies++;
  for (const [name, decode, codes] of DOORS) {
    const started = process.threadCpuUsage();
    const outcome = attempt(() => decode(body));
    // Looked at only where it is long at all, and then against what reading the text costs anyone.
    const taken = process.threadCpuUsage(started).user;
    if (taken > LONGEST_MICROSECONDS && taken > 12 * parseCost(body)) seen.slow.push(`${name} of ${preview(body)}`);
    if (outcome instanceof HeddleError) {
      seen.refused++;
      seen.codes.add(outcome.code);
      if (!codes.includes(outcome.code)) return `${name} refused with ${outcome.code}`;
      if (outcome.message === "" || !JSON.stringify(outcome).includes(outcome.code)) return `${name} says nothing`;
    } else {
      seen.accepted++;
      if (typeof body !== "string" && !isUtf8(body)) return `${name} accepted bytes that are not UTF-8`;
      const kept = survives(outcome.value, decode);
      if (kept !== undefined) return `${name}: ${kept}`;
    }
  }
  return undefined;
}

function attempt<T>(run: () => T): T | HeddleError {
  try {
    return run();
  } catch (error) {
    if (error instanceof HeddleError) return error;
    throw error;
  }
}

/** Processor time that JSON.parse needs for a body, in microseconds. */
function parseCost(body: Body): number {
  const started = process.threadCpuUsage();
  try {
    JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body));
  } catch {
    // A text that is no JSON is read only as far as that shows.
  }
  return process.threadCpuUsage(started).user;
}

/** What was accepted has to be right when it is written and read again, and to stay as it is. */
function survives(value: unknown, decode: Decode): string | undefined {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value);
  const again = attempt(() => decode(text));
  if (again instanceof HeddleError) return `accepted, but refused when written and read again: ${again.message}`;
  if (again.warnings.length > 0) return "accepted, but something is taken out when it is read again";
  return JSON.stringify(again.value) === text ? undefined : "accepted, but changed when written and read again";
}

/** How a text is distorted: in which way, where, and with what. */
interface Distortion {
  readonly kind: keyof typeof DISTORTIONS;
  readonly at: number;
  readonly pick: number;
}

const choose = <T>(from: readonly T[], index: number): T => from[index % from.length] as T;
const splice = (text: string, at: number, length: number, put: string): string =>
  text.slice(0, at) + put + text.slice(at + length);

const TOKENS = [
  ..."NaN Infinity -Infinity undefined 0x10 01 1. .5 'x' nul tru // /**/ , : { } [ ]".split(" "),
  ...'" \\ \\u \\ud800 \\udc00 \0 \u2028 \uFEFF \uD800 \uDC00 \n'.split(" "),
];
const VALUES = 'NaN Infinity -0 1e-400 0.1e2 "\\ud800" "\\udfff\\ud800" null {} [] "\uD800"'.split(" ");
const MEMBERS = [
  ...'"__proto__":{"polluted":true} "constructor":{"prototype":{"polluted":true}} "__proto__":null "prototype":[]'.split(
    " ",
  ),
  ...'"type":"RAW" "type":"CUSTOM" "type":null "role":"user" "toString":1 "hasOwnProperty":1 "":"" "then":{}'.split(
    " ",
  ),
  ...'"__defineGetter__":"x" "valueOf":null "length":1e9 "toJSON":"x" "metadata":{"__proto__":null}'.split(" "),
];

/** Every way to distort a text; bytes are distorted after it was encoded. */
const DISTORTIONS = {
  none: (text: string): Body => text,
  truncated: (text: string, at: number): Body => text.slice(0, at % (text.length + 1)),
  beheaded: (text: string, at: number): Body => text.slice(at % (text.length + 1)),
  token: (text: string, at: number, pick: number): Body =>
    splice(text, at % (text.length + 1), pick % 3, choose(TOKENS, pick)),
  value: (text: string, at: number, pick: number): Body =>
    replaced(text, /(?<=:)(-?\d[\d.eE+-]*|"[^"\\]*"|true|false|null)/g, at, choose(VALUES, pick)),
  member: (text: string, at: number, pick: number): Body =>
    replaced(text, /\{(?=")/g, at, `{${choose(MEMBERS, pick)},`),
  lastMember: (text: string, at: number, pick: number): Body =>
    replaced(text, /(?<=["\d\]}])\}/g, at, `,${choose(MEMBERS, pick)}}`),
  twice: (text: string, at: number): Body => text + choose(["", " ", "\n", ","], at) + text,
  marked: (text: string, at: number): Body => choose(["\uFEFF", "\uFEFF\uFEFF", " \uFEFF", "\uFFFE"], at) + text,
  bytes: (text: string, at: number, pick: number): Body => {
    const bytes = new TextEncoder().encode(text);
    bytes[at % (bytes.length || 1)] = pick % 256;
    return bytes;
  },
  cutBytes: (text: string, at: number): Body => {
    const bytes = new TextEncoder().encode(text);
    return bytes.slice(0, at % (bytes.length + 1));
  },
  surrogateBytes: (text: string, at: number): Body => {
    const bytes = new TextEncoder().encode(text);
    return Uint8Array.from([
      ...bytes.slice(0, at % (bytes.length + 1)),
      0xed,
      0xa0,
      0x80,
      ...bytes.slice(at % (bytes.length + 1)),
    ]);
  },
  wide: (text: string, at: number): Body => {
    const units = Uint16Array.from(choose(["", "\uFEFF"], at) + text, (unit) => unit.charCodeAt(0));
    return new Uint8Array(units.buffer);
  },
};

/** A text with one match of a pattern replaced, or as it was where there is none. */
function replaced(text: string, pattern: RegExp, at: number, put: string): string {
  const match = choose([...text.matchAll(pattern)], at) as RegExpExecArray | undefined;
  return match === undefined ? text : splice(text, match.index, match[0].length, put);
}

const documents = fc.oneof(
  { weight: 3, arbitrary: arbitraryMutated(arbitraryEvent()) },
  { weight: 2, arbitrary: arbitraryMutated(arbitraryRunInput()) },
);
const texts = fc.oneof(
  { weight: 16, arbitrary: documents.map((value) => JSON.stringify(value)) },
  { weight: 2, arbitrary: documents.map((value) => JSON.stringify(value, undefined, "\t")) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 60 }) },
  { weight: 1, arbitrary: fc.json() },
);
const distortions: fc.Arbitrary<Distortion> = fc.record({
  kind: fc.constantFrom(...(Object.keys(DISTORTIONS) as (keyof typeof DISTORTIONS)[])),
  at: fc.nat(100_000),
  pick: fc.nat(100_000),
});
const bodies: fc.Arbitrary<readonly Body[]> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .tuple(texts, fc.array(distortions, { minLength: BODIES_PER_DOCUMENT, maxLength: BODIES_PER_DOCUMENT }))
      .map(([text, each]) => each.map(({ kind, at, pick }) => DISTORTIONS[kind](text, at, pick))),
  },
  {
    weight: 1,
    arbitrary: fc.array(
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Uint8Array.from(bytes)),
      { minLength: BODIES_PER_DOCUMENT, maxLength: BODIES_PER_DOCUMENT },
    ),
  },
);

const PROTOTYPES = [Object.prototype, Array.prototype, String.prototype, Function.prototype];
const namesBefore = PROTOTYPES.map(ownNames);

function ownNames(prototype: object): string {
  return Reflect.ownKeys(prototype).map(String).toSorted().join(" ");
}

describe("bad bodies", () => {
  it("50,000 distorted bodies each give a value that survives, or a typed error", { timeout: 600_000 }, () => {
    const property = fc.property(bodies, (each) => {
      for (const body of each) {
        const found = complaint(body);
        if (found !== undefined)
          throw new Error(`${found}\n${typeof body === "string" ? body : `bytes ${body.join()}`}`);
      }
    });
    const run = fc.check(property, { numRuns: Math.ceil((50_000 / BODIES_PER_DOCUMENT) * SCALE) });
    expect(fc.defaultReportMessage(run)).toBeUndefined();
    expect(seen.bodies).toBeGreaterThanOrEqual(50_000 * SCALE);
  });

  it("were of all kinds: accepted ones, and ones refused as JSON, as event and as input", () => {
    expect(seen.accepted).toBeGreaterThan(seen.bodies / 100);
    expect(seen.refused).toBeGreaterThan(seen.bodies / 2);
    expect([...seen.codes]).toEqual(expect.arrayContaining(["json-invalid", "event-invalid", "input-invalid"]));
  });
});

const custom = (value: string): string => `{"type":"CUSTOM","name":"n","value":${value}}`;
const input = (state: string): string => `{"threadId":"t","runId":"r","messages":[],"state":${state}}`;
const nested = (open: string, core: string, close: string, depth: number): string =>
  open.repeat(depth) + core + close.repeat(depth);
const many = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join();

/** The monstrous ones; made when they are needed. */
const MONSTERS: readonly (readonly [name: string, make: () => Body])[] = [
  ...[100_000, 500_000].flatMap((depth): [string, () => Body][] => [
    [`${depth} lists in each other`, () => nested("[", "", "]", depth)],
    [`${depth} lists that never end`, () => "[".repeat(depth)],
    [`${depth} objects in each other`, () => nested('{"a":', "1", "}", depth)],
    [`${depth} objects that never end`, () => '{"a":'.repeat(depth)],
    [`a custom value of ${depth} levels`, () => custom(nested("[", "", "]", depth))],
    [`a state of ${depth} levels`, () => input(nested('{"a":', "null", "}", depth))],
    [`messages of ${depth} levels`, () => `{"threadId":"t","runId":"r","messages":${nested("[", "", "]", depth)}}`],
    [`an unknown key of ${depth} levels`, () => `{"type":"RAW","event":1,"x":${nested('[{"a":', "1", "}]", depth)}}`],
    [`__proto__ of ${depth} levels`, () => nested('{"__proto__":', "{}", "}", depth)],
    [`${depth} levels as bytes`, () => new TextEncoder().encode(custom(nested("[", "", "]", depth)))],
  ]),
  ["a text of 15 million characters", () => custom(JSON.stringify("x".repeat(15_000_000)))],
  ["a text of 20 million characters", () => custom(JSON.stringify("x".repeat(20_000_000)))],
  ["12 million bytes that are no UTF-8", () => new Uint8Array(12_000_000).fill(0x80)],
  ["a wrong value of 10 million characters", () => `{"type":"RAW","event":1,"timestamp":"${"😀".repeat(5_000_000)}"}`],
  ["a key of 5 million characters", () => `{"type":"RAW","event":1,"${"~/".repeat(2_500_000)}":1}`],
  ["a type of 5 million characters", () => `{"type":"${"x".repeat(5_000_000)}"}`],
  ["a number of a million digits", () => custom("9".repeat(1_000_000))],
  [
    "a pointer of 5 million tildes",
    () => `{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/${"~0".repeat(2_500_000)}"}]}`,
  ],
  [
    "a pointer that goes wrong at its end",
    () => `{"type":"STATE_DELTA","delta":[{"op":"remove","path":"${"/".repeat(5_000_000)}~"}]}`,
  ],
  ["9 million characters of unknown keys", () => `{"type":"RAW","event":1,${many(800_000, (i) => `"k${i}":1`)}}`],
  ["100,000 unknown keys", () => `{"type":"RAW","event":1,${many(100_000, (i) => `"k${i}":${i}`)}}`],
  ["100,000 duplicate keys", () => `{"type":"RAW",${many(100_000, (i) => `"event":${i}`)}}`],
  ["100,000 __proto__ keys", () => `{"type":"RAW","event":1,${many(100_000, () => '"__proto__":{"polluted":true}')}}`],
  [
    "100,000 unknown messages",
    () => `{"type":"MESSAGES_SNAPSHOT","messages":[${many(100_000, (i) => `{"role":"r${i}"}`)}]}`,
  ],
  [
    "100,000 unknown parts in a run input",
    () =>
      `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":[${many(100_000, () => '{"type":"image","source":{"type":"x"},"y":1}')}]}]}`,
  ],
];

describe("monstrous bodies", () => {
  it.each(MONSTERS)("%s: a value that survives, or a typed error", { timeout: 60_000 }, (_, make) => {
    expect(complaint(make())).toBeUndefined();
  });

  it.each([
    ["a raw event", '{"type":"RUN_ERROR","message":"no","rawEvent":1e400}'],
    ["a result", '{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":-1e400}'],
    ["the state of a run input", input("1e400")],
  ])("a number beyond all doubles as %s is refused, or survives being written", (_, body) => {
    expect(complaint(body)).toBeUndefined();
  });
});

describe("after all of that", () => {
  it("no body took much longer than reading it as JSON takes", () => expect(seen.slow).toEqual([]));

  it("no prototype has gained or lost a property", () => {
    expect(PROTOTYPES.map(ownNames)).toEqual(namesBefore);
    expect("polluted" in {}).toBe(false);
  });
});
