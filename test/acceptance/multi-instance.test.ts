/**
 * Want 11: three servers on one PostgreSQL, and a fourth where one is lost. Nobody is sent back to the server that they came
 * from: a run is begun, followed, stopped, answered, queued and lost on one, and whoever is on another sees it.
 */
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import type { Gates } from "../gate.ts";
import type { ServerProcess } from "../server-process.ts";
import { attachTo, framesOf, postRun } from "../sse-client.ts";
import type { Frame } from "../sse-client.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { LAST_OF_FIRST_HALF } from "./agents.ts";
import { sharedPostgres } from "./shared-postgres.ts";
import { deltaLogged, eventsIn, eventsOf, readLog, runState, runsIn, verifyAll } from "./thread-log.ts";

/** Longer than a busy machine stands still: a run whose server lives is not to be lost. */
const LEASE_MS = 4000;
const REAP_MS = 500;
/** For a machine that is busy with other tests. */
const SLACK_MS = 5000;
/** Up to four servers start, on a machine that may be busy. */
const TIMEOUT_MS = 120_000;
const FILES = ["test/acceptance/agents.ts", "test/acceptance/queue-agents.ts", "test/stock-client-agents.ts"];

type Start = () => Promise<ServerProcess>;

/** How servers of one log are started. */
async function instancesOf(gates: Gates, more: Readonly<Record<string, string>> = {}): Promise<Start> {
  const store = await sharedPostgres();
  const env = { HEDDLE_LEASE_MS: String(LEASE_MS), HEDDLE_REAP_MS: String(REAP_MS), ...more };
  return () => acceptanceServer(gates, { store, files: FILES, env });
}

const user = (id: string, content = id): object => ({ id, role: "user", content });

/** Starts a run of the worker, and waits until it is in the middle, and the log knows. */
async function inTheMiddle(gates: Gates, { url }: ServerProcess, threadId: string): Promise<Response> {
  const posted = await postRun(url, "worker", { threadId, runId: "r1", messages: [user("u1", "How many looms?")] });
  expect(posted.status).toBe(200);
  await gates.reached(`${threadId} r1 middle`);
  await deltaLogged(url, threadId, "r1", LAST_OF_FIRST_HALF);
  return posted;
}

async function framesIn(answer: Response): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of framesOf(answer)) frames.push(frame);
  return frames;
}

const watch = async ({ url }: ServerProcess, threadId: string, runId = "r1"): Promise<readonly Frame[]> =>
  framesIn(await attachTo(url, threadId, runId));

/** Somebody with the list of threads before them. */
class Sidebar {
  readonly #changes: AsyncGenerator<Frame, void, undefined>;

  private constructor(answer: Response) {
    this.#changes = framesOf(answer);
  }

  static async open({ url }: ServerProcess): Promise<Sidebar> {
    const sidebar = new Sidebar(await fetch(`${url}/threads`, { headers: { accept: "text/event-stream" } }));
    await sidebar.shows({ type: "page" });
    return sidebar;
  }

  /** Resolves when a change comes that has all this. */
  async shows(expected: object): Promise<void> {
    for (;;) {
      const { value, done } = await this.#changes.next();
      if (done === true) throw new Error(`The list ended without ${JSON.stringify(expected)}.`);
      if (this.#has(value.event, expected)) return;
    }
  }

  #has(change: unknown, expected: object): boolean {
    return Object.entries(expected).every(([name, wanted]) => {
      const found: unknown = Reflect.get(Object(change), name);
      return typeof wanted === "object" && wanted !== null ? this.#has(found, wanted) : found === wanted;
    });
  }
}

test(
  "Multi-instance. With three instances and no sticky sessions, start on A, watch on B, stop from C all work, and killing A mid-run either moves the run or ends it with a clear `RUN_ERROR` within the lease time.",
  async () => {
    const gates = await startGates();
    const start = await instancesOf(gates);
    const [a, b, c] = await Promise.all([start(), start(), start()]);
    const sidebar = await Sidebar.open(b);

    // HTTP-INS-1, HTTP-INS-2: the stop of C reaches the agent in A, and all see one and the same stream.
    const posted = framesIn(await inTheMiddle(gates, a, "stopped"));
    await sidebar.shows({ type: "changed", thread: { threadId: "stopped", status: "running" } });
    const watching = [watch(b, "stopped"), watch(c, "stopped")];
    const stopped = await fetch(`${c.url}/threads/stopped/runs/r1/cancel`, { method: "POST" });
    expect([stopped.status, await stopped.json()]).toMatchObject([200, { status: "cancelled" }]);
    await gates.reached("stopped r1 aborted");
    const [onA, onB, onC] = await Promise.all([posted, ...watching]);
    expect(onA.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
    expect(onB).toEqual(onA);
    expect(onC).toEqual(onA);
    await sidebar.shows({ type: "changed", thread: { threadId: "stopped", status: "cancelled" } });

    // HTTP-INS-3: A dies. Whoever watches elsewhere is not cut, and told the truth in time.
    const cut = framesIn(await inTheMiddle(gates, a, "lost")).catch(() => "cut");
    const survivors = [watch(b, "lost"), watch(c, "lost")];
    await sidebar.shows({ type: "changed", thread: { threadId: "lost", status: "running" } });
    const killedAtMs = performance.now();
    await a.kill();
    expect(await cut).toBe("cut");
    const [seenOnB, seenOnC] = await Promise.all(survivors);
    expect(performance.now() - killedAtMs).toBeLessThan(LEASE_MS + REAP_MS * 1.2 + SLACK_MS);
    expect(seenOnB?.at(-1)?.event).toMatchObject({ type: "RUN_ERROR", code: "worker-lost" });
    expect(seenOnC).toEqual(seenOnB);
    verifyAll(eventsIn(seenOnB ?? []));
    await sidebar.shows({ type: "changed", thread: { threadId: "lost", status: "failed" } });
    expect(gates.visits("lost r1 middle")).toBe(1);
    gates.open("lost r2 middle");
    const next = await postRun(c.url, "worker", { threadId: "lost", runId: "r2", messages: [user("u2", "Go on")] });
    expect((await eventsOf(next)).at(-1)).toMatchObject({ type: "RUN_FINISHED" });

    // What is done to a thread on one, the list on the other shows.
    const body = { method: "PATCH", headers: { "content-type": "application/json" }, body: '{"title":"Looms"}' };
    expect((await fetch(`${c.url}/threads/lost`, body)).status).toBe(200);
    await sidebar.shows({ type: "changed", thread: { threadId: "lost", title: "Looms" } });
    expect((await fetch(`${c.url}/threads/lost`, { method: "DELETE" })).status).toBe(204);
    await sidebar.shows({ type: "gone", threadId: "lost" });
  },
  TIMEOUT_MS,
);

test(
  "Multi-instance, questions. Asked on A, shown on B, answered on C and D at the same moment: one run, and everybody gets its outcome.",
  async () => {
    const gates = await startGates();
    const start = await instancesOf(gates);
    const [a, b, c, d] = await Promise.all([start(), start(), start(), start()]);
    gates.open("t1 asked");
    const asked = await eventsOf(
      await postRun(a.url, "asking", { threadId: "t1", runId: "r1", messages: [user("u1")] }),
    );
    expect(asked.at(-1)).toMatchObject({ outcome: { type: "interrupt", interrupts: [{ id: "who" }] } });
    expect(await (await fetch(`${b.url}/threads/t1`)).json()).toMatchObject({ interrupts: [{ id: "who" }] });
    const refused = await postRun(b.url, "asking", { threadId: "t1", runId: "r9", messages: [user("u9")] });
    expect([refused.status, await refused.json()]).toMatchObject([409, { error: { code: "answers-missing" } }]);
    // HTTP-INS-4: what counts once, counts once whoever is asked.
    const resume = [{ interruptId: "who", status: "resolved", payload: "Ada" }];
    const answers = [c, d].map(({ url }, index) =>
      postRun(url, "asking", { threadId: "t1", runId: `r${index + 2}`, resume }),
    );
    for (const answer of answers) {
      const events = await eventsOf(await answer);
      expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED" });
      expect(JSON.stringify(events)).toContain("Hello Ada.");
    }
    expect(runsIn(await readLog(b.url, "t1"))).toEqual(["r1", expect.stringMatching(/^r[23]$/)]);

    // A call of the frontend is one tab's, whichever instances the tabs are on; its result is posted to another.
    const tools = [{ name: "pick_colour", description: "Lets the user pick.", parameters: { type: "object" } }];
    const picking = { threadId: "t2", runId: "r1", messages: [user("u1")], tools };
    const called = await eventsOf(await postRun(a.url, "frontend", picking));
    const toolCallId = called.flatMap((event) => (event.type === "TOOL_CALL_START" ? [event.toolCallId] : []))[0] ?? "";
    const claims = [b, c, d, b, c, d].map(async ({ url }, index) => {
      const answer = await fetch(`${url}/threads/t2/tool-calls/${encodeURIComponent(toolCallId)}/claim`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ holder: `tab ${index}` }),
      });
      await answer.body?.cancel();
      return answer.status;
    });
    expect((await Promise.all(claims)).toSorted()).toEqual([200, 409, 409, 409, 409, 409]);
    const result = { id: "picked", role: "tool", toolCallId, content: "red" };
    const picked = await postRun(d.url, "frontend", { threadId: "t2", runId: "r2", messages: [result], tools });
    expect(JSON.stringify(await eventsOf(picked))).toContain("You picked red.");
  },
  TIMEOUT_MS,
);

const inputOf = (runId: string, gate?: string): object => ({
  threadId: "t1",
  runId,
  messages: [user(`u-${runId}`)],
  forwardedProps: gate === undefined ? {} : { gate },
});

test(
  "Multi-instance, queue. What waits on B begins when the run of A has ended, although B is gone by then, and C shows it.",
  async () => {
    const gates = await startGates();
    const start = await instancesOf(gates, { HEDDLE_RULES: '{"*":{"onBusy":"enqueue"}}' });
    const [a, b, c] = await Promise.all([start(), start(), start()]);
    const running = await postRun(a.url, "patient", inputOf("r1", "first"));
    await gates.reached("first");
    const waiting = [await postRun(b.url, "patient", inputOf("r2")), await postRun(c.url, "patient", inputOf("r3"))];
    expect(await runState(a.url, "t1", "r2")).toMatchObject({ status: "queued" });
    expect(waiting.map(({ status }) => status)).toEqual([200, 200]);
    const cut = waiting[0]?.text().catch(() => "cut");
    await b.kill();
    expect(await cut).toBe("cut");
    gates.open("first");
    expect((await eventsOf(running)).at(-1)).toMatchObject({ type: "RUN_FINISHED" });
    // HTTP-INS-5: whoever waits on C hears of what A begins, and in its turn.
    const events = await eventsOf(waiting[1] ?? Response.error());
    expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", runId: "r3" });
    expect((await eventsOf(await attachTo(c.url, "t1", "r2"))).at(-1)).toMatchObject({ type: "RUN_FINISHED" });
    expect(runsIn(await readLog(c.url, "t1"))).toEqual(["r1", "r2", "r3"]);
  },
  TIMEOUT_MS,
);
