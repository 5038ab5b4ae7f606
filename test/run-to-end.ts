/** Runs an agent to its end, for tests: what it said, and what it logged. */
import { runAgent } from "../src/agent/index.ts";
import type { Agent, Log, RunOptions } from "../src/agent/index.ts";
import type { Event, Interrupt, Message, RunAgentInput } from "../src/protocol/index.ts";
import { createVerifyState, reduceAll, verify, verifyEnd } from "../src/stream/index.ts";
import type { ThreadView } from "../src/stream/index.ts";

/** One run. */
export interface EndedRun {
  readonly events: readonly Event[];
  readonly types: readonly string[];
  readonly text: string;
  readonly last: Event | undefined;
  readonly view: ThreadView;
  /** Lines of the log, as `level: message`. */
  readonly lines: readonly string[];
}

let runs = 0;

/** Runs an agent; the stream has to verify. */
export async function runToEnd(
  agent: Agent,
  given: Partial<RunAgentInput> = {},
  options: RunOptions = {},
): Promise<EndedRun> {
  const input: RunAgentInput = { threadId: "thread", runId: `run-${++runs}`, messages: [], ...given };
  const lines: string[] = [];
  const line = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
  const log: Log = { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
  const verifying = createVerifyState();
  const events: Event[] = [];
  for await (const event of runAgent(agent, input, { log, ...options })) {
    verify(verifying, event);
    events.push(event);
  }
  verifyEnd(verifying);
  const held = { messages: input.messages, ...(input.state === undefined ? {} : { state: input.state }) };
  return {
    events,
    types: events.map(({ type }) => type),
    text: events.map((event) => (event.type === "TEXT_MESSAGE_CONTENT" ? event.delta : "")).join(""),
    last: events.at(-1),
    view: reduceAll(events, held),
    lines,
  };
}

/** The questions that a run ended with. */
export function questionsOf({ last }: EndedRun): readonly Interrupt[] {
  return last?.type === "RUN_FINISHED" && last.outcome?.type === "interrupt" ? last.outcome.interrupts : [];
}

/** What a client sends next: the conversation so far, without activities. */
export const nextMessages = ({ view }: EndedRun): readonly Message[] =>
  view.messages.filter(({ role }) => role !== "activity");
