/**
 * Want 1, on SQLite. The tab is closed, and the server has noticed, while the agent is in the middle of its work; gates
 * stand for the minutes.
 */
import { reduceAll } from "heddle/stream";
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { wordsOf } from "./agents.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { openTab } from "./tab.ts";
import { connectTo, eventsOf, readLog, runState, runsIn, verifyAll } from "./thread-log.ts";
import { attachTo } from "../sse-client.ts";

test("Run outlives client. I close the tab two seconds into a two-minute run, come back three minutes later, and the full answer, tool results and final state are there with exactly one run in the log.", async () => {
  const gates = await startGates();
  const { url } = await acceptanceServer(gates, { store: await sqliteFile() });
  const messages = [{ id: "u1", role: "user", content: "How many looms?" }];
  const tab = await openTab(url, "worker", { threadId: "t1", runId: "r1", messages });
  await tab.seen("TEXT_MESSAGE_CONTENT");
  await gates.reached("t1 r1 middle");
  await tab.close();
  expect(tab.text).not.toContain("second");
  expect(await runState(url, "t1", "r1")).toMatchObject({ status: "running" });

  gates.open("t1 r1 middle");
  const events = await eventsOf(await attachTo(url, "t1", "r1"));
  verifyAll(events);
  expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED" });
  expect(await runState(url, "t1", "r1")).toMatchObject({ status: "finished" });
  const log = await readLog(url, "t1");
  expect(log).toHaveLength(events.length);
  expect(runsIn(log)).toEqual(["r1"]);
  expect([gates.visits("t1 r1 middle"), gates.visits("t1 r1 aborted")]).toEqual([1, 0]);

  // Whoever replays the log and whoever comes with nothing see the same.
  for (const told of [events, await eventsOf(await connectTo(url, "worker", "t1"))]) {
    const { messages: seen, state, run, pendingToolCallIds } = reduceAll(told);
    expect(seen).toMatchObject([
      { role: "user", content: "How many looms?" },
      { role: "reasoning", content: "How many looms? I look it up." },
      { role: "assistant", content: "Let me look. ", toolCalls: [{ function: { name: "count_looms" } }] },
      { role: "tool", content: '{"looms":42}' },
      { role: "activity", content: { part: 2, of: 2 } },
      {
        role: "assistant",
        content: [...wordsOf("first"), ...wordsOf("second")].join(""),
        toolCalls: [{ function: { name: "save_count", arguments: '{"looms":42}' } }],
      },
      { role: "tool", content: "saved" },
    ]);
    expect(state).toEqual({ looms: 42, done: true });
    expect([run.status, run.runId, pendingToolCallIds]).toEqual(["finished", "r1", []]);
  }
});
