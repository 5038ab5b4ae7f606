/**
 * A stream as a conforming consumer reads it: translate what is retired, enforce, expand, verify, fold. No repair.
 *
 * Everything that the consumer would hand to an application, hold, or warn about is in the result; a stream that it
 * rejects has the error.
 */
import { HeddleError, parseEvent } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { createNormaliseMemory, normaliseEvent } from "../protocol/dialects/index.ts";
import {
  createExpandState,
  createReduceState,
  createVerifyState,
  expand,
  reduce,
  verify,
  verifyEnd,
  view,
} from "../stream/index.ts";
import type { ThreadView } from "../stream/index.ts";

/** How a stream is read. */
export interface ReadStreamOptions {
  /** Version that the consumer declares. */
  readonly version: string;
  /** What the consumer holds already. */
  readonly initial?: { readonly messages?: ThreadView["messages"]; readonly state?: unknown };
}

/** What reading a stream came to. */
export interface StreamReading {
  /** Events that were handed over, in order. */
  readonly events: readonly Event[];
  /** What the consumer holds at the end. */
  readonly view: ThreadView;
  /** Warnings, each with path and sentence. */
  readonly warnings: readonly string[];
  /** Messages of the RUN_ERRORs that the producer reported. */
  readonly runErrors: readonly string[];
  /** Why the stream was rejected, if it was. */
  readonly rejection: HeddleError | undefined;
}

/** Reads a whole stream of raw values. */
export function readStream(stream: readonly unknown[], { version, initial = {} }: ReadStreamOptions): StreamReading {
  const memory = createNormaliseMemory({ forms: "retired" });
  const expanding = createExpandState();
  const verifying = createVerifyState(version);
  const folding = createReduceState(initial);
  const events: Event[] = [];
  const warnings: string[] = [];
  const warn = ({ path = "", message }: { readonly path?: string; readonly message: string }): void => {
    warnings.push(`${path} ${message}`);
  };

  const take = (event: Event): void => {
    verify(verifying, event).forEach(warn);
    events.push(event);
    reduce(folding, event).forEach(warn);
  };

  let rejection: HeddleError | undefined;
  try {
    for (const raw of stream) {
      const normalised = normaliseEvent(raw, memory);
      normalised.warnings.forEach(warn);
      for (const value of normalised.values) {
        const judged = parseEvent(value);
        judged.warnings.forEach(warn);
        if (judged.value !== undefined) expand(expanding, judged.value).forEach(take);
      }
    }
    verifyEnd(verifying);
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    rejection = error;
  }
  const runErrors = events.flatMap((event) => (event.type === "RUN_ERROR" ? [event.message] : []));
  return { events, view: view(folding), warnings, runErrors, rejection };
}
