/** `@ag-ui/client` 1.0.0 as it is published, on one thread, with a record of every error that it showed. */
import { HttpAgent } from "@ag-ui/client";
import type { RunAgentParameters } from "@ag-ui/client";

/** A stock client. */
export interface StockClient {
  /** The client itself. */
  readonly agent: HttpAgent;
  /** Errors that it showed, of a run or of its own. */
  readonly errors: readonly string[];
  /** How its runs finished, by outcome. */
  readonly outcomes: readonly string[];
  /** Sends a message of the user, and resolves when its run has ended. Rejects where the client throws. */
  send(content: string, parameters?: RunAgentParameters): Promise<void>;
}

/** Makes one that has nothing yet. */
export function stockClient(url: string, threadId: string): StockClient {
  const agent = new HttpAgent({ url, threadId });
  const errors: string[] = [];
  const outcomes: string[] = [];
  agent.subscribe({
    onRunErrorEvent: ({ event }) => void errors.push(`${event.code}: ${event.message}`),
    onRunFailed: ({ error }) => void errors.push(error.message),
    onRunFinishedEvent: ({ outcome }) => void outcomes.push(outcome),
  });
  return {
    agent,
    errors,
    outcomes,
    async send(content, parameters) {
      agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
      await agent.runAgent(parameters);
    },
  };
}
