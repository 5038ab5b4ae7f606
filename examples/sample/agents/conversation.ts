/** What was said so far: the texts of the user's messages, in order. The server hands the agent the whole conversation. */
import type { RunContext } from "heddle/agent";

type Messages = RunContext["input"]["messages"];

/** Everything that the user said, the newest last. */
export const userTexts = (messages: Messages): readonly string[] =>
  messages.flatMap((message) => (message.role === "user" ? [textOf(message.content)] : []));

/** The text of a message; pictures and other parts are skipped. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  return parts.flatMap((part) => (isText(part) ? [part.text] : [])).join(" ");
}

const isText = (part: unknown): part is { readonly text: string } =>
  typeof part === "object" && part !== null && "text" in part && typeof part.text === "string";
