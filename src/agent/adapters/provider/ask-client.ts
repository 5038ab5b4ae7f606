/**
 * Asks a provider through a client of its own package, without knowing the package.
 *
 * A client's types are finer than what travels: blocks that a provider issued go back as they came, unread. So a
 * client is known by the method that it has, and what it returns is looked at.
 */
import { modelError } from "./model-error.ts";
import type { ErrorContext } from "./model-error.ts";

/** Something that has a method to create an answer with. */
export interface CreatesStreams {
  /** Takes a body, and options with a signal; answers with a promise of a stream. */
  readonly create: (...parameters: never[]) => unknown;
}

/** The stream that a client answers with. */
export async function askClient(
  owner: CreatesStreams,
  body: unknown,
  signal: AbortSignal,
  context: ErrorContext,
): Promise<AsyncIterable<unknown>> {
  const answer: unknown = await Reflect.apply(owner.create, owner, [body, { signal }]);
  if (isAsyncIterable(answer)) return answer;
  throw modelError(context, { reason: "the client answered without a stream" }, "model-stream-invalid");
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
