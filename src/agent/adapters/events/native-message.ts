/**
 * Messages of agent libraries, and the way between them and AG-UI's.
 *
 * A native message has one form for all roles; a tool message may hold the results of several calls, which AG-UI says
 * in one message each. AG-UI's reasoning and activity messages have no native form: they are left out and named.
 * There and back, a conversation of text, calls and results is the same again.
 */
import type { ContentPart, Message, ToolCall, ToolMessage } from "../../../protocol/index.ts";

/** Who speaks in a native message. */
export type NativeRole = "system" | "developer" | "user" | "assistant" | "tool";

/** A call that a native assistant message makes. */
export interface NativeToolCall {
  /** Id of the call. */
  readonly id: string;
  /** Name of the tool. */
  readonly name: string;
  /** Argument text, JSON by intent. */
  readonly arguments: string;
}

/** A result that a native tool message holds. */
export interface NativeToolResult {
  /** The call that it answers. */
  readonly toolCallId: string;
  /** Text, or parts in order. */
  readonly content: string | readonly ContentPart[];
  /** Why the call failed, where it did. */
  readonly error?: string;
}

/** One message of a native conversation. */
export interface NativeMessage {
  /** Id; one is made where it is absent. */
  readonly id?: string;
  /** Who speaks. */
  readonly role: NativeRole;
  /** Text, or parts in order; absent where there are only calls or results. */
  readonly content?: string | readonly ContentPart[];
  /** Name to show for the speaker. */
  readonly name?: string;
  /** Calls of an assistant message, in order. */
  readonly toolCalls?: readonly NativeToolCall[];
  /** Results of a tool message, in order. */
  readonly toolResults?: readonly NativeToolResult[];
}

/** AG-UI's messages for an agent library. `onDropped` is told what has no native form. */
export function toNativeMessages(
  messages: readonly Message[],
  onDropped?: (message: Message) => void,
): readonly NativeMessage[] {
  return messages.flatMap((message) => {
    const native = toNativeMessage(message);
    if (native === undefined) onDropped?.(message);
    return native ?? [];
  });
}

function toNativeMessage(message: Message): NativeMessage | undefined {
  const { id, role } = message;
  switch (role) {
    case "activity":
    case "reasoning":
      return undefined;
    case "tool": {
      const { toolCallId, content, error } = message;
      return { id, role, toolResults: [{ toolCallId, content, ...(error === undefined ? {} : { error }) }] };
    }
    case "assistant": {
      const { content, toolCalls } = message;
      const calls = toolCalls?.map(({ id: callId, function: { name, arguments: text } }) => ({
        id: callId,
        name,
        arguments: text,
      }));
      return {
        id,
        role,
        ...(content === undefined ? {} : { content }),
        ...nameOf(message),
        ...(calls === undefined ? {} : { toolCalls: calls }),
      };
    }
    default:
      return { id, role, content: message.content, ...nameOf(message) };
  }
}

/** An agent library's messages for AG-UI. `mintId` names those that have no id, by their position. */
export function fromNativeMessages(
  messages: readonly NativeMessage[],
  mintId: (index: number) => string = (index) => `message-${index + 1}`,
): readonly Message[] {
  return messages.flatMap((message, index) => fromNativeMessage(message, message.id ?? mintId(index)));
}

function fromNativeMessage(message: NativeMessage, id: string): readonly Message[] {
  const { role, content = "", toolCalls, toolResults = [] } = message;
  switch (role) {
    case "tool":
      return toolResults.map((result, index): ToolMessage => {
        const { toolCallId, error } = result;
        const failure = error === undefined ? {} : { error };
        const own = index === 0 ? id : `result-${toolCallId}`;
        return { id: own, role, toolCallId, content: result.content, ...failure };
      });
    case "assistant": {
      const calls = toolCalls?.map(toToolCall);
      return [
        {
          id,
          role,
          ...(message.content === undefined ? {} : { content: textOf(content) }),
          ...nameOf(message),
          ...(calls === undefined ? {} : { toolCalls: calls }),
        },
      ];
    }
    case "user":
      return [{ id, role, content, ...nameOf(message) }];
    default:
      return [{ id, role, content: textOf(content), ...nameOf(message) }];
  }
}

const toToolCall = ({ id, name, arguments: text }: NativeToolCall): ToolCall => ({
  id,
  type: "function",
  function: { name, arguments: text },
});

/** Only a person and a tool may speak in parts: of others, the text counts. */
const textOf = (content: string | readonly ContentPart[]): string =>
  typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join("");

const nameOf = ({ name }: { readonly name?: string }): { readonly name?: string } =>
  name === undefined ? {} : { name };
