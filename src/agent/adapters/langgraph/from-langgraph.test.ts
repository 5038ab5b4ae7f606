/** Streams of real graphs with fake models, as events that verify and say the same. */
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { AIMessage, AIMessageChunk, HumanMessage, RemoveMessage, SystemMessage } from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import type { ChatResult } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import {
  Annotation,
  END,
  MemorySaver,
  MessagesAnnotation,
  START,
  Send,
  StateGraph,
  interrupt,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { expect, test, vi } from "vitest";
import type { Event, Message } from "../../../protocol/index.ts";
import { chain, expanding, reduceAll, throughArray, verifying } from "../../../stream/index.ts";
import { defineAgent, runAgent } from "../../index.ts";
import { fromLangGraph } from "./index.ts";
import type { FromLangGraphOptions } from "./index.ts";

/** A model that streams the given chunks, one list for each call. LangChain's own fake forgets streamed calls. */
class ChunkModel extends BaseChatModel {
  readonly answers: AIMessageChunk[][];
  constructor(...answers: AIMessageChunk[][]) {
    super({});
    this.answers = answers;
  }
  override _llmType(): string {
    return "chunks";
  }
  override async _generate(): Promise<ChatResult> {
    const [first = chunk("empty", ""), ...others] = this.answers.shift() ?? [];
    const message = others.reduce((whole, next) => whole.concat(next), first);
    return { generations: [{ text: "", message }] };
  }
  override async *_streamResponseChunks(_: BaseMessage[], __: unknown, run?: CallbackManagerForLLMRun) {
    for (const message of this.answers.shift() ?? []) {
      const chunk = new ChatGenerationChunk({
        message,
        text: typeof message.content === "string" ? message.content : "",
      });
      yield chunk;
      await run?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

/** LangChain's types do not know every field that its providers send. */
const chunk = (id: string, content: string | Readonly<Record<string, unknown>>): AIMessageChunk =>
  Reflect.construct(AIMessageChunk, [{ id, ...(typeof content === "string" ? { content } : content) }]);

const callChunk = (id: string, fields: { index: number; id?: string; name?: string; args: string }): AIMessageChunk =>
  new AIMessageChunk({ id, content: "", tool_call_chunks: [{ ...fields, type: "tool_call_chunk" }] });

const OBJECT = { type: "object", properties: { city: { type: "string" } } } as const;

const weather = tool(async (args: unknown) => `sunny in ${Object(args).city}`, {
  name: "weather",
  description: "Tells the weather",
  schema: OBJECT,
});

async function runOf(
  stream: AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>,
  options: FromLangGraphOptions = {},
): Promise<readonly Event[]> {
  const { onWarning = () => {} } = options;
  const agent = defineAgent({ name: "graph", run: () => fromLangGraph(stream, options) });
  const log = { debug: () => {}, info: () => {}, warn: onWarning, error: onWarning };
  const events: Event[] = [];
  for await (const event of runAgent(agent, { threadId: "t", runId: "r", messages: [] }, { log })) events.push(event);
  return throughArray(chain(expanding(), verifying()), events);
}

const typesOf = (events: readonly Event[]): readonly string[] => events.map(({ type }) => type);
const messagesOf = (events: readonly Event[]): readonly Message[] => reduceAll(events).messages;
const HELLO = { messages: [new HumanMessage({ id: "u1", content: "Hello" })] };
const ALL = ["messages", "updates", "values", "custom", "tools", "tasks"] as const;

/** Model, tools, model: the usual loop. */
function agentGraph(model: BaseChatModel) {
  return new StateGraph(MessagesAnnotation)
    .addNode("agent", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode("tools", new ToolNode([weather]))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) => {
      const last = messages.at(-1);
      return last instanceof AIMessageChunk && (last.tool_calls ?? []).length > 0 ? "tools" : END;
    })
    .addEdge("tools", "agent")
    .compile();
}

const loopModel = () =>
  new ChunkModel(
    [
      chunk("a1", "Let me "),
      chunk("a1", "see."),
      callChunk("a1", { index: 0, id: "c1", name: "weather", args: "" }),
      callChunk("a1", { index: 0, args: '{"city":' }),
      callChunk("a1", { index: 0, args: '"Rome"}' }),
      callChunk("a1", { index: 1, id: "c2", name: "weather", args: '{"city":"Oslo"}' }),
      chunk("a1", {
        content: "",
        usage_metadata: {
          input_tokens: 10,
          output_tokens: 5,
          total_tokens: 15,
          input_token_details: { cache_read: 4 },
          output_token_details: { reasoning: 2 },
        },
        response_metadata: { model_name: "fake-1" },
      }),
    ],
    [chunk("a2", "It is "), chunk("a2", "sunny.")],
  );

test("text, streamed calls and results, nodes as steps, usage; everything once, under the graph's ids", async () => {
  const onWarning = vi.fn<(message: string) => void>();
  const stream = await agentGraph(loopModel()).stream(HELLO, { streamMode: [...ALL], subgraphs: true });
  const events = await runOf(stream, { knownMessageIds: ["u1"], state: {}, onWarning });
  expect(typesOf(events)).toEqual([
    "RUN_STARTED",
    "STEP_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_CONTENT",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TEXT_MESSAGE_END",
    "TOOL_CALL_END",
    "TOOL_CALL_END",
    "STEP_FINISHED",
    "STEP_STARTED",
    "TOOL_CALL_RESULT",
    "TOOL_CALL_RESULT",
    "STEP_FINISHED",
    "STEP_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "STEP_FINISHED",
    "RUN_FINISHED",
  ]);
  expect(messagesOf(events)).toMatchObject([
    {
      id: "a1",
      role: "assistant",
      content: "Let me see.",
      toolCalls: [
        { id: "c1", function: { name: "weather", arguments: '{"city":"Rome"}' } },
        { id: "c2", function: { arguments: '{"city":"Oslo"}' } },
      ],
    },
    { role: "tool", toolCallId: "c1", content: "sunny in Rome" },
    { role: "tool", toolCallId: "c2", content: "sunny in Oslo" },
    { id: "a2", role: "assistant", content: "It is sunny." },
  ]);
  const steps = events.flatMap((event) => (event.type === "STEP_STARTED" ? [event.stepName] : []));
  expect(steps).toEqual(["agent", "tools", "agent"]);
  expect(events.at(-1)).toMatchObject({
    usage: [{ model: "fake-1", inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, reasoningTokens: 2 }],
  });
  expect(onWarning).not.toHaveBeenCalled();
});

test.each([
  ["messages", [], ["Let me see.", "sunny in Rome", "sunny in Oslo", "It is sunny."]],
  ["updates", ["agent", "tools", "agent"], ["Let me see.", "sunny in Rome", "sunny in Oslo", "It is sunny."]],
  ["values", [], ["Let me see.", "sunny in Rome", "sunny in Oslo", "It is sunny."]],
] as const)("the mode %s alone tells the same conversation", async (streamMode, steps, texts) => {
  const told = async (stream: AsyncIterable<unknown>) => {
    const events = await runOf(stream, { streamMode, knownMessageIds: ["u1"] });
    expect(messagesOf(events).map(({ content }) => content)).toEqual(texts);
    expect(events.flatMap((event) => (event.type === "STEP_STARTED" ? [event.stepName] : []))).toEqual(steps);
    expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED" });
  };
  await told(await agentGraph(loopModel()).stream(HELLO, { streamMode }));
  await told(await agentGraph(loopModel()).stream(HELLO, { streamMode, subgraphs: true }));
  await told(await agentGraph(loopModel()).stream(HELLO, { streamMode: [streamMode] }));
});

test("what the state holds before any node has worked is not news", async () => {
  const stream = await agentGraph(loopModel()).stream(HELLO, { streamMode: "values" });
  expect(messagesOf(await runOf(stream, { streamMode: "values" }))[0]).toMatchObject({ id: "a1" });
});

async function* toldTwice() {
  const call = { toolCallId: "c1", name: "f" };
  yield ["tools", { event: "on_tool_start", ...call, input: "{}" }];
  yield ["tools", { event: "on_tool_end", ...call, output: { type: "tool", content: "one", tool_call_id: "c1" } }];
  yield ["messages", [{ type: "tool", id: "m1", content: "one", tool_call_id: "c1" }, {}]];
  yield ["messages", [{ type: "AIMessageChunk", content: "first" }, { langgraph_checkpoint_ns: "x:1" }]];
  yield ["updates", { x: {} }];
  yield ["messages", [{ type: "AIMessageChunk", content: "second" }, { langgraph_checkpoint_ns: "x:1" }]];
}

test("an answer counts once, and messages without ids are told apart by the work of their node", async () => {
  const onWarning = vi.fn<(message: string) => void>();
  const events = await runOf(toldTwice(), { onWarning });
  expect(onWarning).not.toHaveBeenCalled();
  expect(events.filter(({ type }) => type === "TOOL_CALL_RESULT")).toMatchObject([{ content: "one" }]);
  expect(messagesOf(events).slice(-2)).toMatchObject([{ content: "first" }, { content: "second" }]);
});

test("the mode tools alone tells the calls and their answers", async () => {
  const stream = await agentGraph(loopModel()).stream(HELLO, { streamMode: "tools" });
  const events = await runOf(stream, { streamMode: "tools" });
  const results = events.flatMap((event) => (event.type === "TOOL_CALL_RESULT" ? [event] : []));
  expect(results).toMatchObject([
    { toolCallId: "c1", content: "sunny in Rome" },
    { toolCallId: "c2", content: "sunny in Oslo" },
  ]);
  expect(events.filter(({ type }) => type === "TOOL_CALL_START")).toHaveLength(2);
});

test("a model that does not stream is one message", async () => {
  const model = new FakeListChatModel({ responses: ["Hi there"] });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addEdge(START, "agent")
    .compile();
  for (const streamMode of [["messages", "updates"], ["updates"]] as const) {
    const events = await runOf(await graph.stream(HELLO, { streamMode: [...streamMode] }), { knownMessageIds: ["u1"] });
    expect(messagesOf(events)).toMatchObject([{ role: "assistant", content: "Hi there" }]);
  }
});

test("reasoning keeps its block with the signature; what cannot be shown is named once", async () => {
  const onWarning = vi.fn<(message: string) => void>();
  const model = new ChunkModel([
    chunk("a1", { content: [{ type: "thinking", thinking: "h", index: 0 }] }),
    chunk("a1", { content: [{ type: "thinking", thinking: "m", index: 0 }] }),
    chunk("a1", { content: [{ type: "thinking", signature: "sig", index: 0 }] }),
    chunk("a1", { content: [{ type: "redacted_thinking", data: "xyz", index: 1 }] }),
    chunk("a1", { content: [{ type: "text", text: "Hi", index: 2 }] }),
    chunk("a1", { content: [{ type: "hologram", index: 3 }] }),
    chunk("a1", { content: [{ type: "hologram", index: 3 }] }),
    chunk("a1", { content: "", additional_kwargs: { reasoning_content: "more" } }),
  ]);
  const stream = await agentGraph(model).stream(HELLO, { streamMode: ["messages"] });
  const events = await runOf(stream, { onWarning });
  const messages = messagesOf(events);
  expect(messages).toMatchObject([
    { id: "a1/reasoning-1", role: "reasoning", content: "hm" },
    { id: "a1/reasoning-2", role: "reasoning", content: "" },
    { role: "assistant", content: "Hi" },
    { id: "a1/reasoning-3", role: "reasoning", content: "more" },
  ]);
  const blocks = messages.map((message) => "encryptedValue" in message && JSON.parse(message.encryptedValue).block);
  expect(blocks).toEqual([
    { type: "thinking", thinking: "hm", signature: "sig", index: 0 },
    { type: "redacted_thinking", data: "xyz", index: 1 },
    false,
    false,
  ]);
  expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("hologram"));
});

test("state is told as changes, without its messages; a node's own words pass as CUSTOM", async () => {
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    plan: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const graph = new StateGraph(State)
    .addNode("think", (_, config) => {
      config.writer?.({ progress: 0.5 });
      return { plan: ["one"] };
    })
    .addNode("act", () => ({ plan: ["two"], messages: [new AIMessage({ id: "a1", content: "Done" })] }))
    .addEdge(START, "think")
    .addEdge("think", "act")
    .compile();
  const modes = { streamMode: ["values", "custom"] as ("values" | "custom")[] };
  const events = await runOf(await graph.stream({ messages: [] }, modes), { state: { plan: [] } });
  expect(typesOf(events).filter((type) => type.startsWith("STATE"))).toEqual(["STATE_DELTA", "STATE_DELTA"]);
  expect(reduceAll(events, { state: { plan: [] } }).state).toEqual({ plan: ["one", "two"] });
  expect(events).toContainEqual({ type: "CUSTOM", name: "langgraph.custom", value: { progress: 0.5 } });
  expect(messagesOf(events)).toMatchObject([{ id: "a1", content: "Done" }]);

  const unknown = await runOf(await graph.stream({ messages: [] }, modes));
  expect(unknown.find(({ type }) => type.startsWith("STATE"))).toMatchObject({ type: "STATE_SNAPSHOT" });
  expect(reduceAll(unknown).state).toEqual({ plan: ["one", "two"] });
});

test("questions of the graph and of its subgraphs are the outcome, each once", async () => {
  const sub = new StateGraph(MessagesAnnotation)
    .addNode("inner", () => ({ messages: [new AIMessage(String(interrupt("Deep?")))] }))
    .addEdge(START, "inner")
    .compile();
  const schema = { type: "object" };
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("ask", () => {
      interrupt({ question: "Sure?", toolCallId: "c1", responseSchema: schema, sum: 5 });
      return {};
    })
    .addNode("sub", sub)
    .addEdge(START, "ask")
    .addEdge(START, "sub")
    .compile({ checkpointer: new MemorySaver() });
  for (const streamMode of [[...ALL], ["updates"], ["values"], ["tasks"]] as const) {
    const configurable = { thread_id: streamMode.join() };
    const stream = await graph.stream(HELLO, { streamMode: [...streamMode], subgraphs: true, configurable });
    const events = await runOf(stream, { knownMessageIds: ["u1"] });
    const last = events.at(-1);
    const asked = last?.type === "RUN_FINISHED" && last.outcome?.type === "interrupt" ? last.outcome.interrupts : [];
    expect(asked.toSorted((a, b) => (a.message ?? "").localeCompare(b.message ?? ""))).toEqual([
      {
        id: expect.any(String),
        reason: "langgraph:interrupt",
        message: "Deep?",
        metadata: { langgraph: { value: "Deep?" } },
      },
      {
        id: expect.any(String),
        reason: "langgraph:interrupt",
        message: "Sure?",
        toolCallId: "c1",
        responseSchema: schema,
        metadata: { langgraph: { value: { question: "Sure?", toolCallId: "c1", responseSchema: schema, sum: 5 } } },
      },
    ]);
  }
});

test("nodes that work several times at once are steps of their own, and subgraphs are named by their path", async () => {
  const both = Promise.withResolvers<void>();
  let working = 0;
  const sub = new StateGraph(MessagesAnnotation)
    .addNode("inner", async () => {
      if (++working === 2) both.resolve();
      await both.promise;
      return {};
    })
    .addEdge(START, "inner")
    .compile();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("sub", sub)
    .addConditionalEdges(START, () => [new Send("sub", HELLO), new Send("sub", HELLO)])
    .compile();
  const stream = await graph.stream(HELLO, { streamMode: ["tasks"], subgraphs: true });
  const events = await runOf(stream);
  const steps = events.flatMap((event) => (event.type === "STEP_STARTED" ? [event.stepName] : []));
  expect(steps.toSorted()).toEqual(["sub", "sub (2)", "sub/inner", "sub/inner (2)"]);
});

test("messages of other roles are shown, removals and unknown modes are named", async () => {
  const onWarning = vi.fn<(message: string) => void>();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("write", () => ({
      messages: [
        new SystemMessage({ id: "s1", content: "Rules" }),
        new HumanMessage({
          id: "h1",
          content: [
            { type: "text", text: "Note" },
            { type: "image", data: "AA" },
          ],
        }),
        new RemoveMessage({ id: "u1" }),
      ],
    }))
    .addEdge(START, "write")
    .compile();
  const stream = await graph.stream(HELLO, { streamMode: ["updates", "debug"] });
  const events = await runOf(stream, { onWarning, knownMessageIds: ["u1"] });
  expect(messagesOf(events)).toMatchObject([
    { id: "s1", role: "system", content: "Rules" },
    { id: "h1", role: "user", content: "Note" },
  ]);
  const said = onWarning.mock.calls.map(([message]) => message);
  expect(said).toEqual([
    expect.stringContaining("debug"),
    expect.stringContaining("image"),
    expect.stringContaining("removed"),
  ]);
});

test("a failing tool answers as failed", async () => {
  const broken = tool(
    () => {
      throw new Error("no weather today");
    },
    { name: "weather", description: "", schema: OBJECT },
  );
  const model = new ChunkModel([callChunk("a1", { index: 0, id: "c1", name: "weather", args: "{}" })]);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode("tools", new ToolNode([broken]))
    .addEdge(START, "agent")
    .addEdge("agent", "tools")
    .compile();
  const events = await runOf(await graph.stream(HELLO, { streamMode: ["messages", "tools"] }));
  expect(events.filter(({ type }) => type === "TOOL_CALL_RESULT")).toMatchObject([
    { toolCallId: "c1", content: expect.stringContaining("no weather today"), metadata: { heddle: {} } },
  ]);
});

test.each([
  ["the graph's own limit", new StateGraph(MessagesAnnotation).addNode("a", () => ({})), "step-limit"],
  [
    "a provider's refusal",
    new StateGraph(MessagesAnnotation).addNode("a", () => {
      throw Object.assign(new Error("401 Bad key sk-abcdefghij0123456789"), {
        status: 401,
        error: { message: "Bad key" },
      });
    }),
    "model-unauthorised",
  ],
  [
    "anything else",
    new StateGraph(MessagesAnnotation).addNode("a", () => {
      throw new Error("a bug");
    }),
    "agent-failed",
  ],
])("%s fails the run with its code", async (_, builder, code) => {
  const graph = builder.addEdge(START, "a").addEdge("a", "a").compile();
  const last = (await runOf(graph.stream(HELLO, { recursionLimit: 3, streamMode: ["updates"] }))).at(-1);
  expect(last).toMatchObject({ type: "RUN_ERROR", code });
  expect(JSON.stringify(last)).not.toContain("sk-");
});
