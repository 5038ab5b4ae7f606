/**
 * Reads what a provider sent, without believing it.
 *
 * SDK types describe what a provider documents; compatible servers send what they like. So every value is looked at
 * before it is used: an absent or null field is undefined, one of the wrong kind ends the stream as
 * `model-stream-invalid`, naming its path.
 */
import { HeddleError } from "../../../protocol/index.ts";

/** One object of a provider's stream, with the path at which it stands. */
export class Fields {
  /** The object itself. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(value: unknown, path = "") {
    if (!isRecord(value)) throw wrongKind(path, "an object", value);
    this.value = value;
    this.#path = path;
  }

  /** A string, or undefined. */
  text(name: string): string | undefined {
    const found = this.value[name];
    if (found === undefined || found === null) return undefined;
    if (typeof found !== "string") throw wrongKind(this.#at(name), "a string", found);
    return found;
  }

  /** A string that has to be there. */
  mustText(name: string): string {
    return this.text(name) ?? this.#missing(name, "a string");
  }

  /** A number, or undefined. */
  number(name: string): number | undefined {
    const found = this.value[name];
    if (found === undefined || found === null) return undefined;
    if (typeof found !== "number") throw wrongKind(this.#at(name), "a number", found);
    return found;
  }

  /** A count of tokens: a whole number that is not negative, or undefined for whatever else stands there. */
  count(name: string): number | undefined {
    const found = this.value[name];
    return typeof found === "number" && Number.isSafeInteger(found) && found >= 0 ? found : undefined;
  }

  /** An object, or undefined. */
  object(name: string): Fields | undefined {
    const found = this.value[name];
    return found === undefined || found === null ? undefined : new Fields(found, this.#at(name));
  }

  /** An object that has to be there. */
  mustObject(name: string): Fields {
    return this.object(name) ?? this.#missing(name, "an object");
  }

  /** The objects of a list; an absent list is empty. */
  objects(name: string): readonly Fields[] {
    const found = this.value[name];
    if (found === undefined || found === null) return [];
    if (!Array.isArray(found)) throw wrongKind(this.#at(name), "a list", found);
    return found.map((each: unknown, index) => new Fields(each, `${this.#at(name)}/${index}`));
  }

  #at(name: string): string {
    return `${this.#path}/${name}`;
  }

  #missing(name: string, expected: string): never {
    throw wrongKind(this.#at(name), expected, undefined);
  }
}

/** Whether a value is an object with members. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a table says about a word that came from outside: nothing about words that every object knows. */
export function lookUp<T>(table: Readonly<Record<string, T>>, word: string): T | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

/** The members of a JSON object, or undefined where the text is no JSON object. */
export function parseRecord(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function wrongKind(path: string, expected: string, found: unknown): HeddleError {
  const received = found === null ? "null" : Array.isArray(found) ? "a list" : typeof found;
  const where = path === "" ? "an event" : path;
  const message = `The model's provider sent ${received} at ${where} of its stream, where ${expected} belongs.`;
  return new HeddleError("model-stream-invalid", message, { path, expected, received });
}
