/**
 * Refuses a patch that makes a document nobody could write down. Copies of copies double it with every operation: some
 * thirty small events would keep the process busy for good. Long pointers and moves nest it until a stack overflows.
 *
 * Only such patches are looked at. What stands in many places is one value in memory, and is weighed once.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event, JsonPatch } from "../protocol/index.ts";
import { applyPatch } from "../stream/index.ts";
import type { ReduceState } from "../stream/index.ts";

/** Largest document that a copy may make, in characters and members: about what a client could send back. */
const MAX_SIZE = 16 * 1024 * 1024;

/** Deepest document that a pointer or a move may make. */
const MAX_DEPTH = 1024;

/** Pointers of fewer tokens cannot make a document too deep: the values of an event are at most 512 deep. */
const LONG_POINTER = 256;

/** Throws `limit-exceeded` where an event is a patch that must not be applied. */
export function checkPatch({ document, list }: ReduceState, event: Event): void {
  if (event.type === "STATE_DELTA") checkGrowth(document ?? {}, event.delta);
  if (event.type === "ACTIVITY_DELTA") checkGrowth(list.get(event.messageId)?.content, event.patch);
}

function checkGrowth(document: unknown, patch: JsonPatch): void {
  if (!patch.some(grows)) return;
  const patched = applyPatch(document, patch);
  if (!patched.ok) return;
  const { size, height } = weigh(patched.value, new Map(), MAX_DEPTH);
  if (height > MAX_DEPTH) throw refused("depth of a state", MAX_DEPTH, MAX_DEPTH + 1);
  if (size > MAX_SIZE) throw refused("size of a state", MAX_SIZE, size);
}

const grows = ({ op, path }: JsonPatch[number]): boolean =>
  op === "copy" || op === "move" || path.split("/", LONG_POINTER).length === LONG_POINTER;

/** How much a value is once it is written down, every copy in full. */
interface Weight {
  readonly size: number;
  readonly height: number;
}

function weigh(value: unknown, known: Map<object, Weight>, levels: number): Weight {
  if (typeof value !== "object" || value === null)
    return { size: typeof value === "string" ? value.length : 1, height: 0 };
  const before = known.get(value);
  if (before !== undefined) return before;
  let [size, height] = [1, levels === 0 ? Infinity : 0];
  if (levels > 0) {
    for (const [name, member] of Object.entries(value)) {
      const weight = weigh(member, known, levels - 1);
      size += name.length + weight.size;
      height = Math.max(height, weight.height + 1);
    }
  }
  known.set(value, { size, height });
  return { size, height };
}

function refused(limit: string, allowed: number, actual: number): HeddleError {
  const message = `The agent was stopped: the ${limit} would pass ${allowed}.`;
  return new HeddleError("limit-exceeded", message, { limit, allowed, actual });
}
