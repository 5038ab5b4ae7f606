/**
 * What a graph is given for a run.
 *
 * A graph with a checkpointer keeps its own conversation, so it gets only what it does not hold yet: new messages, and the
 * parts of the state that viewers changed. Where the conversation was edited or taken back (a message of the person's, or
 * the last answer, is gone), the graph's messages are replaced. Answers to its questions go in as `Command({ resume })`.
 */
import type { Message, RunAgentInput } from "../../../protocol/index.ts";
import { diff } from "../../../stream/index.ts";
import { isRecord } from "../provider/fields.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { loadLangGraph, loadMessages } from "./load-langgraph.ts";
import { listOf, readMessage } from "./read-message.ts";
import { toLangChainMessages } from "./to-langchain-messages.ts";

/** What a graph holds: the values of its newest checkpoint. */
export type GraphValues = Readonly<Record<string, unknown>>;

/** How the input is made. */
export interface GraphInputOptions {
  /** The key of the state that holds the messages. */
  readonly messagesKey: string;
  /** What `interrupt()` returns where the question was given up. */
  readonly cancelledAnswer: unknown;
  /** Told what could not be said to the graph. */
  readonly onWarning: OnWarning;
}

/** The first argument of `graph.stream`. */
export async function graphInput(
  input: RunAgentInput,
  held: GraphValues | undefined,
  { messagesKey, cancelledAnswer, onWarning }: GraphInputOptions,
): Promise<unknown> {
  const heldMessages = listOf(held?.[messagesKey]).flatMap((message) => readMessage(message) ?? []);
  const heldIds = new Set(heldMessages.map(({ id }) => id));
  const fresh = input.messages.filter((message) => !heldIds.has(message.id));
  const resume = input.resume ?? [];
  const changes = stateChanges(input.state, held, messagesKey);
  if (resume.length > 0) {
    const { Command } = await loadLangGraph();
    const answers = resume.map(({ interruptId, status, payload }): [string, unknown] => [
      interruptId,
      status === "cancelled" ? cancelledAnswer : (payload ?? null),
    ]);
    const update = { ...changes, ...messageUpdate(messagesKey, await toLangChainMessages(fresh, { onWarning })) };
    const extra = Object.keys(update).length > 0 ? { update } : {};
    return new Command({ resume: Object.fromEntries(answers), ...extra });
  }
  const postedIds = new Set(input.messages.map(({ id }) => id));
  const humans = heldMessages.filter(({ kind }) => kind === "human");
  const isTold = fresh.some(isSpoken) || heldMessages.at(-1)?.id === input.messages.findLast(isSpoken)?.id;
  const continues = isTold && humans.every(({ id }) => id !== undefined && postedIds.has(id));
  if (heldMessages.length === 0 || continues) {
    return { ...changes, [messagesKey]: await toLangChainMessages(fresh, { onWarning }) };
  }
  const { RemoveMessage } = await loadMessages();
  const { REMOVE_ALL_MESSAGES } = await loadLangGraph();
  const all = await toLangChainMessages(input.messages, { onWarning });
  return { ...changes, [messagesKey]: [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...all] };
}

/** Reasoning and activities are no messages of LangChain's. */
const isSpoken = ({ role }: Message): boolean => role !== "activity" && role !== "reasoning";

const messageUpdate = (key: string, messages: readonly unknown[]): Readonly<Record<string, unknown>> =>
  messages.length === 0 ? {} : { [key]: messages };

/** Parts of the state that are not what the graph holds: given again, a reducer would add them once more. */
function stateChanges(state: unknown, held: GraphValues | undefined, messagesKey: string): Record<string, unknown> {
  if (!isRecord(state)) return {};
  const entries = Object.entries(state).filter(([key]) => key !== messagesKey);
  const known = jsonOf(held ?? {});
  return Object.fromEntries(entries.filter(([key, value]) => !(key in known) || diff(known[key], value).length > 0));
}

function jsonOf(values: GraphValues): Readonly<Record<string, unknown>> {
  const copy: unknown = JSON.parse(JSON.stringify(values));
  return isRecord(copy) ? copy : {};
}
