/** The contract kit finds what is wrong with deliberately broken agents, and nothing with a good one. */
import { expect, test } from "vitest";
import { defineAgent } from "../agent/index.ts";
import type { Agent } from "../agent/index.ts";
import type { Event, RunAgentInput } from "../protocol/index.ts";
import { agentContract } from "./agent-contract.ts";
import type { AgentContractOptions } from "./agent-contract.ts";
import type { RunFunction } from "./agent-under-test.ts";
import { ContractViolation } from "./store-contract/contract-violation.ts";

/** Titles of the cases that an agent does not keep. */
async function faultsOf(agent: Agent | RunFunction, options: AgentContractOptions = {}): Promise<string[]> {
  const faults: string[] = [];
  for (const { title, run } of agentContract(agent, { soonMs: 300, ...options })) {
    try {
      await run();
    } catch (error) {
      if (!(error instanceof ContractViolation)) throw error;
      faults.push(title);
    }
  }
  return faults;
}

let ids = 0;

/** A run by hand, with something broken in it. */
const byHand = (
  broken: (input: RunAgentInput, good: readonly Event[], signal: AbortSignal) => readonly Event[],
): RunFunction =>
  async function* (input, { signal }) {
    const { threadId, runId } = input;
    const messageId = `m-${++ids}`;
    const started: Event = { type: "RUN_STARTED", threadId, runId };
    const body: readonly Event[] = [
      { type: "TEXT_MESSAGE_START", messageId },
      { type: "TEXT_MESSAGE_CONTENT", messageId, delta: "hi" },
      { type: "TEXT_MESSAGE_END", messageId },
    ];
    const good = [started, ...body, { type: "RUN_FINISHED", threadId, runId } as const];
    const stopped: Event = { type: "RUN_FINISHED", threadId, runId, outcome: { type: "cancelled" } };
    const open: string[] = [];
    for (const event of signal.aborted ? [started, stopped] : broken(input, good, signal)) {
      if (event.type === "TEXT_MESSAGE_START") open.push(event.messageId);
      if (event.type === "TEXT_MESSAGE_END") open.pop();
      yield event;
      if (!signal.aborted || event.type.startsWith("RUN_F")) continue;
      for (const each of open) yield { type: "TEXT_MESSAGE_END", messageId: each };
      yield stopped;
      return;
    }
  };

const ignoring: RunFunction = (input) => byHand((_, good) => good)(input, { signal: new AbortController().signal });

const IN_ORDER = "a user message: a run is in order, from RUN_STARTED to one terminal event";
const STOPS = "a user message: a run that is stopped ends in order, soon, and as cancelled";
const SILENT = "a user message: a run that is stopped before it starts says nothing";
const APART = "a user message: runs side by side do not mix";
const GOES_ON = "a user message: questions and frontend calls are answered, and the agent goes on to its end";
const ABANDONED = "a user message: questions that are abandoned are no success";
const LETS_GO = "a user message: a reader who leaves is let go";

test("a good agent has no faults, by defineAgent or by hand", async () => {
  const good = defineAgent({
    name: "good",
    run: async ({ emit }) => {
      const answer = await emit.interrupt({ reason: "why" });
      await emit.text().write(answer.status);
    },
  });
  expect(await faultsOf(good)).toEqual([]);
  expect(await faultsOf(byHand((_, events) => events))).toEqual([]);
});

test.each<[string, RunFunction, readonly string[]]>([
  ["has no terminal event", byHand((_, good) => good.slice(0, -1)), [IN_ORDER]],
  ["has no start", byHand((_, good) => good.slice(1)), [IN_ORDER]],
  ["leaves a message open", byHand((_, good) => good.filter(({ type }) => type !== "TEXT_MESSAGE_END")), [IN_ORDER]],
  ["goes on after its end", byHand((_, good) => [...good, ...good.slice(1, 2)]), [IN_ORDER]],
  ["invents fields", byHand((_, good) => good.map((event) => ({ ...event, invented: true }))), [IN_ORDER]],
  [
    "names another run",
    byHand((_, good) => good.map((event) => (event.type.startsWith("RUN_") ? { ...event, runId: "other" } : event))),
    [IN_ORDER],
  ],
  [
    "sends a delta that does not apply",
    byHand((_, [started, ...rest]) => [
      ...(started === undefined ? [] : [started]),
      { type: "STATE_DELTA", delta: [{ op: "remove", path: "/nothing" }] },
      ...rest,
    ]),
    [IN_ORDER],
  ],
  [
    "uses one message id for all runs",
    byHand((_, good) =>
      good.map((event) => ("messageId" in event ? ({ ...event, messageId: "same" } as Event) : event)),
    ),
    [APART],
  ],
])("an agent that %s is found out", async (_, agent, faults) => {
  const found = await faultsOf(agent);
  for (const fault of faults) expect(found).toContain(fault);
});

test("an agent that does not hear the stop is found out", async () => {
  const deaf = defineAgent({
    name: "deaf",
    run: async ({ emit }) => {
      await emit.text().write("hm");
      await new Promise((resolve) => setTimeout(resolve, 200));
    },
  });
  expect(await faultsOf(deaf, { soonMs: 100 })).toContain(STOPS);
  const hanging = defineAgent({ name: "hanging", run: () => new Promise(() => {}) });
  expect(await faultsOf(hanging, { soonMs: 50 })).toEqual(expect.arrayContaining([IN_ORDER, STOPS, LETS_GO]));
});

test("a producer that ignores a stop, or calls it a success, is found out", async () => {
  expect(await faultsOf(ignoring)).toEqual(expect.arrayContaining([SILENT]));
});

test("an agent that asks for ever, or asks again what was abandoned, is found out", async () => {
  const insisting = byHand(({ threadId, runId }, [started]) => [
    ...(started === undefined ? [] : [started]),
    { type: "RUN_FINISHED", threadId, runId, outcome: { type: "interrupt", interrupts: [{ id: "q", reason: "why" }] } },
  ]);
  expect(await faultsOf(insisting)).toEqual(expect.arrayContaining([GOES_ON, ABANDONED]));
});

test("a failure that has to come and does not, or comes without a code, is found out", async () => {
  const fine = defineAgent({ name: "fine", run: () => {} });
  const failing = { always: {} };
  expect(await faultsOf(fine, { failing })).toEqual(["always: fails with a message and a code, and everything closed"]);
  const nameless = byHand((_, good) => [...good.slice(0, 1), { type: "RUN_ERROR", message: "no" }]);
  expect(await faultsOf(nameless, { failing })).toContain(
    "always: fails with a message and a code, and everything closed",
  );
});
