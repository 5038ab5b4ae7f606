/**
 * The agent that thinks aloud: it looks for the factors of a number, shows how it goes about it, and then answers.
 *
 * Thoughts are messages of their own kind, apart from the answer, so a client can show them differently or not at all.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent } from "heddle/agent";
import type { Agent, RunContext } from "heddle/agent";
import { userTexts } from "./conversation.ts";
import type { SampleAgentOptions } from "./simple-agent.ts";
import { countWords, streamWords } from "./stream-words.ts";

/** What the agent is made with. */
export interface ReasoningAgentOptions extends SampleAgentOptions {
  /** Whether it shows its thoughts. The answer is the same either way. */
  readonly enableReasoning: boolean;
}

/** Larger numbers would take too long to take apart by trying. */
const LARGEST = 1_000_000_000;

/** Makes the agent. */
export function reasoningAgent({ name, modelId, paceMs, enableReasoning }: ReasoningAgentOptions): Agent {
  return defineAgent({
    name,
    description: "Takes a number apart into its factors, and shows how it thinks.",
    // Step 1: say that it reasons, so that clients know what to expect.
    capabilities: {
      reasoning: { supported: enableReasoning, streaming: enableReasoning },
      custom: { examples: ["Is 221 prime?", "What are the factors of 5040?"] },
    },
    async run({ input, emit, signal }) {
      const question = userTexts(input.messages).at(-1) ?? "";
      const number = Number(/\d+/.exec(question.replaceAll(/(?<=\d)[ ,.'](?=\d{3})/g, ""))?.[0] ?? Number.NaN);
      const isTooLarge = number > LARGEST;
      const work = Number.isNaN(number) || isTooLarge || number < 2 ? [] : factorise(number);

      // Step 2: thoughts are streamed like text, by a writer of their own. Here the setting switches them on or off;
      // `reasoning: false` of an endpoint hides them even where the agent thinks.
      if (enableReasoning && work.length > 0) {
        await emit.step("Taking the number apart", () => think({ emit, signal }, number, work, paceMs));
      }

      // Step 3: the answer follows, as a text message.
      const answer = Number.isNaN(number)
        ? "Give me a whole number, and I will take it apart. For example: is 221 prime?"
        : isTooLarge
          ? `I take apart numbers up to ${LARGEST.toLocaleString("en")} only.`
          : verdictOn(number, work);
      const reply = emit.text();
      for await (const word of streamWords(answer, { paceMs }, signal)) await reply.write(word);
      const usage = { inputTokens: countWords(question), outputTokens: countWords(answer) };
      emit.usage({ provider: "sample", model: modelId, ...usage });
    },
  });
}

/** One number that was tried, and what was left to take apart then. */
interface Trial {
  readonly divisor: number;
  readonly rest: number;
  readonly divides: boolean;
}

/** Everything that is tried on the way to the prime factors. */
function factorise(number: number): readonly Trial[] {
  const trials: Trial[] = [];
  let rest = number;
  let divisor = 2;
  while (divisor * divisor <= rest) {
    const divides = rest % divisor === 0;
    trials.push({ divisor, rest, divides });
    if (divides) rest /= divisor;
    else divisor += divisor === 2 ? 1 : 2;
  }
  return [...trials, { divisor: rest, rest, divides: true }];
}

/** At most so many trials are told; the rest is summed up. */
const TOLD = 8;

async function think(
  { emit, signal }: Pick<RunContext, "emit" | "signal">,
  number: number,
  work: readonly Trial[],
  paceMs: number,
): Promise<void> {
  const told = work.length > TOLD ? [...work.slice(0, TOLD - 1), ...work.slice(-1)] : work;
  const thought = emit.reasoning();
  const say = async (text: string): Promise<void> => {
    for await (const word of streamWords(text, { paceMs }, signal)) await thought.write(word);
  };
  await say(`To take ${number} apart I try small numbers, until one is larger than the root of what is left.\n`);
  // Progress is something for people to look at while they wait; each update changes what is shown.
  const progress = emit.activity("progress", { title: "Trying divisors", done: 0, total: told.length });
  for (const [index, { divisor, rest, divides }] of told.entries()) {
    if (index === TOLD - 1 && work.length > TOLD) await say(`I try ${work.length - TOLD} more in the same way.\n`);
    if (index === told.length - 1)
      await say(rest === number ? `Nothing divides ${number}.` : `Nothing divides ${rest} any further.`);
    else if (divides) await say(`${divisor} divides ${rest}: ${rest / divisor} is left.\n`);
    else await say(`${divisor} does not divide ${rest}: ${rest % divisor} would remain.\n`);
    await progress.update((draft) => void (draft.done = index + 1));
    if (paceMs > 0) await sleep(paceMs, undefined, { signal });
  }
  await thought.end();
}

function verdictOn(number: number, work: readonly Trial[]): string {
  if (number < 2) return `${number} is neither prime nor a product of primes.`;
  const factors = work.flatMap(({ divisor, divides }) => (divides ? [divisor] : []));
  return factors.length === 1 ? `${number} is prime.` : `${number} is not prime: it is ${factors.join(" × ")}.`;
}
