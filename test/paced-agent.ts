/** An agent in this process that says what a test tells it to, when the test tells it, thread by thread. */
import { defineAgent } from "../src/agent/index.ts";
import type { Agent, Emit } from "../src/agent/index.ts";

type Deed = (emit: Emit) => unknown;

/** Who tells the agent what to do in one thread. */
export interface Pace {
  /** Says words, each as a message of its own. */
  say(...words: readonly string[]): void;
  /** Does something else. */
  do(deed: Deed): void;
  /** Ends the run. */
  end(): void;
}

/** The agent, and its pace in a thread. */
export interface PacedAgent {
  /** The agent. */
  readonly agent: Agent;
  /** Its pace in a thread; what is told before the run begins is done when it does. */
  in(threadId: string): Pace;
}

interface Line {
  readonly deeds: (Deed | undefined)[];
  wake: () => void;
}

/** Makes one. */
export function pacedAgent(name = "paced"): PacedAgent {
  const lines = new Map<string, Line>();
  const lineOf = (threadId: string): Line => {
    const line = lines.get(threadId) ?? { deeds: [], wake: () => undefined };
    lines.set(threadId, line);
    return line;
  };
  const agent = defineAgent({
    name,
    async run({ emit, input, signal }) {
      const line = lineOf(input.threadId);
      signal.addEventListener("abort", () => line.wake());
      while (!signal.aborted) {
        const [deed] = line.deeds;
        if (line.deeds.length === 0) {
          await new Promise<void>((resolve) => {
            line.wake = resolve;
          });
          continue;
        }
        line.deeds.shift();
        if (deed === undefined) return;
        await deed(emit);
      }
    },
  });
  return {
    agent,
    in(threadId) {
      const add = (deed: Deed | undefined): void => {
        const line = lineOf(threadId);
        line.deeds.push(deed);
        line.wake();
      };
      const say = (word: string): void =>
        add(async (emit) => {
          const text = emit.text();
          await text.write(word);
          await text.end();
        });
      return { say: (...words) => words.forEach(say), do: add, end: () => add(undefined) };
    },
  };
}
