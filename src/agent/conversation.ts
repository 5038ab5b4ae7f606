/**
 * The conversation as a model is to see it: what the input held, what the run has added, and nothing that is only
 * ours.
 *
 * Activities and answer records are left out. A call that a person approved with other arguments is shown with those,
 * so that the model does not take the result for that of what it asked for.
 */
import { METADATA_KEY } from "../protocol/index.ts";
import type { Event, Message, ToolCall } from "../protocol/index.ts";
import { createReduceState, reduce, view } from "../stream/index.ts";
import { isAnswerRecord } from "./answer-record.ts";

/** Key, within our own metadata of a tool result, of the arguments that the tool was called with in the end. */
export const EDITED_ARGS = "editedArgs";

/** A conversation that goes on. */
export class Conversation {
  readonly #state: ReturnType<typeof createReduceState>;
  readonly #owner: string | undefined;

  /** A conversation of the agent itself, or of one of its subagents. */
  constructor(messages: readonly Message[], subagentRunId: string | undefined) {
    this.#state = createReduceState({ messages });
    this.#owner = subagentRunId;
  }

  /** Takes an event in. */
  take(event: Event): void {
    reduce(this.#state, event);
  }

  /** All messages. */
  get messages(): readonly Message[] {
    return view(this.#state).messages;
  }

  /** The owner's calls that nobody has answered, in order. */
  openCalls(): readonly ToolCall[] {
    const answered = new Set(this.messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])));
    return this.messages.flatMap((message) =>
      message.role === "assistant" && message.subagentRunId === this.#owner
        ? (message.toolCalls ?? []).filter(({ id }) => !answered.has(id))
        : [],
    );
  }

  /** What a model is given. */
  forModel(): readonly Message[] {
    const edited = new Map(this.messages.flatMap((message) => editsOf(message)));
    const shown = this.messages.filter((message) => message.role !== "activity" && !isAnswerRecord(message));
    if (edited.size === 0) return shown;
    const withEdits = (call: ToolCall): ToolCall => {
      const text = edited.get(call.id);
      return text === undefined ? call : { ...call, function: { ...call.function, arguments: text } };
    };
    return shown.map((message) =>
      message.role === "assistant" && message.toolCalls !== undefined
        ? { ...message, toolCalls: message.toolCalls.map(withEdits) }
        : message,
    );
  }
}

function editsOf(message: Message): readonly (readonly [string, string])[] {
  const own: unknown = message.role === "tool" ? message.metadata?.[METADATA_KEY] : undefined;
  if (message.role !== "tool" || typeof own !== "object" || own === null || !(EDITED_ARGS in own)) return [];
  return [[message.toolCallId, JSON.stringify(own[EDITED_ARGS])]];
}
