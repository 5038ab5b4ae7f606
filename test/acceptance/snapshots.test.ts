/**
 * Want 16. The agent restates the conversation at the end of each run, as frameworks do: without what it thought and without
 * activities. Then clients post ever shorter histories, and what is stored grows all the same.
 */
import type { Message } from "heddle/protocol";
import { reduceAll } from "heddle/stream";
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import { attachTo, postRun } from "../sse-client.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { HISTORY_AGENTS, givenTo, idsOf, user } from "./given.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { stockClient } from "./stock-client.ts";
import { connectTo, eventsOf } from "./thread-log.ts";

test("Snapshots. After the closing `MESSAGES_SNAPSHOT` nothing I had on screen is gone, and a client posting a shorter history cannot shorten the stored one.", async () => {
  const [gates, store] = [await startGates(), await sqliteFile()];
  const first = await acceptanceServer(gates, { store, files: [HISTORY_AGENTS] });
  const client = stockClient(`${first.url}/agents/historian`, "t1");
  const screens: (readonly string[])[] = [];
  let closings = 0;
  client.agent.subscribe({
    onEvent: ({ event, messages }) => {
      screens.push(idsOf(messages));
      if (event.type === "MESSAGES_SNAPSHOT") closings += 1;
    },
  });
  for (const runId of ["r1", "r2", "r3"]) await client.send(`Question of ${runId}`, { runId });
  const { messages } = client.agent;
  const ids = idsOf(messages);
  expect([closings, client.errors]).toEqual([3, []]);
  expect(new Set(messages.map(({ role }) => role))).toEqual(
    new Set(["user", "assistant", "tool", "reasoning", "activity"]),
  );
  // Whatever was on the screen at any time is there at the end, and where it was.
  for (const screen of screens) expect(screen).toEqual(ids.filter((id) => screen.includes(id)));
  const thoughts = messages.filter(({ role }) => role === "reasoning");
  expect(thoughts.map(({ content }) => content)).toEqual(["I look it up.", "I look it up.", "I look it up."]);
  await first.kill();

  const { url } = await acceptanceServer(gates, { store, files: [HISTORY_AGENTS] });
  const stored = async (): Promise<readonly Message[]> =>
    reduceAll(await eventsOf(await connectTo(url, "historian", "t1"))).messages;
  expect(await stored()).toEqual(messages);
  const branch = async (head: string): Promise<readonly Message[]> =>
    reduceAll(await eventsOf(await fetch(`${url}/threads/t1/events?head=${head}&follow=false`))).messages;
  const whole = await branch("r3");
  expect(whole).toEqual(messages);

  // A client that kept nothing, and one that kept only the newest message: the stored one grows.
  const short = stockClient(`${url}/agents/historian`, "t1");
  await short.send("I lost everything", { runId: "r4" });
  expect(idsOf(short.agent.messages).slice(0, ids.length)).toEqual(ids);
  expect(idsOf(await stored()).slice(0, ids.length)).toEqual(ids);
  expect(await givenTo(url, "t1", "r4")).toHaveLength(messages.filter(({ role }) => role !== "activity").length + 1);

  // Clients that kept a beginning: what is stored stays whole, on the branch where it was.
  const before = await branch("r4");
  for (const [index, kept] of [1, 3, 6].entries()) {
    const runId = `short ${index}`;
    const posted = [...messages.slice(0, kept), user(`new ${index}`)];
    await eventsOf(await postRun(url, "historian", { threadId: "t1", runId, messages: posted }));
    expect(await branch("r4")).toEqual(before);
    expect(await eventsOf(await attachTo(url, "t1", runId))).toContainEqual(
      expect.objectContaining({ type: "RUN_FINISHED" }),
    );
  }
  // And one that posts a beginning and nothing new: neither.
  await eventsOf(await postRun(url, "historian", { threadId: "t1", runId: "r9", messages: messages.slice(0, 1) }));
  expect(await branch("r4")).toEqual(before);
});
