import { describe, expect, test } from "vitest";
import { HeddleError } from "../../../protocol/index.ts";
import { functionCalls, joinedUpdates, jsonFragments, printing, withMiddleware } from "./index.ts";
import type {
  FunctionTool,
  GenerateOptions,
  JsonFragment,
  Middleware,
  StreamMessage,
  StreamingAgent,
} from "./index.ts";

/** An agent that says its lines, one list for each time that it is asked, and remembers what it was asked. */
function scripted(...turns: readonly (readonly StreamMessage[])[]) {
  const asked: { readonly messages: readonly StreamMessage[]; readonly options: GenerateOptions }[] = [];
  const agent: StreamingAgent = {
    async *generateReplyStreaming(messages, options = {}) {
      const turn = turns[asked.length] ?? [];
      asked.push({ messages, options });
      yield* turn;
    },
  };
  return { agent, asked };
}

async function answer(
  agent: StreamingAgent,
  messages: readonly StreamMessage[] = [],
  options?: GenerateOptions,
): Promise<readonly StreamMessage[]> {
  const said: StreamMessage[] = [];
  for await (const message of agent.generateReplyStreaming(messages, options)) said.push(message);
  return said;
}

const question: StreamMessage = { type: "text", text: "Weather and sum?", role: "user" };
const update = (text: string): StreamMessage => ({ type: "text-update", text, generationId: "g1" });
const call = (callId: string, functionName: string, functionArgs: string): StreamMessage => ({
  type: "tools-call",
  generationId: "g1",
  toolCalls: [{ callId, functionName, functionArgs }],
});
const callUpdate = (functionArgs: string, rest: object = {}): StreamMessage => ({
  type: "tools-call-update",
  generationId: "g1",
  toolCallUpdates: [{ functionArgs, ...rest }],
});

const weather: FunctionTool = {
  name: "weather",
  description: "Tells the weather.",
  parameters: { type: "object" },
  execute: (args) => ({ sky: "clear", asked: args }),
};

const marking = (mark: string): Middleware =>
  async function* mark1({ messages, options }, agent) {
    for await (const message of agent.generateReplyStreaming([...messages, { type: "text", text: mark }], options)) {
      yield message.type === "text" ? { ...message, text: `${message.text}${mark}` } : message;
    }
  };

const joined = (messages: readonly StreamMessage[]) =>
  answer(withMiddleware(scripted(messages).agent, joinedUpdates()));

describe("composition", () => {
  test("003 lmcore middleware: steps compose around an agent, and messages pass them in the order given", async () => {
    const { agent, asked } = scripted([{ type: "text", text: "said" }]);
    const composed = withMiddleware(agent, marking("-a"), marking("-b"));
    expect(await answer(composed, [question], { settings: { modelId: "m" } })).toEqual([
      { type: "text", text: "said-a-b" },
    ]);
    expect(asked).toEqual([
      {
        messages: [question, { type: "text", text: "-b" }, { type: "text", text: "-a" }],
        options: { settings: { modelId: "m" } },
      },
    ]);
    expect(await answer(withMiddleware(agent))).toEqual([]);
  });

  test("003 lmcore reference workflow: fragments, functions, printing and joining in one pipeline", async () => {
    const printed: string[] = [];
    const { agent } = scripted(
      [
        callUpdate('{"city":', { callId: "c1", functionName: "weather", index: 0 }),
        callUpdate('"Paris"}', { index: 0 }),
      ],
      [update("It is "), update("clear.")],
    );
    const pipeline = withMiddleware(
      agent,
      jsonFragments(),
      functionCalls({ tools: [weather] }),
      printing({ write: (text) => printed.push(text) }),
      joinedUpdates(),
    );
    const said = await answer(pipeline, [question]);
    expect(said.map(({ type }) => type)).toEqual(["tools-call-aggregate", "text"]);
    expect(said[1]).toEqual({ type: "text", text: "It is clear.", generationId: "g1" });
    expect(printed.join("")).toContain("assistant: It is clear.\n");
  });
});

describe("joinedUpdates", () => {
  test("003 lmcore MessageUpdateJoiner: updates become whole messages, in order", async () => {
    expect(
      await joined([
        { type: "reasoning-update", reasoning: "h", generationId: "g1", fromAgent: "a" },
        { type: "reasoning-update", reasoning: "m", generationId: "g1", fromAgent: "a" },
        update("Hel"),
        update("lo"),
        { type: "text-update", text: "other", generationId: "g2", role: "system" },
        callUpdate('{"a"', { callId: "c1", functionName: "add", index: 0 }),
        callUpdate("{}", { callId: "c2", functionName: "now", index: 1 }),
        callUpdate(":1}", { index: 0 }),
        { type: "usage", usage: { promptTokens: 1 } },
      ]),
    ).toEqual([
      { type: "reasoning", reasoning: "hm", generationId: "g1", fromAgent: "a" },
      { type: "text", text: "Hello", generationId: "g1" },
      { type: "text", text: "other", generationId: "g2", role: "system" },
      {
        type: "tools-call",
        generationId: "g1",
        toolCalls: [
          { callId: "c1", functionName: "add", functionArgs: '{"a":1}', index: 0 },
          { callId: "c2", functionName: "now", functionArgs: "{}", index: 1 },
        ],
      },
      { type: "usage", usage: { promptTokens: 1 } },
    ]);
  });

  test("a whole message that repeats its updates takes their place", async () => {
    const whole: StreamMessage = { type: "text", text: "Hello", generationId: "g1" };
    const thought: StreamMessage = { type: "reasoning", reasoning: "hm", generationId: "g1" };
    const calls = call("c1", "add", "{}");
    expect(
      await joined([
        update("Hel"),
        update("lo"),
        whole,
        { type: "reasoning-update", reasoning: "hm", generationId: "g1" },
        thought,
        callUpdate("{}", { callId: "c1", functionName: "add" }),
        calls,
        update("tail"),
      ]),
    ).toEqual([whole, thought, calls, { type: "text", text: "tail", generationId: "g1" }]);
  });
});

describe("jsonFragments", () => {
  test("003 lmcore JsonFragmentUpdate: each piece of arguments says what it means as JSON, for each call apart", async () => {
    const { agent } = scripted([
      callUpdate('{"city":"Pa', { callId: "c1", functionName: "weather", index: 0 }),
      callUpdate("[1", { callId: "c2", functionName: "sum", index: 1 }),
      callUpdate('ris"}', { index: 0 }),
      callUpdate(",2]", { index: 1 }),
      update("done"),
    ]);
    const said = await answer(withMiddleware(agent, jsonFragments()));
    const fragments = said.flatMap((message): (readonly JsonFragment[])[] =>
      message.type === "tools-call-update" ? message.toolCallUpdates.map((each) => each.jsonFragments ?? []) : [],
    );
    expect(fragments).toEqual([
      [
        { kind: "object-start", path: "" },
        { kind: "key", path: "/city", value: "city" },
        { kind: "string-start", path: "/city" },
        { kind: "string-part", path: "/city", value: "Pa" },
      ],
      [{ kind: "array-start", path: "" }],
      [
        { kind: "string-part", path: "/city", value: "ris" },
        { kind: "string-end", path: "/city", value: "Paris" },
        { kind: "object-end", path: "" },
      ],
      [
        { kind: "number", path: "/0", value: 1 },
        { kind: "number", path: "/1", value: 2 },
        { kind: "array-end", path: "" },
      ],
    ]);
    expect(said.at(-1)).toEqual(update("done"));
  });
});

describe("functionCalls", () => {
  test("003 lmcore tool-loop: the agent is asked again with the results until it answers without a call", async () => {
    const { agent, asked } = scripted(
      [update("Looking."), call("c1", "weather", '{"city":"Paris"}')],
      [call("c2", "weather", "")],
      [{ type: "text", text: "Clear everywhere." }],
    );
    const said = await answer(withMiddleware(agent, functionCalls({ tools: [weather] })), [question]);
    expect(said.map(({ type }) => type)).toEqual([
      "text-update",
      "tools-call",
      "tools-call-aggregate",
      "tools-call",
      "tools-call-aggregate",
      "text",
    ]);
    expect(said[2]).toEqual({
      type: "tools-call-aggregate",
      generationId: "g1",
      toolsCall: call("c1", "weather", '{"city":"Paris"}'),
      toolsCallResult: {
        type: "tools-call-result",
        generationId: "g1",
        toolCallResults: [
          { callId: "c1", functionName: "weather", result: '{"sky":"clear","asked":{"city":"Paris"}}' },
        ],
      },
    });
    expect(asked.map(({ messages }) => messages.map(({ type }) => type))).toEqual([
      ["text"],
      ["text", "text", "tools-call-aggregate"],
      ["text", "text", "tools-call-aggregate", "tools-call-aggregate"],
    ]);
    const { execute: _, ...offered } = weather;
    expect(asked[0]?.options.tools).toEqual([offered]);
  });

  test("003 lmcore FunctionCall: what passes is not held back, and calls streamed by updates are executed too", async () => {
    const gate = Promise.withResolvers<string>();
    const slow: FunctionTool = { ...weather, execute: () => gate.promise };
    const { agent } = scripted(
      [callUpdate("{", { callId: "c1", functionName: "weather" }), callUpdate("}")],
      [{ type: "text", text: "Fine." }],
    );
    const said = withMiddleware(agent, functionCalls({ tools: [slow] })).generateReplyStreaming([question]);
    const reader = said[Symbol.asyncIterator]();
    expect((await reader.next()).value).toMatchObject({ type: "tools-call-update" });
    expect((await reader.next()).value).toMatchObject({ type: "tools-call-update" });
    const next = reader.next();
    gate.resolve("sunny");
    expect((await next).value).toMatchObject({ toolsCallResult: { toolCallResults: [{ result: "sunny" }] } });
    expect((await reader.next()).value).toEqual({ type: "text", text: "Fine." });
  });

  test("003 REQ-3.4: a call that fails is answered with its error, and the others are not harmed", async () => {
    const errors: unknown[] = [];
    const boom = new Error("no numbers");
    const add: FunctionTool = {
      name: "add",
      description: "Adds.",
      execute: () => {
        throw boom;
      },
    };
    const both: StreamMessage = {
      type: "composite",
      generationId: "g1",
      messages: [
        {
          type: "tools-call",
          toolCalls: [
            { callId: "c1", functionName: "add", functionArgs: "{}" },
            { callId: "c2", functionName: "weather", functionArgs: "{not json" },
            { callId: "c3", functionName: "weather", functionArgs: "{}" },
          ],
        },
      ],
    };
    const tools = [add, weather];
    const pipeline = withMiddleware(
      scripted([both], []).agent,
      functionCalls({ tools, onError: (error) => errors.push(error) }),
    );
    const said = await answer(pipeline);
    expect(said[1]).toMatchObject({
      toolsCallResult: {
        toolCallResults: [
          { callId: "c1", result: "no numbers", isError: true },
          { callId: "c2", result: "The arguments of weather are not JSON: send one JSON object.", isError: true },
          { callId: "c3", result: '{"sky":"clear","asked":{}}' },
        ],
      },
    });
    expect(errors).toEqual([boom, expect.objectContaining({ code: "tool-arguments-invalid" })]);
  });

  test("calls of functions that are not known here are left for somebody else, and end the answer", async () => {
    const mixed: StreamMessage = {
      type: "tools-call",
      toolCalls: [
        { callId: "c1", functionName: "weather", functionArgs: "{}" },
        { callId: "c2", functionName: "open_dialog", functionArgs: "{}" },
      ],
    };
    const { agent, asked } = scripted([mixed], [{ type: "text", text: "never" }]);
    const said = await answer(withMiddleware(agent, functionCalls({ tools: [weather] })));
    expect(said).toMatchObject([mixed, { type: "tools-call-aggregate", toolsCall: { toolCalls: [{ callId: "c1" }] } }]);
    expect(asked).toHaveLength(1);
    const other = scripted([call("c9", "open_dialog", "{}")], [{ type: "text", text: "never" }]);
    expect(await answer(withMiddleware(other.agent, functionCalls({ tools: [weather] })))).toHaveLength(1);
  });

  test("calls that the agent has answered itself are not executed again", async () => {
    let executed = 0;
    const counting: FunctionTool = { ...weather, execute: () => ++executed };
    const { agent } = scripted([
      call("c1", "weather", "{}"),
      { type: "tools-call-result", toolCallResults: [{ callId: "c1", result: "known" }] },
    ]);
    expect(await answer(withMiddleware(agent, functionCalls({ tools: [counting] })))).toHaveLength(2);
    expect(executed).toBe(0);
  });

  test("an agent that never stops calling is stopped with step-limit", async () => {
    const turns = ["c1", "c2", "c3"].map((id) => [call(id, "weather", "{}")]);
    const { agent, asked } = scripted(...turns);
    const pipeline = withMiddleware(agent, functionCalls({ tools: [weather], maxTurns: 2 }));
    await expect(answer(pipeline)).rejects.toThrow(
      expect.objectContaining({ code: "step-limit", message: expect.stringContaining("maxTurns") }),
    );
    expect(asked).toHaveLength(2);
  });

  test("a stop while a function runs ends the answer with its reason, and is not told as a result", async () => {
    const stop = new AbortController();
    const reason = new HeddleError("run-ended", "Stopped.", {});
    const stuck: FunctionTool = {
      ...weather,
      execute: (_, { signal, callId }) => {
        expect(callId).toBe("c1");
        stop.abort(reason);
        signal?.throwIfAborted();
      },
    };
    const { agent } = scripted([call("c1", "weather", "{}")]);
    const pipeline = withMiddleware(agent, functionCalls({ tools: [stuck] }));
    await expect(answer(pipeline, [], { signal: stop.signal })).rejects.toBe(reason);
  });
});

describe("printing", () => {
  test("003 lmcore ConsolePrinterHelper: messages are printed to the sink, and pass unchanged", async () => {
    const messages: readonly StreamMessage[] = [
      { type: "reasoning-update", reasoning: "hm" },
      { type: "reasoning-update", reasoning: "m" },
      { type: "reasoning", reasoning: "x9f", visibility: "encrypted" },
      update("Hel"),
      update("lo"),
      { type: "text", text: "All.", fromAgent: "helper" },
      callUpdate("{", { callId: "c1", functionName: "weather" }),
      callUpdate("}"),
      {
        type: "tools-call-aggregate",
        toolsCall: { type: "tools-call", toolCalls: [{ callId: "c1", functionName: "add", functionArgs: "{}" }] },
        toolsCallResult: {
          type: "tools-call-result",
          toolCallResults: [
            { callId: "c1", result: "3" },
            { callId: "c2", result: [{ type: "text", text: "bad" }], isError: true },
          ],
        },
      },
      { type: "image", source: { type: "data", value: "aGk=", mimeType: "image/png" } },
      { type: "composite", messages: [{ type: "text", text: "inside", role: "system" }] },
      { type: "usage", usage: { promptTokens: 12, completionTokens: 3, totalTokens: 15 } },
      { type: "text-update", text: "no end" },
    ];
    let printed = "";
    const sink = { write: (text: string) => (printed += text) };
    expect(await answer(withMiddleware(scripted(messages).agent, printing(sink)))).toEqual(messages);
    expect(printed).toBe(
      [
        "thought: hmm",
        "thought: (encrypted)",
        "assistant: Hello",
        "helper: All.",
        "call: weather {}",
        "call: add({})",
        "result: c1 3",
        "error: c2 bad",
        "image: image/png",
        "system: inside",
        "usage: 12 prompt, 3 completion, 15 total",
        "assistant: no end",
        "",
      ].join("\n"),
    );
  });
});
