/**
 * Runs an agent, and gives its run the frame that AG-UI asks for: RUN_STARTED, what the agent says, everything
 * closed, and exactly one terminal event.
 *
 * The agent starts only after RUN_STARTED has been taken, so a log holds the run before the agent does anything.
 * Leaving the loop early stops the agent. A stopped agent has `graceMs` to return; what it says later goes nowhere.
 */
import { HeddleError, PROTOCOL_VERSION, runStarted } from "../protocol/index.ts";
import type { Event, RunAgentInput } from "../protocol/index.ts";
import { Channel } from "./channel.ts";
import type { Agent, RunContext } from "./define-agent.ts";
import { createEmit } from "./emit.ts";
import { EventQueue } from "./event-queue.ts";
import { Interrupts } from "./interrupts.ts";
import { SILENT } from "./log.ts";
import type { Log } from "./log.ts";
import { endRun } from "./run-end.ts";
import type { Ending } from "./run-end.ts";
import { Scope } from "./scope.ts";
import { stateChecker } from "./state-writer.ts";
import type { TraceHeaders } from "./trace-headers.ts";

/** Options of `runAgent`. */
export interface RunOptions {
  /** Aborting it stops the run, which then ends with outcome `cancelled`; with a `HeddleError` as the reason, as failed. */
  readonly signal?: AbortSignal;
  /** How long a stopped agent may take to return. Default 1000. */
  readonly graceMs?: number;
  /** Told what the agent threw, with its stack; the RUN_ERROR only has the message. */
  readonly onError?: (error: unknown) => void;
  /** Where the agent's own words go, and what had to be put right in its events. Default: nowhere. */
  readonly log?: Log;
  /** The trace that the run belongs to, for agents that call other services. Default: none. */
  readonly trace?: TraceHeaders | undefined;
}

/** Runs an agent without a server. The events come as fast as they are taken, and no faster. */
export async function* runAgent(
  agent: Agent,
  input: RunAgentInput,
  options: RunOptions = {},
): AsyncGenerator<Event, void, undefined> {
  const { log = SILENT, trace } = options;
  const { threadId, runId } = input;
  const started = runStarted({ threadId, runId, protocolVersion: PROTOCOL_VERSION, timestamp: Date.now() });
  yield started;

  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  let overflow: HeddleError | undefined;
  const queue = new EventQueue((error) => {
    overflow = error;
    stop.abort(error);
  });
  const asked = Promise.withResolvers<void>();
  const channel = new Channel(queue, input, started, log);
  const interrupts = new Interrupts(input, log, asked.resolve);
  const checkState = agent.stateSchema === undefined ? undefined : stateChecker(agent.stateSchema);
  const scope = new Scope({ channel, interrupts, checkState });
  const over = new HeddleError("run-ended", "The run has ended; nothing can be written to it.", { threadId, runId });

  let ended = false;
  const context = { input, emit: createEmit(scope), tools: agent.tools, signal, log, trace };
  const finished = (async () => {
    const settled = await settle(agent, context, scope, asked.promise, options);
    ended = true;
    const ending: Ending = overflow === undefined ? settled : { type: "failed", error: overflow };
    // An agent that waits for an answer never returns: whatever else it does has to hear why the run is over.
    const isWaiting = ending.type === "finished" && interrupts.open.length > 0;
    const reason: unknown = signal.aborted ? signal.reason : isWaiting ? waiting(input, interrupts) : over;
    try {
      endRun(scope, input, ending, reason);
    } finally {
      // Changes nothing where the run has ended as it should: whoever reads must never wait for ever.
      queue.end([], reason);
    }
    if (isWaiting) stop.abort(reason);
  })();
  // Where nobody reads any more, nobody else would hear of it.
  finished.catch((error: unknown) => options.onError?.(error));

  try {
    while (await queue.more()) {
      for (const event of queue.take()) {
        queue.release(event);
        yield event;
      }
    }
    await finished;
  } finally {
    if (!ended) {
      stop.abort(over);
      queue.end([], over);
    }
  }
}

/** Why the signal aborts when a run ends with questions. */
function waiting({ threadId, runId }: RunAgentInput, { open }: Interrupts): HeddleError {
  const message = "The run has ended with a question; it goes on in a new run, with the answer.";
  return new HeddleError("run-ended", message, { threadId, runId, interruptIds: open.map(({ id }) => id) });
}

/** Runs the agent's function, and tells how it ended. Never rejects. */
async function settle(
  agent: Agent,
  context: RunContext,
  scope: Scope,
  asked: Promise<void>,
  options: RunOptions,
): Promise<Ending> {
  const { graceMs = 1000, onError } = options;
  const { signal } = context;
  if (signal.aborted) return stoppedBy(signal);

  const run = perform(agent, context, scope);
  // Also hears an agent that fails after its grace, when nobody waits for it any more.
  run.catch((error: unknown) => {
    if (!isStop(error, signal)) onError?.(error);
  });

  const grace = graceAfter(signal, graceMs);
  try {
    await Promise.race([run, grace.over, asked]);
  } catch (error) {
    if (!signal.aborted) return { type: "failed", error };
  } finally {
    grace.cancel();
  }
  return signal.aborted ? stoppedBy(signal) : { type: "finished" };
}

/** A stop is no failure, unless its reason is one. */
const stoppedBy = ({ reason }: AbortSignal): Ending =>
  reason instanceof HeddleError ? { type: "failed", error: reason } : { type: "cancelled" };

/** Calls the agent, and sends the events that it returns, if it does. */
async function perform(agent: Agent, context: RunContext, scope: Scope): Promise<void> {
  const result: unknown = await agent.run(context);
  if (!isAsyncIterable(result)) return;
  const { channel, interrupts } = scope.run;
  for await (const event of result) {
    scope.forwarder.take(event);
    if (scope.forwarder.end?.type === "RUN_ERROR") return;
    await channel.room();
  }
  // Whose events come from elsewhere may have read the answers there too.
  interrupts.leaveAnswers();
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<Event> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** Whether an error is the agent's way of obeying the signal. */
function isStop(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && (error === signal.reason || (error instanceof Error && error.name === "AbortError"));
}

/** A promise that resolves `graceMs` after the signal aborts. */
function graceAfter(signal: AbortSignal, graceMs: number): { readonly over: Promise<void>; cancel(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onAbort = (): void => {
    timer = setTimeout(resolve, graceMs);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  return {
    over: promise,
    cancel() {
      signal.removeEventListener("abort", onAbort);
      clearTimeout(timer);
    },
  };
}
