/**
 * At every event of a run that says everything there is, fresh stock clients join: through `connect`, and by posting the
 * same run again. So does one that is cut off after every event. All hold in the end what one holds that was there from
 * the beginning, and the agent was started once.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGates } from "./gate.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { attachTo, framesOf } from "./sse-client.ts";
import { expectNothingDoubled, heldBy, seesSubagents, stock, textsOf } from "./stock-client.ts";
import type { SeenEvent, Stock, Version } from "./stock-client.ts";
import { ANSWER, everything } from "./stock-client-agents.ts";

const folder = mkdtempSync(join(tmpdir(), "heddle-stock-connect-"));
let server: ServerProcess;

afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeAll(async () => {
  const files = ["examples/agents/approval.ts", "examples/agents/chat.ts", "test/stock-client-agents.ts"];
  server = await startServer({ files, store: `sqlite:${join(folder, "log.db")}` });
});

/** A run that says everything on a thread with a question, and its client of the beginning. */
interface Stage {
  /** Who was there from the beginning. */
  readonly first: Stock;
  /** What it saw of this run. */
  seen(): readonly SeenEvent[];
  /** What it posted. */
  readonly posting: { readonly runId: string; readonly resume: readonly object[] };
  /** Steps through the run: something is done behind every event but the last, and then the next one may come. */
  step(atEach: () => Promise<void>): Promise<void>;
}

async function stageOf(version: Version, threadId: string): Promise<Stage> {
  const gates = await startGates();
  const first = stock(version, server.url, "approval", threadId);
  await first.say("Delete /tmp/a");
  const before = first.events.length;
  const [question] = first.agent.pendingInterrupts;
  const runId = `run of ${threadId}`;
  const resume = [{ interruptId: question?.id, status: "cancelled" }];
  const posting = { runId, resume, forwardedProps: { gates: gates.url, key: runId } };
  gates.open(`${runId} started`);
  first.agent.url = first.agent.url.replace("approval", "stepped");
  const whole = first.say("Go on", posting);
  await gates.reached(`${runId} started`);
  return {
    first,
    seen: () => first.events.slice(before),
    posting,
    async step(atEach) {
      const clock = framesOf(await attachTo(server.url, threadId, runId));
      for (let place = 0; place <= everything(runId).length; place++) {
        await clock.next();
        await atEach();
        gates.open(`${runId} ${place + 1}`);
      }
      await whole;
      expect(gates.visits(`${runId} started`)).toBe(1);
      expect(textsOf(first)).toContain(ANSWER);
      expectNothingDoubled(first);
    },
  };
}

/** What a client holds, and how it was told that the run ended. */
const outcomeOf = (client: Stock): object => ({ ...heldBy(client), end: client.ends.at(-1) });

/** The subagents as a client was told of them: of a run that it joined, once each. */
const subagentsIn = (events: readonly SeenEvent[]): readonly unknown[] =>
  events.filter(({ type }) => type.startsWith("SUBAGENT_")).map(({ type, subagentRunId }) => [type, subagentRunId]);

const VERSIONS: readonly Version[] = ["1.0.0", "0.0.59", "0.0.59 that says so"];

test.each(VERSIONS)(
  "fresh clients of %s, at every event: by connecting and by posting the run again",
  async (version) => {
    const threadId = `fresh ${version}`;
    const { first, seen, posting, step } = await stageOf(version, threadId);
    const joiners: Stock[] = [];
    const running: Promise<unknown>[] = [];
    await step(async () => {
      const byConnect = stock(version, server.url, "stepped", threadId, "/connect");
      const byPost = stock(version, server.url, "stepped", threadId);
      joiners.push(byConnect, byPost);
      running.push(byConnect.run(), byPost.run(posting));
      await Promise.all([byConnect.answered(), byPost.answered()]);
    });
    await Promise.all(running);
    expect(subagentsIn(seen())).toHaveLength(seesSubagents(version) ? 4 : 0);
    for (const client of joiners) {
      expect(outcomeOf(client)).toEqual(outcomeOf(first));
      expect(subagentsIn(client.events)).toEqual(subagentsIn(seen()));
    }
  },
);

test.each(VERSIONS)("one client of %s that goes away after every event and posts the run again", async (version) => {
  const threadId = `cut ${version}`;
  const { first, posting, step } = await stageOf(version, threadId);
  const client = stock(version, server.url, "stepped", threadId);
  let running = client.run(posting);
  let posts = 0;
  await step(async () => {
    await client.answered(++posts);
    client.agent.abortRun();
    await running;
    running = client.run(posting);
  });
  await running;
  expect(outcomeOf(client)).toEqual(outcomeOf(first));
});
