/**
 * The runs that a source has open, one inside the other: how deep it is, and whose each event is.
 *
 * The first run is the run itself; every further one is inside another and becomes a subagent. Runs that have ended are
 * remembered, so that an event that comes late is still told under its own.
 */

/** One run of the source. */
export interface NativeRun {
  /** Its id in the stream; undefined for the outermost, which is the run itself. */
  readonly lane: string | undefined;
  /** The run that it is inside of. */
  readonly parent: NativeRun | undefined;
}

/** The runs of one source. */
export class NativeRuns {
  readonly #open: NativeRun[] = [];
  readonly #byId = new Map<string, NativeRun>();

  /** How many runs are open. */
  get depth(): number {
    return this.#open.length;
  }

  /** The run that an event belongs to: the one it names, or the innermost; undefined where that is not known. */
  find(runId: string | undefined): NativeRun | undefined {
    return runId === undefined ? this.#open.at(-1) : this.#byId.get(runId);
  }

  /** Opens a run; `lane` is undefined for the outermost. */
  open(runId: string | undefined, lane: string | undefined, parent: NativeRun | undefined): NativeRun {
    const run: NativeRun = { lane, parent };
    this.#open.push(run);
    if (runId !== undefined) this.#byId.set(runId, run);
    return run;
  }

  /** Closes a run. False where it is not open. */
  close(run: NativeRun): boolean {
    const index = this.#open.lastIndexOf(run);
    if (index < 0) return false;
    this.#open.splice(index, 1);
    return true;
  }

  /** The lanes of a run and of those around it, as far as they are open, the innermost first. */
  lanesAround(run: NativeRun | undefined): readonly string[] {
    if (run?.lane === undefined) return [];
    const around = this.lanesAround(run.parent);
    return this.#open.includes(run) ? [run.lane, ...around] : around;
  }

  /** Closes all runs. */
  clear(): void {
    this.#open.length = 0;
  }
}
