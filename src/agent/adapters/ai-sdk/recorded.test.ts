/** A stream of the SDK as it was recorded, and the events that it has to become: a change of either side shows here. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Event } from "../../../protocol/index.ts";
import { chain, expanding, throughArray, verifying } from "../../../stream/index.ts";
import { defineAgent, runAgent } from "../../index.ts";
import { fromAiSdk } from "./index.ts";

const { parts, events } = JSON.parse(readFileSync(new URL("fixtures/agent-run.json", import.meta.url), "utf8"));

async function* recorded() {
  yield* parts;
}

/** Ids of ours are random: they are renamed in the order in which they appear. */
function renamed(said: readonly Event[]): unknown {
  const names = new Map<string, string>();
  const text = JSON.stringify(said).replaceAll(/(msg|rsn|act)_[0-9a-f]{32}/g, (id, kind: string) => {
    names.set(id, names.get(id) ?? `${kind}-${names.size + 1}`);
    return names.get(id) ?? id;
  });
  return JSON.parse(text);
}

test("a recorded run of two steps becomes the events that are kept beside it", async () => {
  const said: Event[] = [];
  for await (const event of fromAiSdk(recorded())) said.push(event);
  expect(renamed(said)).toEqual(events);
});

test("and they make a valid run", async () => {
  const agent = defineAgent({ name: "recorded", run: () => fromAiSdk(recorded()) });
  const run: Event[] = [];
  for await (const event of runAgent(agent, { threadId: "t", runId: "r", messages: [] })) run.push(event);
  expect(throughArray(chain(expanding(), verifying()), run).at(-1)).toMatchObject({
    outcome: { type: "interrupt", interrupts: [{ id: "c5" }] },
    usage: [{ model: "mock", inputTokens: 20, outputTokens: 40 }],
  });
});
