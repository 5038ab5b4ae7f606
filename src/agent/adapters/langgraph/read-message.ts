/**
 * Messages of LangChain, read by what they hold and not by their class: the package may be installed twice, and a remote
 * graph sends plain objects.
 */
import type { TokenUsage } from "../../../protocol/index.ts";
import { isRecord } from "../provider/fields.ts";

/** A message of LangChain. */
export interface LangChainMessage {
  /** Whose it is: `ai`, `human`, `tool`, `system`, `developer`, `remove`, or another word. */
  readonly kind: string;
  /** Whether it is a piece of a message. */
  readonly isChunk: boolean;
  /** Its id, where it has one already. */
  readonly id: string | undefined;
  /** The object itself. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A piece of a message's content. */
export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string; readonly block?: Readonly<Record<string, unknown>> }
  | { readonly kind: "other"; readonly type: string };

/** Reads a message: an instance, a plain object, or LangChain's serialised form. Undefined where the value is none. */
export function readMessage(given: unknown): LangChainMessage | undefined {
  if (!isRecord(given)) return undefined;
  const { kwargs, id: path } = given;
  const isSerialised = given["lc"] === 1 && isRecord(kwargs) && Array.isArray(path);
  const value: Readonly<Record<string, unknown>> = isSerialised ? { ...kwargs, type: path.at(-1) } : given;
  const type = typeof value["getType"] === "function" ? String(value["getType"]()) : value["type"];
  if (typeof type !== "string") return undefined;
  const kind = KINDS[type] ?? type;
  const isChunk = Array.isArray(value["tool_call_chunks"]) || type.endsWith("Chunk");
  return { kind, isChunk, id: typeof value["id"] === "string" ? value["id"] : undefined, fields: value };
}

const KINDS: Readonly<Record<string, string>> = {
  AIMessage: "ai",
  AIMessageChunk: "ai",
  HumanMessage: "human",
  RemoveMessage: "remove",
  SystemMessage: "system",
  ToolMessage: "tool",
  assistant: "ai",
  user: "human",
};

/** The pieces of a message, in order. Calls are not among them: LangChain keeps them apart. */
export function piecesOf({ fields }: LangChainMessage): readonly Piece[] {
  const { content, additional_kwargs: extra } = fields;
  const pieces: Piece[] = [];
  const thought = isRecord(extra) ? extra["reasoning_content"] : undefined;
  if (typeof thought === "string" && thought !== "") pieces.push({ kind: "reasoning", text: thought });
  const blocks: readonly unknown[] = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  for (const block of blocks) pieces.push(...pieceOf(block));
  return pieces;
}

function pieceOf(block: unknown): readonly Piece[] {
  if (!isRecord(block)) return [];
  const { type, text, reasoning, thinking, summary } = block;
  switch (type) {
    case "text":
    case "text_delta":
    case "output_text":
      return typeof text === "string" && text !== "" ? [{ kind: "text", text }] : [];
    case "thinking":
      return [{ kind: "reasoning", text: typeof thinking === "string" ? thinking : "", block }];
    case "reasoning":
      return [{ kind: "reasoning", text: typeof reasoning === "string" ? reasoning : summaryText(summary), block }];
    case "redacted_thinking":
      return [{ kind: "reasoning", text: "", block }];
    case "tool_use":
    case "tool_call":
    case "tool_call_chunk":
    case "input_json_delta":
    case "function_call":
      return [];
    default:
      return [{ kind: "other", type: String(type) }];
  }
}

const summaryText = (summary: unknown): string =>
  listOf(summary)
    .map((part) => (isRecord(part) && typeof part["text"] === "string" ? part["text"] : ""))
    .join("\n\n");

/** What a message cost, where it says so. */
export function usageOf(
  { fields }: LangChainMessage,
  metadata: Readonly<Record<string, unknown>>,
): readonly TokenUsage[] {
  const { usage_metadata: usage, response_metadata: response } = fields;
  if (!isRecord(usage)) return [];
  const input = isRecord(usage["input_token_details"]) ? usage["input_token_details"] : {};
  const output = isRecord(usage["output_token_details"]) ? usage["output_token_details"] : {};
  const named = isRecord(response) ? response["model_name"] : undefined;
  const model = [metadata["ls_model_name"], named].find((name) => typeof name === "string");
  const provider = metadata["ls_provider"];
  const counts = {
    inputTokens: usage["input_tokens"],
    outputTokens: usage["output_tokens"],
    reasoningTokens: output["reasoning"],
    cachedInputTokens: input["cache_read"],
    cacheWriteInputTokens: input["cache_creation"],
  };
  const known = Object.entries(counts).filter(([, count]) => Number.isSafeInteger(count) && Number(count) >= 0);
  if (known.length === 0) return [];
  return [
    {
      ...(typeof provider === "string" ? { provider: provider.toLowerCase() } : {}),
      ...(typeof model === "string" ? { model } : {}),
      ...Object.fromEntries(known),
    },
  ];
}

/** A list, or an empty one for whatever is none. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
