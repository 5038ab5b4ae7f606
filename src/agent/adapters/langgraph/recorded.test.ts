/** A stream of a graph as it was recorded, and the events that it has to become: a change of either side shows here. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Event } from "../../../protocol/index.ts";
import { chain, expanding, throughArray, verifying } from "../../../stream/index.ts";
import { defineAgent, runAgent } from "../../index.ts";
import { fromLangGraph } from "./index.ts";

const { chunks, events } = JSON.parse(readFileSync(new URL("fixtures/agent-run.json", import.meta.url), "utf8"));

async function* recorded() {
  yield* chunks;
}

const options = { knownMessageIds: ["u1"], state: {} };

test("a recorded run in all modes, with messages as plain data, becomes the events that are kept beside it", async () => {
  const said: Event[] = [];
  for await (const event of fromLangGraph(recorded(), options)) said.push(event);
  expect(said).toEqual(events);
});

test("and they make a valid run", async () => {
  const agent = defineAgent({ name: "recorded", run: () => fromLangGraph(recorded(), options) });
  const run: Event[] = [];
  for await (const event of runAgent(agent, { threadId: "t", runId: "r", messages: [] })) run.push(event);
  expect(throughArray(chain(expanding(), verifying()), run).at(-1)).toMatchObject({
    outcome: { type: "interrupt", interrupts: [{ message: "Book a trip?" }] },
    usage: [{ model: "fake-1", inputTokens: 10, outputTokens: 5 }],
  });
});
