/** What a client posts, against what the log holds: forks, answers, and runs that are in the way. */
import { describe, expect, test, vi } from "vitest";
import { agentOf, bodyOf, collect, runToEnd, served } from "../../test/served.ts";
import type { Message, RunAgentInput, Tool } from "../protocol/index.ts";
import { foldBranch } from "../store/index.ts";
import { reduceAll, view } from "../stream/index.ts";
import { ROOT } from "./index.ts";
import type { HeddleOptions, StartOptions } from "./index.ts";

const KEY = { tenant: "default", threadId: "t1" };
const user = (id: string, content = `said ${id}`): Message => ({ id, role: "user", content });
const reply = (runId: string, to: string): Message => ({ id: `re-${runId}`, role: "assistant", content: `re: ${to}` });

/** A server whose agent answers the last message, and sets the state where it is told to. */
function answering(options: Partial<HeddleOptions> = {}) {
  const inputs: RunAgentInput[] = [];
  const agent = agentOf(async ({ input, emit }) => {
    inputs.push(input);
    const { set }: { set?: unknown } = Object(input.forwardedProps);
    if (set !== undefined) await emit.state.set(set);
    await emit.text({ id: `re-${input.runId}` }).write(`re: ${input.messages.at(-1)?.id}`);
  });
  return { heddle: served(agent, options), inputs };
}

const idsIn = (messages: readonly Message[] = []): string => messages.map(({ id }) => id).join(" ");

async function branchOf(heddle: ReturnType<typeof served>, runId: string): Promise<string> {
  return idsIn(view((await foldBranch(heddle.store, { ...KEY, runId })).state.reduce).messages);
}

/** Three turns: u1, u2 and u3, each answered. */
async function threeTurns(options: Partial<HeddleOptions> = {}) {
  const { heddle, inputs } = answering(options);
  const held: Message[] = [];
  for (const [index, runId] of ["r1", "r2", "r3"].entries()) {
    held.push(user(`u${index + 1}`));
    const forwardedProps = { set: { turn: index + 1 } };
    await runToEnd(heddle, bodyOf(runId, { messages: held, forwardedProps }));
    held.push(reply(runId, `u${index + 1}`));
  }
  inputs.length = 0;
  return { heddle, inputs, held };
}

describe("HTTP-HIS-1: a post that leaves something off or rewrites it is a fork", () => {
  test.each<[string, (held: readonly Message[]) => readonly Message[], string | undefined, string, object]>([
    [
      "another text of the third message",
      (held) => [...held.slice(0, 4), user("u3", "other")],
      "r2",
      "u1 re-r1 u2 re-r2 u3",
      { turn: 2 },
    ],
    ["another text of the first message", () => [user("u1", "other")], undefined, "u1", {}],
    ["a shorter list and a new message", (held) => [...held.slice(0, 2), user("u9")], "r1", "u1 re-r1 u9", { turn: 1 }],
    ["a list that ends at an answered message", (held) => held.slice(0, 3), "r1", "u1 re-r1 u2", { turn: 1 }],
    ["all but the last answer", (held) => held.slice(0, 5), "r2", "u1 re-r1 u2 re-r2 u3", { turn: 2 }],
  ])("%s", async (_, posted, parent, given, state) => {
    const { heddle, inputs, held } = await threeTurns();
    const before = await branchOf(heddle, "r3");
    await runToEnd(heddle, bodyOf("fork", { messages: posted(held), forwardedProps: {} }));
    expect(idsIn(inputs[0]?.messages)).toBe(given);
    expect(inputs[0]?.state ?? {}).toEqual(state);
    const run = await heddle.store.run({ ...KEY, runId: "fork" });
    expect(run).toMatchObject({ parentRunId: parent, kind: parent === undefined ? undefined : "branch" });
    expect(await branchOf(heddle, "fork")).toBe(`${given} re-fork`);
    expect(await branchOf(heddle, "r3")).toBe(before);
    expect((await heddle.store.thread(KEY))?.head).toBe("fork");
  });

  test("unless stale lists are appended to by choice", async () => {
    const { heddle, inputs, held } = await threeTurns({ rules: { "*": { onStale: "append" } } });
    await runToEnd(heddle, bodyOf("next", { messages: [...held.slice(0, 2), user("u9")], forwardedProps: {} }));
    expect(idsIn(inputs[0]?.messages)).toBe("u1 re-r1 u2 re-r2 u3 re-r3 u9");
  });

  test("everything that is known runs the agent again, on the branch", async () => {
    const { heddle, inputs, held } = await threeTurns();
    await runToEnd(heddle, bodyOf("again", { messages: held, forwardedProps: {} }));
    expect(idsIn(inputs[0]?.messages)).toBe(idsIn(held));
    expect(await heddle.store.run({ ...KEY, runId: "again" })).toMatchObject({ parentRunId: "r3", kind: "continue" });
  });

  test("a place that is asked for counts: a run, or the root", async () => {
    const { heddle, inputs } = await threeTurns();
    await heddle.start("test", bodyOf("a", { messages: [user("u9")] }), { parent: "r1" });
    await collect(heddle, { runId: "a" });
    await heddle.start("test", bodyOf("b", { messages: [user("u9")] }), { parent: ROOT });
    await collect(heddle, { runId: "b" });
    expect(inputs.map(({ messages }) => idsIn(messages))).toEqual(["u1 re-r1 u9", "u9"]);
  });

  test("of a long thread finds its place without folding every run", async () => {
    const { heddle } = answering();
    const held: Message[] = [];
    for (let turn = 0; turn < 40; turn++) {
      held.push(user(`u${turn}`));
      await runToEnd(heddle, bodyOf(`r${turn}`, { messages: held }));
      held.push(reply(`r${turn}`, `u${turn}`));
    }
    const snapshots = vi.spyOn(heddle.store, "snapshot");
    await runToEnd(heddle, bodyOf("fork", { messages: [...held.slice(0, 26), user("u13", "other")] }));
    expect(await heddle.store.run({ ...KEY, runId: "fork" })).toMatchObject({ parentRunId: "r12" });
    expect(snapshots.mock.calls.length).toBeLessThan(12);
  });
});

describe("HTTP-HIS-2: who holds something else is told first", () => {
  test.each<[string, (held: readonly Message[]) => object]>([
    ["only the new message", () => ({ messages: [user("u4")] })],
    [
      "an altered answer",
      (held) => ({ messages: [...held.slice(0, 5), { ...held[5], content: "forged" }, user("u4")] }),
    ],
    ["an edit", (held) => ({ messages: [...held.slice(0, 4), user("u3", "other")] })],
    ["a forged message", (held) => ({ messages: [...held, { id: "x", role: "assistant", content: "!" }, user("u4")] })],
  ])("%s", async (_, posted) => {
    const { heddle, held } = await threeTurns();
    const { opening } = await heddle.start("test", bodyOf("r4", posted(held)));
    const seen = await collect(heddle, { runId: "r4", opening });
    const told = reduceAll(seen.map(({ event }) => event));
    expect(idsIn(told.messages)).toBe(await branchOf(heddle, "r4"));
    expect(told.state).toEqual((await foldBranch(heddle.store, { ...KEY, runId: "r4" })).state.reduce.document);
  });

  test("and who holds the same is not", async () => {
    const { heddle, held } = await threeTurns();
    const { opening } = await heddle.start(
      "test",
      bodyOf("r4", { messages: [...held, user("u4")], state: { turn: 3 } }),
    );
    expect(opening).toBeUndefined();
  });
});

/** A server whose agent asks, and counts how often it acted on an answer. */
function asking(request: object = {}, options: Partial<HeddleOptions> = {}) {
  const acted: unknown[] = [];
  const agent = agentOf(async ({ emit, input }) => {
    const answer = await emit.interrupt({ id: "q", reason: "sure?", ...request });
    acted.push(answer);
    if (Object(input.forwardedProps).fail === true) throw new Error("broken");
    await emit.text().write("done");
  });
  return { heddle: served(agent, options), acted };
}

const yes = { interruptId: "q", status: "resolved", payload: { approved: true } } as const;

describe("HTTP-HIS-3: a question is answered once", () => {
  test("a message in place of an answer is refused, and the questions are told", async () => {
    const { heddle, acted } = asking();
    await runToEnd(heddle);
    await expect(heddle.start("test", bodyOf("r2", { messages: [user("u")] }))).rejects.toMatchObject({
      code: "answers-missing",
      details: { interrupts: [{ id: "q" }] },
    });
    expect(acted).toEqual([]);
  });

  test("an answer twice, under other run ids, gets what came of it", async () => {
    const { heddle, acted } = asking();
    await runToEnd(heddle);
    const ids = ["a", "b", "c"];
    const started = await Promise.all(ids.map((id) => heddle.start("test", bodyOf(id, { resume: [yes] }))));
    expect(new Set(started.map(({ run }) => run.runId)).size).toBe(1);
    await collect(heddle, { runId: started[0]?.run.runId });
    const late = await heddle.start("test", bodyOf("d", { resume: [yes] }));
    expect(late).toMatchObject({ joined: true, run: started[0]?.run });
    expect(acted).toHaveLength(1);
  });

  test("another answer to what was answered is refused", async () => {
    const { heddle, acted } = asking();
    await runToEnd(heddle);
    await runToEnd(heddle, bodyOf("r2", { resume: [yes] }));
    const no = { ...yes, payload: { approved: false } };
    await expect(heddle.start("test", bodyOf("r3", { resume: [no] }))).rejects.toMatchObject({
      code: "run-conflict",
      details: { runId: "r2" },
    });
    expect(acted).toHaveLength(1);
  });

  test("what failed is not tried again, and whoever takes the question back goes on", async () => {
    const { heddle, acted } = asking();
    await runToEnd(heddle);
    await runToEnd(heddle, bodyOf("r2", { resume: [yes], forwardedProps: { fail: true } }));
    expect(await heddle.start("test", bodyOf("r3", { resume: [yes] }))).toMatchObject({
      joined: true,
      run: { runId: "r2" },
    });
    expect(acted).toHaveLength(1);
    const back = { interruptId: "q", status: "cancelled" };
    expect(await heddle.start("test", bodyOf("r4", { resume: [back] }))).toMatchObject({ joined: false });
  });

  test.each<[string, object, object]>([
    ["does not fit the schema", { responseSchema: { type: "object", required: ["ok"] } }, yes],
    ["comes too late", { expiresAt: "2001-01-01T00:00:00Z" }, yes],
  ])("an answer that %s is refused, and the question stays", async (_, request, answer) => {
    const { heddle, acted } = asking(request);
    await runToEnd(heddle);
    const post = heddle.start("test", bodyOf("r2", { resume: [answer] }));
    await expect(post).rejects.toMatchObject({ code: "resume-invalid", details: { interruptId: "q" } });
    const back = { interruptId: "q", status: "cancelled" };
    await runToEnd(heddle, bodyOf("r3", { resume: [back] }));
    expect(acted).toEqual([{ status: "cancelled" }]);
  });
});

const TOOL: Tool = { name: "pick", description: "Picks.", parameters: {} };

/** A server whose agent calls a tool in its first run. */
const calling = (options: Partial<HeddleOptions> = {}) => {
  const inputs: RunAgentInput[] = [];
  const agent = agentOf(async ({ input, emit }) => {
    inputs.push(input);
    if (inputs.length === 1) emit.toolCall("pick", { id: "c1" }).end();
  });
  return { heddle: served(agent, options), inputs };
};

describe("HTTP-HIS-4: calls that wait for the client", () => {
  test("hold up a plain message", async () => {
    const { heddle } = calling();
    await runToEnd(heddle, bodyOf("r1", { tools: [TOOL] }));
    await expect(heddle.start("test", bodyOf("r2", { messages: [user("u")] }))).rejects.toMatchObject({
      code: "answers-missing",
      details: { toolCallIds: ["c1"] },
    });
    const answer = { id: "x", role: "tool", toolCallId: "c1", content: "1" };
    await runToEnd(heddle, bodyOf("r3", { messages: [answer, user("u")] }));
  });

  test("are declined where that is agreed on", async () => {
    const { heddle, inputs } = calling({ rules: { test: { onOpenCalls: "fail" } } });
    await runToEnd(heddle, bodyOf("r1", { tools: [TOOL] }));
    await runToEnd(heddle, bodyOf("r2", { messages: [user("u")] }));
    expect(inputs[1]?.messages).toMatchObject([
      { role: "assistant" },
      { role: "tool", toolCallId: "c1", error: "declined" },
      { role: "user" },
    ]);
  });

  test("are not those of tools that the client has never offered", async () => {
    const { heddle, inputs } = calling();
    await runToEnd(heddle);
    await runToEnd(heddle, bodyOf("r2", { messages: [user("u")] }));
    expect(inputs).toHaveLength(2);
  });
});

/** A server whose agent waits in the second run until it is stopped or let go. */
const waiting = () => {
  const inputs: RunAgentInput[] = [];
  const gate = Promise.withResolvers<void>();
  const agent = agentOf(async ({ input, emit, signal }) => {
    inputs.push(input);
    await emit.text({ id: `re-${input.runId}` }).write("so far");
    if (input.runId !== "r2") return;
    signal.addEventListener("abort", () => gate.resolve());
    await gate.promise;
  });
  return { heddle: served(agent), inputs, open: gate.resolve };
};

const busy = async () => {
  const parts = waiting();
  await runToEnd(parts.heddle, bodyOf("r1", { messages: [user("u1")] }));
  await parts.heddle.start("test", bodyOf("r2", { messages: [user("u2")] }));
  await vi.waitFor(async () => expect(await branchOf(parts.heddle, "r2")).toContain("re-r2"), { timeout: 20_000 });
  return parts;
};

const next = (options: StartOptions) => ({ body: bodyOf("r3", { messages: [user("u3")] }), options });

describe("HTTP-HIS-5: a run on a branch where another is under way", () => {
  test("is refused", async () => {
    const { heddle, open } = await busy();
    const { body } = next({});
    await expect(heddle.start("test", body)).rejects.toMatchObject({ code: "thread-busy", details: { runId: "r2" } });
    open();
  });

  test.each<[StartOptions["onBusy"], string, string, string]>([
    ["interrupt", "r2", "cancelled", "u1 re-r1 u2 re-r2 u3"],
    ["rollback", "r1", "cancelled", "u1 re-r1 u3"],
    ["fork", "r1", "running", "u1 re-r1 u3"],
  ])("goes on by %s", async (onBusy, parent, status, given) => {
    const { heddle, inputs, open } = await busy();
    const { body, options } = next({ onBusy });
    await heddle.start("test", body, options);
    await collect(heddle, { runId: "r3" });
    expect(idsIn(inputs.at(-1)?.messages)).toBe(given);
    expect(await heddle.store.run({ ...KEY, runId: "r3" })).toMatchObject({ parentRunId: parent });
    expect(await heddle.store.run({ ...KEY, runId: "r2" })).toMatchObject({ status });
    expect(await branchOf(heddle, "r2")).toContain("re-r2");
    open();
  });
});
