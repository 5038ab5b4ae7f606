/**
 * Group commit: one per process and store. Whatever all runs have to say goes into one transaction, at most about
 * `1000 / lingerMs` times a second.
 *
 * The first events after a pause go at once, and so do urgent ones while there is credit; the rest waits until `lingerMs`
 * after the commit before. A commit that got no answer is repeated as it was, same batches, same numbers, so a lost
 * answer costs nothing; the runs meanwhile wait. Leases of runs that are silent are renewed here too, between commits,
 * so that nothing of this process ever waits for a lock that it holds itself.
 */
import { HeddleError } from "../protocol/index.ts";
import type { PreludeState } from "../stream/index.ts";
import type { Begun } from "./run-compaction.ts";
import { RunWriter } from "./run-writer.ts";
import type { RunListener } from "./run-writer.ts";
import type { Appended, Batch, Lease, Store } from "./store.ts";

/** Options of a committer. */
export interface CommitterOptions {
  /** Longest time that an event waits for company. Default 10. */
  readonly lingerMs?: number;
  /** How often leases of silent runs are renewed. Default 5,000. */
  readonly heartbeatMs?: number;
  /** How long a commit is tried again while the store does not answer. Default 60,000. */
  readonly giveUpMs?: number;
  /** Told of failures that are being tried again. */
  readonly onTrouble?: (error: unknown) => void;
  /** Told of every commit that succeeded: how long it took, with all attempts, and of how many runs it holds something. */
  readonly onCommit?: (durationMs: number, batches: number) => void;
}

/** How many commits may come early after a quiet time. */
const MAX_CREDIT = 10;

/** Longest pause between two attempts. */
const MAX_BACKOFF_MS = 2000;

/** Drains the writers of all runs of a process into one store. */
export class Committer {
  readonly #store: Store;
  readonly #lingerMs: number;
  readonly #heartbeatMs: number;
  readonly #giveUpMs: number;
  readonly #onTrouble: (error: unknown) => void;
  readonly #onCommit: (durationMs: number, batches: number) => void;
  readonly #writers = new Set<RunWriter>();
  readonly #dirty = new Set<RunWriter>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerDueMs = Infinity;
  #beatTimer: ReturnType<typeof setInterval> | undefined;
  #busy: Promise<void> | undefined;
  #lastCommitMs = -Infinity;
  #credit = MAX_CREDIT;
  /** When the credit was counted last. */
  #creditAtMs = -Infinity;
  /** Whether something urgent has come since the last commit began. */
  #urgent = false;
  #backlog = false;
  /** Whether leases are to be renewed before the next commit. */
  #beatDue = false;

  constructor(store: Store, options: CommitterOptions = {}) {
    const { lingerMs = 10, heartbeatMs = 5000, giveUpMs = 60_000, onTrouble = () => undefined } = options;
    const { onCommit = () => undefined } = options;
    this.#store = store;
    this.#lingerMs = lingerMs;
    this.#heartbeatMs = heartbeatMs;
    this.#giveUpMs = giveUpMs;
    this.#onTrouble = onTrouble;
    this.#onCommit = onCommit;
  }

  /**
   * A writer for a run that was claimed or taken over. `state` has seen everything that the branch holds so far. Of a run
   * that was claimed, `begun` is what was committed with the claim: then it is compacted on the way.
   */
  writer(lease: Lease, state: PreludeState, listener: RunListener = {}, begun?: Begun): RunWriter {
    const committing = {
      wake: (urgent: boolean) => this.#wake(writer, urgent),
      done: () => this.#forget(writer),
    };
    const writer: RunWriter = new RunWriter(lease, state, listener, committing, begun);
    this.#writers.add(writer);
    if (this.#beatTimer === undefined) {
      this.#beatTimer = setInterval(() => this.#beat(), this.#heartbeatMs);
      unref(this.#beatTimer);
    }
    return writer;
  }

  /** Commits what is waiting, and resolves when all of it is answered. */
  async close(): Promise<void> {
    while (this.#dirty.size > 0 || this.#busy !== undefined) {
      this.#schedule(0);
      await (this.#busy ?? new Promise((resolve) => setTimeout(resolve, 0)));
    }
    clearInterval(this.#beatTimer);
    this.#beatTimer = undefined;
  }

  #forget(writer: RunWriter): void {
    this.#writers.delete(writer);
    this.#dirty.delete(writer);
    if (this.#writers.size > 0) return;
    clearInterval(this.#beatTimer);
    this.#beatTimer = undefined;
  }

  #wake(writer: RunWriter, urgent: boolean): void {
    this.#dirty.add(writer);
    this.#urgent ||= urgent;
    // What comes while a commit is under way is looked at when that is done.
    if (this.#busy === undefined) this.#schedule(this.#delayMs());
  }

  /** How long what is waiting has to wait yet. */
  #delayMs(): number {
    const now = performance.now();
    const quietMs = now - this.#lastCommitMs;
    this.#refill(now);
    const early = this.#urgent && this.#credit >= 1;
    return early ? 0 : Math.max(0, this.#lingerMs - quietMs);
  }

  /** Credit for one commit comes with every `lingerMs`. */
  #refill(now: number): void {
    const earned = (now - this.#creditAtMs) / this.#lingerMs;
    this.#credit = Math.min(MAX_CREDIT, this.#credit + earned);
    this.#creditAtMs = now;
  }

  #schedule(delayMs: number): void {
    if (this.#busy !== undefined) return;
    const dueMs = performance.now() + delayMs;
    if (this.#timerDueMs <= dueMs) return;
    clearTimeout(this.#timer);
    this.#timerDueMs = dueMs;
    if (delayMs > 0) {
      this.#timer = setTimeout(() => this.#start(), delayMs);
      return;
    }
    // What is written in the same turn goes along.
    this.#timer = undefined;
    queueMicrotask(() => {
      if (this.#timerDueMs === dueMs) this.#start();
    });
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timerDueMs = Infinity;
    if (this.#busy !== undefined) return;
    this.#busy = this.#commit().finally(() => this.#next());
  }

  /** What comes after a commit or a renewal: a renewal goes first, or commits on end would let leases expire. */
  #next(): void {
    this.#busy = undefined;
    if (this.#beatDue) return this.#startRenewal();
    // A batch that was full leaves a backlog, which has waited long enough.
    if (this.#dirty.size > 0) this.#schedule(this.#backlog ? 0 : this.#delayMs());
  }

  async #commit(): Promise<void> {
    this.#backlog = this.#urgent = false;
    const taken: { readonly writer: RunWriter; readonly batch: Batch }[] = [];
    for (const writer of this.#dirty) {
      const batch = writer.take();
      if (batch !== undefined) taken.push({ writer, batch });
      if (!writer.hasMore) this.#dirty.delete(writer);
      else this.#backlog = true;
    }
    if (taken.length === 0) return;
    this.#lastCommitMs = performance.now();
    this.#refill(this.#lastCommitMs);
    this.#credit = Math.max(0, this.#credit - 1);
    try {
      const answers = await this.#append(taken.map(({ batch }) => batch));
      this.#onCommit(performance.now() - this.#lastCommitMs, taken.length);
      taken.forEach(({ writer }, index) => answer(writer, answers[index]));
    } catch (error) {
      if (taken.length === 1) taken[0]?.writer.fail(error);
      else await this.#oneByOne(taken);
    }
  }

  /** Something in the transaction cannot be stored: find out what, and let the others live. */
  async #oneByOne(taken: readonly { readonly writer: RunWriter; readonly batch: Batch }[]): Promise<void> {
    for (const { writer, batch } of taken) {
      try {
        const [appended] = await this.#append([batch]);
        answer(writer, appended);
      } catch (error) {
        writer.fail(error);
      }
    }
  }

  /** Appends, again and again while the store may come back. */
  async #append(batches: readonly Batch[]): Promise<readonly Appended[]> {
    const giveUpAtMs = performance.now() + this.#giveUpMs;
    for (let backoffMs = 50; ; backoffMs = Math.min(MAX_BACKOFF_MS, backoffMs * 2)) {
      try {
        return await this.#store.append(batches);
      } catch (error) {
        const again = error instanceof HeddleError && error.retryable;
        if (!again || performance.now() + backoffMs > giveUpAtMs) throw error;
        this.#onTrouble(error);
        await new Promise((resolve) => setTimeout(resolve, backoffMs));
      }
    }
  }

  #beat(): void {
    this.#beatDue = true;
    if (this.#busy === undefined) this.#startRenewal();
  }

  #startRenewal(): void {
    this.#beatDue = false;
    this.#busy = this.#renew().finally(() => this.#next());
  }

  async #renew(): Promise<void> {
    const writers = [...this.#writers];
    if (writers.length === 0) return;
    try {
      const beats = await this.#store.heartbeat(writers.map(({ lease }) => lease));
      writers.forEach((writer, index) => {
        const beat = beats[index];
        if (beat?.held === false) writer.fenced();
        else if (beat?.stop === true) writer.stopAsked();
      });
    } catch (error) {
      this.#onTrouble(error);
    }
  }

  /** Renews the leases now, and so learns of stops that were asked for elsewhere. */
  async beat(): Promise<void> {
    this.#beat();
    while (this.#beatDue) await this.#busy;
    await this.#busy;
  }
}

function answer(writer: RunWriter, appended: Appended | undefined): void {
  if (appended !== undefined) writer.answered(appended);
}

/** A timer that does not keep a process alive; browsers have no such thing. */
function unref(timer: ReturnType<typeof setInterval>): void {
  if (typeof timer === "object") timer.unref();
}
