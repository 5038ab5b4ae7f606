/**
 * A run that this client asked for. Its events come through its thread, each once, whatever becomes of connections; it is over
 * when its terminal event was seen, and never because a stream ended.
 *
 * Whoever iterates from the start gets all events as they come. Whoever begins later reads them from the log.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import type { RunView } from "../stream/index.ts";
import type { StartRequest } from "./transport.ts";

/** A run that this client asked for. Iterating gives its events, each once, ending behind the terminal one. */
export interface Run extends AsyncIterable<Event> {
  /** The thread. */
  readonly threadId: string;
  /** The id that it was asked for under. */
  readonly runId: string;
  /** How it ended. Rejects where it could not be started. */
  readonly finished: Promise<RunView>;
  /** Whether it has ended, or could not be started. */
  readonly isOver: boolean;
  /** Stops it; resolves when it has ended. */
  cancel(): Promise<void>;
}

/** What a run is reached through. */
export interface RunParts {
  /** What was asked for. */
  readonly request: StartRequest;
  /** Whether it goes on from elsewhere than from what is shown, so that what is shown has to change. */
  readonly leavesBranch: boolean;
  /** Stops it. */
  readonly cancel: () => Promise<void>;
  /** Its events from the log, from the first on. */
  readonly events: () => AsyncIterable<Event>;
}

/** A run, as whoever follows its thread has it. */
export class FollowedRun implements Run {
  /** The thread. */
  readonly threadId: string;
  /** The id that it was asked for under. */
  readonly runId: string;
  /** How it ended. Rejects where it could not be started. */
  readonly finished: Promise<RunView>;
  readonly #parts: RunParts;
  readonly #readers = new Set<Reader>();
  readonly #settle: { resolve(run: RunView): void; reject(error: HeddleError): void };
  #loggedAs: string;
  #hasBegun = false;
  #isOver = false;

  constructor(parts: RunParts) {
    const { threadId, runId } = parts.request.input;
    this.threadId = threadId;
    this.runId = runId;
    this.#loggedAs = runId;
    this.#parts = parts;
    const { promise, ...settle } = Promise.withResolvers<RunView>();
    this.finished = promise;
    this.#settle = settle;
    // Whoever only iterates hears of a failure there.
    promise.catch(() => undefined);
  }

  /** What was asked for. */
  get request(): StartRequest {
    return this.#parts.request;
  }

  /** Whether it goes on from elsewhere than from what is shown. */
  get leavesBranch(): boolean {
    return this.#parts.leavesBranch;
  }

  /** Its id in the log: another one where somebody had asked for the same before, under another id. */
  get loggedAs(): string {
    return this.#loggedAs;
  }

  /** The server has it. */
  accepted(loggedAs: string): void {
    this.#loggedAs = loggedAs;
  }

  /** Whether it has ended, or could not be started. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Stops it; resolves when it has ended. */
  cancel(): Promise<void> {
    return this.#parts.cancel();
  }

  /** Its events, each once, ending behind the terminal one. Throws where the run could not be started. */
  [Symbol.asyncIterator](): AsyncIterator<Event, undefined> {
    if (this.#hasBegun || this.#isOver) return this.#parts.events()[Symbol.asyncIterator]();
    const reader = new Reader(() => this.#readers.delete(reader));
    this.#readers.add(reader);
    return reader;
  }

  /** An event of it came. */
  take(event: Event): void {
    this.#hasBegun = true;
    for (const reader of this.#readers) reader.push(event);
  }

  /** It has ended. */
  end(run: RunView): void {
    this.#isOver = true;
    this.#settle.resolve(run);
    for (const reader of this.#readers) reader.end();
  }

  /** It could not be started, or nobody will learn how it ended. */
  fail(error: HeddleError): void {
    this.#isOver = true;
    this.#settle.reject(error);
    for (const reader of this.#readers) reader.end(error);
  }
}

/** Events for one who reads them in order. */
class Reader implements AsyncIterator<Event, undefined> {
  readonly #onLeave: () => void;
  readonly #events: Event[] = [];
  #wake: (() => void) | undefined;
  #end: { readonly error: HeddleError | undefined } | undefined;

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  push(event: Event): void {
    this.#events.push(event);
    this.#wake?.();
  }

  end(error?: HeddleError): void {
    this.#end = { error };
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<Event, undefined>> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) return { done: false, value: event };
      if (this.#end !== undefined) {
        if (this.#end.error !== undefined) throw this.#end.error;
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async return(): Promise<IteratorResult<Event, undefined>> {
    this.#onLeave();
    return { done: true, value: undefined };
  }
}
