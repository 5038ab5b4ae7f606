/**
 * Whether a client's copy of a message says what the log's says.
 *
 * Only what a person or a model reads counts: role, content, calls, errors. Metadata, attribution and encrypted values
 * may be missing from a copy (older clients strip them) and change nothing. Text without parts stands for the parts
 * that it was flattened from, so a client that reads text only does not seem to edit what it repeats. Ids are not
 * compared: who calls has matched them, or has none.
 */
import type { ContentPart, Message, ToolCall } from "../../protocol/index.ts";

/** A message of any role, with or without an id. */
export type LooseMessage = WithoutId<Message>;

type WithoutId<M> = M extends Message ? Omit<M, "id"> & { readonly id?: string } : never;

type Content = string | readonly ContentPart[];

/** Whether a copy says the same as the original. */
export function sameMessage(copy: LooseMessage, original: LooseMessage): boolean {
  if (copy === original) return true;
  switch (copy.role) {
    case "activity":
      return original.role === "activity";
    case "assistant":
      if (original.role !== "assistant" || (copy.content ?? "") !== (original.content ?? "")) return false;
      return sameCalls(copy.toolCalls ?? [], original.toolCalls ?? []);
    case "tool":
      if (original.role !== "tool" || copy.toolCallId !== original.toolCallId) return false;
      return copy.error === original.error && sameContent(copy.content, original.content);
    case "user":
      return original.role === "user" && sameContent(copy.content, original.content);
    default:
      return copy.role === original.role && copy.content === original.content;
  }
}

function sameCalls(copy: readonly ToolCall[], original: readonly ToolCall[]): boolean {
  return (
    copy.length === original.length &&
    copy.every(({ id, function: { name, arguments: args } }, index) => {
      const other = original[index];
      return other?.id === id && other.function.name === name && other.function.arguments === args;
    })
  );
}

function sameContent(copy: Content, original: Content): boolean {
  if (typeof copy === "string") return copy === (typeof original === "string" ? original : textOf(original));
  if (typeof original === "string") return copy.every(({ type }) => type === "text") && textOf(copy) === original;
  return (
    copy.length === original.length &&
    copy.every((part, index) => {
      const other = original[index];
      if (part.type === "text") return other?.type === "text" && other.text === part.text;
      if (other === undefined || other.type === "text") return false;
      return (
        other.type === part.type && other.source.type === part.source.type && other.source.value === part.source.value
      );
    })
  );
}

const textOf = (parts: readonly ContentPart[]): string =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("");
