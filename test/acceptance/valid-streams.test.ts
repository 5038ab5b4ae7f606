/**
 * Want 4. Every careless run is asked for in one thread, one after the other, by one stock client: of an agent of ours that
 * yields such events, and of a foreign server behind the gateway. Asked directly, that server breaks the same client.
 */
import { reduceAll } from "heddle/stream";
import { expect, test, vi } from "vitest";
import { startGates } from "../gate.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { sloppyRun, sloppyRuns } from "./sloppy-runs.ts";
import { sloppyServer } from "./sloppy-server.ts";
import { stockClient } from "./stock-client.ts";
import type { StockClient } from "./stock-client.ts";
import { readLog, runsIn, verifyAll } from "./thread-log.ts";

const NAMES = sloppyRuns({ threadId: "", runId: "" }).map(({ name }) => name);
const NAMED_IN_THE_SENTENCE = ["forgets TEXT_MESSAGE_END", "repeats STEP_STARTED", "sends content after end"];

/** What the client holds of the assistant behind the message that asked for a run. */
function saidBy({ agent: { messages } }: StockClient, asked: string): string {
  const from = messages.findLastIndex(({ role, content }) => role === "user" && content === asked);
  return messages
    .slice(from + 1)
    .flatMap(({ role, content }) => (role === "assistant" && content ? [content] : []))
    .join("");
}

test("Valid streams. I feed the server an adapter that forgets `TEXT_MESSAGE_END`, repeats `STEP_STARTED` or sends content after end, and the stock 1.x client never throws and the stored log passes the verifier.", async () => {
  const foreign = await sloppyServer();
  const { url } = await acceptanceServer(await startGates(), { args: ["--agent", `foreign=${foreign}`] });
  for (const agent of ["sloppy", "foreign"]) {
    const client = stockClient(`${url}/agents/${agent}`, agent);
    for (const name of NAMES) {
      await client.send(name, { runId: name });
      const { says, fails = false } = sloppyRun(name, { threadId: agent, runId: name });
      const errors = fails ? ["undefined: broke"] : [];
      expect([name, saidBy(client, name), client.errors]).toEqual([name, says, errors]);
    }
    expect(client.outcomes).toEqual(NAMES.slice(0, -1).map(() => "success"));
    const log = await readLog(url, agent);
    verifyAll(log);
    expect(runsIn(log)).toEqual(NAMES);
    const ids = client.agent.messages.map(({ id }) => id);
    expect(reduceAll(log).messages.map(({ id }) => id)).toEqual(ids);
  }

  vi.spyOn(console, "error").mockReturnValue();
  for (const name of NAMED_IN_THE_SENTENCE) {
    await expect(stockClient(foreign, name).send(name, { runId: "r" })).rejects.toThrow(
      /text messages are|STEP_STARTED|TEXT_MESSAGE_CONTENT/,
    );
  }
});
