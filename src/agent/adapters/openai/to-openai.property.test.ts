import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryThread } from "../../../../test/arbitrary-thread.ts";
import { brokenChatRules, brokenResponsesRules } from "../../../../test/provider-rules.ts";
import { toOpenAiChat, toOpenAiResponses } from "./index.ts";

const numRuns = 500 * Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

test("whatever the thread, a chat request keeps every documented rule", () => {
  fc.assert(
    fc.property(arbitraryThread(), (thread) => {
      expect(brokenChatRules(toOpenAiChat(thread, { model: "m" }))).toEqual([]);
    }),
    { numRuns },
  );
});

test("whatever the thread, a Responses request keeps every documented rule", () => {
  fc.assert(
    fc.property(arbitraryThread(), (thread) => {
      const body = toOpenAiResponses(thread, { model: "m" });
      const issued = ({ encrypted_content }: Readonly<Record<string, unknown>>) =>
        thread.messages.some(
          (message) => message.role === "reasoning" && encrypted_content === `enc:${message.content}`,
        );
      expect(brokenResponsesRules(body, issued)).toEqual([]);
      expect(JSON.stringify(body)).not.toMatch(/secret of google|sig:|neither JSON/);
    }),
    { numRuns },
  );
});

test("a longer thread repeats what its beginning said: a prompt cache asks for that", () => {
  fc.assert(
    fc.property(arbitraryThread(), fc.nat(), ({ messages, tools }, cut) => {
      // Up to a user message whose calls are all settled, so that nothing before it is still open.
      const end = messages.findIndex(
        (message, index) => index >= cut % (messages.length + 1) && message.role === "user",
      );
      fc.pre(end >= 0 && !messages.slice(end).some(({ role }) => role === "tool"));
      const whole = toOpenAiChat({ messages, tools }, { model: "m" }).messages;
      const start = toOpenAiChat({ messages: messages.slice(0, end), tools }, { model: "m" }).messages;
      const said = start.filter((message) => message.role !== "user" || message.content !== "Continue.");
      expect(whole.slice(0, said.length)).toEqual(said);
    }),
    { numRuns },
  );
});
