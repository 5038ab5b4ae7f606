/**
 * Want 28, on two servers with one PostgreSQL: two devices of stock clients, one that began the run and one that joined it,
 * and a reader of the log beside each. The devices take turns in pressing Stop, on the server that they are on.
 */
import type { Event } from "heddle/protocol";
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import { attachTo, framesOf } from "../sse-client.ts";
import type { Frame } from "../sse-client.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { LAST_OF_FIRST_HALF, wordsOf } from "./agents.ts";
import { sharedPostgres } from "./shared-postgres.ts";
import { stockClient } from "./stock-client.ts";
import type { StockClient } from "./stock-client.ts";
import { deltaLogged, eventsOf, runState } from "./thread-log.ts";

/** What a client is told, token by token. */
function watch({ agent }: StockClient): { readonly tokens: readonly string[]; readonly came: Promise<void> } {
  const tokens: string[] = [];
  const { promise: came, resolve } = Promise.withResolvers<void>();
  agent.subscribe({
    onTextMessageContentEvent: ({ event }) => void tokens.push(event.delta),
    onMessagesSnapshotEvent: () => resolve(),
  });
  return { tokens, came };
}

async function allOf(answer: Response): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of framesOf(answer)) frames.push(frame);
  return frames;
}

const textDeltas = (events: readonly Event[]): readonly string[] =>
  events.flatMap((event) => (event.type === "TEXT_MESSAGE_CONTENT" ? [event.delta] : []));

test("Two viewers of one thread. Two devices show the same run token for token; either can stop it.", async () => {
  const [gates, store] = [await startGates(), await sharedPostgres()];
  const [here, there] = await Promise.all([acceptanceServer(gates, { store }), acceptanceServer(gates, { store })]);
  const stops = { whole: undefined, "the one that began it": here, "the one that joined": there } as const;

  for (const [threadId, stopper] of Object.entries(stops)) {
    const began = stockClient(`${here.url}/agents/worker`, threadId);
    const joined = stockClient(`${there.url}/agents/worker/connect`, threadId);
    const [first, second] = [watch(began), watch(joined)];
    const middle = `${threadId} r1 middle`;
    const running = began.send("How many looms?", { runId: "r1" });
    await gates.reached(middle);
    await deltaLogged(there.url, threadId, "r1", LAST_OF_FIRST_HALF);
    const readers = [here, there].map(async ({ url }) => allOf(await attachTo(url, threadId, "r1")));
    const joining = joined.agent.runAgent();
    await second.came;

    const path = `/threads/${encodeURIComponent(threadId)}/runs/r1/cancel`;
    if (stopper === undefined) gates.open(middle);
    else {
      await fetch(`${stopper.url}${path}`, { method: "POST" });
      await gates.reached(`${threadId} r1 aborted`);
    }
    await Promise.all([running, joining]);

    // The same on both screens, with an end of the same kind and no error.
    const end = stopper === undefined ? "success" : "cancelled";
    expect([began.outcomes, began.errors]).toEqual([[end], []]);
    expect([joined.outcomes, joined.errors]).toEqual([[end], []]);
    expect(joined.agent.messages).toEqual(began.agent.messages);
    expect(joined.agent.state).toEqual(began.agent.state);
    // Who was there from the beginning got every token of the log, in order; who joined, the rest of them one by one.
    const log = textDeltas(await eventsOf(await attachTo(there.url, threadId, "r1")));
    const said = stopper === undefined ? [...wordsOf("first"), ...wordsOf("second")] : wordsOf("first");
    expect(log).toEqual(["Let me look. ", ...said]);
    expect(first.tokens).toEqual(log);
    const rest = second.tokens.filter((token) => token !== "");
    expect(rest).toEqual(stopper === undefined ? wordsOf("second") : []);
    // Readers of the log itself see the same bytes under the same cursors, on either server.
    const [one, other] = await Promise.all(readers);
    expect(one).toEqual(other);
    expect(await runState(there.url, threadId, "r1")).toMatchObject({
      status: stopper === undefined ? "finished" : "cancelled",
    });
  }
});
