/**
 * Maps a source with a start and an end of its own to exactly one AG-UI run.
 *
 * Depth decides: the outermost start and end are the run's, inner ones are subagents. Everything passes through
 * `repair`, so what comes out always verifies, whatever the source does; what had to be changed or dropped is reported.
 * An error ends the run from any depth, unless the source says that the run around it goes on.
 */
import {
  HeddleError,
  PROTOCOL_VERSION,
  runError,
  runFinished,
  runStarted,
  stateSnapshot,
  subagentError,
  subagentFinished,
  subagentStarted,
} from "../../../protocol/index.ts";
import type { Event, JsonPatchOperation, State, SubagentFinishedOutcome } from "../../../protocol/index.ts";
import { createRepairState, repair, repairEnd } from "../../../stream/repair/index.ts";
import type { Repair, Repaired } from "../../../stream/repair/index.ts";
import { mapNativeEvent } from "./map-native-event.ts";
import type { NativeContent } from "./map-native-event.ts";
import { EVENT_MAPPING } from "./native-event.ts";
import type { NativeEvent, NativeRunEnd, NativeRunError, NativeRunStart, RunEnding } from "./native-event.ts";
import { NativeRuns } from "./native-runs.ts";
import type { NativeRun } from "./native-runs.ts";
import { OpenItems } from "./open-items.ts";

/** Options of `createMapper`. */
export interface MapperOptions {
  /** State that the run begins with: a STATE_SNAPSHOT right behind RUN_STARTED. */
  readonly initialState?: State;
  /** What the names of custom events begin with. Default `heddle.`. */
  readonly prefix?: string;
  /** Told what was changed, dropped or went wrong. */
  readonly onReport?: (report: MapperReport) => void;
}

/** Something that did not pass as it came. */
export interface MapperReport {
  /** Changed to be valid, left out, or thrown by the source. */
  readonly kind: "repaired" | "dropped" | "failed";
  /** What was wrong and what became of it, in one sentence. */
  readonly message: string;
  /** The native event; absent where the caller or the end of the source is the cause. */
  readonly event?: NativeEvent;
  /** The rule that it went against, where it was changed. */
  readonly rule?: Repair["rule"];
  /** What was thrown, where the source failed. */
  readonly error?: unknown;
}

/** Maps one source to one run. */
export interface Mapper {
  /** How many runs of the source are open. */
  readonly depth: number;
  /** The AG-UI events for one native event, often one, sometimes none. Throws `event-invalid` for a malformed value. */
  mapEvent(event: NativeEvent): readonly Event[];
  /** A whole source as one whole run. What the source throws, or a malformed value, becomes RUN_ERROR. */
  mapStream(source: AsyncIterable<NativeEvent> | Iterable<NativeEvent>): AsyncGenerator<Event, void, undefined>;
  /** RUN_STARTED and the initial state; nothing where the run has begun. */
  runStarted(): readonly Event[];
  /** What closes the run, and RUN_FINISHED; nothing where the run has ended. */
  runFinished(ending?: RunEnding): readonly Event[];
  /** What closes the run, and RUN_ERROR with the reason; nothing where the run has failed. */
  runFailed(error: unknown): readonly Event[];
  /** STATE_DELTA of these operations. */
  stateDelta(...operations: readonly JsonPatchOperation[]): readonly Event[];
}

/** Makes the mapper of one run. */
export function createMapper(threadId: string, runId: string, options: MapperOptions = {}): Mapper {
  return new RunMapper(threadId, runId, options);
}

class RunMapper implements Mapper {
  readonly #ids: { readonly threadId: string; readonly runId: string };
  readonly #options: MapperOptions;
  readonly #repaired = createRepairState();
  readonly #runs = new NativeRuns();
  readonly #items = new OpenItems();
  #phase: "before" | "running" | "finished" | "failed" = "before";
  #subagentCount = 0;

  constructor(threadId: string, runId: string, options: MapperOptions) {
    this.#ids = { threadId, runId };
    this.#options = options;
  }

  get depth(): number {
    return this.#runs.depth;
  }

  mapEvent(event: NativeEvent): readonly Event[] {
    if (!Object.hasOwn(EVENT_MAPPING, event.type)) return this.#drop(event, `No event is called ${event.type}.`);
    const isLateError = event.type === "run_error" && this.#phase === "finished";
    if (this.#hasEnded && !isLateError) return this.#drop(event, `${event.type} comes after the end of the run.`);
    switch (event.type) {
      case "run_start":
        return this.#startRun(event);
      case "run_end":
        return this.#endRun(event);
      case "run_error":
        return this.#failRun(event);
      default:
        return this.#mapContent(event);
    }
  }

  async *mapStream(source: AsyncIterable<NativeEvent> | Iterable<NativeEvent>): AsyncGenerator<Event, void, undefined> {
    try {
      for await (const event of source) yield* this.mapEvent(event);
    } catch (error) {
      yield* this.runFailed(error);
      return;
    }
    // A source that opened a run and did not close it was cut off; one without runs of its own has said all.
    yield* this.depth > 0 ? this.#cutOff() : this.runFinished();
  }

  runStarted(): readonly Event[] {
    if (this.#phase !== "before") return [];
    const { initialState } = this.#options;
    const begun = [
      runStarted({ ...this.#ids, protocolVersion: PROTOCOL_VERSION }),
      ...(initialState === undefined ? [] : [stateSnapshot({ snapshot: initialState })]),
    ];
    this.#phase = "running";
    return this.#pass(begun);
  }

  runFinished(ending: RunEnding = {}): readonly Event[] {
    return this.#hasEnded ? [] : this.#finish(ending);
  }

  runFailed(error: unknown): readonly Event[] {
    const { message, code } = reasonOf(error);
    this.#report({ kind: "failed", message, error });
    return this.#phase === "failed" ? [] : this.#fail({ type: "run_error", message, code });
  }

  stateDelta(...operations: readonly JsonPatchOperation[]): readonly Event[] {
    return this.mapEvent({ type: "state_delta", patch: operations });
  }

  get #hasEnded(): boolean {
    return this.#phase === "finished" || this.#phase === "failed";
  }

  #mapContent(event: NativeContent): readonly Event[] {
    const { prefix = "heddle." } = this.#options;
    const lane = this.#items.laneOf(event, () => this.#runOf(event, event.runId)?.lane);
    const mintMessageId = (index: number): string => `${this.#ids.runId}-message-${index + 1}`;
    const place = { lane, prefix, mintMessageId };
    const mapped = mapNativeEvent(event, place);
    // AG-UI refuses the end of a step that never began: one that is skipped from the start begins first.
    const isUnheardOf = event.type === "step_skipped" && !this.#items.has(mapped);
    const begun = isUnheardOf ? [mapNativeEvent({ ...event, type: "step_start" }, place)] : [];
    this.#items.follow(mapped);
    return this.#pass([...begun, mapped], event);
  }

  #startRun(event: NativeRunStart): readonly Event[] {
    const { runId: theirs, name = "subagent", description, parentToolCallId } = event;
    if (this.depth === 0) {
      this.#runs.open(theirs, undefined, undefined);
      return this.runStarted();
    }
    const lane = theirs ?? `${this.#ids.runId}-subagent-${this.#subagentCount + 1}`;
    const parent = this.#runOf(event, event.parentRunId);
    const started = subagentStarted({
      subagentRunId: lane,
      name,
      ...(description === undefined ? {} : { description }),
      ...(parent?.lane === undefined ? {} : { parentSubagentRunId: parent.lane }),
      ...(parentToolCallId === undefined ? {} : { parentToolCallId }),
      ...timeOf(event),
    });
    this.#subagentCount++;
    this.#runs.open(theirs, lane, parent);
    return this.#pass([started], event);
  }

  #endRun(event: NativeRunEnd): readonly Event[] {
    const run = this.#runs.find(event.runId);
    if (event.runId !== undefined && run === undefined) return this.#drop(event, `No run is called ${event.runId}.`);
    if (run?.lane === undefined) return this.#finish(event, event);
    const ended = subagentEnding(run.lane, event);
    if (!this.#runs.close(run)) return this.#drop(event, `The run ${run.lane} has ended already.`);
    if (event.usage !== undefined) {
      this.#report({ kind: "dropped", message: "Only the outermost run_end carries usage.", event });
    }
    return this.#pass([ended], event);
  }

  #failRun(event: NativeRunError): readonly Event[] {
    const run = this.#runOf(event, event.runId);
    if (event.isHandled !== true || run?.lane === undefined) return this.#fail(event, run);
    const failed = subagentError({ subagentRunId: run.lane, ...errorOf(event) });
    if (!this.#runs.close(run)) return this.#drop(event, `The run ${run.lane} has ended already.`);
    return this.#pass([failed], event);
  }

  #finish({ result, outcome, usage }: RunEnding, event?: NativeRunEnd): readonly Event[] {
    const finished = runFinished({
      ...this.#ids,
      ...(result === undefined ? {} : { result }),
      ...(outcome === undefined ? {} : { outcome }),
      ...(usage === undefined ? {} : { usage }),
      ...(event === undefined ? {} : timeOf(event)),
    });
    const begun = this.runStarted();
    this.#end("finished");
    return [...begun, ...this.#pass([finished], event)];
  }

  /** Closes what is open, fails the runs from the one that failed outwards, and then the run. */
  #fail(event: NativeRunError, run = this.#runs.find(undefined)): readonly Event[] {
    const reason = errorOf(event);
    const failed = [
      ...this.#items.closers(),
      ...this.#runs.lanesAround(run).map((subagentRunId) => subagentError({ subagentRunId, ...reason })),
      runError(reason),
    ];
    this.#end("failed");
    return this.#pass(failed, event);
  }

  #cutOff(): readonly Event[] {
    this.#end("failed");
    return this.#told(repairEnd(this.#repaired));
  }

  #end(phase: "finished" | "failed"): void {
    this.#phase = phase;
    this.#runs.clear();
    this.#items.clear();
  }

  /** The run that an event belongs to: the one that it names, else the innermost. */
  #runOf(event: NativeEvent, runId: string | undefined): NativeRun | undefined {
    const run = this.#runs.find(runId);
    if (run !== undefined || runId === undefined) return run;
    const message = `${event.type} names the run ${runId}, which never began: it counts for the innermost.`;
    this.#report({ kind: "repaired", message, event });
    return this.#runs.find(undefined);
  }

  /** Lets events out, behind the start of the run. Built before anything is sent: what is malformed changes nothing. */
  #pass(events: readonly Event[], cause?: NativeEvent): readonly Event[] {
    const begun = this.runStarted();
    const passed = events.flatMap((event) => this.#told(repair(this.#repaired, event), cause));
    return [...begun, ...passed];
  }

  #told({ events, repairs }: Repaired, event?: NativeEvent): readonly Event[] {
    const cause = event === undefined ? {} : { event };
    for (const { rule, message } of repairs) this.#report({ kind: "repaired", rule, message, ...cause });
    return events;
  }

  #drop(event: NativeEvent, why: string): readonly Event[] {
    this.#report({ kind: "dropped", message: `${why} It is dropped.`, event });
    return [];
  }

  #report(report: MapperReport): void {
    this.#options.onReport?.(report);
  }
}

const timeOf = ({ timestamp }: NativeEvent): { readonly timestamp?: number } =>
  timestamp === undefined ? {} : { timestamp };

const errorOf = (event: NativeRunError) => ({
  message: event.message,
  ...(event.code === undefined ? {} : { code: event.code }),
  ...timeOf(event),
});

/** A stop has no outcome of its own here, and must not look like a success. */
function subagentEnding(subagentRunId: string, event: NativeRunEnd): Event {
  const { result, outcome } = event;
  if (outcome?.type === "cancelled") {
    return subagentError({ subagentRunId, message: "The run was cancelled.", code: "cancelled", ...timeOf(event) });
  }
  const suspended: SubagentFinishedOutcome | undefined =
    outcome?.type === "interrupt"
      ? { type: "suspended", interruptIds: outcome.interrupts.map(({ id }) => id) }
      : undefined;
  return subagentFinished({
    subagentRunId,
    ...(result === undefined ? {} : { result }),
    ...(suspended === undefined ? {} : { outcome: suspended }),
    ...timeOf(event),
  });
}

function reasonOf(error: unknown): { readonly message: string; readonly code: string } {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof HeddleError ? error.code : "agent-failed";
  return { message: message === "" ? "The source failed." : message, code };
}
