/**
 * Runs: started once, and then on their own.
 *
 * A run begins with a claim, which commits its RUN_STARTED; from then on the log knows it, and so does everybody else. It
 * is executed here, under a lease; what is asked about it is asked the log, so a run of another process is followed and
 * joined like one of ours. For now a run continues the thread's head, and a thread has one run at a time.
 */
import { runAgent } from "../agent/index.ts";
import type { Agent } from "../agent/index.ts";
import { HeddleError, METADATA_KEY } from "../protocol/index.ts";
import type { Event, RunAgentInput, Warning } from "../protocol/index.ts";
import { endRun, foldBranch, settleRun } from "../store/index.ts";
import type { ClaimResult, Committer, RunInfo, RunKey, RunWriter, Store, ThreadInfo } from "../store/index.ts";
import { createPreludeState, stepPrelude } from "../stream/index.ts";
import type { PreludeState } from "../stream/index.ts";
import type { Errands } from "./errands.ts";
import type { Hub } from "./hub.ts";
import type { Hubs } from "./hubs.ts";
import { pump } from "./pump.ts";

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

/** One run that is executed here. */
export interface Run {
  /** The input that it was started with. */
  readonly input: RunAgentInput;
  /** Who runs. */
  readonly agent: Agent;
}

/** Told what went wrong in a run, apart from what its viewers see. */
export type RunErrorReporter = (error: unknown, run: Run) => void;

/** What runs are made of. */
export interface RunsParts {
  /** The log. */
  readonly store: Store;
  /** What commits for all runs. */
  readonly committer: Committer;
  /** Where what is committed is shown. */
  readonly hubs: Hubs;
  /** What is done on the side. */
  readonly errands: Errands;
  /** How long a lease holds. */
  readonly leaseMs: number;
  /** Told what went wrong in a run. */
  readonly onError: RunErrorReporter;
}

/** A run before it is claimed. */
interface Draft extends Run {
  readonly key: RunKey;
  readonly stop: AbortController;
  /** What the agent says, without the start. */
  readonly events: AsyncGenerator<Event, void, undefined>;
}

/** The runs that one server executes. */
export class Runs {
  readonly #parts: RunsParts;
  readonly #starting = new Set<Promise<unknown>>();
  readonly #live = new Map<AbortController, Promise<void>>();
  #stopped: DOMException | undefined;

  constructor(parts: RunsParts) {
    this.#parts = parts;
  }

  /** Starts a run, or joins the one that has its ids. Resolves when its first event is in the log. */
  async start(tenant: string, agent: Agent, input: RunAgentInput): Promise<{ readonly joined: boolean }> {
    if (this.#stopped !== undefined) throw serverClosing();
    const started = this.#start({ tenant, threadId: input.threadId, runId: input.runId }, agent, input);
    this.#starting.add(started);
    return started.finally(() => this.#starting.delete(started));
  }

  async #start(key: RunKey, agent: Agent, input: RunAgentInput): Promise<{ readonly joined: boolean }> {
    const { store } = this.#parts;
    const [thread, known] = await Promise.all([store.thread(key), store.run(key)]);
    if (known !== undefined) return join(known, agent);
    const state = await this.#headOf(thread);
    const stop = new AbortController();
    const onError = (error: unknown): void => this.#parts.onError(error, { agent, input });
    const events = runAgent(agent, input, { signal: stop.signal, onError });
    const parent = thread?.head;
    const started = placed(await firstOf(events), parent);
    stepPrelude(state, started);
    const draft = { key, agent, input, stop, events };
    const claim = await this.#claim(draft, started, parent);
    if (claim.type === "exists") return join(claim.run, agent);
    if (claim.type === "busy") throw busy(key.threadId, claim.run.runId);
    if (claim.type === "moved") throw busy(key.threadId, claim.head);
    this.#execute(draft, claim, JSON.stringify(started), state);
    return { joined: false };
  }

  /** The thread's head, folded. Throws `thread-busy` while it runs. */
  async #headOf(thread: ThreadInfo | undefined): Promise<PreludeState> {
    if (thread?.head === undefined) return createPreludeState();
    const { run, state } = await foldBranch(this.#parts.store, { ...thread, runId: thread.head });
    // One that is running may say more before the claim, and the fold would not know.
    if (run.end === undefined) throw busy(thread.threadId, run.runId);
    return state;
  }

  #claim({ key, agent }: Draft, started: Event, parentRunId: string | undefined): Promise<ClaimResult> {
    return this.#parts.store.claim({
      ...key,
      agent: agent.name,
      parentRunId,
      kind: parentRunId === undefined ? undefined : "continue",
      ifHead: parentRunId ?? null,
      leaseMs: this.#parts.leaseMs,
      events: [JSON.stringify(started)],
    });
  }

  #execute(
    draft: Draft,
    { lease, thread }: Extract<ClaimResult, { type: "claimed" }>,
    started: string,
    state: PreludeState,
  ): void {
    const { committer, errands, hubs, store } = this.#parts;
    const { key, stop } = draft;
    const hub = hubs.write({ ...thread, tail: thread.tail - 1 });
    hub.push(thread.tail, key.runId, [started]);
    const writer = committer.writer(lease, state, {
      committed: (firstSeq, jsons) => hub.push(firstSeq, key.runId, jsons),
      snapshot: (snapshot) => errands.run(() => store.saveSnapshot(key, snapshot)),
      stopAsked: () => stop.abort(new DOMException("The run was stopped.", "AbortError")),
      lost: (error) => stop.abort(error),
    });
    if (this.#stopped !== undefined) stop.abort(this.#stopped);
    this.#live.set(
      stop,
      this.#run(draft, writer, hub).finally(() => this.#live.delete(stop)),
    );
  }

  /** Runs the agent to its end in the log. Never rejects. */
  async #run(draft: Draft, writer: RunWriter, hub: Hub): Promise<void> {
    const { errands, hubs, onError, store } = this.#parts;
    const { key, events } = draft;
    try {
      await pump(writer, events, (error) => onError(error, draft));
      errands.run(() => settleRun(store, key, writer.state));
    } catch (error) {
      onError(error, draft);
      // Who has the run now ends it. Where nobody has, we do if we can; else it is for whoever finds the lease expired.
      const fenced = error instanceof HeddleError && error.code === "run-fenced";
      if (!fenced) errands.run(() => endRun(store, key, "worker-lost"));
    } finally {
      hubs.endWrite(hub);
    }
  }

  /** Stops every run that is under way, also those that are just starting, and resolves when all have ended in the log. */
  async stopAll(): Promise<void> {
    this.#stopped ??= new DOMException("The server is shutting down.", "AbortError");
    for (const stop of this.#live.keys()) stop.abort(this.#stopped);
    await Promise.allSettled(this.#starting);
    await Promise.all(this.#live.values());
  }
}

/** The error for whoever comes too late. */
export function serverClosing(): HeddleError {
  return new HeddleError("server-closing", "The server is shutting down: try again later.", {});
}

function join({ threadId, runId, agent }: RunInfo, asked: Agent): { readonly joined: true } {
  if (agent === asked.name) return { joined: true };
  const message = `The thread has a run of this id already, by the agent ${agent}: use a new runId.`;
  throw new HeddleError("run-conflict", message, { threadId, runId, agent, asked: asked.name });
}

async function firstOf(events: AsyncGenerator<Event, void, undefined>): Promise<Event> {
  const { value } = await events.next();
  if (value === undefined) throw new HeddleError("internal-error", "The run has no beginning.", {});
  return value;
}

/** The start of a run, with its place in the thread. */
function placed(started: Event, parent: string | undefined): Event {
  const lineage = parent === undefined ? {} : { parent, kind: "continue" };
  return { ...started, metadata: { ...started.metadata, [METADATA_KEY]: { lineage } } };
}

function busy(threadId: string, runId: string | undefined): HeddleError {
  const message = `The thread's run ${runId} has not ended yet: wait for it, or use another thread.`;
  return new HeddleError("thread-busy", message, { threadId, runId });
}
