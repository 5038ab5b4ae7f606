/**
 * The agent `reasoning` thinks before it answers: it looks for the factors of a number, and shows how.
 *
 * Ask "Is 91 prime?". Forwarded properties `{"reasoning": false}` switch the thinking off; the answer stays the same.
 */
import { defineAgent } from "heddle/agent";

const MAX = 1_000_000;

/** Says whether a number is prime, and thinks aloud about it. */
export const reasoning = defineAgent({
  name: "reasoning",
  description: "Says whether a number is prime, and shows how it found out.",
  capabilities: { reasoning: { supported: true, streaming: true } },
  async run({ input, emit }) {
    const number = numberIn(input.messages.findLast(({ role }) => role === "user")?.content);
    const divisor = divisorOf(number);
    if (!isSwitchedOff(input.forwardedProps)) {
      const thought = emit.reasoning();
      await thought.write(`Is ${number} prime? I try every number whose square is not larger. `);
      for (let candidate = 2; candidate * candidate <= number && candidate <= (divisor ?? 12); candidate++) {
        const rest = number % candidate;
        await thought.write(rest === 0 ? `${candidate} divides it. ` : `${candidate} leaves ${rest}. `);
      }
      await thought.write(divisor === undefined ? "None divides it." : "That settles it.");
      await thought.end();
    }
    const verdict = divisor === undefined ? "is prime" : `is ${divisor} × ${number / divisor}, so it is not prime`;
    await emit.text().write(number < 2 ? `${number} is neither prime nor composite.` : `${number} ${verdict}.`);
  },
});

const isSwitchedOff = (props: unknown): boolean =>
  typeof props === "object" && props !== null && Reflect.get(props, "reasoning") === false;

/** The first number of a text, 91 where there is none. */
function numberIn(content: unknown): number {
  const found = typeof content === "string" ? /\d+/.exec(content)?.[0] : undefined;
  return Math.min(Number(found ?? 91), MAX);
}

/** The smallest divisor above 1, or undefined. */
function divisorOf(number: number): number | undefined {
  for (let candidate = 2; candidate * candidate <= number; candidate++) if (number % candidate === 0) return candidate;
  return undefined;
}
