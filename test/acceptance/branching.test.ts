/**
 * Want 24. A conversation of three turns is edited in its third message by a stock client. Both branches are gone on with,
 * each by who names it, before and after a restart; each agent gets the history of its branch, and its state.
 */
import type { Message } from "heddle/protocol";
import { reduceAll } from "heddle/stream";
import type { ThreadView } from "heddle/stream";
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import { postRun } from "../sse-client.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { HISTORY_AGENTS, givenTo, idsOf, user } from "./given.ts";
import { answerOf } from "./history-agents.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { stockClient } from "./stock-client.ts";
import { eventsOf, runState, runsIn, readLog, verifyAll } from "./thread-log.ts";

/** A turn as it is stored: the question, and what the historian thinks, says and shows. */
const turn = (runId: string, question: Message): readonly string[] => [
  question.id,
  `think-${runId}`,
  `look-${runId}`,
  `found-${runId}`,
  `progress-${runId}`,
  `say-${runId}`,
];
const isGiven = (id: string): boolean => !id.startsWith("progress-");

const QUESTIONS = ["u1", "u2", "u3"].map((id) => user(id, `Question ${id}`));
const EDITED = user("u3", "Another question");

test("Branching. I edit my third message, get a new branch, switch back to the old one, reload, and both are intact and each re-runs from the right point.", async () => {
  const [gates, store] = [await startGates(), await sqliteFile()];
  const first = await acceptanceServer(gates, { store, files: [HISTORY_AGENTS] });
  let { url } = first;
  const branch = async (head: string): Promise<ThreadView> => {
    const events = await eventsOf(await fetch(`${url}/threads/t1/events?head=${head}&follow=false`));
    verifyAll(events);
    return reduceAll(events);
  };
  const client = stockClient(`${url}/agents/historian`, "t1");
  for (const [index, question] of QUESTIONS.entries()) {
    client.agent.addMessage(question);
    await client.agent.runAgent({ runId: `r${index + 1}` });
  }
  const [U1, U2, U3] = QUESTIONS;
  if (U1 === undefined || U2 === undefined || U3 === undefined) throw new Error("three questions");
  const shared = [...turn("r1", U1), ...turn("r2", U2)];
  const old = await branch("r3");
  expect(idsOf(old.messages)).toEqual([...shared, ...turn("r3", U3)]);
  expect(client.agent.messages).toEqual(old.messages);

  // The edit: the third message is another one, and nothing follows it.
  const cut = client.agent.messages.findIndex(({ id }) => id === "u3");
  client.agent.setMessages([...client.agent.messages.slice(0, cut), EDITED]);
  await client.agent.runAgent({ runId: "r4" });
  expect(idsOf(await givenTo(url, "t1", "r4"))).toEqual([...shared.filter(isGiven), "u3"]);
  expect((await givenTo(url, "t1", "r4")).at(-1)).toEqual(EDITED);
  expect(await runState(url, "t1", "r4")).toMatchObject({ parentRunId: "r2", kind: "branch" });
  const edited = await branch("r4");
  expect(idsOf(edited.messages)).toEqual([...shared, ...turn("r4", EDITED)]);
  expect(edited.messages.slice(-2)[1]).toEqual(answerOf("r4", [EDITED])[2]);
  expect(client.agent.messages).toEqual(edited.messages);
  expect(await branch("r3")).toEqual(old);

  // Back to the old one: a device of mine that goes on there, and gets its history.
  const back = stockClient(`${url}/agents/historian?parent=r3`, "t1");
  back.agent.addMessage(user("u5"));
  await back.agent.runAgent({ runId: "r5" });
  expect(idsOf(back.agent.messages)).toEqual([...idsOf(old.messages), ...turn("r5", user("u5"))]);
  expect((await givenTo(url, "t1", "r5")).find(({ id }) => id === "u3")).toEqual(U3);
  expect(await branch("r4")).toEqual(edited);

  await first.kill();
  ({ url } = await acceptanceServer(gates, { store, files: [HISTORY_AGENTS] }));
  expect(await branch("r3")).toEqual(old);
  expect(await branch("r4")).toEqual(edited);
  expect(idsOf((await branch("r5")).messages)).toEqual(idsOf(back.agent.messages));

  // Each goes on, and each re-runs its third message, from its own point.
  const post = async (runId: string, parentRunId: string, messages: readonly object[]): Promise<readonly string[]> => {
    verifyAll(await eventsOf(await postRun(url, "historian", { threadId: "t1", runId, parentRunId, messages })));
    return idsOf(await givenTo(url, "t1", runId));
  };
  const given = (...turns: readonly (readonly string[])[]): readonly string[] =>
    [...shared, ...turns.flat()].filter(isGiven);
  expect(await post("r6", "r4", [user("u6")])).toEqual(given(turn("r4", EDITED), ["u6"]));
  expect(await post("r7", "r5", [user("u7")])).toEqual(given(turn("r3", U3), turn("r5", user("u5")), ["u7"]));
  expect(await post("again old", "r3", old.messages.slice(0, cut + 1))).toEqual(given(["u3"]));
  expect(await post("again new", "r4", edited.messages.slice(0, cut + 1))).toEqual(given(["u3"]));
  expect((await givenTo(url, "t1", "again old")).at(-1)).toEqual(U3);
  expect((await givenTo(url, "t1", "again new")).at(-1)).toEqual(EDITED);
  for (const runId of ["again old", "again new"]) {
    expect(await runState(url, "t1", runId)).toMatchObject({ parentRunId: "r2", kind: "branch" });
    expect((await branch(runId)).state).toEqual({ turn: 3 });
  }
  expect(await branch("r3")).toEqual(old);
  expect(await branch("r4")).toEqual(edited);
  const runIds = ["r1", "r2", "r3", "r4", "r5", "r6", "r7", "again old", "again new"];
  expect(runsIn(await readLog(url, "t1"))).toEqual(runIds);
});
