/**
 * AG-UI's run input as the request of the session dialect: the way back from session-input-to-run-input.ts.
 *
 * The whole conversation goes along, ids included, which servers built to the seed overlook. Activities and reasoning
 * are no messages of the dialect. It has no place for tools, context, state and properties beside `options` either:
 * where a run has such, a warning says so.
 */
import type { Enforced, Warning } from "../enforce.ts";
import type { Message, RunAgentInput, ToolCall as AguiToolCall } from "../generated/model.ts";
import type { AgentMessage, SessionRunInput, ToolCall } from "./model.ts";
import { parseArguments } from "./parse-arguments.ts";
import { toolErrorOf } from "./to-tool-result.ts";

/** The request; `forwardedProps.options` become `data.options`. Without a `sessionId` the server begins a session. */
export function runInputToSessionInput(input: RunAgentInput, sessionId?: string): Enforced<SessionRunInput> {
  const { resume } = input;
  const options = optionsOf(input.forwardedProps);
  const value: SessionRunInput = {
    type: "run-agent",
    ...(sessionId === undefined ? {} : { sessionId }),
    data: {
      messages: input.messages.flatMap(toAgentMessage),
      ...(options === undefined ? {} : { options }),
      ...(resume === undefined || resume.length === 0 ? {} : { resume }),
    },
  };
  return { value, warnings: lostOf(input) };
}

function toAgentMessage(message: Message): readonly AgentMessage[] {
  const { id } = message;
  switch (message.role) {
    case "user":
    case "system":
    case "developer": {
      const name = message.name === undefined ? {} : { name: message.name };
      if (message.role === "user") return [{ role: message.role, id, content: message.content, ...name }];
      return [{ role: message.role, id, content: message.content, ...name }];
    }
    case "assistant": {
      const { content, toolCalls, name } = message;
      const said = content === undefined ? {} : { content };
      const called = toolCalls === undefined ? {} : { toolCalls: toolCalls.map(toSessionCall) };
      return [{ role: "assistant", id, ...said, ...called, ...(name === undefined ? {} : { name }) }];
    }
    case "tool": {
      const { toolCallId, content, error = toolErrorOf(message.metadata) } = message;
      return [{ role: "tool", id, toolCallId, content, ...(error === undefined ? {} : { isError: true }) }];
    }
    case "reasoning":
    case "activity":
      return [];
  }
}

function toSessionCall({ id: toolCallId, function: { name: toolName, arguments: text } }: AguiToolCall): ToolCall {
  return { toolCallId, toolName, ...parseArguments(text) };
}

function optionsOf(forwarded: unknown): Readonly<Record<string, unknown>> | undefined {
  const options = isRecord(forwarded) ? forwarded["options"] : undefined;
  return isRecord(options) ? options : undefined;
}

function lostOf({ tools = [], context = [], state, forwardedProps }: RunAgentInput): readonly Warning[] {
  const beside = isRecord(forwardedProps) ? Object.keys(forwardedProps).filter((name) => name !== "options") : [];
  const lost = {
    tools: tools.length > 0,
    context: context.length > 0,
    state: isRecord(state) ? Object.keys(state).length > 0 : state !== undefined && state !== null,
    forwardedProps: beside.length > 0,
  };
  return Object.entries(lost).flatMap(([name, isLost]): readonly Warning[] => {
    const message = `The session dialect has no place for ${name}: the agent does not get it.`;
    return isLost ? [{ code: "lossy-projection", path: `/${name}`, message }] : [];
  });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
