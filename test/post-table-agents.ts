/**
 * The agent of `post-table.test.ts`, under one name for each way in which posts are taken. It tells what it was given in a
 * CUSTOM event, and does what the forwarded properties ask for, which the log does not keep; otherwise it answers.
 */
import { defineAgent } from "heddle/agent";
import type { Agent, RunContext } from "heddle/agent";
import type { PostRules } from "heddle/server";

/** What the forwarded properties may ask for. */
export interface Wish {
  /** A state to set. */
  readonly state?: object;
  /** Whether to think, and to show an activity, before the answer. */
  readonly thinks?: true;
  /** A tool of the client to call instead of an answer. */
  readonly calls?: string;
  /** The id of a question to ask instead of an answer. */
  readonly asks?: string;
}

/** How posts are taken, by the name of the agent. */
export const RULES = {
  teller: {},
  appending: { onStale: "append" },
  declining: { onOpenCalls: "fail" },
  instructed: { acceptInstructions: true },
} as const satisfies Readonly<Record<string, PostRules>>;

/** Name of one of the agents. */
export type TellerName = keyof typeof RULES;

const QUESTION = { reason: "input_required", message: "Who are you?", responseSchema: { type: "string" } } as const;

async function tell({ input, emit }: RunContext<object>): Promise<void> {
  const { runId, messages, state, forwardedProps } = input;
  const wish: Wish = Object(forwardedProps);
  await emit.custom("given", { messages, state });
  if (wish.state !== undefined) await emit.state.set(wish.state);
  if (wish.thinks) {
    await emit.reasoning({ id: `think-${runId}` }).write("Hm.");
    emit.activity("PLAN", { done: false }, { id: `plan-${runId}` });
  }
  if (wish.asks !== undefined) await emit.interrupt({ ...QUESTION, id: wish.asks });
  if (wish.calls === undefined) await emit.text({ id: `re-${runId}` }).write(`re: ${messages.at(-1)?.id}`);
  else await emit.toolCall(wish.calls, { id: `call-${runId}`, parentMessageId: `re-${runId}` }).end();
}

/** The agents. */
export const agents: readonly Agent[] = Object.keys(RULES).map((name) => defineAgent({ name, run: tell }));
