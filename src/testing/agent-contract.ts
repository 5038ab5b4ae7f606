/**
 * The contract kit for agents: what anybody may expect of a run, whoever wrote the agent.
 *
 * `agentContract` returns a list of cases that any test runner can loop over; a case fails by throwing. It takes an
 * agent of `defineAgent`, or a function from a run input to events, so that adapters and agents of other making can be
 * held to it as well. No test framework is needed.
 */
import type { Agent } from "../agent/index.ts";
import type { Interrupt, Message, ResumeEntry, RunAgentInput, ToolCall } from "../protocol/index.ts";
import { AgentUnderTest } from "./agent-under-test.ts";
import type { ReadRun, RunFunction } from "./agent-under-test.ts";
import { check } from "./store-contract/contract-violation.ts";

/** How an agent is tried. */
export interface AgentContractOptions {
  /** What it is asked, by name; ids are added. Default: one user message that says hello. */
  readonly inputs?: Readonly<Record<string, Partial<RunAgentInput>>>;
  /** Inputs that have to make it fail, by name. Default: none. */
  readonly failing?: Readonly<Record<string, Partial<RunAgentInput>>>;
  /** Answers a question, without its id. Default: every question is abandoned. */
  readonly answer?: (interrupt: Interrupt) => Omit<ResumeEntry, "interruptId">;
  /** Answers a frontend call. Default: with an empty text. */
  readonly answerCall?: (call: ToolCall) => string;
  /** How many runs it may take from a question to the end. Default 10. */
  readonly maxRuns?: number;
  /** How long an event, or the end of a stopped run, may take. Default 5,000. */
  readonly soonMs?: number;
}

/** A case that is ready to run. */
export interface AgentCase {
  /** What is proved. */
  readonly title: string;
  /** Throws where the agent does not keep it. */
  readonly run: () => Promise<void>;
}

/** At so many places, at most, a run is stopped to see what it makes of it. */
const MAX_STOPS = 12;

/** The cases that an agent is held to. */
export function agentContract(agent: Agent | RunFunction, options: AgentContractOptions = {}): readonly AgentCase[] {
  const { inputs = { "a user message": {} }, failing = {}, soonMs = 5000 } = options;
  const tried = new AgentUnderTest(agent, soonMs);
  return [
    ...Object.entries(inputs).flatMap(([name, given]) => casesFor(tried, name, given, options)),
    ...Object.entries(failing).map(([name, given]) => ({
      title: `${name}: fails with a message and a code, and everything closed`,
      run: () => fails(tried, given),
    })),
    { title: "any input: the stream is in order", run: () => takesAnything(tried) },
  ];
}

function casesFor(
  tried: AgentUnderTest,
  name: string,
  given: Partial<RunAgentInput>,
  options: AgentContractOptions,
): readonly AgentCase[] {
  const cases: Readonly<Record<string, () => Promise<void>>> = {
    "a run is in order, from RUN_STARTED to one terminal event": async () =>
      void (await tried.read(tried.input(given))),
    "a run that is stopped ends in order, soon, and as cancelled": () => stops(tried, given),
    "a run that is stopped before it starts says nothing": () => staysSilent(tried, given),
    "a reader who leaves is let go": () => letsGo(tried, given),
    "runs side by side do not mix": () => keepsApart(tried, given),
    "questions and frontend calls are answered, and the agent goes on to its end": () => goesOn(tried, given, options),
    "questions that are abandoned are no success": () => isAbandoned(tried, given),
  };
  return Object.entries(cases).map(([title, run]) => ({ title: `${name}: ${title}`, run }));
}

const outcomeOf = ({ events }: ReadRun): string => {
  const last = events.at(-1);
  return last?.type === "RUN_FINISHED" ? (last.outcome?.type ?? "success") : "failed";
};

async function stops(tried: AgentUnderTest, given: Partial<RunAgentInput>): Promise<void> {
  const whole = await tried.read(tried.input(given));
  const count = whole.events.length;
  const step = Math.max(1, Math.ceil((count - 1) / MAX_STOPS));
  for (let after = 1; after < count; after += step) {
    const run = await tried.read(tried.input(given), { stopAfter: after });
    // A run may have ended by itself before it heard of the stop.
    const isEnded = outcomeOf(run) === outcomeOf(whole) && run.events.length >= count;
    check(isEnded || outcomeOf(run) === "cancelled", `stopped after ${after} events, it ends as ${outcomeOf(run)}`);
  }
}

async function staysSilent(tried: AgentUnderTest, given: Partial<RunAgentInput>): Promise<void> {
  const run = await tried.read(tried.input(given), { stopAfter: 0 });
  check(outcomeOf(run) === "cancelled", `it ends as ${outcomeOf(run)}, not as cancelled`);
  check(run.view.messages.length === run.input.messages.length, "it adds messages");
}

async function letsGo(tried: AgentUnderTest, given: Partial<RunAgentInput>): Promise<void> {
  const events = tried.start(tried.input(given), new AbortController().signal);
  await tried.soon(events.next(), "the first event");
  await tried.soon(events.next(), "the second event");
  await tried.soon(Promise.resolve(events.return?.()), "the end of a run whose reader left");
}

async function keepsApart(tried: AgentUnderTest, given: Partial<RunAgentInput>): Promise<void> {
  const runs = await Promise.all([1, 2, 3].map(() => tried.read(tried.input(given))));
  const added = runs.map(({ view, input }) => {
    const held = new Set(input.messages.map(({ id }) => id));
    return new Set(view.messages.flatMap(({ id }) => (held.has(id) ? [] : [id])));
  });
  const total = added.reduce((sum, ids) => sum + ids.size, 0);
  check(new Set(added.flatMap((ids) => [...ids])).size === total, "two runs give a message the same id");
}

async function goesOn(
  tried: AgentUnderTest,
  given: Partial<RunAgentInput>,
  { answer = () => ({ status: "cancelled" }), answerCall = () => "", maxRuns = 10 }: AgentContractOptions,
): Promise<void> {
  let run = await tried.read(tried.input(given));
  for (let count = 1; waits(run); count++) {
    check(count < maxRuns, `after ${maxRuns} runs it still waits for answers`);
    const { interrupts, pendingToolCallIds } = run.view;
    const resume = interrupts.map((interrupt) => ({ ...answer(interrupt), interruptId: interrupt.id }));
    const answers = interrupts.length > 0 ? [] : answersTo(run, pendingToolCallIds, answerCall);
    const next = tried.input({ ...given, threadId: run.input.threadId, messages: [...sentBack(run), ...answers] });
    run = await tried.read({ ...next, ...(resume.length === 0 ? {} : { resume }), state: run.view.state ?? {} });
    check(outcomeOf(run) !== "failed", `it fails on the answers: ${run.view.run.error?.message}`);
  }
}

async function isAbandoned(tried: AgentUnderTest, given: Partial<RunAgentInput>): Promise<void> {
  const first = await tried.read(tried.input(given));
  const { interrupts } = first.view;
  check(new Set(interrupts.map(({ id }) => id)).size === interrupts.length, "two questions have one id");
  if (interrupts.length === 0) return;
  const next = tried.input({ ...given, threadId: first.input.threadId, messages: sentBack(first) });
  const resume = interrupts.map(({ id }) => ({ interruptId: id, status: "cancelled" as const }));
  const second = await tried.read({ ...next, resume });
  const again = second.view.interrupts.map(({ id }) => id);
  check(!interrupts.some(({ id }) => again.includes(id)), "it asks again what was abandoned");
}

const waits = ({ view }: ReadRun): boolean => view.interrupts.length > 0 || view.pendingToolCallIds.length > 0;

/** What a client sends back: everything but activities. */
const sentBack = ({ view }: ReadRun): readonly Message[] => view.messages.filter(({ role }) => role !== "activity");

function answersTo({ view }: ReadRun, ids: readonly string[], answer: (call: ToolCall) => string): readonly Message[] {
  const calls = view.messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  return calls
    .filter(({ id }) => ids.includes(id))
    .map((call) => ({ id: `answer-${call.id}`, role: "tool", toolCallId: call.id, content: answer(call) }));
}

async function fails(tried: AgentUnderTest, given: Partial<RunAgentInput>): Promise<void> {
  const { events } = await tried.read(tried.input(given));
  const last = events.at(-1);
  check(last?.type === "RUN_ERROR", "it does not end with RUN_ERROR");
  check(last.message !== "", "its RUN_ERROR has no message");
  check(last.code !== undefined && last.code !== "", "its RUN_ERROR has no code");
}

/** Inputs that are unusual and legal. An agent may fail on them, but not break its stream. */
async function takesAnything(tried: AgentUnderTest): Promise<void> {
  const unusual: readonly Partial<RunAgentInput>[] = [
    { messages: [] },
    { messages: [{ id: "u", role: "user", content: [] }] },
    { messages: [{ id: "u", role: "user", content: [{ type: "image", source: { type: "file", value: "gone" } }] }] },
    { messages: [{ id: "a", role: "assistant" }], state: [], tools: [], context: [], forwardedProps: 7 },
    { resume: [{ interruptId: "nobody asked", status: "resolved", payload: {} }] },
  ];
  for (const given of unusual) await tried.read(tried.input(given));
}
