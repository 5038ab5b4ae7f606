/**
 * A conversation in AG-UI's form as messages for a streaming agent.
 *
 * An AG-UI message becomes one message for each thing that it says, all under its id as generation id. What has no form
 * here (activities, which are for people only, sounds, films and documents) is left out and named.
 */
import type { AssistantMessage, ContentPart, Message, ReasoningMessage, ToolMessage } from "../../../protocol/index.ts";
import type { ImageMessage, StreamMessage, TextMessage } from "./stream-message.ts";

/** AG-UI's messages for a streaming agent. `onDropped` is told what has no form there: a message, or a part of one. */
export function fromAgUiMessages(
  messages: readonly Message[],
  onDropped?: (dropped: Message | ContentPart) => void,
): readonly StreamMessage[] {
  return messages.flatMap((message): readonly StreamMessage[] => {
    switch (message.role) {
      case "assistant":
        return fromAssistant(message);
      case "tool":
        return [fromTool(message)];
      case "reasoning":
        return fromReasoning(message);
      case "activity":
        onDropped?.(message);
        return [];
      case "user":
        return typeof message.content === "string"
          ? [fromText(message.id, message.role, message.content, message.name)]
          : message.content.flatMap((part) => fromPart(message.id, part, onDropped));
      default:
        return [fromText(message.id, message.role, message.content, message.name)];
    }
  });
}

function fromText(
  generationId: string,
  role: NonNullable<TextMessage["role"]>,
  text: string,
  fromAgent: string | undefined,
): TextMessage {
  return { type: "text", text, role, generationId, ...(fromAgent === undefined ? {} : { fromAgent }) };
}

function fromPart(
  generationId: string,
  part: ContentPart,
  onDropped: ((dropped: ContentPart) => void) | undefined,
): readonly (TextMessage | ImageMessage)[] {
  if (part.type === "text") return [{ type: "text", text: part.text, role: "user", generationId }];
  if (part.type === "image") return [{ type: "image", source: part.source, role: "user", generationId }];
  onDropped?.(part);
  return [];
}

function fromAssistant({ id, content, name, toolCalls = [] }: AssistantMessage): readonly StreamMessage[] {
  const calls = toolCalls.map(({ id: callId, function: { name: functionName, arguments: functionArgs } }) => ({
    callId,
    functionName,
    functionArgs,
  }));
  const origin = { generationId: id, ...(name === undefined ? {} : { fromAgent: name }) };
  return [
    ...(content === undefined ? [] : [fromText(id, "assistant", content, name)]),
    ...(calls.length === 0 ? [] : [{ type: "tools-call" as const, toolCalls: calls, ...origin }]),
  ];
}

function fromTool({ id, toolCallId: callId, content, error }: ToolMessage): StreamMessage {
  const result = { callId, result: content, ...(error === undefined ? {} : { isError: true }) };
  return { type: "tools-call-result", toolCallResults: [result], generationId: id };
}

function fromReasoning({ id, content, encryptedValue }: ReasoningMessage): readonly StreamMessage[] {
  const common = { type: "reasoning", generationId: id } as const;
  return [
    ...(content === "" ? [] : [{ ...common, reasoning: content }]),
    ...(encryptedValue === undefined
      ? []
      : [{ ...common, reasoning: encryptedValue, visibility: "encrypted" as const }]),
  ];
}
