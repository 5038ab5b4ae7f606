/**
 * The way from an agent into the log: every event is judged and committed, whether or not somebody watches.
 *
 * It waits for nothing but the log. A run always ends with a terminal event of its own kind: an agent that breaks the
 * order of events, or stops without an end, is closed and told apart by the code of its RUN_ERROR.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { closingEvents } from "../store/index.ts";
import type { RunWriter } from "../store/index.ts";
import { prelude } from "../stream/index.ts";

/** After so many events the rest of the process has a turn: a fast agent must not starve its viewers. */
const EVENTS_PER_TURN = 64;

/**
 * Writes a run's events as they come. Resolves when the run has ended in the log; rejects where the writer lost it.
 * `onFault` is told why the run was ended otherwise than the agent ended it.
 */
export async function pump(
  writer: RunWriter,
  events: AsyncIterable<Event>,
  onFault: (error: unknown) => void,
): Promise<void> {
  try {
    await writeAll(writer, events);
  } catch (error) {
    // Where the writer is lost this rejects, with the cause of the loss.
    if (writer.over) await writer.flush();
    onFault(error);
    if (!writer.over) for (const event of failing(writer, error)) void writer.write(event);
  }
  await writer.flush();
}

async function writeAll(writer: RunWriter, events: AsyncIterable<Event>): Promise<void> {
  let count = 0;
  for await (const event of events) {
    const room = writer.write(event);
    if (room !== undefined) await room;
    count += 1;
    if (count % EVENTS_PER_TURN === 0) await nextTurn();
  }
  if (!writer.over) throw withoutEnd(writer);
}

/** What closes a run that the agent cannot go on with. */
function failing({ state }: RunWriter, error: unknown): readonly Event[] {
  const timestamp = Date.now();
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof HeddleError ? error.code : "agent-failed";
  return closingEvents(prelude(state), "worker-lost", timestamp).map((event) =>
    event.type === "RUN_ERROR" ? { type: "RUN_ERROR", message, code, timestamp } : event,
  );
}

function withoutEnd({ lease: { threadId, runId } }: RunWriter): HeddleError {
  const message = "The agent's events ended before its run did.";
  return new HeddleError("agent-stream-cut", message, { threadId, runId });
}
