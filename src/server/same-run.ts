/**
 * Whether a post means the run that has its ids already, and only asks to join it (DESIGN 6).
 *
 * Same means: same agent and parent, no message of the user or answer of a tool that the run does not know, and the same
 * answers to interrupts. Everything else in the body is ignored: a client that posts again may have learnt more since.
 */
import { isDeepStrictEqual } from "node:util";
import type { Agent } from "../agent/index.ts";
import { HeddleError } from "../protocol/index.ts";
import type { Message, ResumeEntry, RunAgentInput } from "../protocol/index.ts";
import { foldBranch } from "../store/index.ts";
import type { RunInfo, RunKey, Store } from "../store/index.ts";
import { view } from "../stream/index.ts";
import { startedInput } from "./run-start.ts";

/** Throws `run-conflict` where a post does not mean this run. */
export async function checkSameRun(store: Store, run: RunInfo, agent: Agent, posted: RunAgentInput): Promise<void> {
  if (run.agent !== agent.name) throw conflict(run, `it belongs to the agent ${run.agent}`);
  const started = await startedInput(store, run);
  const { parentRunId: asked } = posted;
  // What was posted may have made it a fork further up.
  if (asked !== undefined && asked !== run.parentRunId && asked !== started?.parentRunId) {
    throw conflict(run, `it hangs on ${run.parentRunId ?? "no other run"}`);
  }
  if (!sameAnswers(started?.resume, posted.resume)) {
    throw conflict(run, "it was started with other answers to interrupts");
  }
  const brought = posted.messages.filter(({ role }) => role === "user" || role === "tool");
  const unknown = await unknownOf(store, run, started?.messages ?? [], brought);
  if (unknown !== undefined) throw conflict(run, `it does not know the message ${unknown.id}`);
}

/** Whether two lists of answers say the same, in whatever order. */
export const sameAnswers = (
  one: readonly ResumeEntry[] | undefined,
  other: readonly ResumeEntry[] | undefined,
): boolean => isDeepStrictEqual(answersIn(one), answersIn(other));

const answersIn = (resume: readonly ResumeEntry[] = []): readonly ResumeEntry[] =>
  resume.toSorted((a, b) => (a.interruptId < b.interruptId ? -1 : 1));

/** The first message that neither the run nor what it hangs on has ever held, and that would have counted. */
async function unknownOf(
  store: Store,
  run: RunInfo,
  started: readonly Message[],
  brought: readonly Message[],
): Promise<Message | undefined> {
  const held = new Set(started.map(({ id }) => id));
  const isUnknown = ({ id }: Message): boolean => !held.has(id);
  if (!brought.some(isUnknown)) return undefined;
  const now = await messagesOf(store, run);
  for (const { id } of now) held.add(id);
  if (!brought.some(isUnknown)) return undefined;
  // The run itself may have taken messages away again that it began with: then its parent knows them.
  const { parentRunId } = run;
  const before = parentRunId === undefined ? [] : await messagesOf(store, { ...run, runId: parentRunId });
  for (const { id } of before) held.add(id);
  // An answer to what nobody asked, or was answered before, was dropped the first time and is not missed now.
  const asked = new Set([...callsIn(before), ...callsIn(now)]);
  for (const message of before) if (message.role === "tool") asked.delete(message.toolCallId);
  return brought.find((message) => isUnknown(message) && (message.role !== "tool" || asked.has(message.toolCallId)));
}

const callsIn = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : [])).map(({ id }) => id);

async function messagesOf(store: Store, key: RunKey): Promise<readonly Message[]> {
  const { state } = await foldBranch(store, key);
  return view(state.reduce).messages;
}

function conflict({ threadId, runId, agent }: RunInfo, why: string): HeddleError {
  const message = `The thread has a run of this id already, and ${why}: use a new runId.`;
  return new HeddleError("run-conflict", message, { threadId, runId, agent });
}
