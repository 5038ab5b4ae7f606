/** Reads what a model or an adapter says, and folds it into the messages that a thread would then hold. */
import { readFileSync } from "node:fs";
import { HeddleError, runFinished, runStarted } from "../src/protocol/index.ts";
import type { Event, Message } from "../src/protocol/index.ts";
import { createReduceState, createVerifyState, reduce, verify, verifyEnd, view } from "../src/stream/index.ts";

/** What was said, and the error that ended it, if one did. */
export interface Heard {
  /** The events. */
  readonly events: readonly Event[];
  /** What was thrown. */
  readonly error: unknown;
}

/** Listens to the end. */
export async function hear(source: AsyncIterable<Event>): Promise<Heard> {
  const events: Event[] = [];
  try {
    for await (const event of source) events.push(event);
    return { events, error: undefined };
  } catch (error) {
    return { events, error };
  }
}

/** The events of an answer that does not fail. */
export async function say(source: AsyncIterable<Event>): Promise<readonly Event[]> {
  const { events, error } = await hear(source);
  if (error !== undefined) throw error;
  return events;
}

/** The error that ends an answer, which has to be one of ours. */
export async function failureOfAnswer(source: AsyncIterable<Event>): Promise<HeddleError> {
  const { error } = await hear(source);
  if (error instanceof HeddleError) return error;
  throw new Error("Expected a HeddleError.", { cause: error });
}

/** The messages of a thread after an answer, which has to be a valid part of a run. */
export function messagesAfter(events: readonly Event[], messages: readonly Message[] = []): readonly Message[] {
  const run = { threadId: "t", runId: "r" };
  const judge = createVerifyState();
  const state = createReduceState({ messages });
  for (const event of [runStarted(run), ...events, runFinished(run)]) {
    verify(judge, event);
    const warnings = reduce(state, event);
    if (warnings.length > 0) throw new Error(warnings.map(({ message }) => message).join("\n"));
  }
  verifyEnd(judge);
  return view(state).messages;
}

/** The JSON values of a recorded stream. */
export function recordedEvents(file: URL): readonly object[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("data: ") && line !== "data: [DONE]")
    .map((line) => JSON.parse(line.slice("data: ".length)));
}

/** A recorded stream, as an SDK would give it. */
export async function* recorded(file: URL): AsyncGenerator<unknown, void, undefined> {
  yield* recordedEvents(file);
}
