/**
 * The answer of a remote agent as events of 1.0: decoded, older forms translated, enforced, and no faster than they are
 * taken.
 *
 * A stream may replay earlier runs before the one that was asked for; here they become one run, since a terminal event
 * is held until it is known to be the last: a RUN_STARTED after it takes it back, a late RUN_ERROR takes its place
 * (R-LIFE-23, R-LIFE-24). Anything else behind it takes nothing back: it follows, for whoever judges the order (R-LIFE-26).
 * A stream that ends with no terminal event is cut, never a success (R-TRAN-08).
 */
import { HeddleError, decodeSse, parseEvent } from "../../../protocol/index.ts";
import type { Event, Frame, Warning } from "../../../protocol/index.ts";
import { decodeBinary } from "../../../protocol/binary/index.ts";
import { createNormaliseMemory, normaliseEvent } from "../../../protocol/dialects/index.ts";
import { badFrame, cutStream, tooManyEvents } from "./failures.ts";
import type { Remote } from "./failures.ts";
import { readBytes } from "./read-bytes.ts";
import type { ByteOptions, Progress } from "./read-bytes.ts";
import type { RunResponse } from "./request-run.ts";

/** How an answer is read. */
export interface ReadOptions extends ByteOptions {
  /** Largest frame. */
  readonly maxFrameBytes: number;
  /** Most frames, those included of which nothing comes. */
  readonly maxEvents: number;
  /** Told what was translated or taken out. */
  readonly onWarning: (warning: Warning) => void;
  /** Told what every frame holds, before anything is made of it. */
  readonly onFrame: (value: unknown) => void;
}

/** Reads an answer to its end. Throws `agent-stream-cut`, `agent-response-invalid`, `event-invalid`, or the reason. */
export async function* readEvents(
  { body, wire }: RunResponse,
  options: ReadOptions,
): AsyncGenerator<Event, void, undefined> {
  const { remote, maxFrameBytes, onWarning } = options;
  const progress: Progress = { ended: false };
  const bytes = readBytes(body, options, progress);
  const frames =
    wire === "sse" ? decodeSse(bytes, { maxFrameBytes }) : decodeBinary(bytes, { maxFrameBytes, onWarning });
  let began = false;
  /** How the run ended, and whether that is said: not before it is known to be the last. */
  let end: Event | undefined;
  let told = false;
  for await (const event of readable(frames, options, progress)) {
    if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") {
      progress.ended = true;
      // A failure stays one, whatever ends behind it.
      if (end?.type !== "RUN_ERROR") [end, told] = [event, false];
      continue;
    }
    const isStart = event.type === "RUN_STARTED";
    const goesOn = isStart && began && !told;
    began = true;
    if (end !== undefined && !told && !goesOn) {
      yield end;
      told = true;
    }
    if (isStart) {
      progress.ended = false;
      [end, told] = [undefined, false];
    }
    if (!goesOn) yield event;
  }
  if (end === undefined) throw cutStream(remote, "ended");
  if (!told) yield end;
}

/** Frames as events: what they hold is translated and enforced, what cannot be read is said in the agent's name. */
async function* readable(
  frames: AsyncGenerator<Frame, void, undefined>,
  { remote, onWarning, onFrame, maxEvents }: ReadOptions,
  progress: Progress,
): AsyncGenerator<Event, void, undefined> {
  const memory = createNormaliseMemory();
  let count = 0;
  try {
    for await (const frame of frames) {
      // What is dropped here is seen by nobody else: an endless stream of it would never be noticed.
      if (++count > maxEvents) throw tooManyEvents(maxEvents, count);
      if (!("value" in frame)) continue;
      onFrame(frame.value);
      const { values, warnings } = normaliseEvent(frame.value, memory);
      for (const warning of warnings) onWarning(warning);
      for (const value of values) {
        const judged = parseEvent(value);
        for (const warning of judged.warnings) onWarning(warning);
        if (judged.value !== undefined) yield judged.value;
      }
    }
  } catch (error) {
    if (!(error instanceof HeddleError) || !UNREADABLE.has(error.code)) throw error;
    if (!progress.ended) throw count > maxEvents ? error : frameFailure(remote, error);
    // The run has ended already; some agents close with a frame of their own, such as `[DONE]`.
    onWarning({ code: "unknown-event", path: "", message: `Dropped what follows the run: ${error.message}` });
  }
}

const UNREADABLE: ReadonlySet<string> = new Set(["json-invalid", "frame-invalid", "limit-exceeded"]);

/** A body that ends inside a protobuf frame is a cut, not a broken frame (R-PB-08). */
const frameFailure = (remote: Remote, error: HeddleError): HeddleError =>
  "reason" in error.details && error.details.reason === "truncated"
    ? cutStream(remote, "ended", error)
    : badFrame(remote, error);
