/**
 * What a tool returned, as the session dialect shows it.
 *
 * The seed knows results as text only. A result of content parts is given twice: as text, in which an image or other
 * medium is a note such as `[image: image/png]`, for clients built to the seed; and whole, as AG-UI's parts, for
 * those that can show it. Bytes are never put into the text.
 */
import type { ContentPart, ToolCallResultEvent } from "../generated/model.ts";
import type { ToolResult } from "./model.ts";

/** A result as text, with the parts beside it where it has any. */
export function toToolResult({ toolCallId, content, metadata }: ToolCallResultEvent): ToolResult {
  const error = toolErrorOf(metadata);
  const failure = { isError: error !== undefined, ...(typeof error === "string" ? { error } : {}) };
  if (typeof content === "string") return { toolCallId, result: content, ...failure };
  return { toolCallId, result: content.map(partAsText).join("\n"), ...failure, parts: content };
}

/** `metadata.heddle.error`: true, or the reason; AG-UI's event has no field for it. */
export function toolErrorOf(metadata: ToolCallResultEvent["metadata"]): unknown {
  const own = metadata?.["heddle"];
  const error = typeof own === "object" && own !== null && "error" in own ? own.error : undefined;
  return error === null || error === false ? undefined : error;
}

function partAsText(part: ContentPart): string {
  if (part.type === "text") return part.text;
  const { source } = part;
  const where = source.type === "data" ? source.mimeType : source.value;
  return `[${part.type}: ${where}]`;
}
