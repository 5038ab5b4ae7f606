/**
 * A place in the settings, such as `/agUi/endpoints/chat/path`, seen through all files at once.
 *
 * The file for the environment lies over the main file: of two values the upper one counts, objects are joined member by
 * member. A wrong value is refused with the file and the path that it stands at, and with what was expected there.
 */
import { HeddleError } from "heddle/protocol";

/** A value, and where it stands. */
interface Found {
  readonly place: string;
  readonly value: unknown;
}

/** A place in the settings. */
export class SettingPlace {
  readonly #place: string;
  /** What stands here, the uppermost file first. */
  readonly #found: readonly Found[];

  constructor(place: string, found: readonly Found[]) {
    this.#place = place;
    this.#found = found;
  }

  /** The place of a member. */
  at(name: string): SettingPlace {
    const members = this.#found.flatMap(({ place, value }) =>
      isRecord(value) && Object.hasOwn(value, name) ? [{ place: `${place}/${name}`, value: value[name] }] : [],
    );
    return new SettingPlace(`${this.#place}/${name}`, members);
  }

  /** The members that are there. Refuses what is no object, and every name that is not known. */
  members(known?: readonly string[]): readonly string[] {
    const names = new Set<string>();
    for (const { place, value } of this.#found) {
      if (!isRecord(value)) throw refused(place, value, "an object");
      for (const name of Object.keys(value)) {
        if (known !== undefined && !known.includes(name)) {
          throw refused(`${place}/${name}`, value[name], `nothing: there is ${known.join(", ")}`);
        }
        names.add(name);
      }
    }
    return [...names];
  }

  /** The value, where it is as expected. */
  read<T>(expected: string, accepts: (value: unknown) => value is T): T {
    const [top] = this.#found;
    if (top === undefined) throw refused(this.#place, undefined, expected);
    if (accepts(top.value)) return top.value;
    throw refused(top.place, top.value, expected);
  }

  /** A text of a certain form. */
  text(expected: string, form: RegExp): string {
    return this.read(expected, (value): value is string => typeof value === "string" && form.test(value));
  }

  /** A whole number within bounds. */
  whole(from: number, to: number): number {
    const fits = (value: unknown): value is number =>
      Number.isInteger(value) && Number(value) >= from && Number(value) <= to;
    return this.read(`a whole number from ${from} to ${to}`, fits);
  }

  /** Yes or no; `fallback` where nothing is set. */
  flag(fallback: boolean): boolean {
    if (this.#found.length === 0) return fallback;
    return this.read("true or false", (value) => typeof value === "boolean");
  }

  /** One of some words. */
  oneOf<W extends string>(words: readonly W[]): W {
    return this.read(`one of ${words.join(", ")}`, (value): value is W => words.some((word) => word === value));
  }

  /** A list of some words; `fallback` where nothing is set. */
  listOf<W extends string>(words: readonly W[], fallback: readonly W[]): readonly W[] {
    if (this.#found.length === 0) return fallback;
    const isWord = (value: unknown): value is W => words.some((word) => word === value);
    const isList = (value: unknown): value is readonly W[] => Array.isArray(value) && value.every(isWord);
    return this.read(`a list of words among ${words.join(", ")}`, isList);
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The error for a place that holds something else than expected. */
export function refused(place: string, value: unknown, expected: string): HeddleError {
  const received = value === undefined ? "missing" : JSON.stringify(value);
  const message = `${place} is ${received}: expected ${expected}.`;
  return new HeddleError("config-invalid", message, { setting: place, expected, received });
}
