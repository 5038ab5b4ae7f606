/**
 * Want 10. Two runs of one thread, with clients that differ in how they came to what they hold: the stock client and a raw
 * one, each live, cut off and back in the middle of a run, and fresh, before and after a restart. In the end all of them
 * hold the same messages, and what a snapshot named in the middle has kept its name.
 */
import type { Message } from "heddle/protocol";
import { reduceAll } from "heddle/stream";
import { expect, test } from "vitest";
import { startGates } from "../gate.ts";
import { attachTo, follow, framesOf } from "../sse-client.ts";
import type { Frame } from "../sse-client.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { LAST_OF_FIRST_HALF } from "./agents.ts";
import { cutAfter } from "./cut-after.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { stockClient } from "./stock-client.ts";
import type { StockClient } from "./stock-client.ts";
import { connectTo, deltaLogged, eventsIn, eventsOf, readLog } from "./thread-log.ts";

const QUESTIONS = [
  { id: "u1", role: "user", content: "How many looms?" },
  { id: "u2", role: "user", content: "And today?" },
] as const;
const CUT_EVERY_BYTES = 1000;

const idsOf = (messages: readonly { readonly id: string }[]): readonly string[] => messages.map(({ id }) => id);

/** The conversation as the first snapshot of an answer tells it; who asked leaves then. */
async function snapshotIn(answer: Response): Promise<readonly Message[]> {
  for await (const frame of framesOf(answer)) {
    const [event] = eventsIn([frame]);
    if (event?.type === "MESSAGES_SNAPSHOT") return event.messages;
  }
  throw new Error("There was no snapshot.");
}

async function allOf(frames: AsyncIterable<Frame>): Promise<readonly Frame[]> {
  const all: Frame[] = [];
  for await (const frame of frames) all.push(frame);
  return all;
}

/** A raw client that loses its connection again and again. */
const cutOff = (url: string, runId: string): AsyncIterable<Frame> => {
  const again = async (after?: string): Promise<Response> =>
    cutAfter(await attachTo(url, "t1", runId, after), CUT_EVERY_BYTES);
  return follow(again, again);
};

/** A stock client posts a run that is under way, leaves when it was told what there is, and posts it again. */
async function leaveAndJoin({ agent }: StockClient, runId: string): Promise<{ readonly ended: Promise<unknown> }> {
  await agent.runAgent({ runId }, { onMessagesSnapshotEvent: () => agent.abortRun() });
  const { promise: isBack, resolve } = Promise.withResolvers<void>();
  const ended = agent.runAgent({ runId }, { onMessagesSnapshotEvent: () => resolve() });
  await isBack;
  return { ended };
}

test("Ids. The set of message ids after live streaming, after re-attach, after reload and after `MESSAGES_SNAPSHOT` is identical, with no duplicates and no renamed message.", async () => {
  const [gates, store] = [await startGates(), await sqliteFile()];
  const server = await acceptanceServer(gates, { store });
  const [live, back] = [
    stockClient(`${server.url}/agents/worker`, "t1"),
    stockClient(`${server.url}/agents/worker`, "t1"),
  ];
  const raw: { live: Frame[]; cut: Frame[] } = { live: [], cut: [] };
  const early: Message[] = [];

  for (const [index, question] of QUESTIONS.entries()) {
    const runId = `r${index + 1}`;
    live.agent.addMessage(question);
    back.agent.addMessage(question);
    const shown = live.agent.runAgent({ runId });
    await gates.reached(`t1 ${runId} middle`);
    await deltaLogged(server.url, "t1", runId, LAST_OF_FIRST_HALF);
    const watched = allOf(framesOf(await attachTo(server.url, "t1", runId)));
    const cut = allOf(cutOff(server.url, runId));
    const { ended } = await leaveAndJoin(back, runId);
    early.push(...(await snapshotIn(await connectTo(server.url, "worker", "t1"))));
    gates.open(`t1 ${runId} middle`);
    await Promise.all([shown, ended]);
    raw.live.push(...(await watched));
    raw.cut.push(...(await cut));
    expect(gates.visits(`t1 ${runId} middle`)).toBe(1);
  }
  expect(live.errors).toEqual([]);

  const { messages } = live.agent;
  const ids = idsOf(messages);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(messages.map(({ role }) => role))).toEqual(
    new Set(["user", "assistant", "tool", "reasoning", "activity"]),
  );
  expect(back.agent.messages).toEqual(messages);
  for (const frames of [raw.live, raw.cut]) expect(reduceAll(eventsIn(frames)).messages).toEqual(messages);
  // What was told early may have grown since, but under its name and in its role.
  const roles = new Map(messages.map(({ id, role }) => [id, role]));
  expect(early.length).toBeGreaterThan(ids.length);
  for (const { id, role } of early) expect([id, roles.get(id)]).toEqual([id, role]);

  await server.stop();
  const { url } = await acceptanceServer(gates, { store });
  const fresh = stockClient(`${url}/agents/worker/connect`, "t1");
  await fresh.agent.runAgent();
  expect(fresh.agent.messages).toEqual(messages);
  expect(await snapshotIn(await connectTo(url, "worker", "t1"))).toEqual(messages);
  expect(reduceAll(await eventsOf(await connectTo(url, "worker", "t1"))).messages).toEqual(messages);
  expect(idsOf(reduceAll(await readLog(url, "t1")).messages)).toEqual(ids);
});
