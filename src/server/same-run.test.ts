import { describe, expect, test } from "vitest";
import { agentOf, bodyOf, collect, runToEnd, served } from "../../test/served.ts";
import type { Message } from "../protocol/index.ts";

const user = (id: string): Message => ({ id, role: "user", content: id });

/** Two runs; the second takes away what it began with, and answers. */
async function twoRuns() {
  const agent = agentOf(async ({ input, emit }) => {
    if (input.runId === "r2") await emit.messages([{ id: "summary", role: "assistant", content: "s" }]);
    await emit.text({ id: `re-${input.runId}` }).write("x");
    await emit.toolCall("f", { id: `c-${input.runId}` }).end();
    await emit.toolResult(`c-${input.runId}`, "1", { id: `x-${input.runId}` });
  });
  const heddle = served([agent, agentOf(() => {}, "other")]);
  await runToEnd(heddle, bodyOf("r1", { messages: [user("u1")] }));
  await runToEnd(heddle, bodyOf("r2", { messages: [user("u2")], resume: [ANSWER] }));
  return heddle;
}

const ANSWER = { interruptId: "i1", status: "resolved", payload: { ok: true } } as const;

describe("HTTP-RUN-4: the ids of a run that is there join it", () => {
  test.each<[string, object]>([
    ["the same body", { messages: [user("u2")] }],
    ["no messages", {}],
    ["all that the run knows", { messages: ["u1", "u2"].map(user) }],
    ["what the run said", { messages: [user("u2"), { id: "x-r2", role: "tool", toolCallId: "c-r2", content: "1" }] }],
    ["messages of others, which count for nothing", { messages: [{ id: "a9", role: "assistant", content: "?" }] }],
    ["an answer to nothing", { messages: [{ id: "x8", role: "tool", toolCallId: "none", content: "" }] }],
    ["another answer to an earlier call", { messages: [{ id: "x7", role: "tool", toolCallId: "c-r1", content: "" }] }],
    ["other tools, state and properties", { tools: [], state: { a: 1 }, forwardedProps: { b: 1 } }],
    ["its parent", { parentRunId: "r1" }],
  ])("with %s", async (_, more) => {
    const heddle = await twoRuns();
    const { joined } = await heddle.start("test", bodyOf("r2", { resume: [ANSWER], ...more }));
    expect(joined).toBe(true);
    expect(await heddle.store.runs({ tenant: "default", threadId: "t1" })).toHaveLength(2);
  });

  test.each<[string, string, object]>([
    ["another agent", "other", {}],
    ["a message of the user that it does not know", "test", { messages: [user("u3")] }],
    [
      "an answer that it does not know",
      "test",
      { messages: [{ id: "x9", role: "tool", toolCallId: "c-r2", content: "" }] },
    ],
    ["other answers", "test", { resume: [{ ...ANSWER, payload: { ok: false } }] }],
    ["no answers", "test", { resume: [] }],
    ["another parent", "test", { parentRunId: "r2" }],
  ])("but not with %s", async (_, agent, more) => {
    const heddle = await twoRuns();
    const again = heddle.start(agent, bodyOf("r2", { resume: [ANSWER], ...more }));
    await expect(again).rejects.toMatchObject({ code: "run-conflict", details: { runId: "r2" } });
  });

  test("also where the raw events of the run are gone", async () => {
    const heddle = await twoRuns();
    await heddle.close();
    await heddle.store.trim(Infinity);
    const later = served(
      agentOf(() => {}),
      { store: heddle.store },
    );
    const resume = [ANSWER];
    expect((await later.start("test", bodyOf("r2", { messages: [user("u2")], resume }))).joined).toBe(true);
    const other = later.start("test", bodyOf("r2", { messages: [user("u3")], resume }));
    await expect(other).rejects.toMatchObject({ code: "run-conflict" });
    expect((await collect(later, { runId: "r2" })).length).toBeGreaterThan(2);
  });
});
