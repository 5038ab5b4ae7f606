/**
 * Turns a provider's stream into the events of one answer.
 *
 * A reader knows the provider's words; here is what all streams have in common: events leave as they come, an answer
 * that was never said to be over is a failure, and whatever fails leaves nothing open and the known tokens reported.
 */
import type { Event, TokenUsage } from "../../../protocol/index.ts";
import type { AnswerWriter } from "./answer-writer.ts";
import { brokenOff, endAnswer } from "./end-answer.ts";
import type { Stop } from "./end-answer.ts";
import { Fields } from "./fields.ts";
import { modelErrorOf } from "./model-error.ts";
import type { ErrorContext } from "./model-error.ts";

/** Understands the events of one provider's stream. */
export interface AnswerReader {
  /** Where the answer is written to. */
  readonly writer: AnswerWriter;
  /** Whether nothing follows any more. */
  readonly over: boolean;
  /** Why the answer stopped; undefined until the provider says so. */
  readonly stop: Stop | undefined;
  /** The tokens of the answer, as far as they are known. */
  readonly usage: TokenUsage;
  /** Takes one event of the stream. */
  read(event: Fields): void;
}

/** The events of one answer. Throws an error with a `model-*` code, after closing what is open. */
export async function* writeAnswer(
  stream: AsyncIterable<unknown>,
  reader: AnswerReader,
  context: ErrorContext,
): AsyncGenerator<Event, void, undefined> {
  const { writer } = reader;
  try {
    let events = 0;
    for await (const value of stream) {
      events++;
      reader.read(new Fields(value));
      yield* writer.take();
      if (reader.over) break;
    }
    if (reader.stop === undefined) throw brokenOff(context, events);
    endAnswer(writer, reader.stop, context);
    writer.usage(reader.usage);
    yield* writer.take();
  } catch (error) {
    writer.close(false);
    writer.usage(reader.usage);
    yield* writer.take();
    throw modelErrorOf(context, error);
  }
}
