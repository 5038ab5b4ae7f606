/**
 * The simple agent: it answers in text, and remembers what was said before.
 *
 * It needs no model, so its answers are always the same. In an agent of yours, a model stands in place of `answerTo`.
 */
import { defineAgent } from "heddle/agent";
import type { Agent } from "heddle/agent";
import { userTexts } from "./conversation.ts";
import { countWords, streamWords } from "./stream-words.ts";
import type { Pace } from "./stream-words.ts";

/** What an agent of the sample is made with. */
export interface SampleAgentOptions extends Pace {
  /** Name in URLs. */
  readonly name: string;
  /** The model that it names as its own; scripted here. */
  readonly modelId: string;
}

/** Makes the agent. */
export function simpleAgent({ name, modelId, paceMs }: SampleAgentOptions): Agent {
  // Step 1: an agent is a name and a function that speaks while it runs.
  return defineAgent({
    name,
    description: "Talks, and remembers what you said before.",
    // Things to say to it, for clients that propose some. `custom` is where an agent tells what AG-UI has no field for.
    capabilities: { custom: { examples: ["My name is Ada", "What did I say so far?", "What can you do?"] } },
    async run({ input, emit, signal }) {
      // Step 2: the input holds the whole conversation. The server kept it; the client sent only what is new.
      const said = userTexts(input.messages);
      const newest = said.at(-1) ?? "";

      // Step 3: whatever is thrown ends the run with an error that the client is told.
      if (/^fail\b/i.test(newest.trim())) throw new Error("You asked me to fail, so I did. Nothing else is wrong.");

      // Step 4: text is written piece by piece. The message opens with the first piece, and closes by itself.
      const answer = answerTo(newest, said.slice(0, -1));
      const reply = emit.text();
      for await (const word of streamWords(answer, { paceMs }, signal)) await reply.write(word);

      // Step 5: what it cost is reported when the run ends.
      const inputTokens = said.reduce((sum, text) => sum + countWords(text), 0);
      emit.usage({ provider: "sample", model: modelId, inputTokens, outputTokens: countWords(answer) });
    },
  });
}

/** In place of a model: an answer to what was said last, by what was said before. */
function answerTo(newest: string, earlier: readonly string[]): string {
  const text = newest.trim();
  if (/\b(what('s| is) my name|who am i)\b/i.test(text)) return aboutName(earlier);
  if (/\bwhat (did|have) i (say|said|tell|told)\b|\bso far\b|\bremember\b.*\?/i.test(text))
    return aboutEarlier(earlier);
  const name = nameIn(text);
  if (name !== undefined) return `Nice to meet you, ${name}. Ask me later what your name is: I will know.`;
  if (/^(hi|hello|hey|good (morning|evening))\b/i.test(text)) return greeting(earlier);
  if (/\b(help|what can you do)\b/i.test(text)) return HELP;
  if (/\b(thanks|thank you)\b/i.test(text)) return "You are welcome.";
  if (text === "") return "You sent nothing that I can read. Say something?";
  const heard = /[.!?…]$/.test(text) ? `“${text}”` : `“${text}”.`;
  return `I heard: ${heard} That is message ${earlier.length + 1} of our conversation, and I keep all of them in mind.`;
}

const HELP =
  "I talk, and I remember. Tell me your name, ask me for it later, or ask what you said so far. " +
  "Say “fail”, and I show what an error looks like.";

const nameIn = (text: string): string | undefined => /\b(?:my name is|call me)\s+(\p{Lu}[\p{L}'-]*)/iu.exec(text)?.[1];

function aboutName(earlier: readonly string[]): string {
  const name = earlier.map(nameIn).findLast((found) => found !== undefined);
  return name === undefined
    ? "You have not told me your name yet. Say “My name is Ada”, and I will remember it."
    : `Your name is ${name}. You told me earlier in this conversation.`;
}

function aboutEarlier(earlier: readonly string[]): string {
  if (earlier.length === 0) return "This is your first message: there is nothing before it.";
  const list = earlier.map((text) => `“${text}”`).join(", then ");
  return `So far you said ${list}.`;
}

function greeting(earlier: readonly string[]): string {
  const name = earlier.map(nameIn).findLast((found) => found !== undefined);
  return name === undefined ? "Hello! What is your name?" : `Hello again, ${name}!`;
}
