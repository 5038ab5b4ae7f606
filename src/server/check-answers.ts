/**
 * Whether a post may go on, where its branch waits for answers.
 *
 * A resume covers every question of the run that asked, resolved or cancelled; each answer fits the question's schema, and
 * comes in time. Calls that the client has to execute are answered too, or refused, or closed as declined. An answer to
 * what was not asked is for the agent to ignore, and whoever sent it is warned.
 */
import { checkSchema } from "../agent/index.ts";
import { HeddleError } from "../protocol/index.ts";
import type { Interrupt, Message, ResumeEntry, RunAgentInput, Warning } from "../protocol/index.ts";
import type { FoldedBranch, Store } from "../store/index.ts";
import { view } from "../stream/index.ts";
import type { Reconciled } from "../stream/lineage/index.ts";
import type { PostRules } from "./post-rules.ts";
import { startedInput } from "./run-start.ts";

/** What of the answers has to be told. */
export interface Answers {
  /** To calls that nobody executed, in the client's place. */
  readonly declined: readonly Message[];
  /** To questions that were asked: what the agent gets. */
  readonly resume: readonly ResumeEntry[];
  /** What does not count. */
  readonly warnings: readonly Warning[];
}

/** Judges the answers of a post. Throws `answers-missing` or `resume-invalid`. */
export async function checkAnswers(
  store: Store,
  { threadId, resume = [] }: RunAgentInput,
  { unanswered, added, verdict }: Reconciled,
  base: FoldedBranch | undefined,
  { onOpenCalls = "reject" }: PostRules,
): Promise<Answers> {
  const asked = new Map(base?.run.end?.interrupts.map((interrupt) => [interrupt.id, interrupt]));
  const toolCallIds = base === undefined ? [] : await clientCalls(store, base, added);
  const { interrupts } = unanswered;
  const isOpen = interrupts.length > 0 || (toolCallIds.length > 0 && onOpenCalls === "reject");
  if (isOpen) throw missing(threadId, interrupts, toolCallIds);
  // Who asked on a thread that begins here is not known here.
  const isNew = verdict === "new-thread";
  const warnings: Warning[] = [];
  for (const [index, entry] of resume.entries()) {
    const interrupt = asked.get(entry.interruptId);
    if (interrupt !== undefined) await checkAnswer(entry, interrupt);
    else if (!isNew) warnings.push(unasked(entry, index));
  }
  const counting = isNew ? resume : resume.filter(({ interruptId }) => asked.has(interruptId));
  return { declined: toolCallIds.map(declinedCall), resume: counting, warnings };
}

/** The calls that the run before left to the client, of tools that the client had offered, and that nobody has answered. */
async function clientCalls(
  store: Store,
  { run, state }: FoldedBranch,
  added: readonly Message[],
): Promise<readonly string[]> {
  const { messages } = view(state.reduce);
  const answered = new Set([...messages, ...added].flatMap((each) => (each.role === "tool" ? [each.toolCallId] : [])));
  const left = run.end?.pendingToolCallIds.filter((id) => !answered.has(id)) ?? [];
  if (left.length === 0) return [];
  const offered = new Set((await startedInput(store, run))?.tools?.map(({ name }) => name));
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  return left.filter((id) => calls.some((call) => call.id === id && offered.has(call.function.name)));
}

async function checkAnswer(entry: ResumeEntry, { id, expiresAt, responseSchema }: Interrupt): Promise<void> {
  if (entry.status !== "resolved") return;
  const atMs = expiresAt === undefined ? NaN : Date.parse(expiresAt);
  if (atMs <= Date.now()) throw refused(id, `it expired at ${expiresAt}; it can only be cancelled`);
  if (responseSchema === undefined) return;
  const problems = await checkSchema(responseSchema, entry.payload);
  if (problems.length > 0) throw refused(id, problems.map((problem) => problem.replace(/^#: /, "")).join("; "));
}

const declinedCall = (toolCallId: string): Message => ({
  id: `declined-${toolCallId}`,
  role: "tool",
  toolCallId,
  content: "The user went on without executing this call.",
  error: "declined",
});

const unasked = ({ interruptId }: ResumeEntry, index: number): Warning => ({
  code: "not-applied",
  path: `/resume/${index}`,
  message: `The answer to ${interruptId} counts for nothing: the run that this one continues has not asked it.`,
});

function refused(interruptId: string, why: string): HeddleError {
  const message = `The answer to the question ${interruptId} is refused: ${why.replace(/\.$/, "")}.`;
  return new HeddleError("resume-invalid", message, { interruptId });
}

function missing(threadId: string, interrupts: readonly Interrupt[], toolCallIds: readonly string[]): HeddleError {
  const what = [
    interrupts.length === 0
      ? []
      : [`the questions ${interrupts.map(({ id }) => id).join(", ")} (resume, resolved or cancelled)`],
    toolCallIds.length === 0
      ? []
      : [`the tool calls ${toolCallIds.join(", ")} (tool messages, with an error where one was not executed)`],
  ].flat();
  const message = `The thread waits for answers to ${what.join(" and ")}: send all of them.`;
  return new HeddleError("answers-missing", message, { threadId, interrupts, toolCallIds });
}
