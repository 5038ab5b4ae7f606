/** A thread with three branches, for the pages that show branches and go back in them. */
import { approval } from "../../examples/agents/approval.ts";
import { chat } from "../../examples/agents/chat.ts";
import { state } from "../../examples/agents/state.ts";
import { connect } from "../../src/client/index.ts";
import type { Run } from "../../src/client/index.ts";

/** The agents that it is made with. */
export const AGENTS = [state, chat, approval] as const;

/** The runs, in the order in which they began. */
export interface Made {
  /** Makes a plan. */
  readonly plan: string;
  /** Goes on with a question. */
  readonly rest: string;
  /** Waits for an answer. */
  readonly asks: string;
  /** Forks at the plan. */
  readonly fork: string;
}

/** Makes the thread `cake`; the fork is its own branch then. */
export async function branchedThread(url: string, token?: string): Promise<Made> {
  const client = connect(url, token === undefined ? {} : { token });
  const thread = client.thread("cake");
  const plan = await ended(thread.run("state", "Bake a cake"));
  const rest = await ended(thread.run("chat", "How long does it rest?"));
  const asks = await ended(thread.run("approval", "Delete /tmp/old.txt"));
  const fork = await ended(thread.fork("chat", plan, "Bake two cakes"));
  client.close();
  return { plan, rest, asks, fork };
}

async function ended(run: Run): Promise<string> {
  await run.finished;
  return run.runId;
}
