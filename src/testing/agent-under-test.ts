/**
 * An agent as its contract sees it: runs that are read to their end by a strict reader.
 *
 * The reader takes nothing back: every event has to be exact, in its place, and applicable. A run that does not come to
 * its end in time is a violation too, since whoever waits for it would wait for ever.
 */
import { isAgent, runAgent } from "../agent/index.ts";
import type { Agent } from "../agent/index.ts";
import { parseEvent } from "../protocol/index.ts";
import type { Event, RunAgentInput } from "../protocol/index.ts";
import { createReduceState, createVerifyState, reduce, verify, verifyEnd, view } from "../stream/index.ts";
import type { ThreadView } from "../stream/index.ts";
import { ContractViolation, check } from "./store-contract/contract-violation.ts";

/** Something that answers a run input with the events of a run. */
export type RunFunction = (input: RunAgentInput, options: { readonly signal: AbortSignal }) => AsyncIterable<Event>;

/** A run that was read. */
export interface ReadRun {
  /** What it was started with. */
  readonly input: RunAgentInput;
  /** What it said. */
  readonly events: readonly Event[];
  /** What that makes of the thread. */
  readonly view: ThreadView;
}

/** How a run is read. */
export interface ReadOptions {
  /** Stops the run once so many events have been read; 0 stops it before it starts. Default: never. */
  readonly stopAfter?: number;
}

/** Reads runs of one agent. */
export class AgentUnderTest {
  readonly #run: RunFunction;
  readonly #soonMs: number;
  #count = 0;

  constructor(agent: Agent | RunFunction, soonMs: number) {
    this.#soonMs = soonMs;
    // The grace is longer than we wait: an agent that does not listen must not be helped out.
    this.#run = isAgent(agent)
      ? (input, options) => runAgent(agent, input, { ...options, graceMs: soonMs * 4 })
      : agent;
  }

  /** An input with ids of its own. */
  input(given: Partial<RunAgentInput>): RunAgentInput {
    const count = ++this.#count;
    const messages = [{ id: `question-${count}`, role: "user", content: "Hello" } as const];
    return { threadId: `contract-${count}`, runId: `contract-run-${count}`, messages, ...given };
  }

  /** The run function itself, for whoever reads it otherwise. */
  start(input: RunAgentInput, signal: AbortSignal): AsyncIterator<Event> {
    return this.#run(input, { signal })[Symbol.asyncIterator]();
  }

  /** Reads a run to its end. Throws `ContractViolation` where anything is wrong with it. */
  async read(input: RunAgentInput, { stopAfter = Infinity }: ReadOptions = {}): Promise<ReadRun> {
    const stop = new AbortController();
    if (stopAfter === 0) stop.abort();
    const reader = new StrictReader(input);
    const events = this.start(input, stop.signal);
    for (;;) {
      const next = await this.soon(
        events.next(),
        stop.signal.aborted ? "the end of a run that was stopped" : "an event",
      );
      if (next.done === true) break;
      reader.take(next.value);
      if (reader.events.length === stopAfter) stop.abort();
    }
    return reader.end();
  }

  /** Waits for what has to come. */
  async soon<T>(promise: Promise<T>, what: string): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const violation = new ContractViolation(`${what} did not come within ${this.#soonMs} ms`);
      timer = setTimeout(() => reject(violation), this.#soonMs);
    });
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Reads one stream, and forgives nothing. */
class StrictReader {
  readonly events: Event[] = [];
  readonly #input: RunAgentInput;
  readonly #verifying = createVerifyState();
  readonly #folding: ReturnType<typeof createReduceState>;

  constructor(input: RunAgentInput) {
    const { messages, state } = input;
    this.#input = input;
    this.#folding = createReduceState({ messages, ...(state === undefined ? {} : { state }) });
  }

  take(given: Event): void {
    const where = `event ${this.events.length + 1}`;
    const event = held(where, () => {
      const { value, warnings } = parseEvent(JSON.parse(JSON.stringify(given)));
      if (value === undefined || warnings[0] !== undefined) throw new Error(warnings[0]?.message);
      return value;
    });
    held(where, () => verify(this.#verifying, event));
    const [skipped] = reduce(this.#folding, event);
    check(skipped === undefined, `${where}: ${skipped?.message}`);
    this.events.push(event);
  }

  end(): ReadRun {
    held("the end", () => verifyEnd(this.#verifying));
    const { threadId, runId } = this.#input;
    const [first] = this.events;
    check(first?.type === "RUN_STARTED", "a run begins with RUN_STARTED");
    check(first.threadId === threadId && first.runId === runId, "RUN_STARTED names the thread and run of the input");
    check(this.events.filter(isTerminal).length === 1, "a run has exactly one terminal event");
    return { input: this.#input, events: this.events, view: view(this.#folding) };
  }
}

const isTerminal = ({ type }: Event): boolean => type === "RUN_FINISHED" || type === "RUN_ERROR";

/** The answer of some work, or a violation that says where it failed. */
function held<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new ContractViolation(`${where}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
