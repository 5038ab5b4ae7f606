/**
 * A stream of messages as one AG-UI run: RUN_STARTED, what the messages say, as they come, and the end.
 *
 * Usage and calls that nobody answered are told with the end. What the source throws becomes RUN_ERROR; an error that
 * follows an abort of the signal is the source's way of obeying it, and the run ends as cancelled.
 */
import { HeddleError, PROTOCOL_VERSION, runError, runFinished, runStarted } from "../../../protocol/index.ts";
import type { Event, RunFinishedOutcome } from "../../../protocol/index.ts";
import { createConversion } from "./convert.ts";
import type { Conversion, ConversionOptions } from "./convert.ts";
import { flatten } from "./stream-message.ts";
import type { StreamMessage } from "./stream-message.ts";

/** The run that a stream becomes. */
export interface EventStreamOptions extends ConversionOptions {
  /** Id of the conversation. */
  readonly threadId: string;
  /** Id of the run. */
  readonly runId: string;
  /** Aborting it ends the run as cancelled, once the source stops. */
  readonly signal?: AbortSignal;
  /** Told what the source threw, with its stack; the RUN_ERROR only has the message. */
  readonly onError?: (error: unknown) => void;
}

/** A stream of messages as a stream of events: one whole run. */
export async function* toAgUiEventStream(
  messages: AsyncIterable<StreamMessage> | Iterable<StreamMessage>,
  options: EventStreamOptions,
): AsyncGenerator<Event, void, undefined> {
  const { threadId, runId, signal, onError } = options;
  yield runStarted({ threadId, runId, protocolVersion: PROTOCOL_VERSION });
  const conversion = createConversion(options);
  try {
    for await (const message of messages) {
      if (signal?.aborted === true) break;
      for (const each of flatten(message)) yield* conversion.push(each);
    }
  } catch (error) {
    if (signal?.aborted !== true) {
      onError?.(error);
      yield* conversion.end();
      yield failure(error, conversion);
      return;
    }
  }
  yield* conversion.end();
  const outcome = outcomeOf(conversion, signal);
  yield runFinished({ threadId, runId, ...(outcome === undefined ? {} : { outcome }), ...usageOf(conversion) });
}

function outcomeOf(
  { pendingToolCallIds }: Conversion,
  signal: AbortSignal | undefined,
): RunFinishedOutcome | undefined {
  if (signal?.aborted === true) return { type: "cancelled" };
  return pendingToolCallIds.length === 0 ? undefined : { type: "success", pendingToolCallIds };
}

function failure(error: unknown, conversion: Conversion): Event {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof HeddleError ? error.code : "agent-failed";
  return runError({ message: message === "" ? "The agent failed." : message, code, ...usageOf(conversion) });
}

const usageOf = ({ usage }: Conversion) => (usage.length === 0 ? {} : { usage });
