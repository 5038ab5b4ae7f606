/** An agent in the test's own process that says a word whenever the test lets it, and counts how often it was started. */
import { defineAgent } from "../src/agent/index.ts";
import type { Agent } from "../src/agent/index.ts";

/** The agent, and what lets it go on. */
export interface SteppedAgent {
  /** Named `stepped`. */
  readonly agent: Agent;
  /** Lets it say its next word in a thread, and so many. */
  step(threadId: string, words?: number): void;
  /** How often it was started in a thread. */
  starts(threadId: string): number;
}

/** What it says. */
export const WORDS = ["one ", "two ", "three ", "four ", "five ", "six "] as const;

/** All that it says. */
export const SAID = WORDS.join("");

interface Place {
  starts: number;
  steps: number;
  wake: () => void;
}

/** Makes one. The state of the thread counts its words. */
export function steppedAgent(): SteppedAgent {
  const places = new Map<string, Place>();
  const placeOf = (threadId: string): Place => {
    const place = places.get(threadId) ?? { starts: 0, steps: 0, wake: () => undefined };
    places.set(threadId, place);
    return place;
  };
  const agent = defineAgent<{ words: number }>({
    name: "stepped",
    async run({ emit, input, signal }) {
      const place = placeOf(input.threadId);
      place.starts += 1;
      const text = emit.text();
      for (const [index, word] of WORDS.entries()) {
        while (place.steps === 0 && !signal.aborted) {
          await new Promise<void>((resolve) => {
            place.wake = resolve;
            signal.addEventListener("abort", () => resolve(), { once: true });
          });
        }
        if (signal.aborted) return;
        place.steps -= 1;
        await text.write(word);
        await emit.state.set({ words: index + 1 });
      }
    },
  });
  return {
    agent,
    step(threadId, words = 1) {
      const place = placeOf(threadId);
      place.steps += words;
      place.wake();
    },
    starts: (threadId) => placeOf(threadId).starts,
  };
}
