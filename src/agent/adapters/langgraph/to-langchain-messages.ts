/**
 * A conversation of AG-UI as LangChain's messages, under the same ids.
 *
 * Reasoning goes back only where this adapter sealed the block that its provider issued; it is put before the text that
 * followed it. Activities, and records of answers, are not for models.
 */
import type { BaseMessage } from "@langchain/core/messages";
import { METADATA_KEY } from "../../../protocol/index.ts";
import type { AssistantMessage, ContentPart, Message, ToolMessage } from "../../../protocol/index.ts";
import { isAnswerRecord } from "../../answer-record.ts";
import { isRecord, parseRecord } from "../provider/fields.ts";
import { unseal } from "../provider/opaque.ts";
import type { OnWarning } from "../provider/warnings.ts";
import { ISSUER } from "./issuer.ts";
import { loadMessages } from "./load-langgraph.ts";

type Block = Readonly<Record<string, unknown>> & { readonly type: string };
type Content = string | Block[];

/** Options of `toLangChainMessages`. */
export interface ToLangChainMessagesOptions {
  /** Told what could not be said to the graph. */
  readonly onWarning?: OnWarning;
}

const ignore = (): void => {};

/** Messages for a graph's state. Loads `@langchain/core`. */
export async function toLangChainMessages(
  messages: readonly Message[],
  { onWarning = ignore }: ToLangChainMessagesOptions = {},
): Promise<BaseMessage[]> {
  const { AIMessage, HumanMessage, SystemMessage, ToolMessage } = await loadMessages();
  let thoughts: Block[] = [];
  return messages.flatMap((message): BaseMessage[] => {
    const { id } = message;
    switch (message.role) {
      case "activity":
        return [];
      case "reasoning": {
        const block = unseal(ISSUER, message);
        if (isBlock(block)) thoughts.push(block);
        return [];
      }
      case "user":
        return [new HumanMessage({ id, content: contentOf(message.content, onWarning), ...nameOf(message) })];
      case "system":
      case "developer":
        return isAnswerRecord(message) ? [] : [new SystemMessage({ id, content: message.content })];
      case "assistant": {
        const before = thoughts;
        thoughts = [];
        return [new AIMessage({ id, ...assistantFields(message, before) })];
      }
      case "tool": {
        const content = contentOf(message.content, onWarning);
        const status = hasFailed(message) ? "error" : "success";
        return [new ToolMessage({ id, content, tool_call_id: message.toolCallId, status })];
      }
    }
  });
}

const isBlock = (value: unknown): value is Block => isRecord(value) && typeof value["type"] === "string";

const nameOf = ({ name }: { readonly name?: string }): { readonly name?: string } =>
  name === undefined ? {} : { name };

function assistantFields({ content = "", toolCalls = [] }: AssistantMessage, thoughts: readonly Block[]) {
  const text: Block[] = content === "" ? [] : [{ type: "text", text: content }];
  const calls = toolCalls.map((call) => ({ id: call.id, name: call.function.name, text: call.function.arguments }));
  return {
    content: thoughts.length === 0 ? content : [...thoughts, ...text],
    tool_calls: calls.flatMap(({ id, name, text }) => {
      const args = parseRecord(text === "" ? "{}" : text);
      return args === undefined ? [] : [{ type: "tool_call" as const, id, name, args }];
    }),
    invalid_tool_calls: calls.flatMap(({ id, name, text }) =>
      text === "" || parseRecord(text) !== undefined
        ? []
        : [{ type: "invalid_tool_call" as const, id, name, args: text, error: "The arguments are no JSON object." }],
    ),
  };
}

function hasFailed({ error, metadata }: ToolMessage): boolean {
  const own: unknown = metadata?.[METADATA_KEY];
  return error !== undefined || (isRecord(own) && own["error"] !== undefined && own["error"] !== false);
}

function contentOf(content: string | readonly ContentPart[], warn: OnWarning): Content {
  if (typeof content === "string") return content;
  return content.flatMap((part): Block[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    const { source } = part;
    const common = {
      type: part.type === "document" ? "file" : part.type,
      ...(source.mimeType === undefined ? {} : { mimeType: source.mimeType }),
    };
    if (source.type === "data") return [{ ...common, data: source.value }];
    if (source.type === "url") return [{ ...common, url: source.value }];
    if (source.provider !== undefined) return [{ ...common, fileId: source.value }];
    warn(`Left out a part of type ${part.type}: its file names no provider.`);
    return [];
  });
}
