/**
 * Next-ten 26. A message that is sent while a run is under way waits, steers or is refused, as the server is told; whoever
 * reloads sees that it waits, and after a crash it still does, and is answered in its turn.
 */
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import { postRun } from "../sse-client.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { connectTo, eventsOf, readLog, runState, runsIn, verifyAll } from "./thread-log.ts";

const message = (id: string) => ({ id, role: "user", content: `said ${id}` });
const body = (runId: string, gate?: string) => ({
  threadId: "t1",
  runId,
  messages: [message(`u-${runId}`)],
  forwardedProps: gate === undefined ? {} : { gate },
});

const details = async (url: string) => JSON.parse(await (await fetch(`${url}/threads/t1`)).text());

test("Queue. A message sent mid-run is queued, steered or rejected as configured, and is visible as such after reload.", async () => {
  const [gates, store] = [await startGates(), await sqliteFile()];
  const files = ["test/acceptance/queue-agents.ts"];
  const first = await acceptanceServer(gates, { store, files, env: { HEDDLE_RULES: '{"*":{"onBusy":"enqueue"}}' } });
  const running = await postRun(first.url, "patient", body("r1", "first"));
  await gates.reached("first");
  const waiting: Promise<Response>[] = [];
  for (const runId of ["r2", "r3"]) {
    // One behind the other: two connections have no order.
    waiting.push(postRun(first.url, "patient", body(runId)));
    await expect.poll(async () => (await details(first.url)).queue.length).toBe(waiting.length);
  }
  expect((await details(first.url)).queue).toMatchObject([{ runId: "r2" }, { runId: "r3" }]);
  expect(await runState(first.url, "t1", "r2")).toMatchObject({ status: "queued", agent: "patient" });
  const rejected = await postRun(`${first.url}`, "patient?on_busy=reject", body("r4"));
  expect(rejected.status).toBe(409);

  // Whoever waits is cut off by the crash, and what it asked for is not lost.
  const cut = Promise.allSettled([...waiting.map(async (each) => (await each).text()), running.text()]);
  await first.kill();
  await cut;
  const second = await acceptanceServer(gates, { store, files, env: { HEDDLE_RULES: '{"*":{"onBusy":"enqueue"}}' } });
  const { url } = second;
  for (const runId of ["r2", "r3"]) {
    expect((await eventsOf(await postRun(url, "patient", body(runId)))).at(-1)).toMatchObject({ type: "RUN_FINISHED" });
  }
  expect((await details(url)).queue).toEqual([]);
  expect(runsIn(await readLog(url, "t1"))).toEqual(["r1", "r2", "r3"]);
  expect(await runState(url, "t1", "r1")).toMatchObject({ status: "failed", error: { code: "worker-lost" } });

  // Steering: what runs is stopped, kept, and gone on from.
  const steered = await postRun(url, "patient", body("r5", "second"));
  await gates.reached("second");
  const steering = await eventsOf(await postRun(url, "patient?on_busy=interrupt", body("r6")));
  expect(steering.at(-1)).toMatchObject({ type: "RUN_FINISHED" });
  expect((await eventsOf(steered)).at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
  expect(await runState(url, "t1", "r6")).toMatchObject({ parentRunId: "r5" });
  const shown = await eventsOf(await connectTo(url, "patient", "t1"));
  const said = JSON.stringify(shown);
  for (const id of ["r1", "r2", "r3", "r5", "r6"]) expect(said).toContain(`u-${id}`);
  verifyAll(await readLog(url, "t1"));
});
