/**
 * The eighth sentence, with its times scaled down: two seconds of idleness for sixty, five seconds of age for ten minutes,
 * a run of thirty seconds for one of twenty-five minutes, ten seconds of silence for three minutes.
 */
import { connect } from "node:net";
import { expect, test } from "vitest";
import { cuttingProxy } from "../cutting-proxy.ts";
import { startGates } from "../gate.ts";
import { startServer } from "../server-process.ts";
import { attachTo, follow, framesOf, postRun } from "../sse-client.ts";
import type { Frame } from "../sse-client.ts";

const AGENT = "test/acceptance/slow-agent.ts";
const IDLE_MS = 2000;
const AGE_MS = 5000;

async function allFrames(answer: Response): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of framesOf(answer)) frames.push(frame);
  return frames;
}

test("Proxies. Behind default nginx, a 60 s idle load balancer and a gateway that cuts every connection at 10 minutes, a 25-minute run with a 3-minute silent tool call shows the first token without delay and finishes with no visible break.", async () => {
  const gates = await startGates();
  const server = await startServer({ files: [AGENT], env: { HEDDLE_KEEP_ALIVE_MS: "500" } });
  const proxy = await cuttingProxy(server.url, { idleMs: IDLE_MS, ageMs: AGE_MS });
  // The proxy does cut: somebody who says nothing is gone long before the silence is over.
  connect(Number(new URL(proxy.url).port), "127.0.0.1").on("error", () => undefined);

  const input = { threadId: "t", runId: "r", forwardedProps: { gate: gates.url } };
  const answers: Response[] = [];
  const kept = async (sent: Promise<Response>): Promise<Response> => {
    const answer = await sent;
    answers.push(answer);
    return answer;
  };
  const seen: Frame[] = [];
  let uncut: Promise<readonly Frame[]> | undefined;
  for await (const frame of follow(
    () => kept(postRun(proxy.url, "slow", input)),
    (after) => kept(attachTo(proxy.url, "t", "r", after)),
  )) {
    seen.push(frame);
    if (frame.event["delta"] !== "first ") continue;
    // The agent makes nothing more before the gate opens: the token was not held back for company, nor come back for.
    expect(proxy.cuts).toMatchObject({ age: 0 });
    uncut = allFrames(await attachTo(server.url, "t", "r"));
    gates.open("first-seen");
  }

  expect(seen).toEqual(await uncut);
  expect(seen.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED" });
  expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
  expect(gates.visits("first-seen")).toBe(1);
  // Comments kept every stream alive through the silence; age alone cut, and the client came back each time.
  expect(proxy.cuts.idle).toBe(1);
  expect(proxy.cuts.age).toBeGreaterThanOrEqual(5);
  expect(answers.length).toBeGreaterThan(5);
  for (const { status, headers } of answers) {
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(headers.get("content-encoding")).toBeNull();
    expect(headers.get("x-accel-buffering")).toBe("no");
    expect(headers.get("cache-control")).toMatch(/no-transform/);
  }
  expect(proxy.held()).toBe(0);
}, 180_000);
