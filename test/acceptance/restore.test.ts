/**
 * Want 3, on SQLite. What a client saw live is compared with what comes back after kill -9: for a reader of `connect`, for
 * the stock client there, and for the stock client that posts a run with nothing in it.
 */
import { reduceAll } from "heddle/stream";
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { stockClient } from "./stock-client.ts";
import { connectTo, eventsOf, readLog, verifyAll } from "./thread-log.ts";

test("Restore. I kill -9 the server, start it again, open the same `threadId` in a fresh browser, and before I type anything I see every message, reasoning, activity, state and pending interrupt (stock `HttpAgent` has no `connect()`, so there by posting a run with no new message that calls no model).", async () => {
  const gates = await startGates();
  for (const gate of ["t1 r1 middle", "t1 asked"]) gates.open(gate);
  const store = await sqliteFile();
  const killed = await acceptanceServer(gates, { store });
  const live = stockClient(`${killed.url}/agents/worker`, "t1");
  await live.send("How many looms?", { runId: "r1" });
  live.agent.url = `${killed.url}/agents/asking`;
  await live.send("Sign me in", { runId: "r2" });
  expect([live.outcomes, live.errors]).toEqual([["success", "interrupt"], []]);
  const log = await readLog(killed.url, "t1");
  await killed.kill();

  const { messages, state, pendingInterrupts } = live.agent;
  expect(new Set(messages.map(({ role }) => role))).toEqual(
    new Set(["user", "assistant", "tool", "reasoning", "activity"]),
  );
  expect(messages).toContainEqual(expect.objectContaining({ role: "reasoning", encryptedValue: "c2VhbGVk" }));
  expect(state).toEqual({ asked: true });
  expect(pendingInterrupts).toMatchObject([{ id: "who", message: "Who are you?" }]);

  const { url } = await acceptanceServer(gates, { store });
  const told = await eventsOf(await connectTo(url, "asking", "t1"));
  verifyAll(told);
  const seen = reduceAll(told);
  expect(seen.messages).toEqual(messages);
  expect([seen.state, seen.interrupts, seen.run.status]).toEqual([state, pendingInterrupts, "interrupted"]);

  for (const path of ["/agents/asking/connect", "/agents/asking"]) {
    const fresh = stockClient(`${url}${path}`, "t1");
    await fresh.agent.runAgent();
    const { outcomes, errors, agent } = fresh;
    expect([path, outcomes, errors]).toEqual([path, ["interrupt"], []]);
    expect(agent.messages).toEqual(messages);
    expect([agent.state, agent.pendingInterrupts]).toEqual([state, pendingInterrupts]);
  }
  // Nobody was asked anything, and nothing was written.
  expect([gates.visits("t1 r1 middle"), gates.visits("t1 asked")]).toEqual([1, 1]);
  expect(await readLog(url, "t1")).toEqual(log);

  // And it goes on from there.
  const back = stockClient(`${url}/agents/asking`, "t1");
  await back.agent.runAgent();
  await back.agent.runAgent({ runId: "r3", resume: [{ interruptId: "who", status: "resolved", payload: "Ada" }] });
  expect(back.agent.messages.at(-1)).toMatchObject({ role: "assistant", content: "Hello Ada." });
  expect([back.agent.pendingInterrupts, back.errors]).toEqual([[], []]);
});
