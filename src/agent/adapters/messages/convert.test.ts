import { describe, expect, test } from "vitest";
import { parseEvent } from "../../../protocol/index.ts";
import type { Event } from "../../../protocol/index.ts";
import { projectToSession } from "../../../protocol/session/index.ts";
import type { SessionEvent } from "../../../protocol/session/index.ts";
import { createVerifyState, reduceAll, verify, verifyEnd } from "../../../stream/index.ts";
import { createConversion, toAgUiEventStream, toAgUiEvents, toAgUiMetadata, toAgUiToolCall } from "./index.ts";
import type { ConversionOptions, StreamMessage } from "./index.ts";

const RUN = { threadId: "t1", runId: "r1" };

/** A whole run of messages; it is valid, or the test fails. */
async function run(
  messages: AsyncIterable<StreamMessage> | Iterable<StreamMessage>,
  options: ConversionOptions = {},
): Promise<readonly Event[]> {
  const events: Event[] = [];
  const state = createVerifyState();
  for await (const event of toAgUiEventStream(messages, { ...RUN, ...options })) {
    expect(parseEvent(event).warnings).toEqual([]);
    expect(verify(state, event)).toEqual([]);
    events.push(event);
  }
  verifyEnd(state);
  return events;
}

/** What a client of the session dialect sees of a run of messages. */
async function session(
  messages: AsyncIterable<StreamMessage> | Iterable<StreamMessage>,
  options?: ConversionOptions,
): Promise<readonly SessionEvent[]> {
  const project = projectToSession({ sessionId: "s1", clock: () => 0 });
  return (await run(messages, options)).flatMap((event) => project(event));
}

const dataOf = (events: readonly SessionEvent[], wanted: SessionEvent["type"]): Readonly<Record<string, unknown>>[] =>
  events.flatMap(({ type, data }) => (type === wanted ? [{ ...data }] : []));

const typesOf = (events: readonly { readonly type: string }[]): string[] => events.map(({ type }) => type);

const text: StreamMessage = { type: "text", text: "Hello", role: "assistant", fromAgent: "helper", generationId: "g1" };
const reasoning: StreamMessage = { type: "reasoning", reasoning: "Let me see.", generationId: "g1" };
const calls: Extract<StreamMessage, { readonly type: "tools-call" }> = {
  type: "tools-call",
  generationId: "g1",
  toolCalls: [
    { index: 0, callId: "c1", functionName: "weather", functionArgs: '{"city":"Paris"}' },
    { index: 1, callId: "c2", functionName: "add", functionArgs: '{"a":1,"b":2}' },
  ],
};
const results: Extract<StreamMessage, { readonly type: "tools-call-result" }> = {
  type: "tools-call-result",
  toolCallResults: [
    { index: 0, callId: "c1", functionName: "weather", result: "sunny" },
    { index: 1, callId: "c2", functionName: "add", result: "no numbers", isError: true },
  ],
};
const aggregate: StreamMessage = { type: "tools-call-aggregate", toolsCall: calls, toolsCallResult: results };
const usage: Extract<StreamMessage, { readonly type: "usage" }> = {
  type: "usage",
  usage: { promptTokens: 12, completionTokens: 3, totalTokens: 15 },
};
const image: StreamMessage = {
  type: "image",
  generationId: "g1",
  source: { type: "data", value: "aGk=", mimeType: "image/png" },
  alt: "a cat",
};

const callUpdate = (index: number, functionArgs: string, rest: object = {}): StreamMessage => ({
  type: "tools-call-update",
  generationId: "g1",
  toolCallUpdates: [{ index, functionArgs, ...rest }],
});
const round = (callId: string): StreamMessage => ({
  type: "tools-call-aggregate",
  generationId: `g-${callId}`,
  toolsCall: { type: "tools-call", toolCalls: [{ callId, functionName: "f", functionArgs: "{}" }] },
  toolsCallResult: { type: "tools-call-result", toolCallResults: [{ callId, result: callId }] },
});
const thoughtUpdate = (piece: string): StreamMessage => ({
  type: "reasoning-update",
  reasoning: piece,
  generationId: "g1",
});
const textUpdate = (piece: string): StreamMessage => ({ type: "text-update", text: piece, generationId: "g1" });
const whole = (said: string): StreamMessage => ({ type: "text", text: said, generationId: "g1" });
const spokenBy = (role: "user" | "assistant"): StreamMessage => ({
  type: "text",
  text: role,
  role,
  generationId: "g1",
});

async function* failing(): AsyncGenerator<StreamMessage> {
  yield usage;
  throw new Error("cut");
}

async function* textAndUsage(): AsyncGenerator<StreamMessage> {
  yield text;
  yield usage;
}

const wholeCall = (functionArgs: string): StreamMessage => ({
  type: "tools-call",
  generationId: "g1",
  toolCalls: [{ callId: "c1", functionName: "weather", functionArgs }],
});

async function argumentsOf(...messages: readonly StreamMessage[]): Promise<readonly string[]> {
  return reduceAll(await run(messages)).messages.flatMap((message) =>
    message.role === "assistant" ? (message.toolCalls ?? []).map((call) => call.function.arguments) : [],
  );
}

async function contentOf(...messages: readonly StreamMessage[]): Promise<unknown> {
  const [message] = reduceAll(await run(messages)).messages;
  return message?.content;
}

describe("text messages", () => {
  test("003 REQ-DO-3.1: a text message converts to a text-chunk event", async () => {
    expect(typesOf(await session([text]))).toEqual(["text-chunk", "text-message-complete", "agent-response-complete"]);
  });

  test("003 lmcore TextMessage: text, role, sender and generation id are taken over", async () => {
    expect((await run([text])).slice(1, -1)).toEqual([
      { type: "TEXT_MESSAGE_START", messageId: "g1", role: "assistant", name: "helper" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "g1", delta: "Hello" },
      { type: "TEXT_MESSAGE_END", messageId: "g1" },
    ]);
  });

  test("003 TextMessage mapping 1: data.text is the message's text", async () => {
    expect(dataOf(await session([text]), "text-chunk")).toMatchObject([{ text: "Hello" }]);
  });

  test("003 TextMessage mapping 2: messageId is the generation id", async () => {
    const events = await session([text]);
    expect(events.slice(0, 2)).toMatchObject([{ messageId: "g1" }, { messageId: "g1" }]);
  });

  test.each(["assistant", "user", "system", "developer"] as const)(
    "003 TextMessage mapping 3: data.role follows from the message's role: %s",
    async (role) => {
      expect(dataOf(await session([{ type: "text", text: "x", role }]), "text-chunk")).toMatchObject([{ role }]);
    },
  );

  test("003 TextMessage mapping 4: text-message-complete follows when the text is finished, not before", async () => {
    const updates = ["Hel", "lo"].map((piece): StreamMessage => ({
      type: "text-update",
      text: piece,
      generationId: "g1",
    }));
    const events = await session([...updates, usage]);
    expect(typesOf(events).slice(0, 3)).toEqual(["text-chunk", "text-chunk", "text-message-complete"]);
    expect(dataOf(events, "text-chunk")).toMatchObject([
      { text: "Hel", isComplete: false },
      { text: "lo", isComplete: false },
    ]);
  });

  test("003 TextMessage mapping form: a text-chunk has the envelope and text, role and isComplete false", async () => {
    expect((await session([text]))[0]).toEqual({
      type: "text-chunk",
      sessionId: "s1",
      messageId: "g1",
      timestamp: "1970-01-01T00:00:00.000Z",
      data: { text: "Hello", role: "assistant", isComplete: false },
    });
  });
});

describe("tool call messages", () => {
  test("003 REQ-DO-3.2: a tool call message converts to one tool-call-chunk for each call", async () => {
    const events = await session([calls]);
    expect(typesOf(events)).toEqual([
      "tool-call-chunk",
      "tool-call-chunk",
      "tool-call-complete",
      "agent-response-complete",
    ]);
  });

  test("003 lmcore ToolsCallMessage: calls are carried by the message of their generation", async () => {
    const events = await run([text, calls, results]);
    expect(reduceAll(events).messages[0]).toEqual({
      id: "g1",
      role: "assistant",
      content: "Hello",
      name: "helper",
      toolCalls: calls.toolCalls.map(toAgUiToolCall),
    });
  });

  test("003 ToolsCallMessage mapping 1 to 4: id, name and parsed arguments of each call", async () => {
    expect(dataOf(await session([calls]), "tool-call-chunk")).toEqual([
      { toolCallId: "c1", toolName: "weather", arguments: { city: "Paris" }, isComplete: false },
      { toolCallId: "c2", toolName: "add", arguments: { a: 1, b: 2 }, isComplete: false },
    ]);
  });

  test("003 ToolsCallMessage mapping 5: tool-call-complete follows when all calls have been sent", async () => {
    expect(dataOf(await session([calls]), "tool-call-complete")).toEqual([
      { toolCallIds: ["c1", "c2"], isComplete: true },
    ]);
  });

  test("003 ToolsCallMessage mapping form: the envelope names the generation", async () => {
    expect((await session([calls]))[0]).toMatchObject({ type: "tool-call-chunk", sessionId: "s1", messageId: "g1" });
  });

  test("003 REQ-3.3: parallel calls whose updates interleave stay apart, by index alone", async () => {
    const events = await session([
      callUpdate(0, '{"city"', { callId: "c1", functionName: "weather" }),
      callUpdate(1, '{"a":1', { callId: "c2", functionName: "add" }),
      callUpdate(0, ':"Paris"}'),
      callUpdate(1, ',"b":2}'),
      results,
    ]);
    expect(dataOf(events, "tool-call-chunk")).toMatchObject([
      { toolCallId: "c1", toolName: "weather", arguments: { city: "Paris" } },
      { toolCallId: "c2", toolName: "add", arguments: { a: 1, b: 2 } },
    ]);
    expect(dataOf(events, "tool-result-chunk")).toMatchObject([{ toolCallId: "c1" }, { toolCallId: "c2" }]);
  });

  test("a result ends the arguments of the calls before it", async () => {
    const update = callUpdate(0, "{}", { callId: "c1", functionName: "weather" });
    const answer: StreamMessage = { type: "tools-call-result", toolCallResults: [{ callId: "c1", result: "sunny" }] };
    expect(typesOf(await run([update, answer])).slice(1, -1)).toEqual([
      "TOOL_CALL_START",
      "TOOL_CALL_ARGS",
      "TOOL_CALL_END",
      "TOOL_CALL_RESULT",
    ]);
  });

  test("a round of calls without ids or generations is over when it is answered", async () => {
    const update: StreamMessage = {
      type: "tools-call-update",
      toolCallUpdates: [{ index: 0, functionName: "now", functionArgs: "{}" }],
    };
    const answer: StreamMessage = {
      type: "tools-call-result",
      toolCallResults: [{ callId: "call-1", result: "9:00" }],
    };
    let count = 0;
    const events = await run([update, answer, update], { mintId: (prefix) => `${prefix}-${++count}` });
    expect(events.flatMap((event) => (event.type === "TOOL_CALL_START" ? [event.toolCallId] : []))).toEqual([
      "call-1",
      "call-2",
    ]);
  });

  test("calls that nobody answered are named at the end of the run", async () => {
    expect((await run([calls])).at(-1)).toMatchObject({
      type: "RUN_FINISHED",
      outcome: { type: "success", pendingToolCallIds: ["c1", "c2"] },
    });
  });

  test("updates without an id get one, and go on without any", async () => {
    const events = await run(
      [
        { type: "tools-call-update", toolCallUpdates: [{ functionName: "add", functionArgs: "{" }] },
        { type: "tools-call-update", toolCallUpdates: [{ functionArgs: "}" }] },
      ],
      { mintId: (prefix) => `${prefix}-1` },
    );
    expect(events.slice(1, -1)).toEqual([
      { type: "TOOL_CALL_START", toolCallId: "call-1", toolCallName: "add" },
      { type: "TOOL_CALL_ARGS", toolCallId: "call-1", delta: "{" },
      { type: "TOOL_CALL_ARGS", toolCallId: "call-1", delta: "}" },
      { type: "TOOL_CALL_END", toolCallId: "call-1" },
    ]);
  });
});

describe("tool result messages", () => {
  test("003 REQ-DO-3.3: a tool result message converts to tool-result-chunk events", async () => {
    const events = (await session([calls, results])).slice(3);
    expect(typesOf(events)).toEqual([
      "tool-result-chunk",
      "tool-result-chunk",
      "tool-result-complete",
      "agent-response-complete",
    ]);
  });

  test("003 ToolsCallResultMessage mapping 1 to 4: the call, the text, and whether it failed, for each result", async () => {
    expect(dataOf(await session([calls, results]), "tool-result-chunk")).toEqual([
      { toolCallId: "c1", result: "sunny", isError: false, isComplete: false },
      { toolCallId: "c2", result: "no numbers", isError: true, isComplete: false },
    ]);
  });

  test("003 ToolsCallResultMessage mapping 5: tool-result-complete follows when all results have been sent", async () => {
    expect(dataOf(await session([calls, results]), "tool-result-complete")).toEqual([
      { toolCallIds: ["c1", "c2"], isComplete: true },
    ]);
  });

  test("003 lmcore ToolsCallResultMessage: each result answers its call as a tool message of its own", async () => {
    expect(reduceAll(await run([calls, results])).messages.slice(1)).toEqual([
      { id: "result-c1", role: "tool", toolCallId: "c1", content: "sunny" },
      {
        id: "result-c2",
        role: "tool",
        toolCallId: "c2",
        content: "no numbers",
        metadata: { heddle: { error: true } },
      },
    ]);
  });
});

describe("aggregate messages", () => {
  test("003 REQ-DO-3.4: calls and results convert to tool-call-chunk and tool-result-chunk events", async () => {
    expect(typesOf(await session([aggregate]))).toEqual([
      "tool-call-chunk",
      "tool-call-chunk",
      "tool-call-complete",
      "tool-result-chunk",
      "tool-result-chunk",
      "tool-result-complete",
      "agent-response-complete",
    ]);
  });

  test("003 ToolsCallAggregateMessage mapping 1 to 3: all calls and their completion stand before the first result", () => {
    const types = typesOf(toAgUiEvents(aggregate));
    expect(types.lastIndexOf("TOOL_CALL_END")).toBeLessThan(types.indexOf("TOOL_CALL_RESULT"));
    expect(types.filter((type) => type === "TOOL_CALL_RESULT")).toHaveLength(2);
  });

  test("003 ToolsCallAggregateMessage mapping 4: several aggregates come in the order in which they happened", async () => {
    const events = await session([round("c1"), round("c2")]);
    const order = events.flatMap(({ type, data }) => ("toolCallId" in data ? [`${type} ${data.toolCallId}`] : []));
    expect(order).toEqual(["tool-call-chunk c1", "tool-result-chunk c1", "tool-call-chunk c2", "tool-result-chunk c2"]);
  });

  test("003 lmcore ToolsCallAggregateMessage: calls that are known from updates or messages are not told twice", async () => {
    const updates: StreamMessage = {
      type: "tools-call-update",
      generationId: "g1",
      toolCallUpdates: calls.toolCalls,
    };
    const once = (await run([aggregate])).map((event) => JSON.stringify(event)).toSorted();
    for (const before of [[updates], [calls], [updates, calls], [calls, results]]) {
      const events = await run([...before, aggregate]);
      expect(events.map((event) => JSON.stringify(event)).toSorted()).toEqual(once);
    }
  });

  test("a whole call adds what its updates have not said; another call under its id is not mixed with it", async () => {
    const cut = callUpdate(0, '{"city"', { callId: "c1", functionName: "weather" });
    expect(await argumentsOf(cut, wholeCall('{"city":1}'))).toEqual(['{"city":1}']);
    expect(await argumentsOf(wholeCall("{}"), wholeCall('{"b":2}'))).toEqual(["{}", '{"b":2}']);
    expect(await argumentsOf(wholeCall("{}"), wholeCall("{}"))).toEqual(["{}"]);
  });

  test("a model that uses an id again for another call: the later call gets an id of its own", async () => {
    const again: StreamMessage = {
      type: "tools-call-aggregate",
      toolsCall: { ...calls, generationId: "g2", toolCalls: calls.toolCalls.slice(0, 1) },
      toolsCallResult: { ...results, toolCallResults: [{ callId: "c1", result: "rain" }] },
    };
    const { messages, pendingToolCallIds } = reduceAll(await run([aggregate, again]));
    expect(messages.slice(-2)).toMatchObject([
      { id: "g2", toolCalls: [{ id: "c1-2", function: { arguments: '{"city":"Paris"}' } }] },
      { role: "tool", toolCallId: "c1-2", content: "rain" },
    ]);
    expect(pendingToolCallIds).toEqual([]);
  });
});

describe("reasoning messages", () => {
  test("003 REQ-DO-3.5: a reasoning message converts to a thought-chunk event", async () => {
    expect(typesOf(await session([reasoning]))).toEqual([
      "thought-chunk",
      "thought-complete",
      "agent-response-complete",
    ]);
  });

  test("003 ReasoningMessage mapping 1: data.thought is the reasoning text, unaltered, whole or in pieces", async () => {
    const odd = ' {"not": json}\n\u{1F914} ';
    expect(dataOf(await session([{ type: "reasoning", reasoning: odd }]), "thought-chunk")).toEqual([
      { thought: odd, isComplete: false },
    ]);
    const pieces = [odd.slice(0, 4), odd.slice(4)];
    expect(dataOf(await session(pieces.map(thoughtUpdate)), "thought-chunk").map(({ thought }) => thought)).toEqual(
      pieces,
    );
  });

  test("003 ReasoningMessage mapping 2 and 3: isComplete is false while it streams, and thought-complete ends it", async () => {
    const update: StreamMessage = { type: "reasoning-update", reasoning: "hm", generationId: "g1" };
    const events = await session([update, update, text]);
    expect(typesOf(events).slice(0, 4)).toEqual(["thought-chunk", "thought-chunk", "thought-complete", "text-chunk"]);
    expect(dataOf(events, "thought-chunk").map((data) => data["isComplete"])).toEqual([false, false]);
  });

  test("003 ReasoningMessage mapping 4: nothing is told of reasoning that is switched off", async () => {
    const events = await session([reasoning, { type: "reasoning-update", reasoning: "hm" }, text], {
      reasoning: false,
    });
    expect(typesOf(events)).toEqual(["text-chunk", "text-message-complete", "agent-response-complete"]);
  });

  test("003 lmcore ReasoningMessage: a thought and a text of one generation are two messages", async () => {
    const { messages } = reduceAll(await run([reasoning, text]));
    expect(messages).toMatchObject([
      { id: "reasoning-g1", role: "reasoning", content: "Let me see." },
      { id: "g1", role: "assistant", content: "Hello" },
    ]);
  });

  test("an encrypted thought is kept as AG-UI's opaque value, and shown to nobody", async () => {
    const secret: StreamMessage = { type: "reasoning", reasoning: "x9f", visibility: "encrypted", generationId: "g1" };
    for (const messages of [
      [secret],
      [reasoning, secret],
      [{ type: "reasoning-update", reasoning: "Let me see.", generationId: "g1" } as const, secret],
    ]) {
      const events = await run(messages);
      const held = reduceAll(events).messages;
      expect(held).toMatchObject([{ id: "reasoning-g1", encryptedValue: "x9f" }]);
      expect(typesOf(events).filter((type) => type === "REASONING_MESSAGE_START")).toHaveLength(1);
    }
    expect(JSON.stringify(await session([secret]))).not.toContain("x9f");
  });
});

describe("usage messages", () => {
  test("003 REQ-DO-3.6: a usage message converts to a metadata-update event", async () => {
    expect(typesOf(await session([text, usage])).slice(-2)).toEqual(["metadata-update", "agent-response-complete"]);
  });

  test("003 UsageMessage mapping 1 and 2: data.usage holds all counts, in camelCase", async () => {
    expect(dataOf(await session([usage]), "metadata-update")).toEqual([
      { usage: { promptTokens: 12, completionTokens: 3, totalTokens: 15 } },
    ]);
  });

  test("003 UsageMessage mapping 3: usage is told also where the run fails", async () => {
    expect(typesOf(await session(failing()))).toEqual(["metadata-update", "agent-error"]);
  });

  test("003 UsageMessage mapping 4: several usage messages send a metadata-update each; one model is one entry", async () => {
    expect(dataOf(await session([usage, text, usage]), "metadata-update")).toHaveLength(2);
    const named = { ...usage, provider: "p", model: "m" };
    expect(dataOf(await session([named, usage, named]), "metadata-update")).toEqual([
      { usage: { promptTokens: 24, completionTokens: 6, totalTokens: 30 }, provider: "p", model: "m" },
      { usage: { promptTokens: 12, completionTokens: 3, totalTokens: 15 } },
    ]);
  });

  test("003 REQ-DO-4.3: one call turns usage into AG-UI's entry; the total is input and output", () => {
    const counts = {
      promptTokens: 12,
      completionTokens: 3,
      totalTokens: 99,
      reasoningTokens: 2,
      cachedPromptTokens: 4,
    };
    expect(toAgUiMetadata({ type: "usage", usage: counts, model: "m" })).toEqual({
      model: "m",
      inputTokens: 12,
      outputTokens: 3,
      totalTokens: 15,
      reasoningTokens: 2,
      cachedInputTokens: 4,
    });
    expect(toAgUiMetadata({ type: "usage", usage: { totalTokens: 7 } })).toEqual({ totalTokens: 7 });
  });
});

describe("composite and image messages", () => {
  const all = [reasoning, text, aggregate, usage, image];

  test("003 REQ-DO-3.7: a composite converts by converting what it contains, at every depth", async () => {
    const nested: StreamMessage = {
      type: "composite",
      messages: [
        reasoning,
        { type: "composite", messages: [text, { type: "composite", messages: [aggregate] }] },
        usage,
      ],
    };
    expect(await session([nested])).toEqual(await session([reasoning, text, aggregate, usage]));
  });

  test("003 CompositeMessage mapping 1: every message inside is converted", async () => {
    expect(await session([{ type: "composite", messages: all }])).toEqual(await session(all));
  });

  test("003 CompositeMessage mapping 2: each is converted by the rule of its kind", async () => {
    expect(new Set(typesOf(await session([{ type: "composite", messages: all }])))).toEqual(
      new Set([
        "thought-chunk",
        "thought-complete",
        "text-chunk",
        "text-message-complete",
        "tool-call-chunk",
        "tool-call-complete",
        "tool-result-chunk",
        "tool-result-complete",
        "progress-update",
        "metadata-update",
        "agent-response-complete",
      ]),
    );
  });

  test("003 CompositeMessage mapping 3: the events keep the order of the messages", async () => {
    const texts = ["one", "two", "three"].map((each): StreamMessage => ({
      type: "text",
      text: each,
      generationId: each,
    }));
    const events = await session([
      { type: "composite", messages: [texts[2], texts[0], texts[1]].filter((each) => each !== undefined) },
    ]);
    expect(dataOf(events, "text-chunk").map((data) => data["text"])).toEqual(["three", "one", "two"]);
  });

  test("003 CompositeMessage mapping 4: composites inside composites are converted, and inherit their origin", async () => {
    const inner: StreamMessage = { type: "composite", messages: [{ type: "text", text: "deep" }] };
    const events = await session([{ type: "composite", generationId: "g7", fromAgent: "outer", messages: [inner] }]);
    expect(events[0]).toMatchObject({ type: "text-chunk", messageId: "g7", data: { text: "deep" } });
    expect(await run([{ type: "composite", fromAgent: "outer", messages: [inner] }])).toMatchObject([
      {},
      { name: "outer" },
      {},
      {},
      {},
    ]);
  });

  test("003 REQ-DO-3.8: an image converts to an activity that a UI can show", async () => {
    expect((await run([image, image])).slice(1, 3)).toEqual([
      {
        type: "ACTIVITY_SNAPSHOT",
        messageId: "image-g1",
        activityType: "image",
        content: { source: { type: "data", value: "aGk=", mimeType: "image/png" }, alt: "a cat" },
      },
      expect.objectContaining({ messageId: "image-g1-2" }),
    ]);
    expect(dataOf(await session([image]), "progress-update")).toEqual([
      {
        activityType: "image",
        content: { source: { type: "data", value: "aGk=", mimeType: "image/png" }, alt: "a cat" },
      },
    ]);
  });
});

describe("conversion calls", () => {
  test("003 REQ-DO-4.1: one call turns any message into a list of events", () => {
    const update: StreamMessage = { type: "text-update", text: "Hel", generationId: "g1" };
    const thought: StreamMessage = { type: "reasoning-update", reasoning: "hm", generationId: "g1" };
    const counts = [text, update, reasoning, thought, calls, results, aggregate, image, usage].map(
      (message) => toAgUiEvents(message).length,
    );
    expect(counts).toEqual([3, 3, 3, 3, 6, 2, 8, 1, 0]);
    expect(typesOf(toAgUiEvents(update))).toEqual(["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]);
  });

  test("003 REQ-DO-4.2: one call turns a tool call into AG-UI's", () => {
    expect(
      toAgUiToolCall({ index: 0, callId: "c1", functionName: "weather", functionArgs: '{"city":"Paris"}' }),
    ).toEqual({
      id: "c1",
      type: "function",
      function: { name: "weather", arguments: '{"city":"Paris"}' },
    });
  });

  test("003 REQ-DO-4.4: one call turns a stream of messages into a stream of events, one whole run", async () => {
    const events = await run(textAndUsage());
    expect(events.at(0)).toEqual({ type: "RUN_STARTED", threadId: "t1", runId: "r1", protocolVersion: "1.0" });
    expect(events.at(-1)).toEqual({
      type: "RUN_FINISHED",
      threadId: "t1",
      runId: "r1",
      usage: [{ inputTokens: 12, outputTokens: 3, totalTokens: 15 }],
    });
  });

  test("003 REQ-PR-2.2: each message is converted as soon as it arrives", async () => {
    const gate = Promise.withResolvers<void>();
    async function* source(): AsyncGenerator<StreamMessage> {
      yield { type: "text-update", text: "first", generationId: "g1" };
      await gate.promise;
      yield { type: "text-update", text: "second", generationId: "g1" };
    }
    const events = toAgUiEventStream(source(), RUN);
    const before = [await events.next(), await events.next(), await events.next()];
    expect(before.map(({ value }) => value?.type)).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
    ]);
    gate.resolve();
    expect(await events.next()).toMatchObject({ value: { delta: "second" } });
  });

  test("003 REQ-PR-2.3: events of one message come in their order, and messages in theirs", async () => {
    const events = await run([reasoning, text, aggregate]);
    expect(typesOf(events)).toEqual(
      [reasoning, text, aggregate]
        .reduce((types, message) => [...types, ...typesOf(toAgUiEvents(message))], ["RUN_STARTED"])
        .concat("RUN_FINISHED"),
    );
  });

  test("a whole message that repeats its updates adds only what they have not said", async () => {
    expect(await contentOf(textUpdate("Hel"), textUpdate("lo"), whole("Hello"))).toBe("Hello");
    expect(await contentOf(textUpdate("Hel"), whole("Hello"))).toBe("Hello");
    expect(await contentOf(textUpdate("Hello"), usage, calls, whole("Hello"), whole("!"))).toBe("Hello!");
    expect(await contentOf(textUpdate("Hello"), whole(" again"))).toBe("Hello again");
  });

  test("messages without a generation: pieces in a row are one message, anything between makes two", async () => {
    const update: StreamMessage = { type: "text-update", text: "x" };
    const { messages } = reduceAll(await run([update, update, { type: "text", text: "xx" }, update, calls, update]));
    expect(messages.flatMap(({ content }) => (content === undefined ? [] : [content]))).toEqual(["xx", "x", "x"]);
  });

  test("one generation id for speakers that differ: each has a message of its own", async () => {
    const { messages } = reduceAll(await run([spokenBy("user"), spokenBy("assistant"), spokenBy("user")]));
    expect(messages).toMatchObject([
      { id: "g1", role: "user", content: "useruser" },
      { id: "g1-2", role: "assistant", content: "assistant" },
    ]);
  });

  test("a message that is opened again keeps the name that it had", async () => {
    const again: StreamMessage = { ...text, text: "!", fromAgent: "other" };
    const events = await run([text, calls, results, again]);
    expect(events.flatMap((event) => (event.type === "TEXT_MESSAGE_START" ? [event.name] : []))).toEqual([
      "helper",
      "helper",
    ]);
  });

  test("what is malformed inside a composite leaves what came before it whole", async () => {
    const broken: StreamMessage = { type: "text", text: "x", generationId: "g2" };
    Reflect.set(broken, "text", 7);
    const events = await run([{ type: "composite", messages: [textUpdate("fine"), broken] }]);
    expect(typesOf(events)).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "RUN_ERROR",
    ]);
  });

  test("what is no message is refused, and says so", () => {
    const message: StreamMessage = { type: "text", text: "x" };
    Reflect.set(message, "type", "poem");
    expect(() => createConversion().push(message)).toThrow(
      expect.objectContaining({ code: "event-invalid", message: expect.stringContaining("poem") }),
    );
  });
});
