/**
 * Runs: started once, and then on their own.
 *
 * Between an agent and its viewers always stands the log: the pump appends every event before anybody can see it,
 * and waits for nothing but the log. Whether somebody watches makes no difference to a run. Which runs there are is
 * kept in memory, and so far a thread has one run at a time; branches and queues come with the durable log.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { runAgent } from "../agent/index.ts";
import type { Agent } from "../agent/index.ts";
import { HeddleError } from "../protocol/index.ts";
import type { RunAgentInput, Warning } from "../protocol/index.ts";
import type { Store } from "../store/index.ts";

/** What starting or joining a run gives. */
export interface StartedRun {
  /** The thread. */
  readonly threadId: string;
  /** The run. */
  readonly runId: string;
  /** True where the run was there already. */
  readonly joined: boolean;
  /** What was translated in the input, or taken out of it because AG-UI does not describe it. */
  readonly warnings: readonly Warning[];
}

/** One run, from its start on. */
export interface Run {
  /** The input that it was started with. */
  readonly input: RunAgentInput;
  /** Who runs. */
  readonly agent: Agent;
  /** Tail of the thread before the run: nothing of it lies before. */
  readonly after: string | undefined;
  /** Cursor of its newest event. */
  readonly newest: string | undefined;
  /** Aborts when nothing more of the run will be logged. */
  readonly over: AbortSignal;
}

/** A run as its pump sees it. */
interface LiveRun extends Run {
  after: string | undefined;
  newest: string | undefined;
  readonly stop: AbortController;
  readonly ended: AbortController;
  readonly started: PromiseWithResolvers<void>;
}

/** Told what went wrong in a run, apart from what its viewers see. */
export type RunErrorReporter = (error: unknown, run: Run) => void;

/** After so many events the pump lets the rest of the process have a turn: a fast agent must not starve its viewers. */
const EVENTS_PER_TURN = 64;

/** The runs of one server. */
export class Runs {
  readonly #threads = new Map<string, Map<string, LiveRun>>();
  readonly #live = new Map<LiveRun, Promise<void>>();
  readonly #store: Store;
  readonly #onError: RunErrorReporter;

  constructor(store: Store, onError: RunErrorReporter) {
    this.#store = store;
    this.#onError = onError;
  }

  /** The run of this id, or undefined. */
  get(threadId: string, runId: string): Run | undefined {
    return this.#threads.get(threadId)?.get(runId);
  }

  /** Starts a run, or joins the one that has these ids. Resolves when its first event is in the log. */
  async start(agent: Agent, input: RunAgentInput): Promise<{ readonly joined: boolean }> {
    const { threadId, runId } = input;
    const runs = this.#threads.get(threadId) ?? new Map<string, LiveRun>();
    const known = runs.get(runId);
    if (known !== undefined) {
      if (known.agent.name !== agent.name) throw otherAgent(known, agent);
      await known.started.promise;
      return { joined: true };
    }
    for (const other of runs.values()) if (!other.over.aborted) throw busy(other);
    const run = newRun(agent, input);
    this.#threads.set(threadId, runs.set(runId, run));
    this.#live.set(run, this.#pump(run));
    await run.started.promise;
    return { joined: false };
  }

  /** Stops every run that is under way, and resolves when all have ended in the log. */
  async stopAll(): Promise<void> {
    for (const run of this.#live.keys()) run.stop.abort(new DOMException("The server is shutting down.", "AbortError"));
    await Promise.all(this.#live.values());
  }

  /** Runs the agent to its end and logs every event. Never rejects. */
  async #pump(run: LiveRun): Promise<void> {
    const { threadId, runId } = run.input;
    try {
      run.after = await this.#store.tail(threadId);
      const onError = (error: unknown): void => this.#onError(error, run);
      let count = 0;
      for await (const event of runAgent(run.agent, run.input, { signal: run.stop.signal, onError })) {
        run.newest = await this.#store.append(threadId, runId, [event]);
        run.started.resolve();
        if (++count % EVENTS_PER_TURN === 0) await nextTurn();
      }
    } catch (error) {
      // The log failed. Viewers see the end without a terminal event, which is how they know that it was cut.
      this.#onError(error, run);
      if (run.newest === undefined) this.#threads.get(threadId)?.delete(runId);
      run.started.reject(error);
    } finally {
      run.ended.abort();
      this.#live.delete(run);
    }
  }
}

function newRun(agent: Agent, input: RunAgentInput): LiveRun {
  const ended = new AbortController();
  const started = Promise.withResolvers<void>();
  return {
    agent,
    input,
    after: undefined,
    newest: undefined,
    stop: new AbortController(),
    ended,
    over: ended.signal,
    started,
  };
}

function otherAgent({ input: { threadId, runId }, agent }: Run, asked: Agent): HeddleError {
  const message = `The thread has a run of this id already, by the agent ${agent.name}: use a new runId.`;
  return new HeddleError("run-conflict", message, { threadId, runId, agent: agent.name, asked: asked.name });
}

function busy({ input: { threadId, runId } }: Run): HeddleError {
  const message = `The thread's run ${runId} has not ended yet: wait for it, or use another thread.`;
  return new HeddleError("thread-busy", message, { threadId, runId });
}
