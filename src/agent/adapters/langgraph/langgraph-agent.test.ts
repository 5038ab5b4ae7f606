/** Graphs as agents over several runs: what the graph keeps, questions and answers, edits, state, stops. */
import type { BaseMessage } from "@langchain/core/messages";
import { AIMessage } from "@langchain/core/messages";
import { Annotation, MemorySaver, MessagesAnnotation, START, StateGraph, interrupt } from "@langchain/langgraph";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { expect, test, vi } from "vitest";
import type { Event, Message, RunAgentInput, Tool } from "../../../protocol/index.ts";
import { chain, expanding, reduceAll, throughArray, verifying } from "../../../stream/index.ts";
import { runAgent } from "../../index.ts";
import type { Agent } from "../../index.ts";
import { langGraphAgent, toLangChainMessages } from "./index.ts";

const user = (id: string, content: string): Message => ({ id, role: "user", content });
const base: RunAgentInput = { threadId: "t", runId: "r1", messages: [user("u1", "Hello")] };

async function runOf(agent: Agent, input: RunAgentInput): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of runAgent(agent, input)) events.push(event);
  return throughArray(chain(expanding(), verifying()), events);
}

const after = (input: RunAgentInput, events: readonly Event[]) =>
  reduceAll(events, { messages: input.messages, state: input.state ?? {} });

/** An agent that answers with what it was shown. */
function echoAgent(isKept: boolean): { readonly agent: Agent; readonly seen: string[] } {
  const seen: string[] = [];
  let count = 0;
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("echo", ({ messages }) => {
      seen.push(messages.map(({ content }) => content).join(" | "));
      return { messages: [new AIMessage({ id: `a${++count}`, content: `answer ${count}` })] };
    })
    .addEdge(START, "echo")
    .compile(isKept ? { checkpointer: new MemorySaver() } : {});
  return { agent: langGraphAgent({ name: "echo", graph }), seen };
}

test.each([true, false])(
  "the graph sees the conversation once, with a checkpointer or without (%s)",
  async (isKept) => {
    const { agent, seen } = echoAgent(isKept);
    const first = after(base, await runOf(agent, base));
    const next = { ...base, runId: "r2", messages: [...first.messages, user("u2", "More")] };
    const second = after(next, await runOf(agent, next));
    expect(seen).toEqual(["Hello", "Hello | answer 1 | More"]);
    expect(second.messages.map(({ id, content }) => [id, content])).toEqual([
      ["u1", "Hello"],
      ["a1", "answer 1"],
      ["u2", "More"],
      ["a2", "answer 2"],
    ]);
  },
);

test("an edited message, and an answer that is asked for again, replace what the graph holds", async () => {
  const { agent, seen } = echoAgent(true);
  const first = after(base, await runOf(agent, base));
  const next = { ...base, runId: "r2", messages: [...first.messages, user("u2", "More")] };
  await runOf(agent, next);
  await runOf(agent, { ...base, runId: "r3", messages: [...first.messages, user("u3", "Other")] });
  await runOf(agent, { ...base, runId: "r4", messages: [...first.messages, user("u3", "Other")] });
  await runOf(agent, { ...base, runId: "r5", messages: base.messages });
  expect(seen.slice(2)).toEqual(["Hello | answer 1 | Other", "Hello | answer 1 | Other", "Hello"]);
});

test("the same conversation again is no news, and is run again", async () => {
  const { agent, seen } = echoAgent(true);
  const first = after(base, await runOf(agent, base));
  await runOf(agent, { ...base, runId: "r2", messages: first.messages });
  expect(seen).toEqual(["Hello", "Hello | answer 1"]);
});

function askingAgent() {
  const answers: unknown[] = [];
  const sent = vi.fn<() => void>();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("left", () => {
      answers.push(interrupt("Left?"));
      sent();
      return { messages: [new AIMessage({ id: "a1", content: "left" })] };
    })
    .addNode("right", () => {
      answers.push(interrupt("Right?"));
      return {};
    })
    .addEdge(START, "left")
    .addEdge(START, "right")
    .compile({ checkpointer: new MemorySaver() });
  return { agent: langGraphAgent({ name: "ask", graph }), answers, sent };
}

function questionsOf(events: readonly Event[]): Readonly<Record<string, string>> {
  const last = events.at(-1);
  const asked = last?.type === "RUN_FINISHED" && last.outcome?.type === "interrupt" ? last.outcome.interrupts : [];
  return Object.fromEntries(asked.map(({ id, message }) => [message ?? "", id]));
}

test("answers reach their own questions; what is given up is told as such", async () => {
  const { agent, answers, sent } = askingAgent();
  const questions = questionsOf(await runOf(agent, base));
  expect(Object.keys(questions).toSorted()).toEqual(["Left?", "Right?"]);
  expect(sent).not.toHaveBeenCalled();

  const events = await runOf(agent, {
    ...base,
    runId: "r2",
    resume: [
      { interruptId: questions["Right?"] ?? "", status: "cancelled" },
      { interruptId: questions["Left?"] ?? "", status: "resolved", payload: { go: true } },
    ],
  });
  expect(answers).toEqual(expect.arrayContaining([{ go: true }, { status: "cancelled" }]));
  expect(sent).toHaveBeenCalledOnce();
  expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED" });
  expect(questionsOf(events)).toEqual({});
  expect(after(base, events).messages).toMatchObject([{ id: "u1" }, { id: "a1", content: "left" }]);
});

test("a question that was not answered is asked again, and what it guards is not done", async () => {
  const { agent, sent } = askingAgent();
  const questions = questionsOf(await runOf(agent, base));
  const resume = [{ interruptId: questions["Right?"] ?? "", status: "resolved" as const, payload: 1 }];
  const events = await runOf(agent, { ...base, runId: "r2", resume });
  expect(questionsOf(events)).toEqual({ "Left?": questions["Left?"] });
  expect(sent).not.toHaveBeenCalled();
});

test("viewers' changes of the state reach the graph once, and its own come back as changes", async () => {
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    plan: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    title: Annotation<string>,
  });
  const graph = new StateGraph(State)
    .addNode("work", ({ title }) => ({ plan: [`for ${title}`] }))
    .addEdge(START, "work")
    .compile({ checkpointer: new MemorySaver() });
  const agent = langGraphAgent({ name: "state", graph });
  const first = { ...base, state: { title: "A" } };
  const one = after(first, await runOf(agent, first));
  expect(one.state).toEqual({ title: "A", plan: ["for A"] });
  const second = {
    ...base,
    runId: "r2",
    messages: [...one.messages, user("u2", "x")],
    state: { title: "B", plan: ["for A"] },
  };
  const events = await runOf(agent, second);
  expect(after(second, events).state).toEqual({ title: "B", plan: ["for A", "for B"] });
  expect(events.filter(({ type }) => type === "STATE_SNAPSHOT")).toEqual([]);
});

test("nodes find the frontend's tools, the context and the forwarded properties in their configuration", async () => {
  const seen = vi.fn<(configurable: unknown) => void>();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("look", (_, { configurable }: LangGraphRunnableConfig) => {
      seen(configurable);
      return {};
    })
    .addEdge(START, "look")
    .compile();
  const tools: readonly Tool[] = [{ name: "pick", description: "Picks" }];
  const context = [{ description: "Page", value: "Cart" }];
  const config = { recursionLimit: 7, configurable: { mine: 1 } };
  await runOf(langGraphAgent({ name: "look", graph, config }), { ...base, tools, context, forwardedProps: { a: 1 } });
  const agui = { tools, context, forwardedProps: { a: 1 } };
  expect(seen).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ thread_id: "t", mine: 1, agui }));
});

test("a stop reaches the nodes' signal before the next macrotask, ends as cancelled and keeps the text", async () => {
  let nodeSignal: AbortSignal | undefined;
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("say", () => ({ messages: [new AIMessage({ id: "a1", content: "Half" })] }))
    .addNode("hang", (_, { signal }) => {
      nodeSignal = signal;
      return new Promise((__, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    })
    .addEdge(START, "say")
    .addEdge("say", "hang")
    .compile();
  const stop = new AbortController();
  const events: Event[] = [];
  const agent = langGraphAgent({ name: "slow", graph });
  for await (const event of runAgent(agent, base, { signal: stop.signal })) {
    events.push(event);
    if (event.type !== "STEP_STARTED" || event.stepName !== "hang") continue;
    await vi.waitUntil(() => nodeSignal !== undefined, { timeout: 20_000 });
    stop.abort();
    await Promise.resolve();
    expect(nodeSignal?.aborted).toBe(true);
  }
  throughArray(chain(expanding(), verifying()), events);
  expect(events.at(-1)).toMatchObject({ outcome: { type: "cancelled" } });
  expect(after(base, events).messages.at(-1)).toMatchObject({ content: "Half" });
});

test("a node that fails, fails the run", async () => {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("fail", () => {
      throw new Error("out of paper");
    })
    .addEdge(START, "fail")
    .compile();
  const last = (await runOf(langGraphAgent({ name: "fail", graph }), base)).at(-1);
  expect(last).toMatchObject({ type: "RUN_ERROR", code: "agent-failed", message: "out of paper" });
});

const call = (id: string, args: string) =>
  ({ id, type: "function", function: { name: "f", arguments: args } }) as const;

const fields = (message: BaseMessage) => ({ ...JSON.parse(JSON.stringify(message.toDict().data)), type: message.type });

test("messages keep their ids, calls, failures and sealed reasoning on the way to LangChain", async () => {
  const onWarning = vi.fn<(message: string) => void>();
  const thinking = { type: "thinking", thinking: "hm", signature: "sig" };
  const sealed = (issuer: string) => JSON.stringify({ issuer, block: thinking });
  const messages: readonly Message[] = [
    { id: "1", role: "developer", content: "Rules" },
    {
      id: "2",
      role: "user",
      content: [
        { type: "text", text: "See" },
        { type: "document", source: { type: "url", value: "https://a/b.pdf", mimeType: "application/pdf" } },
        { type: "image", source: { type: "file", value: "f1" } },
      ],
    },
    { id: "3", role: "reasoning", content: "hm", encryptedValue: sealed("langgraph") },
    { id: "4", role: "reasoning", content: "hm", encryptedValue: sealed("anthropic") },
    { id: "5", role: "assistant", content: "Both", toolCalls: [call("c1", '{"a":1}'), call("c2", "{oops")] },
    { id: "6", role: "tool", toolCallId: "c1", content: "one" },
    { id: "7", role: "tool", toolCallId: "c2", content: "bad", error: "bad" },
    { id: "8", role: "activity", activityType: "X", content: {} },
    { id: "9", role: "developer", content: "Answered.", metadata: { heddle: { answers: [], asked: [] } } },
  ];
  expect((await toLangChainMessages(messages, { onWarning })).map(fields)).toMatchObject([
    { id: "1", type: "system", content: "Rules" },
    {
      id: "2",
      type: "human",
      content: [
        { type: "text", text: "See" },
        { type: "file", url: "https://a/b.pdf", mimeType: "application/pdf" },
      ],
    },
    {
      id: "5",
      type: "ai",
      content: [thinking, { type: "text", text: "Both" }],
      tool_calls: [{ id: "c1", args: { a: 1 } }],
      invalid_tool_calls: [{ id: "c2", args: "{oops" }],
    },
    { id: "6", type: "tool", tool_call_id: "c1", content: "one", status: "success" },
    { id: "7", type: "tool", tool_call_id: "c2", status: "error" },
  ]);
  expect(onWarning).toHaveBeenCalledOnce();
});
