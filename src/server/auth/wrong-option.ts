/**
 * Options that are wrong, told by their place and by what belongs there. Among them are secrets, and a secret in the
 * wrong place is still one: of what was found only its kind and its length are said, never its text.
 */
import { HeddleError } from "../../protocol/index.ts";

/** Says where an option stands, by its JSON Pointer within the options. */
export type PlaceOf = (pointer: string) => string;

/** What was found, without its contents. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "not set";
  if (value === null) return "null";
  if (typeof value === "string") return `a text of ${value.length} characters`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** The error for an option that holds something else than expected. */
export function wrongOption(place: string, value: unknown, expected: string): HeddleError<"config-invalid"> {
  const received = kindOf(value);
  return new HeddleError("config-invalid", `${place} is ${received}: expected ${expected}.`, {
    setting: place,
    expected,
    received,
  });
}

/** An object of options, none of which is unknown. Throws `config-invalid`. */
export function knownMembers(
  value: unknown,
  known: readonly string[],
  pointer: string,
  placeOf: PlaceOf,
): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw wrongOption(placeOf(pointer), value, `an object of ${known.join(", ")}`);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return value;
  const expected = `nothing: there is ${known.join(", ")}`;
  throw wrongOption(placeOf(`${pointer}/${unknown}`), value[unknown], expected);
}

/** Whether a value is an object of named members. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
