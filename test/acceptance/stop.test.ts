/**
 * Want 5: two servers on one PostgreSQL, and an agent that just fell silent in the middle of a message and a call.
 * Heartbeats are a minute apart, and nobody takes the run away for as long: what the agent hears in time, it hears because
 * of the stop.
 */
import { reduceAll } from "heddle/stream";
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import type { ServerProcess } from "../server-process.ts";
import { attachTo, framesOf, postRun } from "../sse-client.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { LAST_OF_FIRST_HALF, wordsOf } from "./agents.ts";
import { sharedPostgres } from "./shared-postgres.ts";
import { stockClient } from "./stock-client.ts";
import { openTab } from "./tab.ts";
import { connectTo, deltaLogged, eventsOf, readLog, runState, runsIn, verifyAll } from "./thread-log.ts";

const WITHIN_MS = 1000;
/** On a machine that is busy with other tests one stop may be late: the quickest has to hold the time, the others this many of it. */
const MARGIN = 4;
const STOPS = ["s1", "s2", "s3"];
const SLOW = { HEDDLE_LEASE_MS: "180000", HEDDLE_HEARTBEAT_MS: "60000", HEDDLE_CANCEL_GRACE_MS: "60000" };
const PARTIAL = wordsOf("first").join("");

test("Stop. I press Stop from a different tab on a different instance: within one second the model call's AbortSignal fires, the log ends with `RUN_FINISHED` outcome `cancelled` with nothing left open, partial text is kept, and my next message on that thread starts at once; closing the tab instead stops nothing.", async () => {
  const [gates, store] = [await startGates(), await sharedPostgres()];
  const start = (): Promise<ServerProcess> => acceptanceServer(gates, { store, env: SLOW });
  const [here, there] = await Promise.all([start(), start()]);
  const tookMs: number[] = [];

  for (const threadId of STOPS) {
    const client = stockClient(`${here.url}/agents/worker`, threadId);
    const shown = client.send("How many looms?", { runId: "r1" });
    await gates.reached(`${threadId} r1 middle`);
    await deltaLogged(there.url, threadId, "r1", LAST_OF_FIRST_HALF);
    const pressedMs = performance.now();
    const stopping = fetch(`${there.url}/threads/${threadId}/runs/r1/cancel`, { method: "POST" });
    await gates.reached(`${threadId} r1 aborted`);
    tookMs.push(performance.now() - pressedMs);
    gates.open(`${threadId} r1 aborted`);
    const stopped = await stopping;
    expect([stopped.status, await stopped.json()]).toMatchObject([200, { status: "cancelled" }]);

    // At once: there is nothing to wait for any more, on either server.
    const next = await postRun(there.url, "worker", { threadId, runId: "r2", messages: [user("u2", "Go on")] });
    expect(next.status).toBe(200);
    const answered = framesOf(next);
    expect((await answered.next()).value).toMatchObject({ event: { type: "RUN_STARTED", runId: "r2" } });
    gates.open(`${threadId} r2 middle`);
    for await (const frame of answered) expect(frame.event.type).not.toBe("RUN_ERROR");

    // The tab that watched shows what was said, and no error.
    await shown;
    expect([client.errors, client.outcomes]).toEqual([[], ["cancelled"]]);
    expect(client.agent.messages.at(-1)).toMatchObject({ role: "assistant", content: PARTIAL });

    const log = await eventsOf(await attachTo(there.url, threadId, "r1"));
    verifyAll(log);
    expect(log.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
    const { messages, run, steps } = reduceAll(log);
    expect(messages.at(-1)).toMatchObject({ role: "assistant", content: PARTIAL });
    expect([run.status, steps]).toEqual(["cancelled", []]);
    expect(runsIn(await readLog(here.url, threadId))).toEqual(["r1", "r2"]);
  }
  expect(Math.min(...tookMs)).toBeLessThan(WITHIN_MS);
  expect(Math.max(...tookMs)).toBeLessThan(WITHIN_MS * MARGIN);

  const closeTab = async (agent: string, threadId: string): Promise<void> => {
    const tab = await openTab(here.url, agent, { threadId, runId: "r1", messages: [user("u1", "How many looms?")] });
    await gates.reached(`${threadId} r1 middle`);
    await tab.close();
  };
  // That a closed tab is noticed shows where somebody asked for it.
  await closeTab("worker?on_disconnect=cancel", "asked");
  await gates.reached("asked r1 aborted");
  await closeTab("worker", "closed");
  expect(await runState(there.url, "closed", "r1")).toMatchObject({ status: "running" });
  gates.open("closed r1 middle");
  const whole = reduceAll(await eventsOf(await connectTo(there.url, "worker", "closed")));
  expect(whole.run.status).toBe("finished");
  expect(whole.messages).toContainEqual(expect.objectContaining({ content: PARTIAL + wordsOf("second").join("") }));
  expect(gates.visits("closed r1 aborted")).toBe(0);
});

const user = (id: string, content: string): object => ({ id, role: "user", content });
