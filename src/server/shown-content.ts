/**
 * What of the content of events and threads somebody sees: one place for every event, message and state that leaves.
 *
 * What may hide where, and what becomes of it:
 * - RAW and `rawEvent` are a provider's own words and may hold all of it: hidden unless asked for by who may see everything.
 * - Instructions are messages of role system and developer, restated or streamed: hidden unless asked for.
 * - Reasoning is all REASONING_* events, messages of that role, and `encryptedValue` of any message or call. A count of
 *   `reasoningTokens` is none.
 * - State is in STATE_SNAPSHOT, STATE_DELTA and `RUN_STARTED.input.state`; a prelude tells it by the first of these.
 * - `input.context`, `tools` and `resume` are what people sent; `forwardedProps` are not logged. Shown.
 * - Notes of the server on what it put right may name whatever an agent said: for who sees all reasoning and state.
 * - Text, tool arguments and results, ACTIVITY_*, CUSTOM, META, steps, subagents, `RUN_FINISHED.result`, interrupts, errors
 *   and metadata are what the application says to people in its own form, whatever it took it from. Shown.
 */
import type { Event, Message, RunAgentInput, ToolCall } from "../protocol/index.ts";
import type { HiddenPaths } from "./hidden-paths.ts";
import { isReserved } from "./run-notes.ts";
import { isInstruction, isStreamedInstruction } from "./mark-instructions.ts";

/** What of the content is seen. */
export interface Sight {
  /** Whether RAW events and `rawEvent` are. */
  readonly raw: boolean;
  /** Whether messages that instruct the model are. */
  readonly instructions: boolean;
  /** Whether reasoning is. */
  readonly reasoning: boolean;
  /** Places of the state that are not; undefined where all of it is seen. */
  readonly hiddenState: HiddenPaths | undefined;
}

/** An event without what is not seen; undefined where nothing of it is left. */
export function shownContent(event: Event, sight: Sight): Event | undefined {
  const { raw, instructions, reasoning, hiddenState } = sight;
  const isPartial = !reasoning || hiddenState !== undefined;
  if (isPartial && event.type === "META" && isReserved(event.metaType)) return undefined;
  if (!raw && event.type === "RAW") return undefined;
  if (!instructions && isStreamedInstruction(event)) return undefined;
  if (!reasoning && event.type.startsWith("REASONING_")) return undefined;
  if (raw || event.rawEvent === undefined) return withoutHidden(event, sight);
  const { rawEvent: _rawEvent, ...rest } = event;
  return withoutHidden(rest, sight);
}

function withoutHidden(event: Event, sight: Sight): Event | undefined {
  const { hiddenState } = sight;
  switch (event.type) {
    case "MESSAGES_SNAPSHOT": {
      const messages = shownMessages(event.messages, sight);
      return messages === event.messages ? event : { ...event, messages };
    }
    case "RUN_STARTED":
      return event.input === undefined ? event : { ...event, input: shownInput(event.input, sight) };
    case "STATE_SNAPSHOT": {
      if (hiddenState === undefined) return event;
      const snapshot = hiddenState.redact(event.snapshot);
      return snapshot === undefined ? undefined : { ...event, snapshot };
    }
    case "STATE_DELTA": {
      if (hiddenState === undefined) return event;
      const delta = hiddenState.translate(event.delta);
      return delta.length === 0 ? undefined : { ...event, delta };
    }
    default:
      return event;
  }
}

function shownInput(input: RunAgentInput, sight: Sight): RunAgentInput {
  const { state, ...rest } = { ...input, messages: shownMessages(input.messages, sight) };
  const seen = sight.hiddenState === undefined ? state : sight.hiddenState.redact(state);
  return seen === undefined ? rest : { ...rest, state: seen };
}

/** A state without what is not seen. */
export const shownState = (state: unknown, { hiddenState }: Sight): unknown =>
  hiddenState === undefined ? state : hiddenState.see(state);

/** Messages without what is not seen: the same list where that is nothing. */
export function shownMessages(messages: readonly Message[], sight: Sight): readonly Message[] {
  const { instructions, reasoning } = sight;
  if (instructions && reasoning) return messages;
  const seen = messages.filter(({ role }) => (role === "reasoning" ? reasoning : instructions || !isInstruction(role)));
  return reasoning ? seen : seen.map(unsealed);
}

/** A message without encrypted values, its own and those of its calls. */
function unsealed(message: Message): Message {
  if (message.role === "activity") return message;
  const { encryptedValue: _value, encryptedValueType: _type, ...rest } = message;
  if (rest.role !== "assistant" || rest.toolCalls === undefined) return rest;
  return { ...rest, toolCalls: rest.toolCalls.map(unsealedCall) };
}

function unsealedCall({ encryptedValue: _value, encryptedValueType: _type, ...call }: ToolCall): ToolCall {
  return call;
}
