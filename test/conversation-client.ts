/**
 * What a client holds of a conversation: messages and state, folded as the stock client 1.0.0 folds them. A snapshot is
 * merged by id, in the order of what is held; what comes with RUN_STARTED is added behind it.
 */
import type { Event, Message } from "heddle/protocol";

/** What a client holds. */
export interface Held {
  /** Its messages, in its order. */
  readonly messages: readonly Message[];
  /** Its state. */
  readonly state: unknown;
}

/** The same after an event. */
export function foldHeld({ messages, state }: Held, event: Event): Held {
  const changed = (id: string, change: (message: Message) => Message): Held => ({
    messages: messages.map((message) => (message.id === id ? change(message) : message)),
    state,
  });
  const added = (...more: readonly Message[]): Held => ({
    messages: [...messages, ...more.filter(({ id }) => !messages.some((message) => message.id === id))],
    state,
  });
  switch (event.type) {
    case "RUN_STARTED":
      return added(...(event.input?.messages ?? []));
    case "STATE_SNAPSHOT":
      return { messages, state: event.snapshot };
    case "STATE_DELTA":
      throw new Error("No run of these conversations sends a patch.");
    case "MESSAGES_SNAPSHOT": {
      const kept = messages.flatMap(({ id }) => event.messages.find((message) => message.id === id) ?? []);
      const fresh = event.messages.filter(({ id }) => !messages.some((message) => message.id === id));
      return { messages: [...kept, ...fresh], state };
    }
    case "TEXT_MESSAGE_START":
      return added({ id: event.messageId, role: "assistant", content: "" });
    case "TEXT_MESSAGE_CONTENT":
      return changed(event.messageId, (message) => withText(message, event.delta));
    case "TOOL_CALL_START": {
      const call = {
        id: event.toolCallId,
        type: "function",
        function: { name: event.toolCallName, arguments: "" },
      } as const;
      if (callsOf(messages).includes(event.toolCallId)) return { messages, state };
      const parent = event.parentMessageId ?? event.toolCallId;
      if (!messages.some(({ id }) => id === parent)) return added({ id: parent, role: "assistant", toolCalls: [call] });
      return changed(parent, (message) =>
        message.role === "assistant" ? { ...message, toolCalls: [...(message.toolCalls ?? []), call] } : message,
      );
    }
    case "TOOL_CALL_ARGS":
      return { messages: messages.map((message) => withArguments(message, event.toolCallId, event.delta)), state };
    case "TOOL_CALL_RESULT": {
      const { messageId: id, toolCallId, content } = event;
      const owner = messages.findIndex((message) => callsOf([message]).includes(toolCallId));
      const result: Message = { id, role: "tool", toolCallId, content };
      if (owner < 0) return added(result);
      const next = messages.findIndex(({ role }, index) => index > owner && role !== "tool");
      return { messages: messages.toSpliced(next < 0 ? messages.length : next, 0, result), state };
    }
    default:
      return { messages, state };
  }
}

const callsOf = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []).map(({ id }) => id) : []));

function withText(message: Message, delta: string): Message {
  if (message.role !== "assistant") return message;
  return { ...message, content: `${typeof message.content === "string" ? message.content : ""}${delta}` };
}

function withArguments(message: Message, toolCallId: string, delta: string): Message {
  if (message.role !== "assistant" || message.toolCalls === undefined) return message;
  const toolCalls = message.toolCalls.map((call) =>
    call.id === toolCallId
      ? { ...call, function: { ...call.function, arguments: call.function.arguments + delta } }
      : call,
  );
  return { ...message, toolCalls };
}
