/**
 * Follows one branch of one thread, and starts runs on it: the part of a client that survives.
 *
 * There is one source of events at a time: the stream of a run that was just started, or that of the branch. Whatever ends
 * a source but the run's own end or our leaving is a cut; the next one goes on behind the cursor. What cannot go on there
 * begins with a prelude. A run is over when its terminal event was taken in, and not before.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { unreachable } from "./http.ts";
import type { Replica } from "./replica.ts";
import type { Retry } from "./retry.ts";
import type { FollowedRun } from "./run.ts";
import type { Arrival, StartRequest, Started, Transport } from "./transport.ts";
import type { RunView } from "../stream/index.ts";

/** How a thread is connected: not at all, at first, with events coming, with all there were, again, or never again. */
export type ConnectionState = "idle" | "connecting" | "live" | "caught-up" | "reconnecting" | "ended";

/** What a follower needs. */
export interface FollowerParts {
  /** The thread. */
  readonly threadId: string;
  /** The way to the server. */
  readonly transport: Transport;
  /** What is held. */
  readonly replica: Replica;
  /** A count of failures: one for the branch, one for each run that is started beside it. */
  readonly retry: () => Retry;
  /** How a run of the thread stands, asked by itself; undefined while it has not ended. */
  readonly endOf: (runId: string) => Promise<RunView | undefined>;
  /** Called for events that were taken in. */
  readonly onEvents: (events: readonly Event[]) => void;
  /** Called when anything but events is new. */
  readonly onChange: () => void;
}

/** Longest stretch of work before the page gets a turn. */
const SLICE_MS = 8;

/** Follows a thread. */
export class Follower {
  readonly #parts: FollowerParts;
  readonly #retry: Retry;
  readonly #runs = new Set<FollowedRun>();
  readonly #closing = new AbortController();
  #holders = 0;
  #head: string | undefined;
  #starting: FollowedRun | undefined;
  #source: AbortController | undefined;
  /** Whether the run that is being started may have been started already. */
  #isAskedAgain = false;
  #isFollowing = false;
  #isPumping = false;
  #connection: ConnectionState = "idle";
  #error: HeddleError | undefined;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
    this.#retry = parts.retry();
  }

  /** How it is connected. */
  get connection(): ConnectionState {
    return this.#connection;
  }

  /** Why it is connected no more. */
  get error(): HeddleError | undefined {
    return this.#error;
  }

  /** Follows the branch from now on; the function that it gives ends that, where nobody else asked for it. */
  hold(): () => void {
    this.#holders += 1;
    this.#wake();
    let isHeld = true;
    return () => {
      if (isHeld) this.#release();
      isHeld = false;
    };
  }

  #release(): void {
    this.#holders -= 1;
    if (!this.#isWanted()) this.#source?.abort();
  }

  /** Follows another branch from now on: that of this run, or the thread's head. */
  moveTo(head: string | undefined): void {
    this.#head = head;
    this.anew();
  }

  /** Fetches what is held anew. */
  anew(): void {
    this.#parts.replica.forget();
    this.#error = undefined;
    this.#set("connecting");
    this.#source?.abort();
    this.#wake();
  }

  /** Tries at once what it would try later. */
  nudge(): void {
    if (this.#retry.isFailing || this.#error !== undefined) {
      this.#error = undefined;
      this.#retry.gained();
      this.#source?.abort();
    }
    this.#wake();
  }

  /** Starts a run. One that leaves the branch takes the view along. */
  start(run: FollowedRun): void {
    const { leavesBranch } = run;
    if (this.#closing.signal.aborted) return run.fail(closed());
    this.#runs.add(run);
    this.#error = undefined;
    if (leavesBranch) this.#parts.replica.forget();
    if (!leavesBranch && (this.#starting !== undefined || this.#isLive())) return void this.#begin(run);
    this.#starting = run;
    this.#isAskedAgain = false;
    this.#source?.abort();
    this.#wake();
  }

  /** Whether the events of a run that continues the branch will come by themselves. */
  #isLive(): boolean {
    return this.#isFollowing && (this.#connection === "live" || this.#connection === "caught-up");
  }

  /** Ends everything. */
  close(): void {
    this.#closing.abort();
    this.#source?.abort();
    for (const run of this.#runs) run.fail(closed());
    this.#runs.clear();
    this.#set("ended");
  }

  #isWanted(): boolean {
    if (this.#closing.signal.aborted) return false;
    if (this.#starting !== undefined || this.#runs.size > 0) return true;
    return this.#holders > 0 && this.#error === undefined;
  }

  #wake(): void {
    if (!this.#isPumping && this.#isWanted()) void this.#pump();
  }

  async #pump(): Promise<void> {
    this.#isPumping = true;
    while (this.#isWanted()) await this.#connect();
    this.#isPumping = false;
    if (!this.#closing.signal.aborted && this.#error === undefined) this.#set("idle");
  }

  /** One source, from its beginning to its end. Never rejects. */
  async #connect(): Promise<void> {
    const source = (this.#source = new AbortController());
    const run = this.#starting;
    // Who looks again for a thread that is not there yet has all that there is.
    if (this.#connection !== "caught-up") this.#set(this.#retry.isFailing ? "reconnecting" : "connecting");
    try {
      const { signal } = source;
      const arrivals = await (run === undefined ? this.#follow(signal) : this.#start(run, signal));
      this.#parts.replica.begin();
      this.#isFollowing = run === undefined;
      this.#set("live");
      await this.#read(arrivals, source, run);
      // The server lets go of us, or something between us did.
      if (!signal.aborted && run?.isOver !== true && this.#isWanted()) await this.#cut(signal);
    } catch (error) {
      if (!source.signal.aborted) await this.#failed(error, run, source.signal);
    } finally {
      this.#isFollowing = false;
    }
  }

  async #cut(signal: AbortSignal): Promise<void> {
    this.#set("reconnecting");
    await this.#retry.wait(signal);
  }

  #follow(signal: AbortSignal): Promise<AsyncIterable<Arrival>> {
    const { threadId, transport, replica } = this.#parts;
    const { cursor: after, tip, isEmpty } = replica;
    const head = this.#head ?? (after === undefined ? undefined : tip);
    // Whoever waits for a run in a thread that is new to them gets all of it, event by event.
    const prelude = after === undefined && !(isEmpty && this.#runs.size > 0);
    return transport.follow({ threadId, head, after, prelude }, signal);
  }

  async #start(run: FollowedRun, signal: AbortSignal): Promise<AsyncIterable<Arrival>> {
    const { transport } = this.#parts;
    const asked = this.#asked(run);
    // It may have been heard the first time: then its events are in the log from the beginning.
    const started = this.#isAskedAgain
      ? { runId: await transport.begin(asked, signal), arrivals: undefined }
      : await this.#startFirst(asked, signal);
    this.#isAskedAgain = false;
    run.accepted(started.runId);
    // From here on the log has it, or its queue: whoever follows its branch gets it.
    if (this.#starting === run) this.#starting = undefined;
    if (run.leavesBranch) this.#head = started.runId;
    return started.arrivals ?? this.#follow(signal);
  }

  #startFirst(asked: StartRequest, signal: AbortSignal): Promise<Started> {
    this.#isAskedAgain = true;
    return this.#parts.transport.start(asked, signal);
  }

  #asked({ request }: FollowedRun): StartRequest {
    return { ...request, after: this.#parts.replica.cursor };
  }

  /** Starts a run whose events come by the source that is there. Never rejects. */
  async #begin(run: FollowedRun): Promise<void> {
    const retry = this.#parts.retry();
    const { signal } = this.#closing;
    while (!run.isOver) {
      try {
        run.accepted(await this.#parts.transport.begin(this.#asked(run), signal));
        return this.#wake();
      } catch (error) {
        if (!retry.helps(error)) return this.#drop(run, error);
        await retry.wait(signal, error);
      }
    }
  }

  async #read(
    arrivals: AsyncIterable<Arrival>,
    { signal }: AbortController,
    run: FollowedRun | undefined,
  ): Promise<void> {
    let sinceMs = performance.now();
    for await (const { frames, caughtUp } of arrivals) {
      if (signal.aborted) return;
      this.#retry.gained();
      for (const frame of frames) {
        const { events, isStale } = this.#parts.replica.take(frame);
        if (events.length > 0) this.#taken(events);
        if (isStale) return this.anew();
        if (performance.now() - sinceMs < SLICE_MS) continue;
        await nextTask();
        if (signal.aborted) return;
        sinceMs = performance.now();
      }
      if (caughtUp) this.#set("caught-up");
      if (run?.isOver === true) return;
    }
  }

  #taken(events: readonly Event[]): void {
    const { replica, onEvents } = this.#parts;
    const isPrelude = events.length > 1;
    if (this.#head !== undefined && replica.tip !== undefined) this.#head = replica.tip;
    for (const run of this.#runs) {
      if (!isTip(run, replica)) continue;
      for (const event of events) run.take(event);
      if (replica.run.status !== "running") this.#over(run, replica.run);
    }
    onEvents(events);
    if (isPrelude) for (const run of this.#runs) if (!isTip(run, replica)) void this.#lookUp(run);
  }

  /** A run that is not the newest one may have ended while nobody looked. Never rejects. */
  async #lookUp(run: FollowedRun): Promise<void> {
    try {
      const end = await this.#parts.endOf(run.loggedAs);
      if (end !== undefined && !run.isOver) this.#over(run, end);
    } catch {
      // Asked again behind the next prelude; the run itself is followed as before.
    }
  }

  #over(run: FollowedRun, end: RunView): void {
    this.#runs.delete(run);
    run.end(end);
  }

  #drop(run: FollowedRun, error: unknown): void {
    this.#runs.delete(run);
    if (this.#starting === run) this.#starting = undefined;
    run.fail(asError(error));
    this.#parts.onChange();
  }

  async #failed(error: unknown, run: FollowedRun | undefined, signal: AbortSignal): Promise<void> {
    if (this.#retry.helps(error)) {
      this.#set("reconnecting");
      return this.#retry.wait(signal, error);
    }
    const { code } = asError(error);
    if (run !== undefined) return this.#drop(run, error);
    // One that was never there may come, by somebody else; one that was, and is no more, is told.
    if (code === "thread-unknown" && this.#runs.size === 0 && this.#parts.replica.isEmpty) {
      this.#set("caught-up");
      await this.#retry.wait(signal);
    } else if (code === "cursor-invalid" || code === "cursor-trimmed") this.#parts.replica.forget();
    else if (code === "run-unknown" && this.#head !== undefined) this.#elsewhere();
    else this.#giveUp(asError(error));
  }

  /** The branch is not there any more, or was known to us by another name. */
  #elsewhere(): void {
    this.#head = undefined;
    this.#parts.replica.forget();
  }

  #giveUp(error: HeddleError): void {
    this.#error = error;
    for (const run of this.#runs) this.#drop(run, error);
    this.#set("ended");
  }

  #set(connection: ConnectionState): void {
    if (this.#connection === connection) return;
    this.#connection = connection;
    this.#parts.onChange();
  }
}

const isTip = ({ runId, loggedAs }: FollowedRun, { tip }: Replica): boolean => tip === runId || tip === loggedAs;

const closed = (): HeddleError => unreachable("the client was closed");

const asError = (error: unknown): HeddleError => (error instanceof HeddleError ? error : unreachable(error));

/** Lets whatever else is waiting have its turn. */
const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
