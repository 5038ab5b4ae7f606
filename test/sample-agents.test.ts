/** The sample agents: each keeps the contract of agents, does what its header says, and is taken by the stock client. */
import { AbstractAgent } from "@ag-ui/client";
import type { BaseEvent } from "@ag-ui/core";
import { from } from "rxjs";
import type { Observable } from "rxjs";
import { describe, expect, test } from "vitest";
import { approval } from "../examples/agents/approval.ts";
import { chat } from "../examples/agents/chat.ts";
import { load } from "../examples/agents/load.ts";
import { reasoning } from "../examples/agents/reasoning.ts";
import { state } from "../examples/agents/state.ts";
import { subagents } from "../examples/agents/subagents.ts";
import { tools } from "../examples/agents/tools.ts";
import type { Agent } from "../src/agent/index.ts";
import type { Event, RunAgentInput } from "../src/protocol/index.ts";
import { projectToSession } from "../src/protocol/session/index.ts";
import type { SessionEvent } from "../src/protocol/session/index.ts";
import { agentContract } from "../src/testing/agent-contract.ts";
import type { AgentContractOptions } from "../src/testing/agent-contract.ts";
import { nextMessages, questionsOf, runToEnd } from "./run-to-end.ts";

const saying = (content: string, rest: Partial<RunAgentInput> = {}): Partial<RunAgentInput> => ({
  messages: [{ id: "u", role: "user", content }],
  ...rest,
});

const SAMPLES: Readonly<Record<string, readonly [Agent, AgentContractOptions]>> = {
  chat: [chat, { inputs: { hello: {}, more: saying("I like looms") } }],
  tools: [
    tools,
    { inputs: { weather: saying("Weather in Ulm and Rome?"), sum: saying("2 * (3 + 4)"), none: saying("?") } },
  ],
  reasoning: [
    reasoning,
    { inputs: { on: saying("Is 91 prime?"), off: saying("Is 97 prime?", { forwardedProps: { reasoning: false } }) } },
  ],
  approval: [
    approval,
    {
      inputs: { approval: saying("Delete /tmp/a"), input: saying("Sign in"), none: saying("?") },
      answer: ({ reason }) => ({
        status: "resolved",
        payload: reason === "tool_call" ? { approved: true } : { response: "Ada" },
      }),
    },
  ],
  state: [
    state,
    { inputs: { fresh: saying("Weave a scarf"), held: saying("Go on", { state: { title: "x", steps: [] } }) } },
  ],
  subagents: [subagents, { inputs: { fine: saying("weaving"), failing: saying("how to fail") } }],
  load: [
    load,
    {
      inputs: { tokens: saying("", { forwardedProps: { tokens: 30 } }) },
      failing: { "at a token": saying("", { forwardedProps: { tokens: 30, failAt: 10 } }) },
    },
  ],
};

describe.each(Object.entries(SAMPLES))("%s keeps the contract of agents", (_, [agent, options]) => {
  test.each(agentContract(agent, options).map((each) => [each.title, each.run] as const))("%s", async (__, run) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

/** The stock client's agent, fed with a run. */
class FedAgent extends AbstractAgent {
  readonly events: readonly Event[];
  constructor(events: readonly Event[]) {
    super({ threadId: "thread" });
    this.events = events;
  }
  run(): Observable<BaseEvent> {
    return from(JSON.parse(JSON.stringify(this.events)) as BaseEvent[]);
  }
}

test.each(Object.entries(SAMPLES))(
  "%s is taken by the stock client, and means the same there",
  async (_, [agent, options]) => {
    for (const input of Object.values(options.inputs ?? {})) {
      const { events, view } = await runToEnd(agent, input);
      const peer = new FedAgent(events);
      peer.setMessages(JSON.parse(JSON.stringify(input.messages ?? [])));
      peer.setState(input.state ?? {});
      await peer.runAgent({ runId: "run" });
      expect(peer.messages).toEqual(view.messages);
      expect(peer.state).toEqual(view.state);
      expect(peer.pendingInterrupts).toEqual(view.interrupts);
    }
  },
);

test("chat answers what was said last", async () => {
  expect((await runToEnd(chat, saying("Hello there"))).text).toContain("What would you like");
  expect((await runToEnd(chat, saying("I like looms"))).text).toContain("3 words: “I like looms”");
});

test("tools calls tools side by side and tells what they returned, also when they fail", async () => {
  const { text, types, last } = await runToEnd(tools, saying("What is the weather in Ulm and Rome, and 2 * (3 + 4)?"));
  expect(text).toContain("In Ulm it is windy, 14 °C. In Rome it is sunny, 24 °C.");
  expect(text).toContain("The result is 14.");
  expect(types.filter((type) => type === "TOOL_CALL_RESULT")).toHaveLength(3);
  expect(last).toMatchObject({ usage: [{ model: "scripted" }] });
  expect((await runToEnd(tools, saying("1 / 0"))).text).toContain("That has no value");
});

/** What the session dialect of seed 003 shows of a run. */
async function sessionOf(agent: Agent, input: Partial<RunAgentInput>): Promise<readonly SessionEvent[]> {
  const project = projectToSession({ sessionId: "session" });
  return (await runToEnd(agent, input)).events.flatMap((event) => project(event));
}

test("seed 003: the tools sample is seen as tool-call and tool-result events, one for each call, failures included", async () => {
  const events = await sessionOf(tools, saying("Weather in Ulm and Rome, and 1 / 0?"));
  const seen = events.map(({ type }) => type);
  expect(seen.filter((type) => type === "tool-call-chunk")).toHaveLength(3);
  const results = events.flatMap((event) => (event.type === "tool-result-chunk" ? [event.data] : []));
  expect(results).toMatchObject([
    { isError: false, result: expect.stringContaining("Ulm") },
    { isError: false, result: expect.stringContaining("Rome") },
    { isError: true, error: "That has no value." },
  ]);
  expect(seen).toEqual(expect.arrayContaining(["tool-call-complete", "tool-result-complete"]));
});

test("seed 003: the reasoning sample is seen as thought events, and not when it is switched off", async () => {
  const seen = (await sessionOf(reasoning, saying("Is 91 prime?"))).map(({ type }) => type);
  expect(seen).toEqual(expect.arrayContaining(["thought-chunk", "thought-complete"]));
  const off = await sessionOf(reasoning, saying("Is 91 prime?", { forwardedProps: { reasoning: false } }));
  expect(off.filter(({ type }) => type.startsWith("thought"))).toEqual([]);
});

test("reasoning can be switched off, and answers the same", async () => {
  const on = await runToEnd(reasoning, saying("Is 91 prime?"));
  const off = await runToEnd(reasoning, saying("Is 91 prime?", { forwardedProps: { reasoning: false } }));
  expect(on.types).toContain("REASONING_MESSAGE_CONTENT");
  expect(off.types.filter((type) => type.startsWith("REASONING"))).toEqual([]);
  expect(off.text).toBe(on.text);
  expect(on.text).toBe("91 is 7 × 13, so it is not prime.");
});

test("approval deletes what was approved, and nothing that was denied", async () => {
  const asked = await runToEnd(approval, saying("Delete /tmp/a"));
  const [question] = questionsOf(asked);
  expect(question).toMatchObject({ reason: "tool_call", toolCallId: question?.id });
  const answered = (payload: unknown) =>
    runToEnd(approval, {
      messages: nextMessages(asked),
      resume: [{ interruptId: question?.id ?? "", status: "resolved", payload }],
    });
  expect((await answered({ approved: true })).text).toBe("Deleted /tmp/a. Anything else?");
  expect((await answered({ approved: true, editedArgs: { path: "/tmp/b" } })).text).toBe(
    "Deleted /tmp/b. Anything else?",
  );
  expect((await answered({ approved: false })).text).toBe("All right, I leave it alone.");
});

test("state fills the plan in, keeps what is done, and works on steps of the client's own", async () => {
  const first = await runToEnd(state, saying("Weave a scarf"));
  const done = { done: true };
  expect(first.view.state).toMatchObject({ title: "Weave a scarf", steps: [done, done, done, done] });
  expect(first.types.filter((type) => type === "STATE_SNAPSHOT")).toHaveLength(1);
  expect(first.types.filter((type) => type === "STATE_DELTA")).toHaveLength(4);
  const plan = {
    title: "Mine",
    steps: [
      { title: "old", done: true },
      { title: "new", done: false },
    ],
  };
  const second = await runToEnd(state, saying("Go on", { state: plan }));
  expect(second.events.flatMap((event) => (event.type === "STEP_STARTED" ? [event.stepName] : []))).toEqual(["2. new"]);
  expect(second.view.state).toEqual({ title: "Mine", steps: plan.steps.map((step) => ({ ...step, done: true })) });
});

test("subagents speak under their names, and one that fails does not fail the run", async () => {
  const { view, last } = await runToEnd(subagents, saying("how to fail"));
  expect(view.subagents.map(({ name, status }) => [name, status])).toEqual([
    ["researcher", "failed"],
    ["researcher", "finished"],
    ["writer", "finished"],
  ]);
  expect(last).toMatchObject({ type: "RUN_FINISHED" });
});

test("load fails where it is asked to, and keeps what it said", async () => {
  const { text, last } = await runToEnd(load, saying("", { forwardedProps: { tokens: 9, failAt: 4 } }));
  expect(text).toBe("t1 t2 t3");
  expect(last).toMatchObject({ type: "RUN_ERROR", code: "agent-failed", message: "Failed at word 4, as asked." });
});
