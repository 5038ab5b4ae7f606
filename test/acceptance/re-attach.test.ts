/**
 * Want 2. The client that posted the run is cut, again and again, at offsets that fall on the borders of frames, into
 * lines, ids and characters, and anywhere in between; the run goes on meanwhile, and a client beside it is never cut.
 * (That no byte is special is proven by cutting at every one, elsewhere.)
 */
import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import { attachTo, follow, framesOf, postRun } from "../sse-client.ts";
import type { Frame } from "../sse-client.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { LAST_OF_FIRST_HALF } from "./agents.ts";
import { cutAfter } from "./cut-after.ts";
import { eventsIn, readLog, runsIn, verifyAll } from "./thread-log.ts";

const MESSAGES = [{ id: "u1", role: "user", content: "How many looms?" }];

/** Offsets in a recorded body: before and after the first byte, around borders, inside of characters, and every so often. */
function offsetsIn(body: Buffer): readonly number[] {
  const at = (text: string, from = 0): number => body.indexOf(text, from);
  const frame = at("\n\n", Math.floor(body.length / 2));
  const thread = at("🧵", Math.floor(body.length / 3));
  const borders = [0, 1, at("\n"), at("\n") + 1, frame, frame + 1, frame + 2, frame + 6, thread + 1, thread + 3];
  const spread = Array.from({ length: 13 }, (_, index) => Math.floor((body.length * (index + 1)) / 14));
  return [...new Set([...borders, ...spread, body.length - 2, body.length - 1])];
}

test("Re-attach. I cut the network at any byte offset, reconnect with the last `id:` I saw, and the events I get before and after the cut, joined, equal event for event what an uninterrupted client got, and the agent was started once.", async () => {
  const gates = await startGates();
  const { url } = await acceptanceServer(gates);
  const post = (threadId: string): Promise<Response> =>
    postRun(url, "worker", { threadId, runId: "r1", messages: MESSAGES });

  // Its name is as long as the others, so that its body is too.
  gates.open("cut at nothing r1 middle");
  const recorded = Buffer.from(await (await post("cut at nothing")).arrayBuffer());

  /** Everything that a client got that is cut at the offset, and then at ever larger distances. */
  async function cutAt(threadId: string, offset: number) {
    let distance = offset;
    let connections = 0;
    const shorten = async (answer: Promise<Response>): Promise<Response> => {
      connections += 1;
      const cut = cutAfter(await answer, distance);
      distance = distance * 2 + 1;
      return cut;
    };
    const frames: Frame[] = [];
    const client = follow(
      () => shorten(post(threadId)),
      (after) => shorten(attachTo(url, threadId, "r1", after)),
    );
    for await (const frame of client) frames.push(frame);
    return { frames, connections };
  }

  /** What a client got that nobody cut. The second half is said when it has the first. */
  async function uncut(threadId: string): Promise<readonly Frame[]> {
    const frames: Frame[] = [];
    await gates.reached(`${threadId} r1 middle`);
    for await (const frame of framesOf(await attachTo(url, threadId, "r1"))) {
      frames.push(frame);
      if (frame.event["delta"] === LAST_OF_FIRST_HALF) gates.open(`${threadId} r1 middle`);
    }
    return frames;
  }

  const offsets = offsetsIn(recorded);
  for (const offset of offsets) {
    const threadId = `cut at ${String(offset).padStart(7)}`;
    const [{ frames, connections }, whole] = await Promise.all([cutAt(threadId, offset), uncut(threadId)]);
    expect({ offset, frames }).toEqual({ offset, frames: whole });
    expect(connections).toBeGreaterThan(1);
    verifyAll(eventsIn(frames));
    const log = await readLog(url, threadId);
    expect([runsIn(log), log.length]).toEqual([["r1"], whole.length]);
    expect(gates.visits(`${threadId} r1 middle`)).toBe(1);
  }
  expect(offsets.length).toBeGreaterThan(20);
});
