/**
 * A branch at any of its events: messages, state, and what is open, folded here out of the log as the server folds it.
 *
 * The fold goes over each event once, as it comes, and leaves a checkpoint every few hundred events; a jump folds on from the
 * nearest one before, whatever the length of the log. What is handed out never changes.
 */
import type { Interrupt, Warning } from "heddle/protocol";
import { createReduceState, reduce, view } from "heddle/stream";
import type { ReduceState, ThreadView } from "heddle/stream";
import { bareEvent } from "../../log/thread-log.ts";
import type { LogEntry } from "../../log/thread-log.ts";

/** A branch behind one of its events. */
export interface Moment {
  /** What the events up to this one make. */
  readonly view: ThreadView;
  /** Questions that are open; none in the middle of a run. */
  readonly interrupts: readonly Interrupt[];
  /** Calls that are left to the client; none in the middle of a run. */
  readonly pendingToolCallIds: readonly string[];
}

/** One event of a branch, and what it made of it. */
export interface Step {
  /** The branch before it. */
  readonly before: Moment;
  /** The branch behind it. */
  readonly after: Moment;
  /** What of it could not be applied. */
  readonly warnings: readonly Warning[];
}

interface Fold {
  readonly state: ReduceState;
  /** Calls that the newest run left to the client when it ended. */
  left: readonly string[];
}

/** A fold that can be gone on from any number of times: its list of messages is made anew each time. */
interface Checkpoint {
  readonly fold: Fold;
  readonly messages: ThreadView["messages"];
}

const EVERY = 256;

/** The fold of one branch, over a log that grows. */
export class BranchFold {
  readonly #runIds: ReadonlySet<string>;
  readonly #entries: LogEntry[] = [];
  readonly #checkpoints: Checkpoint[] = [];
  readonly #front: Fold = { state: createReduceState(), left: [] };
  #read = 0;

  constructor(runIds: ReadonlySet<string>) {
    this.#runIds = runIds;
  }

  /** The events of the branch: the same list, which grows. */
  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  /** Takes in what is new in the log. */
  extend(log: readonly LogEntry[], count: number): void {
    for (; this.#read < count; this.#read++) {
      const entry = log[this.#read];
      if (entry === undefined || !this.#runIds.has(entry.runId)) continue;
      if (this.#entries.length % EVERY === 0) this.#checkpoints.push(checkpointOf(this.#front));
      this.#entries.push(entry);
      take(this.#front, entry);
    }
  }

  /** Place of the last event up to a seq; -1 where the branch begins later. */
  placeOf(seq: number): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle]?.seq ?? Infinity) <= seq) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The branch around the event at a place; -1 is the branch before anything was said. */
  at(place: number): Step {
    const last = Math.min(place, this.#entries.length - 1);
    const checkpoint = this.#checkpoints[Math.floor(Math.max(last, 0) / EVERY)];
    const fold = checkpoint === undefined ? { state: createReduceState(), left: [] } : resumed(checkpoint);
    for (let at = last - (last % EVERY); at < last; at++) take(fold, this.#entries[at]);
    const before = momentOf(fold);
    const warnings = last < 0 ? [] : take(fold, this.#entries[last]);
    return { before, after: momentOf(fold), warnings };
  }
}

function take(fold: Fold, entry: LogEntry | undefined): readonly Warning[] {
  if (entry === undefined) return [];
  const event = bareEvent(entry);
  if (event.type === "RUN_STARTED") fold.left = [];
  if (event.type === "RUN_FINISHED") {
    fold.left = (event.outcome?.type === "success" ? event.outcome.pendingToolCallIds : undefined) ?? [];
  }
  return reduce(fold.state, event);
}

function momentOf({ state, left }: Fold): Moment {
  const seen = view(state);
  return {
    view: seen,
    interrupts: seen.run.status === "interrupted" ? seen.interrupts : [],
    pendingToolCallIds: seen.run.status === "running" ? [] : left,
  };
}

function checkpointOf({ state, left }: Fold): Checkpoint {
  const { messages } = view(state);
  return { messages, fold: { state: { ...state, calls: new Map(state.calls) }, left } };
}

function resumed({ messages, fold: { state, left } }: Checkpoint): Fold {
  const { list } = createReduceState({ messages });
  return { state: { ...state, list, calls: new Map(state.calls), view: undefined }, left };
}
