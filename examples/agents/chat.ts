/**
 * The agent `chat` answers what was said last, word by word.
 *
 * It needs no model: it greets, counts the words, and says what it heard, so its answers are always the same. In an
 * agent of yours, a model stands in place of `answerTo`.
 */
import { defineAgent } from "heddle/agent";
import type { RunContext } from "heddle/agent";

type Input = RunContext["input"];

/** Answers what was said last. */
export const chat = defineAgent({
  name: "chat",
  description: "Answers what was said last, word by word.",
  async run({ input, emit }) {
    const reply = emit.text();
    for (const word of answerTo(lastQuestion(input)).split(/(?<= )/)) await reply.write(word);
  },
});

/** The text of the newest user message; other parts of it are skipped. */
function lastQuestion({ messages }: Input): string {
  const content = messages.findLast(({ role }) => role === "user")?.content ?? "";
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ") : "";
}

function answerTo(question: string): string {
  const words = question.trim().split(/\s+/).filter(Boolean);
  if (words.length === 0) return "Hello! Say something, and I will tell you what I heard.";
  if (/^(hi|hello|hey)\b/i.test(question.trim())) return "Hello! What would you like to talk about?";
  return `You said ${words.length} ${words.length === 1 ? "word" : "words"}: “${words.join(" ")}”. Tell me more.`;
}
