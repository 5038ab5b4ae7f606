/**
 * Follows a provider's stream as long as its answer is wanted.
 *
 * An abort is noticed at once, whether or not the source obeys the signal (an SDK's stream ends silently then), and
 * ends in the signal's reason. Every other failure ends in an error with a `model-*` code.
 */
import type { Event } from "../../../protocol/index.ts";
import { modelErrorOf } from "./model-error.ts";
import type { ErrorContext } from "./model-error.ts";

/** Gives the events of an answer until the signal aborts. */
export async function* follow(
  start: () => AsyncIterable<Event> | Promise<AsyncIterable<Event>>,
  context: ErrorContext,
  signal: AbortSignal,
): AsyncGenerator<Event, void, undefined> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {});
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  let source: AsyncIterator<Event> | undefined;
  let done = false;
  try {
    source = (await Promise.race([start(), aborted.promise]))[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([source.next(), aborted.promise]);
      if (next.done === true) break;
      yield next.value;
    }
    done = true;
    signal.throwIfAborted();
  } catch (error) {
    done = !signal.aborted;
    throw signal.aborted ? signal.reason : modelErrorOf(context, error);
  } finally {
    signal.removeEventListener("abort", onAbort);
    // Not awaited: a source that hangs must not hold up whoever stopped it. It has nobody left to fail for.
    if (!done) source?.return?.().catch(() => {});
  }
}
