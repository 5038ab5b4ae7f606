/**
 * Many patches on one document, as `reduce` would apply them: each all or nothing, one that does not apply is left out.
 *
 * Patches that leave the root alone go through `applyPatch` together, so a container is copied once a batch and not once
 * a patch. Where a batch stops, what stands before the patch at fault is applied again without the rest.
 */
import type { JsonPatch } from "../protocol/index.ts";
import { applyPatch } from "./apply-patch.ts";

/** What many patches made of a document. */
export interface FoldedPatches {
  /** The document behind the last patch. */
  readonly value: unknown;
  /** Place of the last patch that applied; -1 where none did. */
  readonly last: number;
}

/** Most patches of a batch: a bound on what is done again for each patch that does not apply. */
const BATCH = 256;

/** Applies patches in order; a result that `accepts` refuses counts as a patch that does not apply. */
export function foldPatches(
  document: unknown,
  patches: readonly JsonPatch[],
  accepts: (value: unknown) => boolean = () => true,
): FoldedPatches {
  let value = document;
  let last = -1;
  let from = 0;
  while (from < patches.length) {
    let to = batchEnd(patches, from);
    let next = to;
    let result = applyPatch(value, patches.slice(from, to).flat());
    if (!result.ok) {
      to = patchAt(patches, from, result.problem.index);
      next = to + 1;
      result = applyPatch(value, patches.slice(from, to).flat());
    }
    if (result.ok && to > from && accepts(result.value)) {
      value = result.value;
      last = to - 1;
    }
    from = next;
  }
  return { value, last };
}

/** Only a patch of the root can change what kind of value the document is, so it goes alone. */
const touchesRoot = (patch: JsonPatch | undefined): boolean => patch?.some(({ path }) => path === "") ?? false;

function batchEnd(patches: readonly JsonPatch[], from: number): number {
  let to = from + 1;
  if (touchesRoot(patches[from])) return to;
  while (to < patches.length && to - from < BATCH && !touchesRoot(patches[to])) to++;
  return to;
}

/** The patch that an operation of a batch belongs to. */
function patchAt(patches: readonly JsonPatch[], from: number, operation: number): number {
  let at = from;
  let left = operation - (patches[at]?.length ?? 0);
  while (left >= 0) left -= patches[++at]?.length ?? 1;
  return at;
}
