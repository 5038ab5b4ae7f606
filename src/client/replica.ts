/**
 * What a client holds of a branch: the fold of its log up to a cursor.
 *
 * A frame is taken once: what is not behind the cursor is known already. Events without a cursor are a prelude: together,
 * and only when the last of them is there, they take the place of all that was held. A run that does not continue what
 * is held, and an event that cannot be applied, say that something else is true than what is held: the caller begins anew.
 */
import { HeddleError, METADATA_KEY, parseEvent } from "../protocol/index.ts";
import type { Event, Frame } from "../protocol/index.ts";
import { createReduceState, reduce, view } from "../stream/index.ts";
import type { ReduceState, RunView, ThreadView } from "../stream/index.ts";

/** What came of a frame. */
export interface Taken {
  /** The events that were taken in. */
  readonly events: readonly Event[];
  /** Whether what is held has to be fetched anew. */
  readonly isStale: boolean;
}

const NOTHING: Taken = { events: [], isStale: false };
const STALE: Taken = { events: [], isStale: true };

/** A fold that follows a log. */
export class Replica {
  #state: ReduceState = createReduceState();
  #prelude: Event[] | undefined;
  #cursor: string | undefined;
  #tip: string | undefined;
  #pending: readonly string[] = [];
  /** The event that did not fit the last time: where it does not fit what is fetched anew either, it is passed over. */
  #misfit: string | undefined;

  /** Cursor of the last event that is held. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  /** Whether nothing was ever taken in. */
  get isEmpty(): boolean {
    return this.#tip === undefined && this.#cursor === undefined;
  }

  /** The newest run of the branch. */
  get tip(): string | undefined {
    return this.#tip;
  }

  /** Calls that the newest run left to the client. */
  get pendingToolCallIds(): readonly string[] {
    return this.#pending;
  }

  /** The newest run, without the cost of a view: a view for each event would copy the list of messages as often. */
  get run(): RunView {
    return this.#state.run;
  }

  /** What is held: the same object until something is taken in. */
  get view(): ThreadView {
    return view(this.#state);
  }

  /** A new stream begins: what came of a prelude is worth nothing. */
  begin(): void {
    this.#prelude = undefined;
  }

  /** Forgets where it stands, so that the next stream begins with a prelude. What is held stays until that is there. */
  forget(): void {
    this.#cursor = undefined;
    this.#prelude = undefined;
  }

  /** Takes a frame in. */
  take({ id, value }: Frame): Taken {
    const isPrelude = this.#prelude !== undefined || (id === undefined && value !== undefined);
    if (id !== undefined && !isPrelude && !isBehind(this.#cursor, id)) return NOTHING;
    const event = value === undefined ? undefined : this.#read(value);
    if (!isPrelude) return this.#fits(id, event === undefined ? NOTHING : this.#apply(event));
    const prelude = (this.#prelude ??= []);
    if (event !== undefined) prelude.push(event);
    return id === undefined ? NOTHING : this.#replace(prelude, id);
  }

  #replace(prelude: readonly Event[], id: string): Taken {
    this.#cursor = id;
    this.#prelude = undefined;
    this.#state = createReduceState();
    this.#tip = undefined;
    for (const told of prelude) this.#fold(told);
    return { events: prelude, isStale: false };
  }

  #read(value: unknown): Event | undefined {
    try {
      return parseEvent(value).value;
    } catch (error) {
      // The server has judged it before: it is of a version that we do not know.
      if (error instanceof HeddleError) return undefined;
      throw error;
    }
  }

  #apply(event: Event): Taken {
    if (event.type === "RUN_STARTED" && parentOf(event) !== this.#tip) return STALE;
    return { events: [event], isStale: !this.#fold(event) };
  }

  /** An event that does not fit is met again behind the next prelude at the latest; then it is the event that is wrong. */
  #fits(id: string | undefined, taken: Taken): Taken {
    if (taken.isStale && this.#misfit !== id) {
      this.#misfit = id;
      return STALE;
    }
    this.#cursor = id;
    return taken.isStale ? { ...taken, isStale: false } : taken;
  }

  #fold(event: Event): boolean {
    if (event.type === "RUN_STARTED") {
      this.#tip = event.runId;
      this.#pending = [];
    } else if (event.type === "RUN_FINISHED") {
      const { outcome } = event;
      this.#pending = (outcome?.type === "success" ? outcome.pendingToolCallIds : undefined) ?? [];
    }
    return reduce(this.#state, event).length === 0;
  }
}

/** Whether a cursor lies behind another. One of another log does: logs change only with a prelude. */
function isBehind(cursor: string | undefined, id: string): boolean {
  if (cursor === undefined) return true;
  return logOf(cursor) !== logOf(id) || id > cursor;
}

const logOf = (cursor: string): string => cursor.slice(0, cursor.lastIndexOf("_"));

/** The run that a run continues, as the log has it. */
function parentOf({ metadata }: Event): string | undefined {
  const lineage: unknown = Object(Object(metadata?.[METADATA_KEY]).lineage);
  const parent: unknown = Object(lineage).parent;
  return typeof parent === "string" ? parent : undefined;
}
