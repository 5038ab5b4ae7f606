/**
 * Ingest: events that an agent brings from elsewhere, judged one by one before anything is made of them.
 *
 * Each is taken as the JSON that it is, translated from older forms, enforced, and put right in sequence; in strict mode a
 * breach of the rules ends the run instead. Values are never repaired: a malformed one ends the run. A terminal event
 * only counts when the source ends, soon, so that a late RUN_ERROR still fails the run; a source that said RUN_STARTED
 * and then just stops was cut. What was put right or taken out is noted in the run, before what came of it. What an author
 * says by `emit` needs none of this: `emit` refuses what is wrong.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Agent, RunContext } from "../agent/index.ts";
import { HeddleError, parseEvent } from "../protocol/index.ts";
import type { Event, RunAgentInput } from "../protocol/index.ts";
import { createNormaliseMemory, normaliseEvent } from "../protocol/dialects/index.ts";
import { createExpandState, createVerifyState, expand, verify, verifyEnd } from "../stream/index.ts";
import { createRepairState, repair } from "../stream/repair/index.ts";
import type { Repair } from "../stream/repair/index.ts";
import { detachEvent } from "./detach-event.ts";
import { EchoFilter } from "./echo-filter.ts";
import { EVENTS_PER_TURN, tooMuch } from "./run-limits.ts";
import type { RunLimits } from "./run-limits.ts";
import { overheard } from "./run-notes.ts";
import type { RunNotes } from "./run-notes.ts";
import { within } from "./within.ts";

/** How events from elsewhere are taken in. */
export interface IngestOptions {
  /** Whether a breach of the rules of order ends the run. Default false: it is repaired. */
  readonly strict: boolean;
  /** How much a run may say. */
  readonly limits: RunLimits;
  /** How long a source may stay open behind its terminal event. */
  readonly lateMs: number;
  /** Told of every repair. */
  readonly onRepair: (repair: Repair) => void;
  /** The notes of the run. */
  readonly notes: RunNotes;
}

/** The same agent, with ingest before whatever events its `run` returns. */
export function ingesting(agent: Agent, options: IngestOptions): Agent {
  return {
    ...agent,
    async run(context) {
      const noted: Event[] = [];
      const { notes, onRepair } = options;
      const log = overheard(context.log, (warning) => noted.push(...notes.ofWarning(warning)));
      const said: unknown = await agent.run({ ...context, log });
      if (!isAsyncIterable(said)) return said;
      const repaired = (repair: Repair): void => {
        onRepair(repair);
        noted.push(...notes.ofRepair(repair));
      };
      return ingest(said, { ...context, log }, { ...options, onRepair: repaired }, noted);
    },
  };
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** Judges the order of events: what comes out in place of one, and what the end of the source means. */
interface Judge {
  push(event: Event): readonly Event[];
  end(): void;
}

/** `noted` fills with notes on what is being judged; they go out before what comes of it, and where nothing does. */
async function* ingest(
  source: AsyncIterable<unknown>,
  { input, log }: RunContext,
  options: IngestOptions,
  noted: Event[],
): AsyncGenerator<Event, void, undefined> {
  const { maxEvents, maxEventBytes } = options.limits;
  const memory = createNormaliseMemory();
  const judge = options.strict ? strictly(input) : leniently(input, options.onRepair);
  const echoes = new EchoFilter(input.messages, options.onRepair);
  const iterator = source[Symbol.asyncIterator]();
  let count = 0;
  /** Whether the source has a frame of its own, and is inside or behind it. */
  let frame: "none" | "open" | "closed" = "none";
  try {
    for (;;) {
      const next = iterator.next();
      const step = frame === "closed" ? await within(options.lateMs, next) : await next;
      if (step === undefined || step.done === true) break;
      // What is dropped counts too, or an endless source of it would never be noticed.
      if (++count > maxEvents) {
        // Where the run has ended, whatever follows is only listened to for a while.
        if (frame === "closed") break;
        throw tooMuch("events of a run", maxEvents, count);
      }
      if (count % EVENTS_PER_TURN === 0) await nextTurn();
      const normalised = normaliseEvent(detachEvent(step.value, maxEventBytes), memory);
      for (const warning of normalised.warnings) noted.push(...options.notes.ofWarning(warning));
      for (const value of normalised.values) {
        const { value: event, warnings } = parseEvent(value);
        for (const { message, ...where } of warnings) log.warn(message, where);
        if (event?.type === "RUN_STARTED") frame = "open";
        if (event?.type === "RUN_FINISHED" || event?.type === "RUN_ERROR") frame = "closed";
        const passed = event === undefined ? undefined : echoes.pass(event);
        const judged = passed === undefined ? [] : judge.push(passed);
        // Delegating takes turns, also to nothing.
        if (noted.length > 0) yield* noted.splice(0);
        yield* judged;
      }
    }
  } catch (error) {
    yield* noted.splice(0);
    throw error;
  } finally {
    // One that does not answer must not hold up the end of the run.
    void Promise.resolve(iterator.return?.()).catch((error: unknown) =>
      log.warn("The agent's events broke.", { error }),
    );
  }
  yield* noted.splice(0);
  if (frame === "open") throw cut(input);
  judge.end();
}

/** The frame that a source without one of its own stands in. */
const frameOf = ({ threadId, runId }: RunAgentInput): Event => ({ type: "RUN_STARTED", threadId, runId });

function leniently(input: RunAgentInput, onRepair: (repair: Repair) => void): Judge {
  const { messages, state } = input;
  const repairs = createRepairState({ messages, ...(state === undefined ? {} : { state }) });
  let begun = false;
  return {
    push(event) {
      if (!begun && event.type !== "RUN_STARTED") repair(repairs, frameOf(input));
      begun = true;
      const repaired = repair(repairs, event);
      for (const each of repaired.repairs) onRepair(each);
      return repaired.events;
    },
    end: () => undefined,
  };
}

function strictly(input: RunAgentInput): Judge {
  const chunks = createExpandState();
  const verified = createVerifyState();
  let begun = false;
  let framed = false;
  return {
    push(event) {
      framed ||= event.type === "RUN_STARTED";
      if (!begun && !framed) verify(verified, frameOf(input));
      begun = true;
      const events = expand(chunks, event);
      for (const each of events) verify(verified, each);
      return events;
    },
    end() {
      if (framed) verifyEnd(verified);
    },
  };
}

function cut({ threadId, runId }: RunAgentInput): HeddleError {
  const message = "The agent's events ended before its run did.";
  return new HeddleError("agent-stream-cut", message, { threadId, runId });
}
