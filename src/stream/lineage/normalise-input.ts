/**
 * Run inputs as the log keeps them, and back (seed 002, "Input Normalization").
 *
 * `RUN_STARTED.input` holds only what the branch did not hold yet; restoring walks the parents for the rest. Nothing is
 * lost on the way: a message that differs from the branch's own stays and takes its place again, and a list in another
 * order stays whole, which is how it is recognised.
 */
import type { Message, RunAgentInput } from "../../protocol/index.ts";
import type { Difference } from "./lineage.ts";
import { jsonEqual } from "../json-value.ts";

/** The input without the messages that the branch held before the run. */
export function normaliseInput(input: RunAgentInput, known: readonly Message[]): RunAgentInput {
  const positions = positionsOf(known);
  if (!isInOrder(input.messages, positions)) return input;
  const messages = input.messages.filter((message) => !jsonEqual(message, known[positions.get(message.id) ?? -1]));
  return messages.length === input.messages.length ? input : { ...input, messages };
}

/** The full input of a run, from its normalised input and the messages that the branch held before it. */
export function rebuildInput(input: RunAgentInput, history: readonly Message[]): RunAgentInput {
  const positions = positionsOf(history);
  if (history.length === 0 || !isInOrder(input.messages, positions)) return input;
  const messages = [...history];
  for (const message of input.messages) messages[positions.get(message.id) ?? messages.length] = message;
  return { ...input, messages };
}

function positionsOf(messages: readonly Message[]): ReadonlyMap<string, number> {
  return new Map(messages.map(({ id }, position) => [id, position]));
}

/** Whether known messages come in the branch's order, each once, and before all others. */
function isInOrder(messages: readonly Message[], positions: ReadonlyMap<string, number>): boolean {
  let last = -1;
  return messages.every(({ id }) => {
    const position = positions.get(id) ?? Infinity;
    const inOrder = position > last || position === Infinity;
    last = position;
    return inOrder;
  });
}

/** Which messages two branches share, and which each has alone; one that differs between them is on both sides. */
export function diffMessages(a: readonly Message[], b: readonly Message[]): Difference<Message> {
  const others = new Map(b.map((message) => [message.id, message]));
  const shared = a.filter((message) => others.has(message.id) && jsonEqual(message, others.get(message.id)));
  const common = new Set(shared.map(({ id }) => id));
  const alone = (messages: readonly Message[]): readonly Message[] => messages.filter(({ id }) => !common.has(id));
  return { shared, onlyA: alone(a), onlyB: alone(b) };
}
