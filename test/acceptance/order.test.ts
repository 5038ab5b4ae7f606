/**
 * Want 14, on adapters for OpenAI's two APIs and Anthropic's, with providers that refuse what breaks their rules. The order
 * is read three times: from what a stock client shows live, from what a fresh one shows after a reload, and from the
 * requests that the second turn makes of it, where the client sends only its new message.
 */
import { expect, test, vi } from "vitest";
import { startGates } from "../gate.ts";
import { acceptanceServer } from "./acceptance-server.ts";
import { SAYS } from "./order-agents.ts";
import { sqliteFile } from "./sqlite-file.ts";
import { stockClient } from "./stock-client.ts";
import { attachTo } from "../sse-client.ts";
import { eventsOf } from "./thread-log.ts";

type Shown = readonly { readonly role: string; readonly content?: unknown; readonly toolCalls?: readonly unknown[] }[];

/** Text, calls and results, as they stand one below the other; what was thought apart. */
const orderOf = (messages: Shown): readonly string[] =>
  messages.flatMap(({ role, content, toolCalls = [] }) => {
    if (role === "reasoning") return [];
    if (role === "tool") return [`result: ${String(content)}`];
    const text = typeof content === "string" && content !== "" ? [`${role}: ${content}`] : [];
    return [...text, ...toolCalls.map(() => "call")];
  });

/** The same of a request, whichever provider it is for. */
function orderIn(request: object): readonly string[] {
  const { messages, input } = Object(request);
  return [...(messages ?? input)].flatMap(partsOf);
}

function partsOf(item: Record<string, unknown>): readonly string[] {
  const { role, type, content, tool_calls: calls = [] } = item;
  if (type === "function_call") return ["call"];
  if (type === "function_call_output") return [`result: ${String(item["output"])}`];
  if (type === "reasoning") return [];
  if (role === "tool") return [`result: ${String(content)}`];
  const blocks = Array.isArray(content) ? content : [{ type: "text", text: content }];
  return [
    ...blocks.flatMap((block) => {
      if (block.type === "tool_use") return ["call"];
      if (block.type === "tool_result") return [`result: ${textIn(block.content)}`];
      return typeof block.text === "string" ? [`${String(role)}: ${block.text}`] : [];
    }),
    ...(Array.isArray(calls) ? calls.map(() => "call") : []),
  ];
}

const textIn = (content: unknown): string =>
  Array.isArray(content) ? content.map(({ text }: { text: string }) => text).join("") : String(content);

const turn = (question: string, [before, after]: (typeof SAYS)[number]): readonly string[] => [
  `user: ${question}`,
  `assistant: ${before}`,
  "call",
  "result: wind in Ulm",
  `assistant: ${after}`,
];
const FIRST = turn("How is the weather?", SAYS[0]);
const BOTH = [...FIRST, ...turn("And now?", SAYS[1])];

test("Order. Text, tool, text renders in that order live, after reload and in the next model request, and OpenAI and Anthropic both accept that request.", async () => {
  // The stock client warns of `encryptedValueType`, which is of AG-UI 1.1.
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const [gates, store] = [await startGates(), await sqliteFile()];
  const { url } = await acceptanceServer(gates, { store, files: ["test/acceptance/order-agents.ts"] });
  for (const provider of ["chat", "responses", "anthropic"]) {
    const address = `${url}/agents/${provider}`;
    const threadId = `on ${provider}`;
    const live = stockClient(address, threadId);
    const seen: string[] = [];
    live.agent.subscribe({
      onTextMessageContentEvent: ({ event }) => void seen.push(`assistant: ${event.delta}`),
      onToolCallStartEvent: () => void seen.push("call"),
      onToolCallResultEvent: ({ event }) => void seen.push(`result: ${textIn(event.content)}`),
    });
    await live.send("How is the weather?", { runId: "r1" });
    expect([provider, seen]).toEqual([provider, FIRST.slice(1)]);
    expect(orderOf(live.agent.messages)).toEqual(FIRST);

    const reloaded = stockClient(address, threadId);
    await reloaded.agent.runAgent();
    expect(reloaded.agent.messages).toEqual(live.agent.messages);

    const bare = stockClient(address, threadId);
    await bare.send("And now?", { runId: "r2" });
    expect([provider, bare.errors, bare.outcomes]).toEqual([provider, [], ["success"]]);
    expect(orderOf(bare.agent.messages)).toEqual(BOTH);
    const told = await eventsOf(await attachTo(url, threadId, "r2"));
    const customs = told.flatMap((event) => (event.type === "CUSTOM" ? [[event.name, event.value]] : []));
    const { requests, refused } = Object.fromEntries(customs);
    expect([provider, requests.map(orderIn)]).toEqual([provider, [BOTH.slice(0, -4), BOTH.slice(0, -1)]]);
    expect(refused).toEqual([]);

    const again = stockClient(`${address}/connect`, threadId);
    await again.agent.runAgent();
    expect(orderOf(again.agent.messages)).toEqual(BOTH);
  }
});
