/**
 * A rolling restart behind a load balancer that keeps nobody on one server: each of three servers is told to stop while runs
 * stream and viewers watch, and replaced by another. Nobody who watches loses or doubles an event; new runs are taken all
 * the time; a run that takes too long says why it ended.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startGates } from "./gate.ts";
import { rawFrames } from "./raw-frames.ts";
import { realPostgres } from "./real-postgres.ts";
import { RoamingViewer } from "./roaming-viewer.ts";
import { roundRobinProxy } from "./round-robin-proxy.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { framesOf, postRun } from "./sse-client.ts";
import { scriptOf } from "./store-children/run-script.ts";
import type { ScriptKey } from "./store-children/run-script.ts";

/** Only the last server needs it. */
const GRACE_MS = 4000;
/** Servers start several times quicker from what others compiled. */
const COMPILED = { NODE_COMPILE_CACHE: join(tmpdir(), "heddle-compile-cache") };
const SHORT_MS = 200;
const VIEWERS = 3;
const CLIENTS = 2;

interface Watched {
  readonly key: ScriptKey;
  readonly viewers: readonly RoamingViewer[];
}

test("HTTP-INS-6: instances are replaced one after the other, and nobody who watches notices", async () => {
  const [gates, postgres] = [await startGates(), await realPostgres({ own: true })];
  onTestFinished(() => postgres.stop());
  const start = (): Promise<ServerProcess> =>
    startServer({
      files: ["test/crash-agents.ts"],
      store: postgres.url,
      env: { HEDDLE_SHUTDOWN_GRACE_MS: String(GRACE_MS), HEDDLE_LOG_LEVEL: "silent", ...COMPILED },
    });
  const servers = await Promise.all([start(), start(), start()]);
  const { url, targets, passedOver } = await roundRobinProxy(servers.map((server) => server.url));

  /** Asks once: there is always somebody who takes a run. */
  async function ask(agent: string, key: ScriptKey, forwardedProps: object): Promise<void> {
    const messages = [{ id: `${key.runId}-asked`, role: "user", content: "Go on." }];
    const answer = await postRun(url, agent, { ...key, messages, forwardedProps });
    expect([key, answer.status]).toEqual([key, 200]);
    const frames = framesOf(answer);
    expect((await frames.next()).value?.event.type).toBe("RUN_STARTED");
    await frames.return();
  }
  const watch = (key: ScriptKey): Watched => ({
    key,
    viewers: Array.from({ length: VIEWERS }, () => new RoamingViewer(key, { where: () => url })),
  });
  const seenBy = ({ viewers }: Watched): Promise<unknown> => Promise.all(viewers.map(({ done }) => done));

  // One after the other, so that each server gets one.
  const keys = servers.map((_, index) => ({ threadId: `long-${index}`, runId: `long-${index}` }));
  for (const key of keys) await ask("counts", key, { gates: gates.url });
  const long = keys.map(watch);
  const short: Watched[] = [];
  const rolled = new AbortController();
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let number = 0; !rolled.signal.aborted; number++) {
      const key = { threadId: `short-${client}-${number}`, runId: "r" };
      await ask("scripted", key, { paceMs: SHORT_MS / scriptOf(key).length });
      const run = watch(key);
      short.push(run);
      await seenBy(run);
    }
  });
  const codes: (number | null)[] = [];
  const taken: number[] = [];
  for (const [index, server] of servers.entries()) {
    const before = short.length;
    const stopped = server.stop();
    // The runs of the first two end while their servers wait for them; the third would go on for ever.
    if (index < 2) gates.open(`long-${index}`);
    codes.push(await stopped);
    targets[index] = (await start()).url;
    taken.push(short.length - before);
  }
  rolled.abort();
  await Promise.all([...clients, ...long.map(seenBy)]);

  expect(codes).toEqual([0, 0, 0]);
  expect(Math.min(...taken)).toBeGreaterThan(0);
  expect(passedOver()).toBeGreaterThan(0);
  const longEnds = await Promise.all(long.map((run) => checked(url, run)));
  expect(longEnds).toEqual(["finished", "finished", "server-closing"]);
  // Scripts end by themselves, some of them with an error of their own; on a busy machine one may be too late for the grace.
  for (const run of short) expect(["finished", "broken", "server-closing"]).toContain(await checked(url, run));
  // Who watched the third run was let go by the other two servers.
  expect(Math.max(...(long[2]?.viewers.map(({ cuts }) => cuts) ?? []))).toBeGreaterThan(0);
}, 120_000);

/** Everybody got what the log holds, and was asked to come back where they were let go. Gives how the run ended. */
async function checked(url: string, { key, viewers }: Watched): Promise<string> {
  const answer = await fetch(`${url}/threads/${key.threadId}/events?run=${key.runId}&follow=false`);
  const log = rawFrames([new Uint8Array(await answer.arrayBuffer())]);
  for (const viewer of viewers) {
    expect(viewer.ids).toEqual([...log.keys()]);
    expect([...viewer.raw]).toEqual([...log]);
    for (const farewell of viewer.farewells) expect(farewell).toMatch(/(^|\n\n)retry: \d+\n\n$/);
  }
  const last = [...log.values()].at(-1) ?? "";
  return /"type":"RUN_ERROR".*"code":"([^"]+)"/.exec(last)?.[1] ?? "finished";
}
