/** Conversations as the SDK's model messages: results behind their calls, reasoning returned, nothing of another issuer. */
import { expect, test, vi } from "vitest";
import type { Message } from "../../../protocol/index.ts";
import { toModelMessages } from "./index.ts";

const sealed = (block: object, issuer = "ai-sdk"): string => JSON.stringify({ issuer, block });

const call = (id: string, name = "f", args = "{}") =>
  ({ id, type: "function", function: { name, arguments: args } }) as const;

test("reasoning, text and calls of one turn are one message; results stand directly behind it, in the calls' order", () => {
  const metadata = { anthropic: { signature: "sig" } };
  const messages: readonly Message[] = [
    { id: "1", role: "user", content: "Hi" },
    {
      id: "2",
      role: "reasoning",
      content: "hm",
      encryptedValue: sealed({ type: "reasoning", providerMetadata: metadata }),
    },
    { id: "3", role: "assistant", content: "Both.", toolCalls: [call("c1", "f", '{"a":1}'), call("c2")] },
    { id: "4", role: "activity", activityType: "X", content: {} },
    { id: "5", role: "tool", toolCallId: "c2", content: "two" },
    { id: "6", role: "tool", toolCallId: "c1", content: "", error: "broke" },
    { id: "7", role: "assistant", toolCalls: [call("c3")] },
    { id: "8", role: "tool", toolCallId: "c3", content: "three", metadata: { heddle: { error: "denied" } } },
    { id: "9", role: "assistant", content: "Done." },
  ];
  const output = { type: "text", value: "two" };
  expect(toModelMessages(messages)).toEqual([
    { role: "user", content: "Hi" },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm", providerOptions: metadata },
        { type: "text", text: "Both." },
        { type: "tool-call", toolCallId: "c1", toolName: "f", input: { a: 1 } },
        { type: "tool-call", toolCallId: "c2", toolName: "f", input: {} },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "c1", toolName: "f", output: { type: "error-text", value: "broke" } },
        { type: "tool-result", toolCallId: "c2", toolName: "f", output },
      ],
    },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "c3", toolName: "f", input: {} }] },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "c3", toolName: "f", output: { type: "error-text", value: "denied" } },
      ],
    },
    { role: "assistant", content: [{ type: "text", text: "Done." }] },
  ]);
});

test("a call that nobody answered is answered as failed; what has no call is dropped with a warning", () => {
  const onWarning = vi.fn<(message: string) => void>();
  const messages: readonly Message[] = [
    { id: "1", role: "assistant", toolCalls: [call("c1", "f", "{oops"), call("c2", "patch", '"*** Begin"')] },
    { id: "2", role: "tool", toolCallId: "c9", content: "?" },
    { id: "3", role: "user", content: "Go on" },
  ];
  const resume = [{ interruptId: "c8", status: "cancelled" }] as const;
  expect(toModelMessages(messages, { onWarning, resume })).toMatchObject([
    {
      role: "assistant",
      content: [
        { toolCallId: "c1", input: {} },
        { toolCallId: "c2", input: "*** Begin" },
      ],
    },
    {
      role: "tool",
      content: [
        { toolCallId: "c1", output: { type: "error-text" } },
        { toolCallId: "c2", output: { type: "error-text" } },
      ],
    },
    { role: "user", content: "Go on" },
  ]);
  expect(onWarning.mock.calls).toEqual([[expect.stringContaining("c9")], [expect.stringContaining("c8")]]);
});

test("what another issuer sealed is not handed on", () => {
  const encryptedValue = sealed({ providerMetadata: { openai: { a: 1 } } }, "anthropic");
  const messages: readonly Message[] = [
    { id: "1", role: "reasoning", content: "hm", encryptedValue },
    { id: "2", role: "assistant", content: "Hi", encryptedValue: "not even JSON" },
  ];
  expect(toModelMessages(messages)).toEqual([
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "Hi" },
      ],
    },
  ]);
});

test("calls that the provider executes carry their results inside the message", () => {
  const block = { type: "tool-call", providerExecuted: true, providerMetadata: { openai: { itemId: "i" } } };
  const messages: readonly Message[] = [
    { id: "1", role: "assistant", toolCalls: [{ ...call("c1", "search"), encryptedValue: sealed(block) }] },
    { id: "2", role: "tool", toolCallId: "c1", content: "found" },
  ];
  expect(toModelMessages(messages)).toEqual([
    {
      role: "assistant",
      content: [
        {
          type: "tool-call",
          toolCallId: "c1",
          toolName: "search",
          input: {},
          providerExecuted: true,
          providerOptions: { openai: { itemId: "i" } },
        },
        { type: "tool-result", toolCallId: "c1", toolName: "search", output: { type: "text", value: "found" } },
      ],
    },
  ]);
});

test("media are files; what no provider could take is left out with a warning", () => {
  const onWarning = vi.fn<(message: string) => void>();
  const messages: readonly Message[] = [
    {
      id: "1",
      role: "user",
      content: [
        { type: "text", text: "See" },
        { type: "image", source: { type: "data", value: "AAAA", mimeType: "image/png" } },
        { type: "audio", source: { type: "url", value: "https://a/b.mp3" } },
        { type: "document", source: { type: "file", value: "file-1", provider: "openai" } },
        { type: "video", source: { type: "file", value: "file-2" } },
        { type: "image", source: { type: "url", value: "no address" } },
      ],
    },
    { id: "2", role: "assistant", toolCalls: [call("c1")] },
    { id: "3", role: "tool", toolCallId: "c1", content: [{ type: "text", text: "part" }] },
  ];
  expect(toModelMessages(messages, { onWarning })).toMatchObject([
    {
      role: "user",
      content: [
        { type: "text", text: "See" },
        { type: "file", data: { type: "data", data: "AAAA" }, mediaType: "image/png" },
        { type: "file", data: { type: "url", url: new URL("https://a/b.mp3") }, mediaType: "audio" },
        { type: "file", data: { type: "reference", reference: { openai: "file-1" } }, mediaType: "application" },
      ],
    },
    {},
    { role: "tool", content: [{ output: { type: "content", value: [{ type: "text", text: "part" }] } }] },
  ]);
  expect(onWarning).toHaveBeenCalledTimes(2);
});

test("context stands first, and system messages in the role that is asked for; records of answers do not leave", () => {
  const messages: readonly Message[] = [
    { id: "1", role: "developer", content: "Answered so far: a.", metadata: { heddle: { answers: [], asked: [] } } },
    { id: "2", role: "developer", content: "Rhyme." },
  ];
  const context = [
    { description: "Page", value: "Cart" },
    { description: "Time", value: "noon" },
  ];
  expect(toModelMessages(messages, { context })).toEqual([
    { role: "system", content: "Page: Cart\nTime: noon" },
    { role: "system", content: "Rhyme." },
  ]);
  expect(toModelMessages(messages, { systemAs: "user" })).toEqual([{ role: "user", content: "Rhyme." }]);
});
