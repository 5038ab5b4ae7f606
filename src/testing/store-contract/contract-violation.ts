/**
 * What the contract kit throws where a store does not keep a promise, and the few comparisons that find it.
 *
 * It is a finding about the store under test, not a failure of Heddle, and so the one error that has no code. Values are
 * compared by structure, and a member that is undefined is the same as none. No test framework is needed.
 */

/** A store does not keep a promise. */
export class ContractViolation extends Error {
  override readonly name = "ContractViolation";
}

/** Fails unless the condition holds. */
export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new ContractViolation(message);
}

/** Fails unless both are of the same structure. */
export function checkSame(actual: unknown, expected: unknown, what: string): void {
  const found = differenceOf(actual, expected, "");
  if (found === undefined) return;
  const place = found.path === "" ? "" : ` at ${found.path}`;
  throw new ContractViolation(`${what}${place}: expected ${show(found.expected)}, got ${show(found.actual)}`);
}

/** Whether both are of the same structure. */
export const isSame = (actual: unknown, expected: unknown): boolean => differenceOf(actual, expected, "") === undefined;

/** Fails unless the value is there; returns it. */
export function checkPresent<T>(value: T | undefined, what: string): T {
  check(value !== undefined, `${what} is not there`);
  return value;
}

/** Fails unless the promise is rejected with this code of `ERRORS`. */
export async function checkRejected(promise: Promise<unknown>, code: string, what: string): Promise<void> {
  const outcome = await outcomeOf(promise);
  check(outcome.type === "failure", `${what}: expected ${code}, got an answer`);
  check(outcome.code === code, `${what}: expected ${code}, got ${outcome.code}: ${outcome.message}`);
}

/** What became of a call: its answer, or the code that it failed with. */
export type Outcome<T = unknown> =
  | {
      /** It answered. */
      readonly type: "answer";
      /** The answer. */
      readonly answer: T;
    }
  | {
      /** It failed with a code. */
      readonly type: "failure";
      /** The code. */
      readonly code: string;
      /** What it said. */
      readonly message: string;
    };

/** Waits for a call. A failure without a code is nobody's answer and is thrown on. */
export async function outcomeOf<T>(promise: Promise<T>): Promise<Outcome<T>> {
  try {
    return { type: "answer", answer: await promise };
  } catch (error) {
    if (error instanceof Error && "code" in error && typeof error.code === "string") {
      return { type: "failure", code: error.code, message: error.message };
    }
    throw error;
  }
}

interface Difference {
  readonly path: string;
  readonly actual: unknown;
  readonly expected: unknown;
}

/** The first difference between two values; undefined where there is none. */
function differenceOf(actual: unknown, expected: unknown, path: string): Difference | undefined {
  if (Object.is(actual, expected)) return undefined;
  const here = { path, actual, expected };
  if (!isContainer(actual) || !isContainer(expected) || Array.isArray(actual) !== Array.isArray(expected)) return here;
  if (Array.isArray(actual) && Array.isArray(expected) && actual.length !== expected.length) return here;
  for (const name of new Set([...Object.keys(actual), ...Object.keys(expected)])) {
    const found = differenceOf(actual[name], expected[name], `${path}/${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const isContainer = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const SHOWN_LENGTH = 400;

/** A value as text for a message, cut where it is long. */
function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "undefined";
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}
