/**
 * The way of one run into the log: events are judged and folded as they come, and committed in numbered batches.
 *
 * Nothing reaches the listener before it is committed. One batch is under way at a time; what comes meanwhile waits, and
 * `write` makes its caller wait too once a lot is waiting. When the run's fence is raised by somebody else, or the store
 * fails for good, the writer is over and says so: whoever executes the run has to stop.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { prelude, stepPrelude } from "../stream/index.ts";
import type { PreludeState } from "../stream/index.ts";
import { RunCompaction } from "./run-compaction.ts";
import type { Begun } from "./run-compaction.ts";
import { endOf } from "./run-end.ts";
import type { RunEnd } from "./run-end.ts";
import type { Appended, Batch, CompactedEvent, Lease, Snapshot } from "./store.ts";

/** Told what becomes of a run's events. */
export interface RunListener {
  /** These events are in the log now, from this seq on. */
  readonly committed?: (firstSeq: number, events: readonly string[]) => void;
  /** A snapshot in the middle of the run is due, and everything that it tells is in the log. */
  readonly snapshot?: (snapshot: Snapshot) => void;
  /** Somebody asked the run to stop. Told once. */
  readonly stopAsked?: () => void;
  /** The writer is over before the run is: fenced, or the store failed for good. Told once. */
  readonly lost?: (error: unknown) => void;
}

/** What a run came to that has ended here. */
export interface WrittenRun {
  /** The branch as of its terminal event. */
  readonly snapshot: Snapshot;
  /** The run, compacted; undefined where that has to be made of the log. */
  readonly compacted: readonly CompactedEvent[] | undefined;
}

/** How a writer calls on its committer. */
interface Committing {
  readonly wake: (urgent: boolean) => void;
  readonly done: () => void;
}

/** Events that are worth a commit of their own. */
const URGENT: ReadonlySet<Event["type"]> = new Set([
  "RUN_STARTED",
  "RUN_FINISHED",
  "RUN_ERROR",
  "TOOL_CALL_END",
  "TOOL_CALL_RESULT",
  "MESSAGES_SNAPSHOT",
  "STATE_SNAPSHOT",
  "ACTIVITY_SNAPSHOT",
]);

/** Most events in one batch. */
const MAX_BATCH_EVENTS = 4096;
/** Most characters in one batch, unless a single event is longer. */
const MAX_BATCH_CHARS = 1 << 20;
/** So many characters may wait before `write` makes its caller wait. */
const ROOM_CHARS = 1 << 20;
/** A snapshot is due after so many events. */
const SNAPSHOT_EVERY = 2000;

/** Writes one run. Made by a `Committer`. */
export class RunWriter {
  /** The right to append. */
  readonly lease: Lease;
  /** What the branch is with everything that was written so far, committed or not. */
  readonly state: PreludeState;
  readonly #listener: RunListener;
  readonly #committing: Committing;
  readonly #compaction: RunCompaction | undefined;
  readonly #waiting: string[] = [];
  #waitingChars = 0;
  #underWay: readonly string[] = [];
  #end: RunEnd | undefined;
  #nextBatch: number;
  #over: { readonly error: unknown } | undefined;
  #told = false;
  #sinceSnapshot = 0;
  /** A snapshot of the state after so many written events, until those are committed. */
  #due: { readonly after: number; readonly events: readonly Event[] } | undefined;
  #written = 0;
  #writtenChars = 0;
  #committed = 0;
  #lastSeq = 0;
  /** Whether the batch with the terminal event has been taken. */
  #sealed = false;
  readonly #flushed: PromiseWithResolvers<void>[] = [];
  readonly #roomFor: PromiseWithResolvers<void>[] = [];

  constructor(lease: Lease, state: PreludeState, listener: RunListener, committing: Committing, begun?: Begun) {
    this.#compaction = begun === undefined ? undefined : new RunCompaction(begun);
    this.lease = lease;
    this.state = state;
    this.#listener = listener;
    this.#committing = committing;
    this.#nextBatch = lease.nextBatch;
  }

  /** Whether the run has ended, or the writer lost it. */
  get over(): boolean {
    return this.#over !== undefined || this.#end !== undefined;
  }

  /** How the run ends, as soon as that is written; committed or not. */
  get end(): RunEnd | undefined {
    return this.#end;
  }

  /** Whether something is waiting. */
  get hasMore(): boolean {
    return this.#waiting.length > 0;
  }

  /**
   * Judges an event and adds it. Throws `sequence-violation` where it must not come now, and `run-ended` after the end;
   * the writer goes on. Returns a promise where the caller should wait for room, which rejects when the run is lost.
   */
  write(event: Event): Promise<void> | undefined {
    if (this.#over !== undefined) throw this.#over.error;
    if (this.#sealed || (this.#end !== undefined && event.type !== "RUN_ERROR")) throw ended(this.lease);
    stepPrelude(this.state, event);
    const json = JSON.stringify(event);
    this.#end = endOf([event]) ?? this.#end;
    this.#compaction?.add(event, json.length);
    this.#waiting.push(json);
    this.#waitingChars += json.length;
    this.#written += 1;
    this.#writtenChars += json.length;
    this.#sinceSnapshot += 1;
    if (this.#sinceSnapshot >= SNAPSHOT_EVERY && this.#end === undefined) {
      this.#sinceSnapshot = 0;
      this.#due = { after: this.#written, events: prelude(this.state) };
    }
    this.#committing.wake(URGENT.has(event.type));
    return this.#waitingChars > ROOM_CHARS ? this.#room() : undefined;
  }

  /** How much was written, as characters of JSON. */
  get writtenChars(): number {
    return this.#writtenChars;
  }

  /** Resolves when everything written so far is committed. Rejects where it cannot be. */
  async flush(): Promise<void> {
    if (this.#over !== undefined) throw this.#over.error;
    if (this.#waiting.length === 0 && this.#underWay.length === 0) return;
    const waiting = Promise.withResolvers<void>();
    this.#flushed.push(waiting);
    await waiting.promise;
  }

  /**
   * What the run came to, where its end was written and committed here; undefined otherwise. Nothing in it changes when
   * somebody goes on with the state. Asked once.
   */
  written(): WrittenRun | undefined {
    const isCommitted = this.#waiting.length === 0 && this.#underWay.length === 0 && this.#lastSeq > 0;
    if (this.#over !== undefined || this.#end === undefined || !isCommitted) return undefined;
    const snapshot = { runId: this.lease.runId, seq: this.#lastSeq, events: prelude(this.state) };
    return { snapshot, compacted: this.#compaction?.end() };
  }

  #room(): Promise<void> {
    const waiting = Promise.withResolvers<void>();
    // Whoever does not wait for room learns of the loss from the listener.
    void waiting.promise.catch(() => undefined);
    this.#roomFor.push(waiting);
    return waiting.promise;
  }

  /** The next batch, or undefined where there is none or one is under way. Called by the committer. */
  take(): Batch | undefined {
    if (this.#underWay.length > 0 || this.#over !== undefined) return undefined;
    const [first, ...rest] = this.#waiting.splice(0, this.#batchLength());
    if (first === undefined) return undefined;
    const events = [first, ...rest] as const;
    this.#underWay = events;
    for (const json of events) this.#waitingChars -= json.length;
    const end = this.#waiting.length === 0 ? this.#end : undefined;
    this.#sealed = end !== undefined;
    return { lease: this.lease, number: this.#nextBatch, events, end };
  }

  #batchLength(): number {
    let chars = 0;
    let length = 0;
    for (const json of this.#waiting) {
      chars += json.length;
      if (length === MAX_BATCH_EVENTS || (length > 0 && chars > MAX_BATCH_CHARS)) break;
      length += 1;
    }
    return length;
  }

  /** What became of the batch under way. Called by the committer. */
  answered(appended: Appended): void {
    if (appended.type === "fenced") return this.fenced();
    if (appended.type === "gap") return this.fail(gap(this.lease, this.#nextBatch, appended.expected));
    const events = this.#underWay;
    const firstSeq = appended.lastSeq - events.length + 1;
    this.#underWay = [];
    this.#nextBatch += 1;
    this.#committed += events.length;
    this.#lastSeq = appended.lastSeq;
    this.#compaction?.committed(events.length, appended.lastSeq);
    this.#listener.committed?.(firstSeq, events);
    if (this.#due !== undefined && this.#due.after <= this.#committed) {
      const seq = appended.lastSeq - (this.#committed - this.#due.after);
      this.#listener.snapshot?.({ runId: this.lease.runId, seq, events: this.#due.events });
      this.#due = undefined;
    }
    if (appended.stop) this.stopAsked();
    if (this.#waitingChars <= ROOM_CHARS) for (const waiting of this.#roomFor.splice(0)) waiting.resolve();
    // What is urgent of it has said so when it came.
    if (this.#waiting.length > 0) return this.#committing.wake(false);
    for (const waiting of this.#flushed.splice(0)) waiting.resolve();
    if (this.#end !== undefined) this.#committing.done();
  }

  /** Somebody asked the run to stop. */
  stopAsked(): void {
    if (this.#told) return;
    this.#told = true;
    this.#listener.stopAsked?.();
  }

  /** Somebody else has the run. */
  fenced(): void {
    const { threadId, runId } = this.lease;
    const message = "Another worker has taken the run over, or it was ended or deleted: stop executing it.";
    this.fail(new HeddleError("run-fenced", message, { threadId, runId }));
  }

  /** Nothing more can be written. */
  fail(error: unknown): void {
    if (this.#over !== undefined) return;
    this.#over = { error };
    this.#waiting.length = 0;
    this.#underWay = [];
    this.#committing.done();
    for (const waiting of [...this.#flushed.splice(0), ...this.#roomFor.splice(0)]) waiting.reject(error);
    this.#listener.lost?.(error);
  }
}

function ended({ threadId, runId }: Lease): HeddleError<"run-ended"> {
  return new HeddleError("run-ended", "The run has ended; nothing can be written to it.", { threadId, runId });
}

function gap({ threadId, runId }: Lease, number: number, expected: number): HeddleError<"batch-gap"> {
  const message = `Batch ${number} of the run came where ${expected} was due: a writer of this run has lost its place.`;
  return new HeddleError("batch-gap", message, { threadId, runId, number, expected });
}
