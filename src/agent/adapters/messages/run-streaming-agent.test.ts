import { describe, expect, test } from "vitest";
import { defineAgent, runAgent } from "../../index.ts";
import type { ContentPart, Event, Message, RunAgentInput } from "../../../protocol/index.ts";
import { projectToSession } from "../../../protocol/session/index.ts";
import { createVerifyState, reduceAll, verify, verifyEnd } from "../../../stream/index.ts";
import { fromAgUiMessages, functionCalls, runStreamingAgent, toAgUiEventStream, withMiddleware } from "./index.ts";
import type { GenerateOptions, RunStreamingOptions, StreamMessage, StreamingAgent } from "./index.ts";

const input: RunAgentInput = {
  threadId: "t1",
  runId: "r1",
  messages: [{ id: "u1", role: "user", content: "Hi" }],
  tools: [{ name: "open_dialog", description: "Opens a dialog." }],
};

async function eventsOf(agent: StreamingAgent, options?: RunStreamingOptions): Promise<readonly Event[]> {
  const events: Event[] = [];
  const state = createVerifyState();
  for await (const event of runStreamingAgent(agent, input, options)) {
    verify(state, event);
    events.push(event);
  }
  verifyEnd(state);
  return events;
}

function sessionOf(events: readonly Event[]): readonly string[] {
  const project = projectToSession({ sessionId: "s1" });
  return events.flatMap((event) => project(event)).map(({ type }) => type);
}

const echo: StreamingAgent = {
  async *generateReplyStreaming(messages) {
    const [last] = messages.slice(-1);
    for (const text of ["You said ", last?.type === "text" ? last.text : "nothing"]) {
      yield { type: "text-update", text, generationId: "g1" };
    }
  },
};

describe("runStreamingAgent", () => {
  test("003 REQ-PR-1.1 to 1.4: a run input invokes the agent, and its answer becomes the run's events", async () => {
    const events = await eventsOf(echo);
    expect(reduceAll(events)).toMatchObject({
      messages: [{ id: "g1", role: "assistant", content: "You said Hi" }],
      run: { status: "finished", threadId: "t1", runId: "r1" },
    });
    expect(sessionOf(events)).toEqual(["text-chunk", "text-chunk", "text-message-complete", "agent-response-complete"]);
  });

  test("003 api AgentFactory: a streaming agent is an agent of ours, with its usage and its open calls", async () => {
    const answering: StreamingAgent = {
      async *generateReplyStreaming(messages) {
        yield* echo.generateReplyStreaming(messages);
        yield {
          type: "tools-call",
          generationId: "g1",
          toolCalls: [{ callId: "c1", functionName: "open_dialog", functionArgs: "{}" }],
        };
        yield { type: "usage", usage: { promptTokens: 2, completionTokens: 1 } };
      },
    };
    const agent = defineAgent({
      name: "streaming",
      run: ({ input: given, signal }) => runStreamingAgent(answering, given, { signal }),
    });
    const events: Event[] = [];
    for await (const event of runAgent(agent, input)) events.push(event);
    expect(reduceAll(events)).toMatchObject({
      messages: [{ id: "g1", content: "You said Hi", toolCalls: [{ id: "c1" }] }],
      run: { status: "finished", usage: [{ inputTokens: 2, outputTokens: 1, totalTokens: 3 }] },
      pendingToolCallIds: ["c1"],
    });
  });

  test("the agent is given the conversation, the tools, the settings and the signal", async () => {
    const asked: [readonly StreamMessage[], GenerateOptions | undefined][] = [];
    const agent: StreamingAgent = {
      async *generateReplyStreaming(...call) {
        asked.push([call[0], call[1]]);
        yield { type: "text", text: "ok" };
      },
    };
    const { signal } = new AbortController();
    await eventsOf(agent, { settings: { temperature: 0 }, signal });
    expect(asked).toEqual([
      [
        [{ type: "text", text: "Hi", role: "user", generationId: "u1" }],
        { tools: input.tools, settings: { temperature: 0 }, signal },
      ],
    ]);
  });

  test("003 REQ-PR-1.5: what fails, at the call or in the stream, ends as agent-error, and closes what is open", async () => {
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const boom = new Error("the model is down");
    const broken: StreamingAgent = {
      async *generateReplyStreaming() {
        yield { type: "text-update", text: "half" };
        throw boom;
      },
    };
    const events = await eventsOf(broken, { onError });
    expect(sessionOf(events)).toEqual(["text-chunk", "text-message-complete", "agent-error"]);
    expect(events.at(-1)).toEqual({ type: "RUN_ERROR", message: "the model is down", code: "agent-failed" });
    const refusing: StreamingAgent = {
      generateReplyStreaming() {
        throw boom;
      },
    };
    expect(sessionOf(await eventsOf(refusing, { onError }))).toEqual(["agent-error"]);
    expect(errors).toEqual([boom, boom]);
  });

  test("a malformed message ends the run as event-invalid", async () => {
    const message: StreamMessage = { type: "text", text: "x" };
    Reflect.set(message, "text", 7);
    const agent: StreamingAgent = {
      async *generateReplyStreaming() {
        yield message;
      },
    };
    expect((await eventsOf(agent)).at(-1)).toMatchObject({ type: "RUN_ERROR", code: "event-invalid" });
  });

  test("an abort ends the run as cancelled, keeps the partial text, and lets the agent go", async () => {
    const stop = new AbortController();
    let wasLeft = false;
    const agent: StreamingAgent = {
      async *generateReplyStreaming(_, { signal } = {}) {
        try {
          yield { type: "text-update", text: "partial", generationId: "g1" };
          stop.abort();
          signal?.throwIfAborted();
        } finally {
          wasLeft = true;
        }
      },
    };
    const events = await eventsOf(agent, { signal: stop.signal });
    expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
    expect(reduceAll(events).messages).toMatchObject([{ content: "partial" }]);
    expect(wasLeft).toBe(true);
  });

  test("an agent that goes on after the abort is left at its next message", async () => {
    const stop = new AbortController();
    async function* deaf(): AsyncGenerator<StreamMessage> {
      yield { type: "text-update", text: "heard" };
      stop.abort();
      yield { type: "text-update", text: "not heard" };
    }
    const events: Event[] = [];
    const options = { threadId: "t1", runId: "r1", signal: stop.signal };
    for await (const event of toAgUiEventStream(deaf(), options)) events.push(event);
    expect(reduceAll(events).messages).toMatchObject([{ content: "heard" }]);
    expect(events.at(-1)).toMatchObject({ outcome: { type: "cancelled" } });
  });

  test("003 REQ-3.1, 3.2 and 3.4: a tool-calling agent shows its calls, their results, and the error of one", async () => {
    const turns: readonly (readonly StreamMessage[])[] = [
      [
        {
          type: "tools-call",
          generationId: "g1",
          toolCalls: [
            { callId: "c1", functionName: "weather", functionArgs: '{"city":"Paris"}' },
            { callId: "c2", functionName: "divide", functionArgs: '{"by":0}' },
          ],
        },
      ],
      [{ type: "text", text: "Sunny.", generationId: "g2" }],
    ];
    let turn = 0;
    const model: StreamingAgent = {
      async *generateReplyStreaming() {
        yield* turns[turn++] ?? [];
      },
    };
    const tools = [
      { name: "weather", description: "Tells the weather.", execute: () => "sunny" },
      { name: "divide", description: "Divides.", execute: () => Promise.reject(new Error("by zero")) },
    ];
    const project = projectToSession({ sessionId: "s1" });
    const events = (await eventsOf(withMiddleware(model, functionCalls({ tools })))).flatMap((event) => project(event));
    expect(events.map(({ type }) => type)).toEqual([
      "tool-call-chunk",
      "tool-call-chunk",
      "tool-call-complete",
      "tool-result-chunk",
      "tool-result-chunk",
      "tool-result-complete",
      "text-chunk",
      "text-message-complete",
      "agent-response-complete",
    ]);
    expect(events.slice(3, 5)).toMatchObject([
      { data: { toolCallId: "c1", result: "sunny", isError: false } },
      { data: { toolCallId: "c2", result: "by zero", isError: true } },
    ]);
  });
});

describe("fromAgUiMessages", () => {
  const image: ContentPart = { type: "image", source: { type: "url", value: "https://example.com/a.png" } };
  const audio: ContentPart = { type: "audio", source: { type: "url", value: "https://example.com/a.mp3" } };
  const messages: readonly Message[] = [
    { id: "s1", role: "system", content: "Be brief." },
    { id: "u1", role: "user", content: [{ type: "text", text: "What is this?" }, image, audio], name: "Ada" },
    { id: "r1", role: "reasoning", content: "hm", encryptedValue: "x9f" },
    {
      id: "a1",
      role: "assistant",
      content: "Let me look.",
      name: "helper",
      toolCalls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }],
    },
    { id: "t1", role: "tool", toolCallId: "c1", content: "a cat", error: "blurred" },
    { id: "x1", role: "activity", activityType: "loading", content: {} },
  ];

  test("a conversation in the agent's form, with what has none named", () => {
    const dropped: unknown[] = [];
    expect(fromAgUiMessages(messages, (each) => dropped.push(each))).toEqual([
      { type: "text", text: "Be brief.", role: "system", generationId: "s1" },
      { type: "text", text: "What is this?", role: "user", generationId: "u1" },
      { type: "image", source: image.source, role: "user", generationId: "u1" },
      { type: "reasoning", reasoning: "hm", generationId: "r1" },
      { type: "reasoning", reasoning: "x9f", visibility: "encrypted", generationId: "r1" },
      { type: "text", text: "Let me look.", role: "assistant", generationId: "a1", fromAgent: "helper" },
      {
        type: "tools-call",
        toolCalls: [{ callId: "c1", functionName: "look", functionArgs: "{}" }],
        generationId: "a1",
        fromAgent: "helper",
      },
      {
        type: "tools-call-result",
        toolCallResults: [{ callId: "c1", result: "a cat", isError: true }],
        generationId: "t1",
      },
    ]);
    expect(dropped).toEqual([audio, messages[5]]);
  });
});
