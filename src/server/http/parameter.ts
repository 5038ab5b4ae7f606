/**
 * Parameters of queries and headers: how one is read is also how it is described. Empty counts as absent; one that is
 * given twice, or that holds something else than it may, is `query-invalid`.
 */
import { HeddleError } from "../../protocol/index.ts";
import type { JsonSchema } from "../../protocol/schema.ts";
import type { RouteRequest } from "./route.ts";

/** One parameter. */
export interface Parameter<T> {
  /** Its name. */
  readonly name: string;
  /** Where it stands. */
  readonly place: "query" | "header";
  /** What it is for. */
  readonly description: string;
  /** What it may hold. */
  readonly schema: JsonSchema;
  /** Its value; undefined where it is absent. Throws `query-invalid`. */
  read(request: RouteRequest): T | undefined;
}

/** A parameter that holds any text. */
export function text(name: string, description: string): Parameter<string> {
  return {
    name,
    place: "query",
    description,
    schema: { type: "string" },
    read: ({ query }) => single(query, name),
  };
}

/** A parameter that is one of several words. */
export function choice<const W extends string>(name: string, words: readonly W[], description: string): Parameter<W> {
  return {
    name,
    place: "query",
    description,
    schema: { type: "string", enum: words },
    read({ query }) {
      const value = single(query, name);
      if (value === undefined) return undefined;
      const word = words.find((known) => known === value);
      if (word !== undefined) return word;
      const expected = words.join(" or ");
      const details = { parameter: name, expected, received: value.slice(0, 60) };
      throw new HeddleError("query-invalid", `The parameter ${name} is either ${expected}.`, details);
    },
  };
}

/** A parameter that is true or false. */
export function flag(name: string, description: string): Parameter<boolean> {
  const word = choice(name, ["true", "false"], description);
  return {
    ...word,
    schema: { type: "boolean" },
    read(request) {
      const value = word.read(request);
      return value === undefined ? undefined : value === "true";
    },
  };
}

/** A parameter that is a whole number from 1 on. */
export function count(name: string, maximum: number, description: string): Parameter<number> {
  return {
    name,
    place: "query",
    description,
    schema: { type: "integer", minimum: 1, maximum },
    read({ query }) {
      const value = single(query, name);
      if (value === undefined) return undefined;
      if (/^[1-9]\d{0,8}$/.test(value) && Number(value) <= maximum) return Number(value);
      const expected = `a whole number from 1 to ${maximum}`;
      const details = { parameter: name, expected, received: value.slice(0, 60) };
      throw new HeddleError("query-invalid", `The parameter ${name} is ${expected}.`, details);
    },
  };
}

/** A header. */
export function header(name: string, description: string): Parameter<string> {
  return {
    name,
    place: "header",
    description,
    schema: { type: "string" },
    read: (request) => request.header(name.toLowerCase()) || undefined,
  };
}

function single(query: URLSearchParams, name: string): string | undefined {
  const [value, second] = query.getAll(name);
  if (second !== undefined) {
    throw new HeddleError("query-invalid", `The parameter ${name} is given more than once.`, { parameter: name });
  }
  return value === "" ? undefined : value;
}
