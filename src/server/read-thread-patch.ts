/** Judges a change of a thread that somebody posted: what it may name, and what each of that may hold. */
import { HeddleError } from "../protocol/index.ts";
import type { ThreadPatch } from "../store/index.ts";

/** Longest title, in characters. */
export const MAX_TITLE_CHARS = 1000;
/** Largest metadata, in characters of its JSON. */
export const MAX_METADATA_CHARS = 64 * 1024;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Text that every store can keep: PostgreSQL has no U+0000. */
const isText = (value: unknown): value is string =>
  typeof value === "string" && value.isWellFormed() && !value.includes("\0");

const TITLE = `null, or text of at most ${MAX_TITLE_CHARS} characters without U+0000`;
const FIELDS = "title, archived, metadata or head";

/** Reads a change. Throws `input-invalid`, and `limit-exceeded` for metadata that is too large. */
export function readThreadPatch(body: unknown): ThreadPatch {
  if (!isObject(body)) throw refused("", "an object", body);
  const patch: { -readonly [K in keyof ThreadPatch]: ThreadPatch[K] } = {};
  for (const [name, value] of Object.entries(body)) {
    if (name === "title") {
      if (value !== null && !(isText(value) && value.length <= MAX_TITLE_CHARS)) throw refused("/title", TITLE, value);
      patch.title = value;
    } else if (name === "archived") {
      if (typeof value !== "boolean") throw refused("/archived", "true or false", value);
      patch.archived = value;
    } else if (name === "metadata") {
      patch.metadata = readMetadata(value);
    } else if (name === "head") {
      if (!isText(value) || value === "") throw refused("/head", "the id of a run", value);
      patch.head = value;
    } else throw refused(`/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, `only ${FIELDS}`, value);
  }
  return patch;
}

function readMetadata(value: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw refused("/metadata", "an object", value);
  const actual = JSON.stringify(value).length;
  if (actual <= MAX_METADATA_CHARS) return value;
  const message = `The metadata of a thread has at most ${MAX_METADATA_CHARS} characters as JSON.`;
  throw new HeddleError("limit-exceeded", message, { limit: "metadata", allowed: MAX_METADATA_CHARS, actual });
}

const SHOWN_CHARS = 60;

function refused(path: string, expected: string, value: unknown): HeddleError<"input-invalid"> {
  const received = value === undefined ? "nothing" : JSON.stringify(value).slice(0, SHOWN_CHARS);
  const place = path === "" ? "The change of a thread" : `${path} of the change of a thread`;
  return new HeddleError("input-invalid", `${place} is ${received}: expected ${expected}.`, {
    path,
    expected,
    received,
  });
}
