/**
 * Changes of a JSON document by its author: a patch that has to apply, or a draft that is edited and compared.
 *
 * Both give the patch to send, or throw `event-invalid` before anything is sent.
 */
import { HeddleError, stateSnapshot } from "../protocol/index.ts";
import type { JsonPatch } from "../protocol/index.ts";
import { applyPatch, diff } from "../stream/index.ts";

/** Edits a draft in place, or returns what replaces it. */
export type Recipe<T> = (draft: T) => T | void;

/** A change: what the document becomes, and the patch that says it. */
export interface DocumentChange {
  /** The document afterwards. */
  readonly after: unknown;
  /** The operations that lead there; none where nothing changes. */
  readonly patch: JsonPatch;
}

/** The change that a patch makes. Throws `event-invalid` where it does not apply. */
export function changeByPatch(before: unknown, patch: JsonPatch): DocumentChange {
  const result = applyPatch(before, patch);
  if (result.ok) return { after: result.value, patch };
  const { index, op, path, reason } = result.problem;
  const message = `The operation ${index} (${op}) does not apply at ${path || "the top"}: ${reason}.`;
  const problem = { path: `/${index}`, expected: "an operation that applies", received: `${op} ${path}: ${reason}` };
  throw new HeddleError("event-invalid", message, problem);
}

/** The smallest change that makes the document what a recipe makes of it. */
export function changeByRecipe<T>(before: unknown, recipe: Recipe<T>): DocumentChange {
  // What the document is, only its author knows.
  const draft = structuredClone(before) as T;
  const returned = recipe(draft);
  const after: unknown = returned === undefined ? draft : returned;
  // Judged as JSON first: a value that goes in circles cannot be compared.
  stateSnapshot({ snapshot: after });
  return { after, patch: diff(before, after) };
}
