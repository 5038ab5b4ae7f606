/**
 * Runs an agent, and gives its run the frame that AG-UI asks for: RUN_STARTED, what the agent says, everything
 * closed, and exactly one terminal event.
 *
 * The agent starts only after RUN_STARTED has been taken, so a log holds the run before the agent does anything.
 * Leaving the loop early stops the agent. A stopped agent has `graceMs` to return; what it says later goes nowhere.
 */
import { HeddleError, PROTOCOL_VERSION, runError, runFinished, runStarted } from "../protocol/index.ts";
import type { Event, RunAgentInput } from "../protocol/index.ts";
import type { Agent, RunContext } from "./define-agent.ts";
import { createEmitter } from "./emit.ts";
import { EventQueue } from "./event-queue.ts";

/** Options of `runAgent`. */
export interface RunOptions {
  /** Aborting it stops the run, which then ends with outcome `cancelled`. */
  readonly signal?: AbortSignal;
  /** How long a stopped agent may take to return. Default 1000. */
  readonly graceMs?: number;
  /** Told what the agent threw, with its stack; the RUN_ERROR only has the message. */
  readonly onError?: (error: unknown) => void;
}

/** How a run came to its end. */
type Ending =
  | { readonly type: "finished" }
  | { readonly type: "cancelled" }
  | { readonly type: "failed"; readonly error: unknown };

/** Runs an agent without a server. The events come as fast as they are taken, and no faster. */
export async function* runAgent(
  agent: Agent,
  input: RunAgentInput,
  options: RunOptions = {},
): AsyncGenerator<Event, void, undefined> {
  const { threadId, runId } = input;
  yield runStarted({ threadId, runId, protocolVersion: PROTOCOL_VERSION, timestamp: Date.now() });

  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  let overflow: HeddleError | undefined;
  const queue = new EventQueue((error) => {
    overflow = error;
    stop.abort(error);
  });
  const { emit, closing } = createEmitter(queue);
  const over = new HeddleError("run-ended", "The run has ended; nothing can be written to it.", { threadId, runId });

  let ended = false;
  const ending = settle(agent, { input, emit, signal }, options).then((settled): Ending => {
    ended = true;
    queue.end(closing(), signal.aborted ? signal.reason : over);
    return overflow === undefined ? settled : { type: "failed", error: overflow };
  });

  try {
    yield* queue.drain();
    yield terminalEvent(input, await ending);
  } finally {
    if (!ended) {
      stop.abort(over);
      queue.end([], over);
    }
  }
}

/** Runs the agent's function, and tells how it ended. Never rejects. */
async function settle(agent: Agent, context: RunContext, options: RunOptions): Promise<Ending> {
  const { graceMs = 1000, onError } = options;
  const { signal } = context;
  if (signal.aborted) return { type: "cancelled" };

  const run = (async () => agent.run(context))();
  // Also hears an agent that fails after its grace, when nobody waits for it any more.
  run.catch((error: unknown) => {
    if (!isStop(error, signal)) onError?.(error);
  });

  const grace = graceAfter(signal, graceMs);
  try {
    await Promise.race([run, grace.over]);
  } catch (error) {
    if (!signal.aborted) return { type: "failed", error };
  } finally {
    grace.cancel();
  }
  return { type: signal.aborted ? "cancelled" : "finished" };
}

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

function terminalEvent({ threadId, runId }: RunAgentInput, ending: Ending): Event {
  const timestamp = Date.now();
  switch (ending.type) {
    case "finished":
      return runFinished({ threadId, runId, timestamp });
    case "cancelled":
      return runFinished({ threadId, runId, outcome: { type: "cancelled" }, timestamp });
    case "failed": {
      const { error } = ending;
      const message = error instanceof Error ? error.message : String(error);
      const code = error instanceof HeddleError ? error.code : "agent-failed";
      return runError({ message: message === "" ? "The agent failed." : message, code, timestamp });
    }
  }
}
