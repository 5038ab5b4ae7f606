/** The text of a content: its text parts, one after the other. */
import type { Message } from "../../protocol/index.ts";

/** The text of a content; empty where it has none. */
export function textOf(content: Message["content"]): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}
