import { expect, test } from "vitest";
import { sealedBy } from "../../../../test/arbitrary-thread.ts";
import { messagesAfter, recorded, say } from "../../../../test/model-answer.ts";
import type { Message } from "../../../protocol/index.ts";
import { fromAnthropic, toAnthropic } from "./index.ts";

const call = (id: string, city: string) => ({
  id,
  type: "function" as const,
  function: { name: "get_weather", arguments: JSON.stringify({ city }) },
});

const use = (id: string, city: string) => ({ type: "tool_use", id, name: "get_weather", input: { city } });

const user = (id: string, content: string): Message => ({ id, role: "user", content });

const text = (said: string) => ({ type: "text", text: said });

/** A thread with thinking, parallel calls, a denied one and one that nobody answered. */
const thread: readonly Message[] = [
  { id: "s", role: "system", content: "Be kind." },
  user("u1", "Weather?"),
  {
    id: "r1",
    role: "reasoning",
    content: "Two calls.",
    encryptedValue: sealedBy("anthropic", { type: "thinking", signature: "sig" }),
  },
  {
    id: "r2",
    role: "reasoning",
    content: "",
    encryptedValue: sealedBy("anthropic", { type: "redacted_thinking", data: "hidden" }),
  },
  {
    id: "a1",
    role: "assistant",
    content: "I look.",
    toolCalls: [call("c1", "Paris"), call("c2", "Rome"), call("c3", "Oslo")],
  },
  { id: "t2", role: "tool", toolCallId: "c2", content: "", error: "The user denied this call." },
  { id: "d", role: "developer", content: "Be brief." },
  user("u2", "Never mind Oslo."),
  { id: "t1", role: "tool", toolCallId: "c1", content: "Sunny" },
  { id: "r3", role: "reasoning", content: "Hm.", encryptedValue: sealedBy("openai", { type: "reasoning" }) },
  { id: "a2", role: "assistant", content: "Sunny in Paris." },
  user("u3", "Thanks."),
];

test("thinking stands in its place with its signature, and the results open the next turn", () => {
  const warnings: string[] = [];
  const tools = [{ name: "get_weather", description: "Weather.", parameters: { type: "object", properties: {} } }];
  const options = { model: "m", maxTokens: 99, instructions: "You are a bot." };
  expect(toAnthropic({ messages: thread, tools }, { ...options, onWarning: (said) => warnings.push(said) })).toEqual({
    model: "m",
    max_tokens: 99,
    stream: true,
    system: [text("You are a bot."), text("Be kind."), text("Be brief.")],
    tools: [{ name: "get_weather", description: "Weather.", input_schema: { type: "object", properties: {} } }],
    messages: [
      { role: "user", content: [text("Weather?")] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Two calls.", signature: "sig" },
          { type: "redacted_thinking", data: "hidden" },
          text("I look."),
          use("c1", "Paris"),
          use("c2", "Rome"),
          use("c3", "Oslo"),
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c1", content: [text("Sunny")] },
          { type: "tool_result", tool_use_id: "c2", content: [text("The user denied this call.")], is_error: true },
          {
            type: "tool_result",
            tool_use_id: "c3",
            content: [text("This call has no result: it was not carried out, or was given up.")],
            is_error: true,
          },
          text("Never mind Oslo."),
        ],
      },
      { role: "assistant", content: [text("Sunny in Paris.")] },
      { role: "user", content: [text("Thanks.")] },
    ],
  });
  expect(warnings).toEqual(["Sealed reasoning of another provider was left out."]);
});

test("a recorded answer goes back block by block as it came, citations and all", async () => {
  const file = new URL("fixtures/web-search.sse", import.meta.url);
  const messages = messagesAfter(await say(fromAnthropic(recorded(file))), [user("u", "What is a heddle?")]);
  const { content } = toAnthropic({ messages: [...messages, user("u2", "More.")] }, { model: "m" }).messages[1] ?? {};
  expect(content).toEqual([
    text("I search."),
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "heddle" } },
    expect.objectContaining({
      type: "web_search_tool_result",
      content: [expect.objectContaining({ encrypted_content: "EqgfCioIARgBsecret" })],
    }),
    text("Then: "),
    {
      type: "text",
      text: "a heddle guides threads",
      citations: [
        {
          type: "web_search_result_location",
          cited_text: "A heddle is",
          url: "https://example.org",
          title: "Heddle",
          encrypted_index: "Eo8BCioI",
        },
      ],
    },
    text("."),
  ]);
});

test("parts go as the API takes them, also in results; a warning names the others", () => {
  const warnings: string[] = [];
  const png = { type: "data", value: "iVBORw==", mimeType: "image/png" } as const;
  const messages: readonly Message[] = [
    {
      id: "u",
      role: "user",
      content: [
        { type: "text", text: "See:" },
        { type: "image", source: png },
        { type: "image", source: { type: "url", value: "https://example.org/i.png" } },
        { type: "image", source: { type: "file", value: "file_i", provider: "anthropic" } },
        { type: "image", source: { type: "data", value: "AA==", mimeType: "image/tiff" } },
        { type: "document", source: { type: "data", value: "JVBERi0=", mimeType: "application/pdf" } },
        { type: "document", source: { type: "data", value: btoa("Hi"), mimeType: "text/markdown" } },
        { type: "document", source: { type: "url", value: "https://example.org/d.pdf" } },
        { type: "document", source: { type: "file", value: "file_d", provider: "openai" } },
        { type: "audio", source: { type: "data", value: "AA==", mimeType: "audio/wav" } },
      ],
    },
    { id: "a", role: "assistant", toolCalls: [call("c", "Rome")] },
    { id: "t", role: "tool", toolCallId: "c", content: [{ type: "image", source: png }] },
  ];
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw==" } };
  const body = toAnthropic({ messages }, { model: "m", onWarning: (said) => warnings.push(said) });
  expect(body.messages[0]?.content).toEqual([
    text("See:"),
    image,
    { type: "image", source: { type: "url", url: "https://example.org/i.png" } },
    { type: "image", source: { type: "file", file_id: "file_i" } },
    {
      type: "document",
      title: "document.pdf",
      source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
    },
    { type: "document", title: "document.markdown", source: { type: "text", media_type: "text/plain", data: "Hi" } },
    { type: "document", title: "document.bin", source: { type: "url", url: "https://example.org/d.pdf" } },
  ]);
  expect(body.messages[2]?.content).toEqual([{ type: "tool_result", tool_use_id: "c", content: [image] }]);
  expect(warnings.map((said) => said.replace(/.*: /, ""))).toEqual([
    "image (data, image/tiff).",
    "document (file).",
    "audio (data, audio/wav).",
  ]);
});

test("arguments that are no object are kept, in the form that Anthropic documents", () => {
  const cut = { id: "c", type: "function" as const, function: { name: "f", arguments: '{"a' } };
  const messages: readonly Message[] = [user("u", "Go."), { id: "a", role: "assistant", toolCalls: [cut] }];
  expect(toAnthropic({ messages }, { model: "m" }).messages[1]?.content).toEqual([
    { type: "tool_use", id: "c", name: "f", input: { INVALID_JSON: '{"a' } },
  ]);
});

test("a thread that ends with an answer, begins with one, or is empty, still asks something", () => {
  const answer: Message = { id: "a", role: "assistant", content: "Hello." };
  const go = { role: "user", content: [text("Continue.")] };
  const said = { role: "assistant", content: [text("Hello.")] };
  expect(toAnthropic({ messages: [answer] }, { model: "m" }).messages).toEqual([go, said, go]);
  expect(toAnthropic({ messages: [] }, { model: "m" }).messages).toEqual([go]);
});

const answerOf = (messages: readonly Message[]) => toAnthropic({ messages }, { model: "m" }).messages[1]?.content;

test("a tool of Anthropic's that waits for ours is kept, and one that was given up is not", () => {
  const search = { type: "server_tool_use", id: "srv", name: "web_search", input: {} };
  const open: readonly Message[] = [
    user("u", "Go."),
    { id: "r", role: "reasoning", content: "", encryptedValue: sealedBy("anthropic", search) },
    { id: "a", role: "assistant", toolCalls: [call("c", "Rome")] },
    { id: "t", role: "tool", toolCallId: "c", content: "Sunny" },
  ];
  expect(answerOf(open)).toEqual([search, use("c", "Rome")]);
  expect(answerOf([...open, user("u2", "Stop.")])).toEqual([use("c", "Rome")]);
});

test("thinking by a budget is switched off where the answer that is gone on from has none", () => {
  const body = { thinking: { type: "enabled", budget_tokens: 2000 } };
  const upTo = (index: number) => toAnthropic({ messages: thread.slice(0, index) }, { model: "m", body });
  expect(upTo(6)).toMatchObject(body);
  const without = thread.slice(0, 6).filter(({ role }) => role !== "reasoning");
  expect(toAnthropic({ messages: without }, { model: "m", body })).not.toHaveProperty("thinking");
  expect(toAnthropic({ messages: [...without, user("u9", "Hi.")] }, { model: "m", body })).not.toHaveProperty(
    "thinking",
  );
  expect(toAnthropic({ messages: [user("u", "Hi.")] }, { model: "m", body })).toMatchObject(body);
});

test("further members of the body are sent, and tools are added to the thread's", () => {
  const body = { tool_choice: { type: "auto" }, tools: [{ type: "web_search_20260318", name: "web_search" }] };
  const tools = [{ name: "now", description: "" }];
  expect(toAnthropic({ messages: thread, tools }, { model: "m", body })).toMatchObject({
    tool_choice: { type: "auto" },
    tools: [{ name: "now", input_schema: { type: "object" } }, { name: "web_search" }],
  });
});
