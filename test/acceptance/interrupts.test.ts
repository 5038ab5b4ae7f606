/**
 * Want 9. The guarded tool passes a gate, which counts it, in whatever process it runs. Answers come after kill -9, twice at
 * the same moment from two devices, under the id of the run that asked, again after the end and after another restart; from
 * two servers on one PostgreSQL at the same moment; and once more where the server died between answer and action.
 */
import { reduceAll } from "heddle/stream";
import type { ThreadView } from "heddle/stream";
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import type { Gates } from "../gate.ts";
import type { ServeRequest, ServerProcess } from "../server-process.ts";
import { postRun } from "../sse-client.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { HISTORY_AGENTS, user } from "./given.ts";
import { sharedPostgres } from "./shared-postgres.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { stockClient } from "./stock-client.ts";
import type { StockClient } from "./stock-client.ts";
import { connectTo, eventsOf, readLog, runState, runsIn, verifyAll } from "./thread-log.ts";

const serverOf = (gates: Gates, request: ServeRequest): Promise<ServerProcess> =>
  acceptanceServer(gates, { ...request, files: [HISTORY_AGENTS] });

const APPROVED = [{ interruptId: "act", status: "resolved", payload: { approved: true } }] as const;
const DENIED = [{ interruptId: "act", status: "resolved", payload: { approved: false } }] as const;

/** A thread on which the agent has asked. */
async function ask(url: string, threadId: string): Promise<void> {
  const asked = await eventsOf(await postRun(url, "guarded", { threadId, runId: "r1", messages: [user("u1")] }));
  expect(asked.at(-1)).toMatchObject({ outcome: { type: "interrupt", interrupts: [{ id: "act" }] } });
}

/** A device that opens the thread, and sees the question. */
async function device(url: string, threadId: string): Promise<StockClient> {
  const client = stockClient(`${url}/agents/guarded`, threadId);
  await client.agent.runAgent();
  expect(client.agent.pendingInterrupts).toMatchObject([{ id: "act" }]);
  return client;
}

/** Presses the button, and tells what the device shows then. */
async function approve({ agent, errors, outcomes }: StockClient, runId: string): Promise<unknown> {
  await agent.runAgent({ runId, resume: [...APPROVED] });
  return { errors, outcome: outcomes.at(-1), messages: agent.messages, open: agent.pendingInterrupts };
}

/** Posts the answer by hand, holding nothing. */
async function post(url: string, threadId: string, runId: string): Promise<Response> {
  const answer = await postRun(url, "guarded", { threadId, runId, resume: APPROVED });
  expect([threadId, runId, answer.status, answer.ok ? "" : await answer.text()]).toEqual([threadId, runId, 200, ""]);
  return answer;
}

/** What somebody is told who reads an answer to its end. */
async function outcomeIn(answer: Response): Promise<unknown> {
  const events = await eventsOf(answer);
  verifyAll(events);
  const { messages, interrupts, run } = reduceAll(events);
  return { errors: [], outcome: run.status === "finished" ? "success" : run.status, messages, open: interrupts };
}

const answered = async (url: string, threadId: string, runId: string): Promise<unknown> =>
  outcomeIn(await post(url, threadId, runId));

/** What somebody sees who opens the thread now. */
const opened = async (url: string, threadId: string): Promise<ThreadView> =>
  reduceAll(await eventsOf(await connectTo(url, "guarded", threadId)));

const acted = (threadId: string): string => `${threadId} acted`;

test("Interrupts. I approve after a server restart, double-click, and post the same resume again: the guarded tool ran exactly once and the repeat gets the recorded outcome, not an error and not a second run.", async () => {
  const [gates, store] = [await startGates(), await sqliteFile()];
  const first = await serverOf(gates, { store });
  await ask(first.url, "t1");
  await first.kill();

  const second = await serverOf(gates, { store });
  const [phone, laptop] = [await device(second.url, "t1"), await device(second.url, "t1")];
  const clicks = Promise.all([approve(phone, "r2"), approve(laptop, "r3")]);
  // While the tool is at it, somebody posts once more, and once as CopilotKit does.
  await gates.reached(acted("t1"));
  const more = Promise.all([answered(second.url, "t1", "r4"), answered(second.url, "t1", "r1")]);
  gates.open(acted("t1"));
  const outcomes = [...(await clicks), ...(await more)];
  const log = await readLog(second.url, "t1");
  verifyAll(log);
  const { messages } = await opened(second.url, "t1");
  expect(messages.at(-1)).toMatchObject({ id: "done", content: expect.stringMatching(/^So it is: done at \d/) });
  const recorded = { errors: [], outcome: "success", messages, open: [] };
  for (const outcome of outcomes) expect(outcome).toEqual(recorded);

  expect(await answered(second.url, "t1", "r5")).toEqual(recorded);
  // Whoever wants something else now comes too late, and is told by which run.
  const late = await postRun(second.url, "guarded", { threadId: "t1", runId: "r6", resume: DENIED });
  const [asking, acting] = runsIn(log);
  expect([late.status, await late.json()]).toMatchObject([409, { error: { details: { runId: acting } } }]);
  await second.stop();
  const third = await serverOf(gates, { store });
  expect(await answered(third.url, "t1", "r7")).toEqual(recorded);

  // And the conversation goes on: an answer that is repeated then is still the recorded one.
  const next = stockClient(`${third.url}/agents/guarded`, "t1");
  await next.send("And now?", { runId: "r8" });
  expect(next.outcomes).toEqual(["success"]);
  expect(await answered(third.url, "t1", "r9")).toEqual(recorded);

  expect([asking, acting]).toEqual(["r1", expect.stringMatching(/^r[234]$|^r1~1$/)]);
  expect(runsIn(await readLog(third.url, "t1"))).toEqual(["r1", acting, "r8"]);
  expect(gates.visits(acted("t1"))).toBe(1);
});

test("Interrupts, on two servers. I approve on both at the same moment, again and again: each guarded tool ran exactly once, and both show the same outcome.", async () => {
  const [gates, store] = [await startGates(), await sharedPostgres()];
  const [here, there] = await Promise.all([serverOf(gates, { store }), serverOf(gates, { store })]);
  const threadIds = Array.from({ length: 6 }, (_, index) => `t${index}`);
  for (const threadId of threadIds) {
    await ask(here.url, threadId);
    const [phone, laptop] = [await device(here.url, threadId), await device(there.url, threadId)];
    const clicks = Promise.all([approve(phone, "r2"), approve(laptop, "r3")]);
    const byHand = await Promise.all(
      [here, there, here, there].map(({ url }, index) => post(url, threadId, `h${index}`)),
    );
    // The tool is at it as long as that: everybody was answered before there was an outcome.
    await gates.reached(acted(threadId));
    gates.open(acted(threadId));
    const outcomes = [...(await clicks), ...(await Promise.all(byHand.map(outcomeIn)))];
    const log = await readLog(there.url, threadId);
    const recorded = {
      errors: [],
      outcome: "success",
      messages: (await opened(there.url, threadId)).messages,
      open: [],
    };
    for (const outcome of outcomes) expect(outcome).toEqual(recorded);
    expect(runsIn(log)).toHaveLength(2);
    expect([threadId, gates.visits(acted(threadId))]).toEqual([threadId, 1]);
  }
});

test("Interrupts, cut off. The server dies between my answer and the action's end: it is never started again, and the same answer gets the recorded outcome, which says that it was lost.", async () => {
  const [gates, store] = [await startGates(), await sqliteFile()];
  const first = await serverOf(gates, { store });
  await ask(first.url, "t1");
  const cut = answered(first.url, "t1", "r2").catch(() => "cut");
  await gates.reached(acted("t1"));
  await first.kill();
  expect(await cut).toBe("cut");
  gates.open(acted("t1"));

  const { url } = await serverOf(gates, { store });
  expect(await runState(url, "t1", "r2")).toMatchObject({ status: "failed", error: { code: "worker-lost" } });
  for (const runId of ["r2", "r3", "r1"]) {
    const answer = await postRun(url, "guarded", { threadId: "t1", runId, resume: APPROVED });
    expect([runId, answer.status]).toEqual([runId, 200]);
    expect((await eventsOf(answer)).at(-1)).toMatchObject({ type: "RUN_ERROR", code: "worker-lost" });
  }
  expect(runsIn(await readLog(url, "t1"))).toEqual(["r1", "r2"]);
  expect(gates.visits(acted("t1"))).toBe(1);
});
