import { expect, test } from "vitest";
import { sealedBy } from "../../../../test/arbitrary-thread.ts";
import { messagesAfter, recorded, say } from "../../../../test/model-answer.ts";
import type { Message } from "../../../protocol/index.ts";
import { fromOpenAiResponses, toOpenAiChat, toOpenAiResponses } from "./index.ts";

const call = (id: string, city: string) => ({
  id,
  type: "function" as const,
  function: { name: "get_weather", arguments: JSON.stringify({ city }) },
});

const item = (call_id: string, city: string) => ({
  type: "function_call",
  call_id,
  name: "get_weather",
  arguments: JSON.stringify({ city }),
});

const reasoningItem = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" };

/** A thread with reasoning, parallel calls, a denied one and one that nobody answered. */
const thread: readonly Message[] = [
  { id: "s", role: "system", content: "Be kind." },
  { id: "d", role: "developer", content: "Be brief." },
  { id: "u1", role: "user", content: "Weather?" },
  { id: "r1", role: "reasoning", content: "Two calls.", encryptedValue: sealedBy("openai", reasoningItem) },
  {
    id: "a1",
    role: "assistant",
    content: "I look.",
    toolCalls: [call("c1", "Paris"), call("c2", "Rome"), call("c3", "Oslo")],
    metadata: { openai: { phase: "commentary" } },
  },
  { id: "x1", role: "activity", activityType: "plan", content: {} },
  { id: "t2", role: "tool", toolCallId: "c2", content: "", error: "The user denied this call." },
  { id: "u2", role: "user", content: "Never mind Oslo." },
  { id: "t1", role: "tool", toolCallId: "c1", content: "Sunny" },
  { id: "r2", role: "reasoning", content: "Hm.", encryptedValue: sealedBy("anthropic", { type: "thinking" }) },
  { id: "a2", role: "assistant", content: "Sunny in Paris." },
  { id: "u3", role: "user", content: "Thanks." },
];

const UNANSWERED = "This call has no result: it was not carried out, or was given up.";

test("a chat request has each result directly behind its call, in the order of the calls", () => {
  const context = [{ description: "page", value: "/weather" }];
  const tools = [
    { name: "get_weather", description: "Weather.", parameters: { type: "object" } },
    { name: "get_weather", description: "Again.", parameters: { type: "object" } },
    { name: "now", description: "" },
  ];
  expect(toOpenAiChat({ messages: thread, tools, context }, { model: "m", instructions: "You are a bot." })).toEqual({
    model: "m",
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: "system", content: "You are a bot." },
      { role: "system", content: "What the application says about its surroundings:\n- page: /weather" },
      { role: "system", content: "Be kind." },
      { role: "system", content: "Be brief." },
      { role: "user", content: "Weather?" },
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [call("c1", "Paris"), call("c2", "Rome"), call("c3", "Oslo")],
      },
      { role: "tool", tool_call_id: "c1", content: "Sunny" },
      { role: "tool", tool_call_id: "c2", content: "The user denied this call." },
      { role: "tool", tool_call_id: "c3", content: UNANSWERED },
      { role: "user", content: "Never mind Oslo." },
      { role: "assistant", content: "Sunny in Paris." },
      { role: "user", content: "Thanks." },
    ],
    tools: [
      { type: "function", function: { name: "get_weather", description: "Weather.", parameters: { type: "object" } } },
      { type: "function", function: { name: "now", description: "" } },
    ],
  });
});

test("a Responses request returns its own reasoning in place, and nobody else's", () => {
  const warnings: string[] = [];
  const body = toOpenAiResponses({ messages: thread }, { model: "gpt-5.1", onWarning: (text) => warnings.push(text) });
  expect(body).toEqual({
    model: "gpt-5.1",
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content"],
    input: [
      { role: "system", content: "Be kind." },
      { role: "developer", content: "Be brief." },
      { role: "user", content: "Weather?" },
      reasoningItem,
      { role: "assistant", content: "I look.", phase: "commentary" },
      item("c1", "Paris"),
      item("c2", "Rome"),
      item("c3", "Oslo"),
      { type: "function_call_output", call_id: "c1", output: "Sunny" },
      { type: "function_call_output", call_id: "c2", output: "The user denied this call." },
      { type: "function_call_output", call_id: "c3", output: UNANSWERED },
      { role: "user", content: "Never mind Oslo." },
      { role: "assistant", content: "Sunny in Paris." },
      { role: "user", content: "Thanks." },
    ],
  });
  expect(warnings).toEqual(["Sealed reasoning of another provider or API was left out."]);
});

const png = { type: "data", value: "iVBORw==", mimeType: "image/png" } as const;
const pdf = { type: "data", value: "JVBERi0=", mimeType: "application/pdf" } as const;
const wav = { type: "data", value: "UklGRg==", mimeType: "audio/wav" } as const;

const rich: Message = {
  id: "u",
  role: "user",
  content: [
    { type: "text", text: "See:" },
    { type: "image", source: png },
    { type: "image", source: { type: "url", value: "https://example.org/i.png" } },
    { type: "image", source: { type: "file", value: "file_i", provider: "openai" } },
    { type: "document", source: pdf, metadata: { filename: "a.pdf" } },
    { type: "document", source: { type: "url", value: "https://example.org/d.pdf" } },
    { type: "document", source: { type: "file", value: "file_d" } },
    { type: "document", source: { type: "file", value: "file_f", provider: "anthropic" } },
    { type: "audio", source: wav },
    { type: "video", source: { type: "url", value: "https://example.org/v.mp4" } },
  ],
};

test("a chat gets the parts that it takes, and a warning names the others", () => {
  const warnings: string[] = [];
  const body = toOpenAiChat({ messages: [rich] }, { model: "m", onWarning: (text) => warnings.push(text) });
  expect(body.messages).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "See:" },
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw==" } },
        { type: "image_url", image_url: { url: "https://example.org/i.png" } },
        { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
        { type: "file", file: { file_id: "file_d" } },
        { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
      ],
    },
  ]);
  expect(warnings.map((text) => text.replace(/.*: /, ""))).toEqual([
    "image (file).",
    "document (url).",
    "document (file).",
    "video (url).",
  ]);
});

test("Responses get the parts that they take, also in results", () => {
  const messages: readonly Message[] = [
    rich,
    { id: "a", role: "assistant", toolCalls: [call("c", "Rome")] },
    {
      id: "t",
      role: "tool",
      toolCallId: "c",
      content: [
        { type: "text", text: "Map" },
        { type: "image", source: png },
      ],
    },
  ];
  const image = { type: "input_image", detail: "auto", image_url: "data:image/png;base64,iVBORw==" };
  expect(toOpenAiResponses({ messages }, { model: "m" }).input).toEqual([
    {
      role: "user",
      content: [
        { type: "input_text", text: "See:" },
        image,
        { type: "input_image", detail: "auto", image_url: "https://example.org/i.png" },
        { type: "input_image", detail: "auto", file_id: "file_i" },
        { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
        { type: "input_file", file_url: "https://example.org/d.pdf" },
        { type: "input_file", file_id: "file_d" },
      ],
    },
    expect.objectContaining({ type: "function_call", call_id: "c" }),
    { type: "function_call_output", call_id: "c", output: [{ type: "input_text", text: "Map" }, image] },
  ]);
});

test("what a server wants back with a call goes back with it, and reasoning where it is wanted", () => {
  const sealed = sealedBy("openai", { type: "extra_content", extra_content: { google: { thought_signature: "s" } } });
  const custom = { id: "c2", type: "function" as const, function: { name: "sql", arguments: "select 1" } };
  const messages: readonly Message[] = [
    { id: "u", role: "user", content: "Go." },
    {
      id: "r",
      role: "reasoning",
      content: "Hm.",
      encryptedValue: sealedBy("openai", { type: "reasoning_details", reasoning_details: [{ data: "x" }] }),
    },
    {
      id: "a",
      role: "assistant",
      toolCalls: [
        { ...call("c1", "Rome"), encryptedValue: sealed },
        { ...custom, metadata: { openai: { type: "custom", namespace: "db" } } },
      ],
    },
  ];
  const body = toOpenAiChat(
    { messages },
    { model: "m", reasoningField: "reasoning_content", developerRole: "developer" },
  );
  expect(body.messages[1]).toEqual({
    role: "assistant",
    content: null,
    reasoning_content: "Hm.",
    reasoning_details: [{ data: "x" }],
    tool_calls: [
      { ...call("c1", "Rome"), extra_content: { google: { thought_signature: "s" } } },
      { id: "c2", type: "custom", custom: { name: "sql", input: "select 1" } },
    ],
  });
  expect(toOpenAiResponses({ messages }, { model: "m" }).input).toContainEqual({
    type: "custom_tool_call",
    call_id: "c2",
    name: "sql",
    input: "select 1",
    namespace: "db",
  });
});

test("members of the caller's win, and its tools are added", () => {
  const body = { temperature: 0, store: true, tools: [{ type: "web_search" }] };
  const tools = [{ name: "now", description: "" }];
  const made = toOpenAiResponses({ messages: thread, tools }, { model: "m", body });
  expect(made).toMatchObject({ temperature: 0, store: true, tools: [{ name: "now" }, { type: "web_search" }] });
});

const includes = (model: string) => toOpenAiResponses({ messages: thread }, { model }).include;

test("a model that does not reason is not asked for reasoning", () => {
  expect([includes("gpt-4.1-mini"), includes("gpt-4o"), includes("gpt-5-chat-latest")]).toEqual([[], [], []]);
  expect(includes("o4-mini")).toEqual(includes("gpt-6"));
  expect(includes("gpt-6")).toHaveLength(1);
});

test("an empty thread asks the model to go on", () => {
  expect(toOpenAiChat({ messages: [] }, { model: "m" }).messages).toEqual([{ role: "user", content: "Continue." }]);
  expect(toOpenAiResponses({ messages: [] }, { model: "m" }).input).toEqual([{ role: "user", content: "Continue." }]);
});

test("items of tools that OpenAI runs go back as they came, in place; half a call does not", async () => {
  const file = new URL("fixtures/responses-builtins.sse", import.meta.url);
  const shell = { type: "shell_call", call_id: "s", action: { commands: ["ls"] } };
  const answer = messagesAfter(await say(fromOpenAiResponses(recorded(file))), [
    { id: "u", role: "user", content: "Go." },
  ]);
  const half: Message = { id: "r", role: "reasoning", content: "", encryptedValue: sealedBy("openai", shell) };
  const { input } = toOpenAiResponses({ messages: [...answer, half] }, { model: "m" });
  expect(input.map((item) => ("type" in item ? item.type : item.role))).toEqual([
    "user",
    "reasoning",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "mcp_list_tools",
    "mcp_call",
    "assistant",
  ]);
  expect(input[2]).toEqual({
    id: "ws_1",
    type: "web_search_call",
    status: "completed",
    action: { type: "search", query: "heddle loom" },
  });
  const output = { type: "shell_call_output", call_id: "s", output: [] };
  const other: Message = { ...half, id: "r2", encryptedValue: sealedBy("openai", output) };
  const whole = toOpenAiResponses({ messages: [...answer, half, other] }, { model: "m" }).input;
  expect(whole.slice(-2)).toEqual([shell, output]);
});
