import { expect, test, vi } from "vitest";
import * as v from "valibot";
import { nextMessages, questionsOf, runToEnd } from "../../test/run-to-end.ts";
import type { EndedRun } from "../../test/run-to-end.ts";
import type { ResumeEntry, RunAgentInput } from "../protocol/index.ts";
import { defineAgent } from "./index.ts";
import type { Agent } from "./index.ts";

const agentOf = (run: Agent["run"]): Agent => defineAgent({ name: "test", run });

const resolved = (interruptId: string, payload?: unknown): ResumeEntry => ({
  interruptId,
  status: "resolved",
  ...(payload === undefined ? {} : { payload }),
});

/** What a client sends after a run: everything that it holds, and the answers. */
const answering = (run: EndedRun, ...resume: readonly ResumeEntry[]): Partial<RunAgentInput> => ({
  messages: nextMessages(run),
  state: run.view.state,
  resume,
});

test("seed 000, user input: the run ends with the question, the next one goes on with the answer", async () => {
  const agent = agentOf(async ({ emit }) => {
    const answer = await emit.interrupt({
      id: "input_789",
      reason: "input_required",
      message: "Please enter your API key",
      responseSchema: { type: "object", properties: { response: { type: "string" } }, required: ["response"] },
      metadata: { heddle: { payload: { prompt: "Please enter your API key", inputType: "password" } } },
    });
    expect(answer).toEqual({ status: "resolved", payload: { response: "sk-secret-key-123" } });
    await emit.text().write("Thank you.");
  });
  const first = await runToEnd(agent);
  expect(first.types).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
  expect(first.last).toMatchObject({
    outcome: {
      type: "interrupt",
      interrupts: [
        {
          id: "input_789",
          reason: "input_required",
          message: "Please enter your API key",
          responseSchema: { type: "object" },
        },
      ],
    },
  });
  const second = await runToEnd(agent, answering(first, resolved("input_789", { response: "sk-secret-key-123" })));
  expect(second.text).toBe("Thank you.");
  expect(second.last).not.toHaveProperty("outcome");
  expect(second.lines).toEqual([]);
});

test("questions that are asked together are one outcome", async () => {
  const agent = agentOf(async ({ emit }) => {
    const ask = async (reason: string, turns: number) => {
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      return emit.interrupt({ id: reason, reason });
    };
    const answers = await Promise.all([
      ask("a", 0),
      ask("b", 50),
      emit.subagent("s", { id: "s" }).emit.interrupt({ id: "c", reason: "c" }),
    ]);
    await emit.text().write(JSON.stringify(answers.map((answer) => answer.status)));
  });
  const first = await runToEnd(agent);
  expect(questionsOf(first)).toEqual([
    { id: "a", reason: "a" },
    { id: "c", reason: "c", subagentRunId: "s" },
    { id: "b", reason: "b" },
  ]);
  expect(first.events.at(-2)).toMatchObject({
    type: "SUBAGENT_FINISHED",
    outcome: { type: "suspended", interruptIds: ["c"] },
  });
  const second = await runToEnd(
    agent,
    answering(first, resolved("a"), { interruptId: "b", status: "cancelled" }, resolved("c")),
  );
  expect(second.text).toBe('["resolved","cancelled","resolved"]');
});

test("an answer that is missing is asked for again, and nothing behind it is done", async () => {
  const agent = agentOf(async ({ emit }) => {
    await Promise.all([emit.interrupt({ id: "a", reason: "a" }), emit.interrupt({ id: "b", reason: "b" })]);
    await emit.text().write("done");
  });
  const first = await runToEnd(agent);
  const second = await runToEnd(agent, answering(first, resolved("a")));
  expect(questionsOf(second)).toEqual([{ id: "b", reason: "b" }]);
  expect(second.text).toContain("Questions answered so far: a");
  const third = await runToEnd(agent, answering(second, resolved("b")));
  expect(third.text).toBe("done");
});

test("questions without an id are counted, and answers of earlier runs come back from the messages", async () => {
  const asking = agentOf(async ({ emit }) => {
    const answers: unknown[] = [];
    for (const reason of ["name", "age", "sure"]) {
      const answer = await emit.interrupt({ reason });
      answers.push(answer.status === "resolved" ? answer.payload : undefined);
    }
    await emit.text().write(JSON.stringify(answers));
  });
  let run = await runToEnd(asking);
  const asked: string[] = [];
  for (const payload of ["Ada", 36, true]) {
    const [question] = questionsOf(run);
    asked.push(question?.reason ?? "");
    run = await runToEnd(asking, answering(run, resolved(question?.id ?? "", payload)));
  }
  expect(asked).toEqual(["name", "age", "sure"]);
  expect(run.text).toBe('["Ada",36,true]');
  expect(run.last).not.toHaveProperty("outcome");
});

test("a response schema whose library says no JSON Schema is refused", async () => {
  const agent = agentOf(({ emit }) => emit.interrupt({ reason: "name", responseSchema: v.string() }));
  expect((await runToEnd(agent)).last).toMatchObject({ type: "RUN_ERROR", code: "config-invalid" });
});

test("the record of earlier answers counts only in the run that goes on", async () => {
  const agent = agentOf(async ({ emit, input }) => {
    const isLate = input.messages.some(({ id }) => id === "new");
    if (!isLate) await emit.interrupt({ id: "first", reason: "first" });
    await emit.interrupt({ id: "second", reason: "second" });
    const again = await emit.interrupt({ id: "first", reason: "first" });
    await emit.text().write(JSON.stringify(again));
  });
  const one = await runToEnd(agent);
  const two = await runToEnd(agent, answering(one, resolved("first", "old")));
  expect(questionsOf(two)).toMatchObject([{ id: "second" }]);
  const messages = [...nextMessages(two), { id: "new", role: "user", content: "something else" } as const];
  const three = await runToEnd(agent, { messages });
  expect(questionsOf(three)).toMatchObject([{ id: "second" }]);
  // The old answer to "first" is in the messages; it must not answer a question of this conversation turn.
  const four = await runToEnd(agent, { messages, resume: [resolved("second")] });
  expect(questionsOf(four)).toMatchObject([{ id: "first" }]);
});

test.each<[string, readonly ResumeEntry[]]>([
  ["without answers", []],
  ["with answers to other questions", [resolved("elsewhere")]],
])("a run %s does not go on from the record: it asks from its beginning", async (_, resume) => {
  const agent = agentOf(async ({ emit }) => {
    for (const id of ["first", "second", "third"]) await emit.interrupt({ id, reason: id });
  });
  const one = await runToEnd(agent);
  const two = await runToEnd(agent, answering(one, resolved("first")));
  expect(questionsOf(two)).toMatchObject([{ id: "second" }]);
  const again = await runToEnd(agent, answering(two, ...resume));
  expect(questionsOf(again)).toMatchObject([{ id: "first" }]);
});

test("a question of one name that is asked twice takes its answers in order", async () => {
  const agent = agentOf(async ({ emit }) => {
    const tries: unknown[] = [];
    while (tries.at(-1) !== "right") {
      const answer = await emit.interrupt({ id: "guess", reason: "guess" });
      tries.push(answer.status === "resolved" ? answer.payload : undefined);
    }
    await emit.text().write(tries.join(","));
  });
  const one = await runToEnd(agent);
  const two = await runToEnd(agent, answering(one, resolved("guess", "wrong")));
  const three = await runToEnd(agent, answering(two, resolved("guess", "right")));
  expect(three.text).toBe("wrong,right");
});

test("an answer that does not fit its schema fails the run, so that it can be given again", async () => {
  const agent = agentOf(async ({ emit }) => {
    await emit.interrupt({ id: "q", reason: "q", responseSchema: { type: "object", required: ["yes"] } });
  });
  for (const payload of [undefined, 7, {}]) {
    const { last } = await runToEnd(agent, { resume: [resolved("q", payload)] });
    expect(last).toMatchObject({ type: "RUN_ERROR", code: "resume-invalid", message: expect.stringContaining("q") });
  }
});

test("an answer to nothing is logged, and the run goes on", async () => {
  const { last, lines } = await runToEnd(
    agentOf(() => {}),
    { resume: [resolved("nobody asked")] },
  );
  expect(last).toMatchObject({ type: "RUN_FINISHED" });
  expect(lines).toEqual([expect.stringContaining("did not ask")]);
});

test("the promise never settles, and the signal says that the run is over", async () => {
  const after = vi.fn<() => void>();
  const reason = Promise.withResolvers<unknown>();
  await runToEnd(
    agentOf(async ({ emit, signal }) => {
      signal.addEventListener("abort", () => reason.resolve(signal.reason));
      await emit.interrupt({ reason: "why" }).then(after, after);
    }),
  );
  await expect(reason.promise).resolves.toMatchObject({
    code: "run-ended",
    details: { interruptIds: [expect.any(String)] },
  });
  expect(after).not.toHaveBeenCalled();
});

test("whatever still writes when the run has asked is refused for that reason, and nobody calls it a failure", async () => {
  const onError = vi.fn<(error: unknown) => void>();
  const refused = Promise.withResolvers<unknown>();
  await runToEnd(
    agentOf(async ({ emit, signal }) => {
      void emit.interrupt({ reason: "why" });
      const text = emit.text();
      try {
        for (;;) {
          await text.write("x");
          await new Promise((resolve) => setImmediate(resolve));
        }
      } catch (error) {
        refused.resolve([error, signal.reason]);
        throw error;
      }
    }),
    {},
    { onError },
  );
  const [error, reason] = Object(await refused.promise);
  expect(error).toMatchObject({ code: "run-ended", details: { interruptIds: [expect.any(String)] } });
  expect(error).toBe(reason);
  await new Promise((resolve) => setImmediate(resolve));
  expect(onError).not.toHaveBeenCalled();
});

test("a run that asks and returns has asked; one that asks and throws has failed", async () => {
  const returned = await runToEnd(agentOf(({ emit }) => void emit.interrupt({ id: "q", reason: "why" })));
  expect(questionsOf(returned)).toMatchObject([{ id: "q" }]);
  const thrown = await runToEnd(
    agentOf(({ emit }) => {
      void emit.interrupt({ id: "q", reason: "why" });
      throw new Error("no");
    }),
  );
  expect(thrown.last).toMatchObject({ type: "RUN_ERROR", message: "no" });
});

test("a run that is stopped while it asks is cancelled", async () => {
  const stop = new AbortController();
  const { last } = await runToEnd(
    agentOf(async ({ emit, signal }) => {
      void emit.interrupt({ id: "q", reason: "why" });
      stop.abort();
      signal.throwIfAborted();
    }),
    {},
    { signal: stop.signal },
  );
  expect(last).toMatchObject({ outcome: { type: "cancelled" } });
});

test("two open questions cannot have one id", async () => {
  const { last } = await runToEnd(
    agentOf(({ emit }) => {
      void emit.interrupt({ id: "q", reason: "a" });
      void emit.interrupt({ id: "q", reason: "b" });
    }),
  );
  expect(last).toMatchObject({ type: "RUN_ERROR", code: "sequence-violation" });
});
