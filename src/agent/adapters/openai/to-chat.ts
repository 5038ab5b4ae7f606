/**
 * A thread as the request body of Chat Completions.
 *
 * One assistant message for each answer, its calls in it and their results directly behind it: that is what the API
 * asks for, and what the templates of local models can render. Reasoning stays here, unless a server gave details of it
 * to be returned, or wants its text.
 */
import type { ModelRequest } from "../../index.ts";
import { callArgumentText } from "../provider/call-arguments.ts";
import { unseal } from "../provider/opaque.ts";
import { describePart, textOfParts } from "../provider/parts.ts";
import type { MediaPart } from "../provider/parts.ts";
import { CONTINUE, toTurns } from "../provider/turns.ts";
import type { AnswerPart, CallTurn } from "../provider/turns.ts";
import { warnOnce } from "../provider/warnings.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { WireIds, WireNames, uniqueTools } from "../provider/wire-names.ts";
import { toChatParts } from "./chat-parts.ts";
import type { OpenAiChatPart } from "./chat-parts.ts";

/** What is asked: the conversation, the tools and the surroundings. */
export type OpenAiRequestInput = Pick<ModelRequest, "messages"> & Partial<Pick<ModelRequest, "tools" | "context">>;

/** How a request is built. */
export interface OpenAiRequestOptions {
  /** The model. */
  readonly model: string;
  /** Instructions of the agent, before everything else. */
  readonly instructions?: string;
  /** Label of the provider; only what it issued goes back to it. Default `openai`. */
  readonly provider?: string;
  /** Further members of the body, `temperature` or `reasoning` say; they win over ours, and `tools` are added to ours. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Told, in a sentence, of each thing that was left out. */
  readonly onWarning?: OnWarning;
}

/** How a chat request is built. */
export interface OpenAiChatOptions extends OpenAiRequestOptions {
  /** Role of developer messages. Default `system`, which OpenAI takes as the same and other servers know. */
  readonly developerRole?: "system" | "developer";
  /** Field in which the server wants reasoning back, `reasoning_content` say. Default none: OpenAI takes none. */
  readonly reasoningField?: string;
}

/** One call of an assistant message. */
export type OpenAiChatCall =
  | { id: string; type: "function"; function: { name: string; arguments: string } }
  | { id: string; type: "custom"; custom: { name: string; input: string } };

/** One message of the body. */
export type OpenAiChatMessage =
  | { role: "system" | "developer"; content: string }
  | { role: "user"; content: string | OpenAiChatPart[] }
  | { role: "assistant"; content: string | null; tool_calls?: OpenAiChatCall[] }
  | { role: "tool"; tool_call_id: string; content: string };

/** A tool that the model may call. */
export interface OpenAiChatTool {
  /** Always a function. */
  type: "function";
  /** Its name, what it does, and its arguments. */
  function: { name: string; description: string; parameters?: Record<string, unknown> };
}

/** The body of a request. */
export interface OpenAiChatBody {
  /** The model. */
  model: string;
  /** Always streamed. */
  stream: true;
  /** Asks for the tokens spent. */
  stream_options: { include_usage: boolean };
  /** The conversation. */
  messages: OpenAiChatMessage[];
  /** The tools; absent where there are none. */
  tools?: OpenAiChatTool[];
}

/** OpenAI refuses ids of more than 40 characters. */
const CALL_ID = /^.{1,40}$/s;

/** The body of a chat request for a thread. */
export function toOpenAiChat(input: OpenAiRequestInput, options: OpenAiChatOptions): OpenAiChatBody {
  const { provider = "openai", model, body = {} } = options;
  const { messages, tools = [], context = [] } = input;
  const warn = warnOnce(options.onWarning);
  const names = new WireNames(tools);
  const ids = new WireIds(CALL_ID);
  const { instructions = "" } = options;
  const written = toTurns(messages, { instructions, context }, warn).flatMap((turn): OpenAiChatMessage[] => {
    switch (turn.kind) {
      case "instruction": {
        const role = turn.role === "developer" ? (options.developerRole ?? "system") : "system";
        return [{ role, content: turn.text }];
      }
      case "user": {
        const { content, id } = turn.message;
        if (typeof content === "string") return [{ role: "user", content }];
        const parts = toChatParts(content, provider, warn);
        if (parts.length === 0) warn(`The message ${id} was left out: nothing of it can be sent.`);
        return parts.length === 0 ? [] : [{ role: "user", content: parts }];
      }
      case "answer":
        return toAnswer(turn.parts, { ...options, provider, names, ids, warn });
    }
  });
  if (!written.some(({ role }) => role !== "system" && role !== "developer")) {
    written.push({ role: "user", content: CONTINUE });
  }
  const functions = uniqueTools(tools).map(({ name, description, parameters }): OpenAiChatTool => ({
    type: "function",
    function: { name: names.toWire(name), description, ...parametersOf(parameters) },
  }));
  return withExtras(
    { model, stream: true, stream_options: { include_usage: true }, messages: written },
    functions,
    body,
  );
}

interface AnswerContext extends OpenAiChatOptions {
  readonly provider: string;
  readonly names: WireNames;
  readonly ids: WireIds;
  readonly warn: OnWarning;
}

function toAnswer(parts: readonly AnswerPart[], context: AnswerContext): OpenAiChatMessage[] {
  const { names, ids, warn, provider, reasoningField } = context;
  const text = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n\n");
  const thought = parts.flatMap((part) => (part.kind === "reasoning" ? [part.message.content] : [])).join("\n\n");
  const details = parts.flatMap((part) => {
    const block = part.kind === "reasoning" ? unseal(provider, part.message) : undefined;
    return Array.isArray(block?.["reasoning_details"]) ? block["reasoning_details"] : [];
  });
  const calls = parts
    .filter((part) => part.kind === "call")
    .map((turn) => ({ turn, id: ids.next(turn.call.id), name: names.toWire(turn.call.function.name) }));
  if (text === "" && calls.length === 0) return [];
  const tool_calls = calls.map(({ turn, id, name }) => toCall(turn, id, name, provider));
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      ...(reasoningField === undefined || thought === "" ? {} : { [reasoningField]: thought }),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(tool_calls.length === 0 ? {} : { tool_calls }),
    },
    ...calls.map(({ turn: { result }, id }): OpenAiChatMessage => {
      const content = typeof result === "string" ? result : textOfParts(result, (part) => warn(droppedResult(part)));
      return { role: "tool", tool_call_id: id, content };
    }),
  ];
}

const droppedResult = (part: MediaPart): string =>
  `A part of a result was left out, which Chat Completions takes as text only: ${describePart(part)}.`;

function toCall({ call }: CallTurn, id: string, name: string, provider: string): OpenAiChatCall {
  const { arguments: text } = call.function;
  if (isCustomCall(call.metadata, provider)) return { id, type: "custom", custom: { name, input: text } };
  const block = unseal(provider, call);
  const extra = block?.["type"] === "extra_content" ? { extra_content: block["extra_content"] } : {};
  return { id, type: "function", function: { name, arguments: callArgumentText(text) }, ...extra };
}

/** Whether a call was one of plain text: it has to go back as one. */
export function isCustomCall(metadata: Readonly<Record<string, unknown>> | undefined, provider: string): boolean {
  const words: unknown = metadata?.[provider];
  return typeof words === "object" && words !== null && "type" in words && words.type === "custom";
}

function parametersOf(schema: unknown): { parameters?: Record<string, unknown> } {
  return typeof schema === "object" && schema !== null ? { parameters: { ...schema } } : {};
}

/** The body with the tools and the members that the caller adds; tools of both are kept. */
export function withExtras<B extends object, T>(
  body: B,
  tools: readonly T[],
  extras: Readonly<Record<string, unknown>>,
): B & { tools?: T[] } {
  const added: readonly T[] = Array.isArray(extras["tools"]) ? extras["tools"] : [];
  const all = [...tools, ...added];
  const { tools: _tools, ...rest } = extras;
  return { ...body, ...rest, ...(all.length === 0 ? {} : { tools: all }) };
}
