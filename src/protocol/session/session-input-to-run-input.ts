/**
 * The request of a session client as AG-UI's run input.
 *
 * Clients built to the seed send messages without ids: those get new ones here, and the server matches such a
 * history against the log by position, role and content. Which thread a session stands for is the caller's affair.
 */
import type { ContentPart, Message, RunAgentInput, ToolCall as AguiToolCall } from "../generated/model.ts";
import { PROTOCOL_VERSION } from "../version.ts";
import type { AgentMessage, SessionRunInput, ToolAgentMessage, ToolCall } from "./model.ts";

/** What a session request does not say itself. */
export interface SessionInputIds {
  /** The thread that the session stands for. */
  readonly threadId: string;
  /** Id of the run that the request starts. */
  readonly runId: string;
  /** Makes an id for a message that came without one. */
  readonly newId: () => string;
}

/** The run input; `data.options` become `forwardedProps.options`. */
export function sessionInputToRunInput(input: SessionRunInput, ids: SessionInputIds): RunAgentInput {
  const { messages, options, resume } = input.data;
  return {
    threadId: ids.threadId,
    runId: ids.runId,
    protocolVersion: PROTOCOL_VERSION,
    messages: messages.map((message) => toMessage(message, message.id ?? ids.newId())),
    ...(options === undefined ? {} : { forwardedProps: { options } }),
    ...(resume === undefined ? {} : { resume }),
  };
}

function toMessage(message: AgentMessage, id: string): Message {
  if (message.role === "tool") return toToolMessage(message, id);
  const name = message.name === undefined ? {} : { name: message.name };
  switch (message.role) {
    case "user":
      return { id, role: "user", content: message.content, ...name };
    case "system":
      return { id, role: "system", content: message.content, ...name };
    case "developer":
      return { id, role: "developer", content: message.content, ...name };
    case "assistant": {
      const { content, toolCalls } = message;
      const said = content === undefined ? {} : { content };
      const called = toolCalls === undefined ? {} : { toolCalls: toolCalls.map(toToolCall) };
      return { id, role: "assistant", ...said, ...called, ...name };
    }
  }
}

/** AG-UI has no name on a tool's message, and says why a call failed instead of that it did. */
function toToolMessage({ toolCallId, content, isError }: ToolAgentMessage, id: string): Message {
  return { id, role: "tool", toolCallId, content, ...(isError ? { error: textOf(content) } : {}) };
}

function textOf(content: string | readonly ContentPart[]): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

function toToolCall(call: ToolCall): AguiToolCall {
  const text = call.argumentsText ?? JSON.stringify(call.arguments);
  return { id: call.toolCallId, type: "function", function: { name: call.toolName, arguments: text } };
}
