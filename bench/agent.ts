/**
 * What a token costs through `emit`, from the author's write to the reader of the run: against building and verifying
 * the same events by hand, without handing them to anybody.
 */
import { defineAgent, runAgent } from "heddle/agent";
import { runFinished, runStarted, textMessageContent, textMessageEnd, textMessageStart } from "heddle/protocol";
import type { Event } from "heddle/protocol";
import { createVerifyState, verify } from "heddle/stream";
import { aiSdkRows } from "./ai-sdk.ts";
import { comparePerUnit } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";

const TOKENS = 20_000;
const PEER = "building and verifying the same events by hand";
const ids = { threadId: "thread-1", runId: "run-1" };
const input = { ...ids, messages: [] };

const awaiting = defineAgent({
  name: "awaiting",
  async run({ emit }) {
    const reply = emit.text();
    for (let token = 0; token < TOKENS; token++) await reply.write("token ");
  },
});

const flowing = defineAgent({
  name: "flowing",
  run({ emit }) {
    const reply = emit.text();
    for (let token = 0; token < TOKENS; token++) void reply.write("token ");
  },
});

/** The same events, built by the factories and verified, one by one; nobody is handed anything. */
function byHand(): number {
  const state = createVerifyState();
  const messageId = "msg_00000000000000000000000000000000";
  verify(state, runStarted({ ...ids, protocolVersion: "1.0", timestamp: Date.now() }));
  verify(state, textMessageStart({ messageId, role: "assistant", timestamp: Date.now() }));
  for (let token = 0; token < TOKENS; token++) {
    verify(state, textMessageContent({ messageId, delta: "token ", timestamp: Date.now() }));
  }
  verify(state, textMessageEnd({ messageId, timestamp: Date.now() }));
  verify(state, runFinished({ ...ids, timestamp: Date.now() }));
  return TOKENS;
}

async function count(events: AsyncIterable<Event>): Promise<number> {
  let taken = 0;
  for await (const _ of events) taken++;
  return taken;
}

export async function agentRows(effort: Effort): Promise<readonly Row[]> {
  const hand = { units: TOKENS, work: () => byHand() };
  const row = (what: string, agent: typeof awaiting): Promise<Row> =>
    comparePerUnit(
      { what, peer: PEER, kind: "cost", target: 2 },
      { units: TOKENS, work: () => count(runAgent(agent, input)) },
      hand,
      effort,
    );
  return [
    await row("a token by emit.text().write, awaited", awaiting),
    await row("a token by emit.text().write, not awaited", flowing),
    ...(await aiSdkRows(effort)),
  ];
}
