/**
 * The runs that are executed here: from their claim to their end in the log.
 *
 * What an agent says passes ingest and is committed before anybody sees it. A run ends by itself, is stopped, or is lost to
 * whoever took it over; what is left to be made of it is done on the side.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Context } from "@opentelemetry/api";
import { runAgent } from "../agent/index.ts";
import type { Agent } from "../agent/index.ts";
import { HeddleError } from "../protocol/index.ts";
import type { Event, RunAgentInput } from "../protocol/index.ts";
import { endRun, settleRun } from "../store/index.ts";
import type { Begun, ClaimResult, Committer, RunKey, RunListener, RunWriter, Store } from "../store/index.ts";
import type { PreludeState } from "../stream/index.ts";
import type { Repair } from "../stream/repair/index.ts";
import { asError } from "./as-error.ts";
import type { Errands } from "./errands.ts";
import type { HiddenPaths } from "./hidden-paths.ts";
import type { Hub } from "./hub.ts";
import type { Hubs } from "./hubs.ts";
import { ingesting } from "./ingest.ts";
import type { KeptFolds } from "./kept-folds.ts";
import { LiveRuns } from "./live-runs.ts";
import { pump } from "./pump.ts";
import { runLog } from "./run-log.ts";
import type { LogLine } from "./run-log.ts";
import type { RunLimits } from "./run-limits.ts";
import { RunNotes } from "./run-notes.ts";
import { StopWatch } from "./stop-watch.ts";
import type { RunRecord, Telemetry } from "./telemetry/index.ts";
import { within } from "./within.ts";

/** One run that is executed here. */
export interface Run {
  /** The input that it was started with. */
  readonly input: RunAgentInput;
  /** Who runs. */
  readonly agent: Agent;
  /** Whose thread it is in. */
  readonly tenant: string;
  /** The trace that it belongs to; absent where there is none. */
  readonly traceId?: string | undefined;
}

/** Told what went wrong in a run, apart from what its viewers see. */
export type RunErrorReporter = (error: unknown, run: Run) => void;

/** Told what had to be put right in the events of an agent. */
export type RepairReporter = (repair: Repair, run: Run) => void;

/** Told what an agent logs while it runs, when its run begins and ends, and when a tool call is over. */
export type RunLogger = (...line: [...Parameters<LogLine>, run: Run]) => void;

/** What executing takes. */
export interface ExecutorParts {
  /** The log. */
  readonly store: Store;
  /** What commits for all runs. */
  readonly committer: Committer;
  /** Where what is committed is shown. */
  readonly hubs: Hubs;
  /** Where folds of branches are kept. */
  readonly folds: KeptFolds;
  /** What is done on the side. */
  readonly errands: Errands;
  /** What is noted of runs. */
  readonly telemetry: Telemetry;
  /** How long a run that is stopped may take to end by itself. */
  readonly cancelGraceMs: number;
  /** How much a run may say. */
  readonly limits: RunLimits;
  /** What views hide of the state. */
  readonly hidden: readonly HiddenPaths[];
  /** Whether a breach of the rules of order ends a run instead of being repaired. */
  readonly strict: boolean;
  /** Told what went wrong in a run. */
  readonly onError: RunErrorReporter;
  /** Told what had to be put right. */
  readonly onRepair: RepairReporter;
  /** Told what agents log. */
  readonly onLog: RunLogger;
}

/** A run before it is claimed. */
export interface Draft extends Run {
  /** The run. */
  readonly key: RunKey;
  /** Stops it. */
  readonly stop: AbortController;
  /** Whether it is stopped when the last one who watched it is gone. */
  readonly cancelOnLeave: boolean;
  /** Its first event, as the agent's side says it. */
  readonly first: Event;
  /** What the agent says, without the start. */
  readonly events: AsyncGenerator<Event, void, undefined>;
  /** What is noted of it. */
  readonly record: RunRecord;
  /** What is noted in it. */
  readonly notes: RunNotes;
}

/** A run that is asked for. */
export interface Asked {
  /** The run. */
  readonly key: RunKey;
  /** Who runs. */
  readonly agent: Agent;
  /** The input that was posted. */
  readonly input: RunAgentInput;
  /** What the agent gets of it. */
  readonly given: RunAgentInput;
  /** The run that it hangs on. */
  readonly parentRunId: string | undefined;
  /** Whether it is stopped when the last one who watched it is gone. */
  readonly cancelOnLeave: boolean;
  /** The trace that asking for it is part of. */
  readonly trace: Context;
}

/** A claim that succeeded. */
export type Claimed = Extract<ClaimResult, { readonly type: "claimed" }>;

/** What else there is to do. */
export interface ExecutorHooks {
  /** A run should be stopped, since nobody watches it any more. */
  readonly abandoned: (key: RunKey) => void;
  /** A run has ended, or is lost: its thread may be free. */
  readonly ended: (key: RunKey) => void;
}

/** How long a source may stay open behind its terminal event. */
const LATE_MS = 1000;

/** Executes runs. */
export class Executor {
  readonly #parts: ExecutorParts;
  readonly #hooks: ExecutorHooks;
  readonly #live: LiveRuns;
  readonly #stops: StopWatch;
  #repairs = 0;

  constructor(parts: ExecutorParts, hooks: ExecutorHooks) {
    this.#parts = parts;
    this.#hooks = hooks;
    this.#live = new LiveRuns(hooks.abandoned);
    this.#stops = new StopWatch(parts.store, () => parts.errands.run(() => parts.committer.beat()));
  }

  /** How many are under way here. */
  get size(): number {
    return this.#live.size;
  }

  /** How many repairs there were so far. */
  get repairs(): number {
    return this.#repairs;
  }

  /** Prepares a run. Nothing of the agent is called yet. */
  async draft({ key, agent, input, given, parentRunId, cancelOnLeave, trace }: Asked): Promise<Draft> {
    const stop = new AbortController();
    const { telemetry, onLog } = this.#parts;
    const runOf = (traceId: string | undefined): Run => ({ agent, input, tenant: key.tenant, traceId });
    const traced = { ...key, agent: agent.name, parentRunId };
    const record = telemetry.run(traced, trace, (message, fields, traceId) =>
      this.#tell(() => onLog("info", message, fields, runOf(traceId))),
    );
    const run = runOf(record.spans.traceId);
    const notes = new RunNotes((message, fields) => this.#tell(() => onLog("warn", message, fields, run)));
    const events = this.#speak(run, given, stop.signal, record.spans, notes);
    return { ...run, key, stop, cancelOnLeave, first: await firstOf(events), events, record, notes };
  }

  /** The events of a run: RUN_STARTED at once, and the agent's when more are asked for. */
  #speak(
    run: Run,
    input: RunAgentInput,
    signal: AbortSignal,
    spans: RunRecord["spans"],
    notes: RunNotes,
  ): AsyncGenerator<Event, void, undefined> {
    const { limits, strict, cancelGraceMs, onRepair, onLog, telemetry } = this.#parts;
    const repaired = (repair: Repair): void => {
      this.#repairs += 1;
      telemetry.repaired(repair.rule);
      onRepair(repair, run);
    };
    const judging = { strict, limits, lateMs: LATE_MS, onRepair: repaired, notes };
    const agent = ingesting(spans.around(run.agent), judging);
    // The rest of the grace is for the log.
    const graceMs = cancelGraceMs * 0.75;
    const told = {
      log: runLog((level, message, fields) => onLog(level, message, fields, run), repaired),
      onError: (error: unknown) => this.report(error, run),
    };
    return runAgent(agent, input, { signal, graceMs, trace: spans.headers, ...told });
  }

  /** Executes a run that was claimed, on the fold of its branch, which is the run's from here on. */
  execute(
    draft: Draft,
    { lease, thread }: Claimed,
    state: PreludeState,
    begun: Begun,
    bytes: readonly (Uint8Array | undefined)[],
  ): void {
    const { committer, errands, hubs, store } = this.#parts;
    const { key, stop, cancelOnLeave, record } = draft;
    const before = thread.tail - begun.jsons.length;
    const hub = hubs.write({ ...thread, tail: before });
    hub.push(before + 1, key.runId, begun.jsons, bytes);
    record.started(begun.jsons.length);
    const watched = this.#stops.watch(key);
    const listener: RunListener = {
      committed: (firstSeq, jsons) => {
        watched.committed();
        record.committed(jsons.length);
        hub.push(firstSeq, key.runId, jsons);
      },
      snapshot: (snapshot) => errands.run(() => store.saveSnapshot(key, snapshot)),
      stopAsked: () => stop.abort(stopped()),
      lost: (error) => stop.abort(error),
    };
    const writer = committer.writer(lease, state, listener, begun);
    const done = this.#run(draft, writer, hub).finally(() => watched.end());
    this.#live.add(key, { stop, done, cancelOnLeave });
  }

  /** Runs the agent to its end in the log. Never rejects. */
  async #run(draft: Draft, writer: RunWriter, hub: Hub): Promise<void> {
    const { errands, folds, hidden, hubs, limits, store } = this.#parts;
    const { key, events, record, notes } = draft;
    const saw = (event: Event): void => record.saw(event);
    try {
      // Whoever asked for the run is answered first: the agent would be in the way.
      await nextTurn();
      await pump(writer, events, (error) => this.report(error, draft), { limits, hidden, notes, onEvent: saw });
      record.ended(writer.end);
      const written = writer.written();
      // From here on the state is for whoever goes on with the branch.
      if (written !== undefined) folds.keep(key, hub.logId, written.snapshot.seq, writer.state);
      errands.run(async () => {
        // And so is whoever watches, with the end.
        await nextTurn();
        await settleRun(store, key, written);
      });
    } catch (error) {
      record.ended(undefined);
      this.report(error, draft);
      // Who has the run now ends it. Where nobody has, we do if we can; else it is for whoever finds the lease expired.
      const fenced = error instanceof HeddleError && error.code === "run-fenced";
      if (!fenced) errands.run(() => endRun(store, key, "worker-lost"));
    } finally {
      hubs.endWrite(hub);
      this.#hooks.ended(key);
    }
  }

  /** Reports what went wrong in a run. A reporter that fails in its turn must not take the run along. */
  report(error: unknown, { agent, input, tenant, traceId }: Run): void {
    this.#tell(() => this.#parts.onError(asError(error), { agent, input, tenant, traceId }));
  }

  #tell(tell: () => void): void {
    this.#parts.errands.run(async () => tell());
  }

  /** Stops a run, if it is executed here. */
  stop(key: RunKey): boolean {
    const live = this.#live.get(key);
    live?.stop.abort(stopped());
    return live !== undefined;
  }

  /** Somebody watches a run until the signal aborts: matters to runs that stop when nobody does any more. */
  watch(key: RunKey, signal: AbortSignal): void {
    this.#live.watch(key, signal);
  }

  /** Gives the runs that are under way a while to end by themselves, and fails the rest. Resolves when all have ended. */
  async end(graceMs: number): Promise<void> {
    await within(graceMs, this.#live.ended());
    this.#live.abortAll(shutDown());
    await this.#live.ended();
    this.#stops.close();
  }
}

/** Why a run is stopped that the server cannot wait for. */
function shutDown(): HeddleError {
  return new HeddleError("server-closing", "The server was shut down before the run had ended: start it again.", {});
}

/** Why a run is stopped that somebody asked to stop. */
const stopped = (): DOMException => new DOMException("The run was stopped.", "AbortError");

async function firstOf(events: AsyncGenerator<Event, void, undefined>): Promise<Event> {
  const { value } = await events.next();
  if (value === undefined) throw new HeddleError("internal-error", "The run has no beginning.", {});
  return value;
}
