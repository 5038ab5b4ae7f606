/**
 * The way from an agent into the log: every event is judged and committed, whether or not somebody watches.
 *
 * It waits for nothing but the log. A run always ends with a terminal event of its own kind: an agent that breaks the
 * order of events, says too much, or stops without an end, is closed and told apart by the code of its RUN_ERROR.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { HeddleError, parseEvent } from "../protocol/index.ts";
import type { Event, EventType } from "../protocol/index.ts";
import type { RunWriter } from "../store/index.ts";
import { createRepairState, repairEnd } from "../stream/repair/index.ts";
import { asError } from "./as-error.ts";
import { checkPatch } from "./check-patch.ts";
import { detachEvent } from "./detach-event.ts";
import { ForViews } from "./for-views.ts";
import type { HiddenPaths } from "./hidden-paths.ts";
import { plainDelta } from "./plain-delta.ts";
import { DEFAULT_LIMITS, EVENTS_PER_TURN, tooMuch } from "./run-limits.ts";
import type { RunLimits } from "./run-limits.ts";
import { RunNotes } from "./run-notes.ts";

/** Longest message of a failure that is logged. */
const MAX_MESSAGE_CHARS = 2000;

/** What a run is written under. */
export interface PumpOptions {
  /** How much it may say. */
  readonly limits?: RunLimits;
  /** What views hide of the state. */
  readonly hidden?: readonly HiddenPaths[];
  /** The notes of the run, which pass, and are not held against it; what an agent says in their name does not. */
  readonly notes?: RunNotes;
  /** Told of every event that the agent said. */
  readonly onEvent?: (event: Event) => void;
}

/**
 * Writes a run's events as they come. Resolves when the run has ended in the log; rejects where the writer lost it.
 * `onFault` is told why the run was ended otherwise than the agent ended it.
 */
export async function pump(
  writer: RunWriter,
  events: AsyncIterable<Event>,
  onFault: (error: unknown) => void,
  { limits = DEFAULT_LIMITS, hidden = [], notes = new RunNotes(), onEvent = () => undefined }: PumpOptions = {},
): Promise<void> {
  /** Notes on what comes next, with which they are written: so they are in the log together. */
  const held: Event[] = [];
  try {
    await writeAll(writer, events, { limits, hidden, notes, onEvent }, held);
  } catch (error) {
    // Where the writer is lost this rejects, with the cause of the loss.
    if (writer.over) await writer.flush();
    onFault(error);
    if (!writer.over) for (const event of [...held, ...failing(writer, error)]) void writer.write(event);
  }
  await writer.flush();
}

async function writeAll(
  writer: RunWriter,
  events: AsyncIterable<Event>,
  { limits, hidden, notes, onEvent }: Required<PumpOptions>,
  held: Event[],
): Promise<void> {
  const { maxEventBytes, maxEvents, maxChars, maxOpen } = limits;
  let count = 0;
  let open = 0;
  const forViews = new ForViews(hidden);
  for await (const said of events) {
    if (notes.isOurs(said)) {
      held.push(said);
      continue;
    }
    const event = plainDelta(said, maxEventBytes) ?? parseEvent(detachEvent(said, maxEventBytes)).value;
    if (event === undefined) continue;
    // The end is not held against a run.
    if (++count > maxEvents && !isTerminal(event)) throw tooMuch("events of a run", maxEvents, count);
    const instead = notes.inPlaceOf(event);
    if (instead !== undefined) {
      held.push(...instead);
      continue;
    }
    checkPatch(writer.state.reduce, event);
    if (writer.writtenChars > maxChars) throw tooMuch("characters of a run", maxChars, writer.writtenChars);
    const told = forViews.tell(event, writer.state.reduce);
    if (held.length > 0) for (const note of held.splice(0)) void writer.write(note);
    const room = writer.write(told);
    onEvent(event);
    open += OPENS[event.type] ?? 0;
    if (open > maxOpen) throw tooMuch("open items of a run", maxOpen, open);
    if (room !== undefined) await room;
    if (count % EVENTS_PER_TURN === 0) await nextTurn();
  }
  if (!writer.over) throw withoutEnd(writer);
}

const isTerminal = ({ type }: Event): boolean => type === "RUN_FINISHED" || type === "RUN_ERROR";

/** What an event that the rules allow does to the number of open items. */
const OPENS: Readonly<Partial<Record<EventType, 1 | -1>>> = {
  TEXT_MESSAGE_START: 1,
  TEXT_MESSAGE_END: -1,
  REASONING_START: 1,
  REASONING_END: -1,
  REASONING_MESSAGE_START: 1,
  REASONING_MESSAGE_END: -1,
  TOOL_CALL_START: 1,
  TOOL_CALL_END: -1,
  STEP_STARTED: 1,
  STEP_FINISHED: -1,
  SUBAGENT_STARTED: 1,
  SUBAGENT_FINISHED: -1,
  SUBAGENT_ERROR: -1,
};

/** What closes a run that the agent cannot go on with: all that the verifier of the log holds open. */
function failing({ state }: RunWriter, error: unknown): readonly Event[] {
  const timestamp = Date.now();
  const message = asError(error).message.slice(0, MAX_MESSAGE_CHARS);
  const code = error instanceof HeddleError ? error.code : "agent-failed";
  // A copy: the writer goes on with its own when it gets these.
  const closing = { ...createRepairState(), verified: structuredClone(state.verify) };
  return repairEnd(closing).events.map((event) =>
    event.type === "RUN_ERROR" ? { type: "RUN_ERROR", message, code, timestamp } : { ...event, timestamp },
  );
}

function withoutEnd({ lease: { threadId, runId } }: RunWriter): HeddleError {
  const message = "The agent's events ended before its run did.";
  return new HeddleError("agent-stream-cut", message, { threadId, runId });
}
